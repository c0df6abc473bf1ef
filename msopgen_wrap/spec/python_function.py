"""A typed Python function as an op spec: the same ``OpSpec`` as from YAML.

Signature, docstring, body and the decorator's arguments become the nodes that YAML would give, with
places in the Python file, and go through the same builder and the same guard.
"""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec.builder import SpecBuilder
from msopgen_wrap.spec.findings import Findings, suggestion
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.names import camel_case
from msopgen_wrap.spec.python_annotations import TENSOR, Annotation, AnnotationReader, last_word
from msopgen_wrap.spec.python_body import body_node, returned
from msopgen_wrap.spec.python_file import PythonFile
from msopgen_wrap.spec.python_sizes import SizeNames
from msopgen_wrap.spec.python_values import Values, name_node
from msopgen_wrap.spec.reader import Reader
from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Scalar, Sequence, parse_yaml
from msopgen_wrap.spec.yaml_text import spec_yaml

# Arguments of the decorator; ``name`` is the key ``op`` of a spec.
ARGUMENTS = (
    *("name", "doc", "kernel", "tiling", "backward", "save", "deterministic"),
    *("hf32", "tolerance", "soc", "cases", "version"),
)
_DTYPES = re.compile(r"\s*[A-Za-z_]\w*\s*(,\s*[A-Za-z_]\w*\s*)*")
_NAMED = re.compile(r"\s*([A-Za-z_]\w*)\s*:\s*")
Entry = tuple[Scalar, Node]


@dataclass(frozen=True)
class Parameter:
    """A parameter of the function: its name, annotation and default."""

    node: ast.arg
    said: Annotation
    default: ast.expr | None


def function_spec(
    file: PythonFile, function: ast.FunctionDef, decorator: ast.expr | None
) -> tuple[OpSpec | None, list[Diagnostic]]:
    """Return the spec of a decorated function, and the findings in file order.

    The spec is None where there are errors. ``decorator`` is the expression behind the ``@``.
    """
    findings = Findings()
    root = _FunctionReader(file, function, decorator, findings).root()
    spec = None
    if root is not None and not findings.has_errors:
        text = spec_yaml(root)
        spec = SpecBuilder(root, Reader(findings), file.path, text).build()
        if spec is not None and not findings.has_errors:
            _check_round_trip(spec, text, file.place(function), findings)
    return (None if findings.has_errors else spec), findings.sorted()


def _check_round_trip(spec: OpSpec, text: str, place: Location, findings: Findings) -> None:
    """Report what the YAML of the op would say otherwise (OPG078)."""
    ignored = Findings()
    root = parse_yaml(text, spec.path, ignored)
    again = None
    if isinstance(root, Mapping):
        again = SpecBuilder(root, Reader(ignored), spec.path, text).build()
    if again != spec or ignored.has_errors:
        findings.error(
            "OPG078",
            f"op {spec.op} cannot be written as YAML",
            place,
            why="a package holds the spec as YAML, and its text would mean something else",
            fix="leave line separators other than line feeds out of texts and code",
        )


class _FunctionReader:
    """Turns one function into the top-level mapping of a spec."""

    def __init__(
        self,
        file: PythonFile,
        function: ast.FunctionDef,
        decorator: ast.expr | None,
        findings: Findings,
    ) -> None:
        self.file = file
        self.function = function
        self.decorator = decorator
        self.findings = findings
        self.values = Values(file, findings)
        self.annotations = AnnotationReader(file, findings, self.values)
        self.sizes = SizeNames(set())

    def root(self) -> Mapping | None:
        """Return the mapping, or None where nothing can be said about the op."""
        place = self.file.place(self.function)
        named = Location(
            place.file,
            place.line,
            place.column + (4 if isinstance(self.function, ast.FunctionDef) else 10),
            len(self.function.name),
        )
        if not self._plain_function(named):
            return None
        given = self._arguments()
        parameters = self._parameters()
        # A parameter that failed is reported; without it the others would be misread.
        if parameters is None:
            return None
        tensors = [p for p in parameters if p.said.kind == TENSOR]
        attrs = [p for p in parameters if p.said.kind != TENSOR]
        self.sizes.taken = {p.node.arg for p in parameters}
        inputs = [self._input(p) for p in tensors]
        outputs = self._outputs([p.node.arg for p in parameters])
        names = [str(key.value) for key, _ in outputs]
        body = body_node(self.function, names, self.file, self.findings)
        doc = ast.get_docstring(self.function)
        entries: list[Entry] = [self._entry("op", given.pop("name", self._op_name(named)))]
        text = given.pop("doc") if "doc" in given else None
        if text is None and doc:
            spot = self.file.place(self.function.body[0])
            text = Scalar(doc, doc, spot, spot, False, True)
        if text is not None:
            entries.append(self._entry("doc", text))
        entries.append(self._entry("inputs", Mapping(tuple(inputs), named)))
        entries.append(self._entry("outputs", Mapping(tuple(outputs), named)))
        if attrs:
            rows = tuple(self._attr(p) for p in attrs)
            entries.append(self._entry("attrs", Mapping(rows, named)))
        if "kernel" in given:
            entries.append(self._entry("kernel", given.pop("kernel")))
        if body is not None:
            entries.append(self._entry("compute", body))
        entries += [self._entry(key, node) for key, node in given.items()]
        return Mapping(tuple(entries), named)

    def _op_name(self, place: Location) -> Scalar:
        name = camel_case(self.function.name)
        return Scalar(name, name, place, place)

    @staticmethod
    def _entry(key: str, node: Node) -> Entry:
        return name_node(key, node.location), node

    def _refuse(self, what: str, node: ast.AST, why: str = "", fix: str = "") -> None:
        self.findings.error("OPG075", what, self.file.place(node), why, fix)

    def _plain_function(self, place: Location) -> bool:
        function = self.function
        if not isinstance(function, ast.FunctionDef):
            self.findings.error("OPG075", "an op is no coroutine", place, fix="write 'def'")
            return False
        for other in function.decorator_list:
            if other is not self.decorator:
                self._refuse(
                    f"'@{ast.unparse(other)[:40]}' stands at the same function",
                    other,
                    why="the formula is the text of the function: another decorator would change "
                    "what a call of it does",
                    fix="drop it",
                )
        return True

    def _arguments(self) -> dict[str, Node]:
        """Return the decorator's arguments as nodes."""
        result: dict[str, Node] = {}
        if not isinstance(self.decorator, ast.Call):
            return result
        for extra in self.decorator.args:
            self._refuse("arguments of @op are given by name", extra)
        for keyword in self.decorator.keywords:
            if keyword.arg not in ARGUMENTS:
                self._refuse(
                    f"@op has no argument '{keyword.arg or '**'}'",
                    keyword,
                    why=f"arguments: {', '.join(ARGUMENTS)}",
                    fix=suggestion(keyword.arg or "", ARGUMENTS),
                )
                continue
            value = self.values.node(keyword.value, f"'{keyword.arg}' of @op")
            if value is not None and not (isinstance(value, Scalar) and value.value is None):
                result[keyword.arg] = value
        return result

    def _parameters(self) -> list[Parameter] | None:
        """Return the parameters in order, or None after a report."""
        arguments = self.function.args
        good = True
        for star in (arguments.vararg, arguments.kwarg):
            if star is not None:
                fix = "write 'xs: list[Tensor]' for a list of tensors"
                self._refuse(f"'*{star.arg}' is no parameter of an op", star, fix=fix)
                good = False
        plain = [*arguments.posonlyargs, *arguments.args]
        defaults: list[ast.expr | None] = [None] * (len(plain) - len(arguments.defaults))
        defaults += arguments.defaults
        pairs = [*zip(plain, defaults, strict=True)]
        pairs += zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True)
        found: list[Parameter] = []
        for node, default in pairs:
            if node.annotation is None:
                self._refuse(
                    f"parameter '{node.arg}' has no annotation",
                    node,
                    fix=f"write '{node.arg}: Annotated[Tensor, \"float16, float32\"]', or a type "
                    "such as float for an attr",
                )
                good = False
                continue
            said = self.annotations.read(node.annotation)
            if said is None:
                good = False
                continue
            if said.kind == TENSOR and found and found[-1].said.kind != TENSOR:
                self._refuse(
                    f"input '{node.arg}' stands behind attr '{found[-1].node.arg}'",
                    node,
                    why="the torch op and the aclnn function take the inputs first",
                    fix="move the attrs to the end",
                )
            found.append(Parameter(node, said, default))
        return found if good else None

    # ---- inputs and attrs ----

    def _input(self, parameter: Parameter) -> Entry:
        said, name = parameter.said, parameter.node.arg
        key = name_node(name, self._name_place(parameter.node))
        rows: dict[str, Node] = {}
        for text in said.texts:
            self._add_text(rows, text, f"input '{name}'", name)
        rows.update(self._fields(said, name))
        default = parameter.default
        nothing = isinstance(default, ast.Constant) and default.value is None
        if said.optional or (default is not None and nothing):
            rows.setdefault("optional", self._flag(said.node))
        if default is not None and not nothing:
            self._refuse(
                f"the default of input '{name}' is no None",
                default,
                fix="write '= None', and Field(default=...) for a number that stands for it",
            )
        if said.many:
            rows["list"] = self._flag(said.node)
        return key, self._short(rows, "dtype", key.location)

    def _attr(self, parameter: Parameter) -> Entry:
        said, name = parameter.said, parameter.node.arg
        place = self._name_place(parameter.node)
        spot = self.file.place(said.node)
        rows: dict[str, Node] = {"type": Scalar(said.kind, said.kind, spot, spot)}
        for text in said.texts:
            self.findings.error(
                "OPG076",
                f"attr '{name}' takes no text",
                self.file.place(text),
                why="texts are dtypes and shapes of tensors",
                fix="write Field(doc=...) or Field(min=...)",
            )
        if parameter.default is not None:
            value = self.values.node(parameter.default, f"default of attr '{name}'")
            if value is not None:
                rows["default"] = value
        if said.allowed is not None:
            allowed = self.values.node(said.allowed, f"values of attr '{name}'")
            if allowed is not None:
                rows["allowed"] = allowed
        rows.update(self._fields(said, name))
        return name_node(name, place), self._short_attr(rows, said.kind, place)

    def _name_place(self, node: ast.arg) -> Location:
        place = self.file.place(node)
        return Location(place.file, place.line, place.column, len(node.arg))

    def _flag(self, node: ast.AST) -> Scalar:
        place = self.file.place(node)
        return Scalar(True, "true", place, place)

    def _fields(self, said: Annotation, what: str) -> dict[str, Node]:
        result: dict[str, Node] = {}
        for keyword in said.keys:
            if keyword.arg is None:
                self._refuse("Field() takes no '**'", keyword)
                continue
            node = self.values.node(keyword.value, f"'{keyword.arg}' of '{what}'")
            if node is not None and keyword.arg == "dtype" and isinstance(node, Scalar):
                node = _dtype_node(node)
            if node is not None:
                result[keyword.arg] = node
        return result

    def _add_text(
        self, rows: dict[str, Node], text: ast.Constant, what: str, param: str | None
    ) -> None:
        """Add dtypes or a shape rule; names of sizes get their meaning at inputs."""
        node = self.values.text(text)
        self._add_scalar(rows, node, what, param)

    def _add_scalar(
        self, rows: dict[str, Node], node: Scalar, what: str, param: str | None
    ) -> None:
        key = "dtype" if _DTYPES.fullmatch(node.text) else "shape"
        if key in rows:
            self.findings.error("OPG076", f"{what} has two texts for its {key}", node.location)
            return
        if key == "dtype":
            rows[key] = _dtype_node(node)
            return
        rule = node.text.strip()
        if param is not None and self.sizes.new_names(rule):
            try:
                low, high = self.sizes.bind(param, rule)
            except ValueError as error:
                self.findings.error("OPG076", f"shape of {what}: {error}", node.location)
                return
            sizes = (low,) if low == high else (low, high)
            numbers = tuple(Scalar(n, str(n), node.location, node.location) for n in sizes)
            if (low, high) != (0, 8):
                rows["rank"] = numbers[0] if low == high else Sequence(numbers, node.location)
            return
        meaning = self.sizes.rule(rule)
        if meaning != rule:
            node = Scalar(meaning, meaning, node.location, node.location, False, True)
        rows[key] = node

    @staticmethod
    def _short(rows: dict[str, Node], key: str, place: Location) -> Node:
        if list(rows) == [key]:
            return rows[key]
        return Mapping(tuple((name_node(k, v.location), v) for k, v in rows.items()), place)

    @staticmethod
    def _short_attr(rows: dict[str, Node], kind: str, place: Location) -> Node:
        """Return ``1.0`` for a float attr with that default, and so on; else the mapping."""
        value = rows.get("default")
        plain = list(rows) == ["type", "default"] and kind in ("int", "float", "bool")
        if plain and isinstance(value, Scalar) and type(value.value).__name__ == kind:
            return value
        return Mapping(tuple((name_node(k, v.location), v) for k, v in rows.items()), place)

    # ---- outputs ----

    def _outputs(self, parameters: list[str]) -> list[Entry]:
        node = self.function.returns
        if node is None:
            self._refuse(
                f"'{self.function.name}' does not say what it returns",
                self.function,
                fix="write '-> Annotated[Tensor, \"like x\"]' before the colon",
            )
            return []
        meant = self.values.meant(node)
        several = (
            isinstance(meant, ast.Subscript)
            and last_word(meant.value) in ("tuple", "Tuple")
            and isinstance(meant.slice, ast.Tuple)
        )
        items = list(meant.slice.elts) if several else [node]  # type: ignore[attr-defined]
        values = returned(self.function)
        result: list[Entry] = []
        for index, item in enumerate(items):
            said = self.annotations.read(item)
            if said is None:
                continue
            if said.kind != TENSOR or said.optional:
                self._refuse("an output is a tensor or a list of tensors", item)
                continue
            value = values[index] if len(values) == len(items) else None
            local = value.id if isinstance(value, ast.Name) and value.id not in parameters else ""
            result.append(self._output(said, local or ("y" if len(items) == 1 else "")))
        return result

    def _output(self, said: Annotation, local: str) -> Entry:
        place = self.file.place(said.node)
        rows: dict[str, Node] = {}
        name = ""
        for text in said.texts:
            node = self.values.text(text)
            found = _NAMED.match(node.text)
            if found:
                name, place = found[1], node.location
                node = _behind(node, found.end())
                if not node.text:
                    continue
            self._add_scalar(rows, node, "an output", None)
        rows.update(self._fields(said, "output"))
        field = rows.pop("name", None)
        inplace = rows.get("inplace")
        if isinstance(field, Scalar):
            name = field.text
        elif not name and isinstance(inplace, Scalar):
            name = inplace.text
        name = name or local
        if not name:
            self._refuse(
                "an output has no name",
                said.node,
                why="the formula returns an expression here, and not a variable",
                fix='begin its text with the name: "y: like x"',
            )
        if said.many:
            rows["list"] = self._flag(said.node)
        return name_node(name, place), self._short(rows, "shape", place)


def _behind(node: Scalar, cut: int) -> Scalar:
    """Return a text without its first characters."""
    text = node.text[cut:]
    body = node.body
    if node.literal:
        body = Location(body.file, body.line, body.column + cut, max(1, len(text)))
    return Scalar(text, text, node.location, body, node.literal, True)


def _dtype_node(node: Scalar) -> Node:
    """Return ``float16, float32`` as a list, one name as text."""
    items = []
    for found in re.finditer(r"[A-Za-z_]\w*", node.text):
        place = node.location
        if node.literal:
            start = node.body.column + found.start()
            place = Location(place.file, node.body.line, start, len(found[0]))
        items.append(Scalar(found[0], found[0], place, place))
    return items[0] if len(items) == 1 else Sequence(tuple(items), node.location)


def read_function(file: PythonFile, name: str) -> tuple[OpSpec | None, list[Diagnostic]]:
    """Return the spec of the function ``name`` of a file, and the findings."""
    try:
        function, decorator = file.op_called(name)
    except OpgenError as error:
        return None, error.diagnostics
    return function_spec(file, function, decorator)

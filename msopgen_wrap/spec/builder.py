"""Build a checked ``OpSpec`` from the top-level mapping of a spec file."""

from __future__ import annotations

from dataclasses import replace

from msopgen_wrap.spec import checks
from msopgen_wrap.spec.attrs import read_attrs
from msopgen_wrap.spec.cases import read_cases, read_tolerance
from msopgen_wrap.spec.derivatives import steps_without_derivative
from msopgen_wrap.spec.dtype_lists import resolve_dtypes
from msopgen_wrap.spec.findings import listed, suggestion
from msopgen_wrap.spec.gradient import gradient_problem
from msopgen_wrap.spec.model import (
    Attr,
    Case,
    Code,
    OpSpec,
    ShapeList,
    TensorParam,
    Tolerance,
)
from msopgen_wrap.spec.names import check_op_name, snake_case
from msopgen_wrap.spec.params import RawParam, read_inputs, read_outputs, resolve_shapes
from msopgen_wrap.spec.reader import Reader, is_given, with_meant_keys
from msopgen_wrap.spec.saved_outputs import AUTO, check_saved, saveable_outputs, scalar_names
from msopgen_wrap.spec.schedule_reading import read_schedule
from msopgen_wrap.spec.schema_string import read_schema
from msopgen_wrap.spec.shape_parser import ShapeNames, parse_shape
from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Scalar

KEYS = (
    *("version", "op", "doc", "schema", "inputs", "outputs", "attrs"),
    *(
        "compute",
        "gradient_of",
        "kernel",
        "tiling",
        "workspace",
        "backward",
        "save",
        "deterministic",
        "hf32",
        "schedule",
        "cases",
        "tolerance",
        "soc",
    ),
)
BACKWARD_WORDS = ("auto", "kernel", "reference", "none")
# Beside formulas per input: the op of the gradients computes them. No input has this name.
KERNEL_KEY = "kernel"
# Of the spec format. A new one comes with a key or a meaning that older kits would misread.
FORMAT_VERSION = 1


class SpecBuilder:
    """Turns the top-level mapping into an ``OpSpec``, part by part."""

    def __init__(self, root: Mapping, reader: Reader, path: str, source: str) -> None:
        self.root = root
        self.reader = reader
        self.findings = reader.findings
        self.path = path
        self.source = source

    def build(self) -> OpSpec | None:
        if not self.version():
            return None  # the rest may mean something else
        self.reader.known_keys(self.root, KEYS, "the spec")
        self.root = with_meant_keys(self.root, KEYS)
        backward = self.root.get("backward")
        if isinstance(backward, Scalar) and backward.text == "none":
            self.reader.differentiable = False
        op = self.op()
        inputs, outputs, attrs = self.signature()
        attr_types = {a.name: a.type for a in attrs}
        # Parameters whose dtypes failed stay, so that their names do not look undefined below.
        resolve_dtypes([*inputs, *outputs], attrs, self.findings)
        resolve_shapes(inputs, outputs, attr_types, self.findings)
        socs = self.socs()
        compute, forward = self.code("compute"), self.code("gradient_of")
        spec = OpSpec(
            op=op or "",
            name=snake_case(op or ""),
            doc=(self.optional_text("doc") or "").strip(),
            inputs=tuple(r.param for r in inputs),
            outputs=tuple(r.param for r in outputs),
            attrs=tuple(attrs),
            compute=compute or forward,
            kernel=self.optional_text("kernel"),
            tiling=self.optional_text("tiling"),
            workspace=self.workspace(inputs, attr_types),
            backward="none",
            cases=(),
            tolerance=self.tolerance([r.param for r in outputs]),
            soc=socs,
            path=self.path,
            source=self.source,
            differentiated=compute is None and forward is not None,
            deterministic=self.flag("deterministic", default=True),
            hf32=self.flag("hf32", default=False),
        )
        return self.checked(spec, [*inputs, *outputs])

    def checked(self, spec: OpSpec, raws: list[RawParam]) -> OpSpec | None:
        findings = self.findings
        places = {str(k.value): v.location for k, v in self.root.entries}
        checks.check_names(spec, findings)
        checks.check_inplace(spec, findings)
        checks.check_lengths(spec, findings)
        checks.check_sources(spec, places, findings)
        checks.check_gradient_of(spec, places, findings)
        dtype_places = {r.param.name: r.dtype_place for r in raws}
        own = [r.param for r in raws if r.follows is None]
        checks.check_dtypes_on_socs(own, spec.soc, dtype_places, findings)
        # Shape rules that failed have no node; what depends on them is checked next time.
        if not findings.has_errors:
            checks.check_rule_attrs(spec, findings)
        backward = self.backward(spec)
        written: dict[str, Code] = {}
        if isinstance(backward, dict) and self.as_kernel():
            written, backward = backward, "kernel"
        spec = checks.with_backward(spec, backward, written)
        checks.check_codes(spec, findings)
        spec = self.with_saved(spec)
        schedule = self.root.get("schedule")
        if schedule is not None:
            spec = replace(spec, schedule=read_schedule(schedule, spec, self.reader))
        cases = self.cases(spec) if not findings.has_errors else []
        spec = replace(spec, cases=tuple(cases))
        # Cases say which inputs are no broadcasts of each other.
        if spec.backward == "kernel" and not findings.has_errors:
            self.check_kernel(spec)
        return spec

    # ---- simple keys ----

    def version(self) -> bool:
        """Whether this kit reads the format that the spec is written in."""
        node = self.root.get("version")
        number = FORMAT_VERSION if node is None else self.reader.integer(node, "version")
        if node is None or number == FORMAT_VERSION:
            return True
        if number is not None:
            newer = number > FORMAT_VERSION
            self.findings.error(
                "OPG034",
                f"the spec is written in version {number} of the format",
                node.location,
                why=f"this kit reads version {FORMAT_VERSION}",
                fix="install a newer opgen" if newer else f"write 'version: {FORMAT_VERSION}'",
            )
        return False

    def op(self) -> str | None:
        node = self.root.get("op")
        if node is None:
            self.findings.error(
                "OPG006", "the spec has no 'op'", self.root.location, fix="add 'op: FusedAddRelu'"
            )
            return None
        name = self.reader.text(node, "op")
        if name is not None:
            check_op_name(name, node.location, self.findings)
        return name

    def optional_text(self, key: str) -> str | None:
        node = self.root.get(key)
        return self.reader.text(node, key) if node is not None else None

    def workspace(self, inputs: list[RawParam], attrs: dict[str, str]) -> ShapeList | None:
        """Read the bytes of workspace, a dimension over inputs and attrs."""
        node = self.root.get("workspace")
        source = self.reader.rule_text(node, "workspace") if node is not None else None
        if source is None:
            return None
        text, place = source
        names = ShapeNames(tuple(r.param.name for r in inputs), attrs)
        # The rule of a shape that has this dimension; its text begins one column before it.
        start = replace(place, column=place.column - 1)
        rule = parse_shape(f"[{text}]", names, start, self.findings)
        if rule is None:
            return None
        if not isinstance(rule, ShapeList) or len(rule.items) != 1:
            self.findings.error("OPG030", "workspace is not one dimension, in bytes", place)
            return None
        return rule

    def code(self, key: str) -> Code | None:
        node = self.root.get(key)
        return self.reader.code(node, key) if node is not None else None

    def socs(self) -> tuple[str, ...]:
        node = self.root.get("soc")
        if node is None:
            return checks.DEFAULT_SOC
        names = []
        for item in self.reader.items(node):
            text = self.reader.text(item, "soc")
            if text is not None:
                names.append((text, item.location))
        if not names:
            self.findings.error("OPG061", "'soc' is empty", node.location, fix="soc: [ascend910b]")
        return checks.check_socs(names, self.findings)

    def flag(self, key: str, *, default: bool) -> bool:
        """Return a boolean of the spec, the default where it is absent or no boolean."""
        node = self.root.get(key)
        value = None if node is None else self.reader.boolean(node, key)
        return default if value is None else value

    def tolerance(self, outputs: list[TensorParam]) -> dict[str, Tolerance]:
        node = self.root.get("tolerance")
        return read_tolerance(node, outputs, self.reader) if node is not None else {}

    # ---- inputs, outputs, attrs ----

    def signature(self) -> tuple[list[RawParam], list[RawParam], list[Attr]]:
        schema = self.root.get("schema")
        if schema is not None:
            for key in ("inputs", "outputs", "attrs"):
                extra = self.root.key(key)
                if extra is not None:
                    self.findings.error(
                        "OPG070",
                        f"'{key}' and 'schema' are both given",
                        extra.location,
                        fix="keep one of the two",
                    )
            return read_schema(schema, self.reader)
        inputs = self.required("inputs")
        outputs = self.required("outputs")
        attrs = self.root.get("attrs")
        return (
            read_inputs(inputs, self.reader) if inputs is not None else [],
            read_outputs(outputs, self.reader) if outputs is not None else [],
            read_attrs(attrs, self.reader) if is_given(attrs) and attrs is not None else [],
        )

    def required(self, key: str) -> Node | None:
        node = self.root.get(key)
        if not is_given(node):
            name = "x: [float16, float32]" if key == "inputs" else "y: like x"
            place = node.location if node is not None else self.root.location
            self.findings.error(
                "OPG006",
                f"the spec has no '{key}'",
                place,
                fix=f"add '{key}:' and under it '{name}'",
            )
            return None
        if isinstance(node, Mapping) and not node.entries:
            self.findings.error("OPG006", f"'{key}' is empty", node.location)
        return node

    # ---- backward, cases ----

    def backward(self, spec: OpSpec) -> str | dict[str, Code]:
        node = self.root.get("backward")
        if node is None:
            return checks.default_backward(spec)
        if isinstance(node, Scalar):
            return self.backward_word(node, spec)
        mapping = self.reader.mapping(node, "backward", "'auto', 'none', or 'x: grad_y * 2'")
        codes: dict[str, Code] = {}
        if mapping is None:
            return codes
        names = [p.name for p in spec.inputs]
        for key, value in mapping.entries:
            if key.value == KERNEL_KEY and _truth(value) is not None:
                continue
            if key.value not in names:
                self.findings.error(
                    "OPG050",
                    f"backward names unknown input '{key.value}'",
                    key.location,
                    why=f"inputs: {listed(names)}",
                    fix=suggestion(str(key.value), names),
                )
                continue
            code = self.reader.code(value, f"backward of '{key.value}'")
            if code is not None:
                codes[str(key.value)] = code
        return codes

    def backward_word(self, node: Scalar, spec: OpSpec) -> str:
        word = node.text
        if word not in BACKWARD_WORDS:
            self.findings.error(
                "OPG050",
                f"backward is '{word[:40]}'",
                node.location,
                why="it is "
                + ", ".join(f"'{w}'" for w in BACKWARD_WORDS)
                + ", or input -> PyTorch code",
                fix=suggestion(word, BACKWARD_WORDS),
            )
            return "none"
        if word != "none" and checks.default_backward(spec) == "none":
            why = (
                "there is no compute to differentiate"
                if spec.compute is None
                else "an in-place op overwrites what the gradient needs"
                if any(p.inplace for p in spec.outputs)
                else "no input and output are both floating point" + self._ending(spec)
            )
            self.findings.error(
                "OPG050", "backward cannot be derived", node.location, why, "write 'backward: none'"
            )
            return "none"
        return word

    def with_saved(self, spec: OpSpec) -> OpSpec:
        """Return the spec with what ``save`` names; without it, or with ``auto``, it is chosen."""
        node = self.root.get("save")
        if self.findings.has_errors:
            return spec
        chosen = not is_given(node) or (isinstance(node, Scalar) and node.text == AUTO)
        items = [] if chosen or node is None else self.reader.items(node)
        for item in items:
            if not isinstance(item, Scalar):
                self.reader.wrong_kind(item, "an entry of 'save'", "the name of an output")
        names = scalar_names(items)
        saved = () if node is None else check_saved(spec, names, node, self.findings)
        return replace(spec, save=saved, choose_saved=chosen and bool(saveable_outputs(spec)))

    def as_kernel(self) -> bool:
        """Whether a mapping of formulas says ``kernel: true``: the op of the gradients has them."""
        node = self.root.get("backward")
        return isinstance(node, Mapping) and _truth(node.get(KERNEL_KEY)) is True

    def check_kernel(self, spec: OpSpec) -> None:
        """Refuse ``kernel`` where there is no op of the gradients (OPG050).

        Cases tell which inputs do not broadcast each other.
        """
        node = self.root.get("backward")
        why, fix = gradient_problem(spec)
        ending = "" if why or spec.written else self._ending(spec)
        if ending:
            why, fix = f"compute has no derivative{ending}", "write 'backward: none'"
        if why and node is not None:
            self.findings.error("OPG050", "backward cannot be a kernel", node.location, why, fix)

    @staticmethod
    def _ending(spec: OpSpec) -> str:
        """Return the operations behind which compute has no derivative, as the end of a text."""
        if spec.compute is None:
            return ""
        floats = [p.name for p in spec.inputs if any("float" in d for d in p.dtypes)]
        names = [p.name for p in spec.outputs]
        steps = steps_without_derivative(spec.compute, floats, names)
        return f": what {listed(steps)} gives has none" if steps else ""

    def cases(self, spec: OpSpec) -> list[Case]:
        node = self.root.get("cases")
        if node is None or not is_given(node):
            return []
        return read_cases(node, spec.inputs, spec.outputs, spec.attrs, self.reader)


def _truth(node: Node | None) -> bool | None:
    """Return the value of ``true`` or ``false``; None for anything else."""
    text = node.text.lower() if isinstance(node, Scalar) else ""
    return {"true": True, "false": False}.get(text)

"""Annotations of a function: which type they name, and what is said about the parameter."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field

from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.python_file import PythonFile
from msopgen_wrap.spec.python_values import Values

TENSOR = "tensor"
_ATTR_TYPES = {"int": "int", "float": "float", "bool": "bool", "str": "str", "dtype": "dtype"}
_LISTS = ("list", "List", "Sequence", "tuple", "Tuple")
_EXAMPLES = (
    'Annotated[Tensor, "float16, float32"], Tensor | None, list[Tensor]; float, int, bool, str, '
    'torch.dtype, tuple[int, ...], Literal["none", "tanh"]'
)
MAX_DEPTH = 16


@dataclass
class Annotation:
    """A type and what ``Annotated`` says about it.

    Attributes:
        kind: ``tensor``, or an attr type.
        texts: the strings, in order: dtypes and a shape rule.
        keys: keyword arguments of ``Field``.
    """

    kind: str
    node: ast.expr
    optional: bool = False
    many: bool = False
    texts: list[ast.Constant] = field(default_factory=list)
    keys: list[ast.keyword] = field(default_factory=list)
    allowed: ast.Tuple | None = None


class AnnotationReader:
    """Reads annotations; what it does not know is reported (OPG076)."""

    def __init__(self, file: PythonFile, findings: Findings, values: Values) -> None:
        self.file = file
        self.findings = findings
        self.values = values

    def read(self, node: ast.expr) -> Annotation | None:
        """Return what an annotation says, or None after a report."""
        before = len(self.findings.items)
        found = self._read(node, 0)
        if found is None and len(self.findings.items) == before:
            self._unknown(node)
        return found

    def _unknown(self, node: ast.expr) -> None:
        self.findings.error(
            "OPG076",
            f"'{ast.unparse(node)[:60]}' is no type of a parameter",
            self.file.place(node),
            why=f"types: {_EXAMPLES}",
        )

    def _read(self, given: ast.expr, depth: int) -> Annotation | None:
        node = self.values.meant(given)
        if depth > MAX_DEPTH:
            return None
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return self._quoted(node, node.value, depth)
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            return self._union([node.left, node.right], depth)
        if isinstance(node, ast.Subscript):
            return self._subscript(node, depth)
        word = last_word(node)
        if word == "Tensor":
            return Annotation(TENSOR, node)
        return Annotation(_ATTR_TYPES[word], node) if word in _ATTR_TYPES else None

    def _quoted(self, node: ast.Constant, text: str, depth: int) -> Annotation | None:
        try:
            inner = ast.parse(text.strip(), mode="eval").body
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return None
        for part in ast.walk(inner):
            ast.copy_location(part, node)
        return self._read(inner, depth + 1)

    def _union(self, members: list[ast.expr], depth: int) -> Annotation | None:
        rest = [m for m in members if not (isinstance(m, ast.Constant) and m.value is None)]
        if len(rest) != 1:
            return None
        found = self._read(rest[0], depth + 1)
        if found is not None and len(rest) < len(members):
            found.optional = True
        return found

    def _subscript(self, node: ast.Subscript, depth: int) -> Annotation | None:
        word = last_word(node.value)
        inside = node.slice
        items = list(inside.elts) if isinstance(inside, ast.Tuple) else [inside]
        if word == "Optional":
            return self._union([*items, ast.Constant(None)], depth)
        if word == "Literal":
            return self._literal(node, items)
        if word in _LISTS:
            return self._list(word, items, depth)
        if word == "Tensor":
            return self._with_texts(Annotation(TENSOR, node), items)
        if word == "Annotated" and items:
            found = self._read(items[0], depth + 1)
            return None if found is None else self._with_texts(found, items[1:])
        return None

    def _literal(self, node: ast.Subscript, items: list[ast.expr]) -> Annotation | None:
        kinds = {type(i.value).__name__ if isinstance(i, ast.Constant) else "" for i in items}
        kind = kinds.pop() if len(kinds) == 1 else ""
        if kind not in ("str", "int", "bool"):
            self.findings.error(
                "OPG076",
                "the values of a Literal are texts, or integers, or booleans",
                self.file.place(node),
            )
            return None
        allowed = ast.copy_location(ast.Tuple(items, ast.Load()), node)
        return Annotation(kind, node, allowed=None if kind == "bool" else allowed)

    def _list(self, word: str, items: list[ast.expr], depth: int) -> Annotation | None:
        ellipsis = len(items) == 2 and isinstance(items[1], ast.Constant) and items[1].value is ...
        same = {ast.dump(item) for item in items}
        if word.lower() == "tuple" and not ellipsis and len(same) != 1:
            return None
        if word.lower() != "tuple" and len(items) != 1:
            return None
        found = self._read(items[0], depth + 1)
        if found is None or found.many or found.kind.startswith("list_"):
            return None
        if found.kind == TENSOR:
            found.many = True
            return found
        if found.kind not in ("int", "float"):
            return None
        found.kind = f"list_{found.kind}"
        return found

    def _with_texts(self, found: Annotation, items: list[ast.expr]) -> Annotation | None:
        """Add the strings and the ``Field(...)`` of an annotation."""
        good = True
        for given in items:
            item = self.values.meant(given)
            if isinstance(item, ast.Constant) and isinstance(item.value, str):
                found.texts.append(item)
            elif isinstance(item, ast.Call) and last_word(item.func) == "Field" and not item.args:
                found.keys += item.keywords
            else:
                good = False
                self.findings.error(
                    "OPG076",
                    f"'{ast.unparse(given)[:60]}' says nothing about a parameter",
                    self.file.place(given),
                    why="after the type come the dtypes, the shape rule, and Field(key=value)",
                )
        return found if good else None


def last_word(node: ast.expr) -> str:
    """Return the last name of ``a.b.c``, or an empty string."""
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""

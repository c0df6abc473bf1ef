"""Literals of a Python file as spec nodes, each with its place in the file."""

from __future__ import annotations

import ast
import inspect
from dataclasses import replace

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.code_values import dotted
from msopgen_wrap.spec.findings import Findings
from msopgen_wrap.spec.model import DTYPES
from msopgen_wrap.spec.python_file import PythonFile
from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Scalar, Sequence

_INFINITIES = ("math.inf", "torch.inf", "inf")
MAX_ALIASES = 16


def name_node(name: str, place: Location) -> Scalar:
    """Return a key of a mapping."""
    return Scalar(name, name, place, place)


class Values:
    """Turns expressions of a file into nodes; what is no literal is reported (OPG077)."""

    def __init__(self, file: PythonFile, findings: Findings) -> None:
        self.file = file
        self.findings = findings

    def meant(self, node: ast.expr) -> ast.expr:
        """Return what the top level assigns to a name; other expressions as they are."""
        for _ in range(MAX_ALIASES):
            if not isinstance(node, ast.Name) or node.id not in self.file.constants:
                break
            node = self.file.constants[node.id]
        return node

    def node(self, given: ast.expr, what: str) -> Node | None:
        """Return a literal as a node, or None after a report."""
        node = self.meant(given)
        place = self.file.place(node)
        if isinstance(node, (ast.List, ast.Tuple, ast.Set)):
            items = [self.node(item, what) for item in node.elts]
            found = tuple(item for item in items if item is not None)
            return Sequence(found, place) if len(found) == len(items) else None
        if isinstance(node, ast.Dict):
            return self._mapping(list(zip(node.keys, node.values, strict=True)), place, what)
        if isinstance(node, ast.Call) and ast.unparse(node.func) == "dict" and not node.args:
            pairs = [(_keyword(k), k.value) for k in node.keywords]
            return self._mapping(pairs, place, what)
        scalar = self._scalar(node, place)
        if scalar is None:
            shown = ast.unparse(given)
            unknown = isinstance(node, ast.Name)
            self.findings.error(
                "OPG077",
                f"{what}: '{shown[:40]}' is not a literal",
                self.file.place(given),
                why="the file is read and not run: a value is a literal, or a name that the top "
                "level of the same file assigns one to, once",
                fix=f"assign '{shown[:40]}' in this file, or write the value" if unknown else "",
            )
        return scalar

    def _mapping(
        self, pairs: list[tuple[ast.expr | None, ast.expr]], place: Location, what: str
    ) -> Mapping | None:
        entries: dict[str, tuple[Scalar, Node]] = {}
        good = True
        for key, value in pairs:
            if not isinstance(key, ast.Constant) or not isinstance(key.value, str):
                spot = self.file.place(key) if key is not None else place
                self.findings.error("OPG077", f"{what}: a key must be text", spot)
                good = False
                continue
            node = self.node(value, what)
            if key.value in entries:
                spot = self.file.place(key)
                self.findings.error("OPG003", f"duplicate key '{key.value}'", spot)
            elif node is not None:
                entries[key.value] = (name_node(key.value, self.file.place(key)), node)
            good = good and node is not None
        return Mapping(tuple(entries.values()), place) if good else None

    def _scalar(self, node: ast.expr, place: Location) -> Scalar | None:
        if isinstance(node, ast.Constant):
            if isinstance(node.value, str):
                return self.text(node)
            if node.value is None or isinstance(node.value, (bool, int, float)):
                return Scalar(node.value, repr(node.value), place, place)
            return None
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.UAdd)):
            inner = self._scalar(self.meant(node.operand), place)
            if inner is None or type(inner.value) not in (int, float):
                return None
            value = -inner.value if isinstance(node.op, ast.USub) else inner.value
            return Scalar(value, repr(value), place, place)
        path = dotted(node)
        if path in _INFINITIES or ast.unparse(node) in ("float('inf')", "float('-inf')"):
            value = float("-inf") if "-" in ast.unparse(node) else float("inf")
            return Scalar(value, repr(value), place, place)
        if path is not None and path.startswith("torch.") and path[6:] in DTYPES:
            return Scalar(path[6:], path[6:], place, place)
        return None

    def text(self, node: ast.Constant) -> Scalar:
        """Return a text; a plain one on one line knows the place of its characters."""
        place, value = self.file.place(node), str(node.value)
        source = ast.get_source_segment(self.file.text, node) or ""
        plain = len(source) == len(value) + 2 and source[1:-1] == value and "\n" not in value
        if plain:
            body = replace(place, column=place.column + 1, length=max(1, place.length - 2))
            return Scalar(value, value, place, body, True, True)
        text = inspect.cleandoc(value) if "\n" in value else value
        return Scalar(text, text, place, place, False, True)


def _keyword(keyword: ast.keyword) -> ast.expr | None:
    if keyword.arg is None:
        return None
    constant = ast.Constant(keyword.arg)
    return ast.copy_location(constant, keyword)

"""Parse the text form of shape rules to the nodes of ``model.py``.

Forms: ``x`` or ``like x``; ``broadcast(x, y)``; ``[*x[:-1], n, x[0] // 2]``; ``[]``;
``reduce(x, dim, keepdim)``; ``permute(x, perm)``; ``strided_slice(x, begin, end, strides)``; any of
them ``if`` an attr has a value ``else`` another.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass

from msopgen_wrap.diagnostics import Location
from msopgen_wrap.spec.findings import Findings, listed, suggestion
from msopgen_wrap.spec.model import (
    AttrTest,
    DimAttr,
    DimBinary,
    DimConst,
    DimExpr,
    DimGiven,
    DimNumel,
    DimOf,
    DimRank,
    DimScaled,
    DimSlice,
    Pieces,
    ShapeBroadcast,
    ShapeChoice,
    ShapeLike,
    ShapeList,
    ShapePermute,
    ShapeReduce,
    ShapeRule,
    ShapeStridedSlice,
)
from msopgen_wrap.spec.nesting import nesting
from msopgen_wrap.spec.shapes import MAX_RANK

MAX_TEXT = 1000
MAX_DIM = 2**31 - 1

FORMS = (
    "like x, broadcast(x, y), [*x[:-1], n], reduce(x, dim, keepdim), permute(x, perm), "
    "strided_slice(x, begin, end, strides), [] if flag else like x"
)
_BINARY: dict[type[ast.operator], str] = {
    ast.Add: "+",
    ast.Sub: "-",
    ast.Mult: "*",
    ast.FloorDiv: "//",
    ast.Mod: "%",
}
_LIKE = re.compile(r"\blike\s+(?=\S)")
_TESTS: dict[type[ast.cmpop], bool] = {
    ast.Eq: False,
    ast.NotEq: True,
    ast.In: False,
    ast.NotIn: True,
}


@dataclass(frozen=True)
class ShapeNames:
    """What a rule may refer to: input names, and attr name -> attr type.

    Attributes:
        later: inputs that follow the one with the rule, which it may not refer to.
    """

    tensors: tuple[str, ...]
    attrs: Mapping[str, str]
    lists: frozenset[str] = frozenset()
    later: tuple[str, ...] = ()


class _Refused(Exception):
    """Internal: a node of the rule was reported and has no value."""


def parse_shape(
    text: str, names: ShapeNames, location: Location, findings: Findings
) -> ShapeRule | None:
    """Parse one rule; problems go to ``findings`` with columns inside ``location``.

    Args:
        text: the rule, one line.
        names: the inputs and attrs that it may use.
        location: place of the rule's first character.
        findings: receives OPG030 (syntax), OPG031 (unknown name), OPG033 (misuse).
    """
    return _Parser(text, names, location, findings).rule()


def parse_pieces(
    text: str, names: ShapeNames, location: Location, findings: Findings
) -> Pieces | None:
    """Parse ``ends`` or ``ends if condition else []``; arguments and codes as ``parse_shape``."""
    return _Parser(text, names, location, findings).pieces()


class _Parser:
    def __init__(
        self, text: str, names: ShapeNames, location: Location, findings: Findings
    ) -> None:
        self.text = text
        self.names = names
        self.location = location
        self.findings = findings
        self.shift = 0
        self.likes: set[int] = set()  # where the names after ``like`` begin

    # ---- entry ----

    def rule(self) -> ShapeRule | None:
        text = self.text
        if len(text) > MAX_TEXT or "\n" in text.strip() or text.count("[") > 40:
            self.findings.error("OPG030", "the shape rule is too long", self.location)
            return None
        if nesting(text, "(", ")") > 40 or re.search(r"[-+~]\s*([-+~]\s*){20}", text):
            self.findings.error("OPG030", "the shape rule is nested too deeply", self.location)
            return None
        body = text.lstrip()
        self.shift = len(text) - len(body)
        self.likes = {match.end() for match in _LIKE.finditer(body)}
        body = _LIKE.sub(lambda match: " " * len(match.group()), body)
        self.shift += len(body) - len(body.lstrip())
        self.likes = {end - (len(body) - len(body.lstrip())) for end in self.likes}
        body = body.lstrip()
        try:
            tree = ast.parse(body.rstrip(), mode="eval").body
        except SyntaxError as error:
            column = self.location.column + self.shift + max(0, (error.offset or 1) - 1)
            place = Location(self.location.file, self.location.line, column)
            self.findings.error(
                "OPG030", f"cannot read the shape rule '{text}'", place, fix=f"forms: {FORMS}"
            )
            return None
        except (ValueError, MemoryError, RecursionError):
            self.findings.error("OPG030", "cannot read the shape rule", self.location)
            return None
        try:
            return self.top(tree)
        except _Refused:
            return None

    def pieces(self) -> Pieces | None:
        try:
            if len(self.text) > MAX_TEXT:
                raise SyntaxError
            ends: ast.expr = ast.parse(self.text.strip(), mode="eval").body
        except (SyntaxError, ValueError, MemoryError, RecursionError):
            ends = ast.Constant(0)
        test = None
        try:
            if isinstance(ends, ast.IfExp) and ast.unparse(ends.orelse) == "[]":
                test = self.test(ends.test)
                ends = ends.body
            if isinstance(ends, ast.Name):
                return Pieces(self.attr(ends, ("list_int",)), test)
            raise self.refuse(
                "OPG030",
                "this does not say where pieces end",
                ends,
                fix="name a list_int attr: 'ends', or 'ends if how in (0, 1) else []'",
            )
        except _Refused:
            return None

    def place(self, node: ast.AST) -> Location:
        start = getattr(node, "col_offset", 0)
        end = getattr(node, "end_col_offset", start + 1)
        line = self.location.line
        if getattr(node, "lineno", 1) > 1:
            return self.location
        column = self.location.column + self.shift + start
        return Location(self.location.file, line, column, max(1, end - start))

    def refuse(self, code: str, what: str, node: ast.AST, why: str = "", fix: str = "") -> _Refused:
        self.findings.error(code, what, self.place(node), why, fix)
        return _Refused()

    # ---- rules ----

    def top(self, node: ast.expr) -> ShapeRule:
        if isinstance(node, ast.IfExp):
            test = self.test(node.test)
            return ShapeChoice(test, self.top(node.body), self.top(node.orelse))
        if isinstance(node, ast.Name) or node.col_offset in self.likes:
            return ShapeLike(self.tensor(node))
        if isinstance(node, (ast.List, ast.Tuple)):
            return self.dims_list(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            name = node.func.id
            if name == "broadcast":
                self.no_keywords(node)
                if not node.args:
                    raise self.refuse("OPG030", "broadcast() needs at least one input", node)
                return ShapeBroadcast(tuple(self.tensor(a) for a in node.args))
            if name == "reduce":
                return self.reduce(node)
            if name == "permute":
                return self.permute(node)
            if name == "strided_slice":
                return self.strided_slice(node)
            hint = suggestion(name, ["broadcast", "reduce", "permute", "strided_slice"])
            raise self.refuse(
                "OPG031", f"unknown shape function '{name}'", node, fix=hint or f"forms: {FORMS}"
            )
        raise self.refuse("OPG030", "this is not a shape rule", node, fix=f"forms: {FORMS}")

    def test(self, node: ast.expr) -> AttrTest:
        """Read the condition of ``a if condition else b``."""
        if isinstance(node, ast.Name):
            return AttrTest(self.attr(node, ("bool",)), (True,))
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            if isinstance(node.operand, ast.Name):
                return AttrTest(self.attr(node.operand, ("bool",)), (False,))
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            operation, value = node.ops[0], node.comparators[0]
            several = isinstance(operation, (ast.In, ast.NotIn))
            if isinstance(node.left, ast.Name) and type(operation) in _TESTS:
                name = self.attr(node.left, ("str", "int"))
                if several and not (isinstance(value, (ast.Tuple, ast.List)) and value.elts):
                    raise self.refuse("OPG030", "'in' takes a list of values", value)
                items = value.elts if isinstance(value, (ast.Tuple, ast.List)) else [value]
                values = tuple(self.value(item, self.names.attrs[name]) for item in items)
                return AttrTest(name, values, _TESTS[type(operation)])
        raise self.refuse(
            "OPG030",
            "this is not a condition of a shape rule",
            node,
            why="it tests the value of one attr",
            fix="write how == 'none', how in ('a', 'b'), flag or not flag",
        )

    def value(self, node: ast.expr, kind: str) -> str | int:
        """Read a literal of an attr's type."""
        if kind == "int":
            return self.integer(node)
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        raise self.refuse("OPG033", "a text in quotes is expected here", node)

    def no_keywords(self, node: ast.Call) -> None:
        for keyword in node.keywords:
            raise self.refuse("OPG030", f"unexpected argument '{keyword.arg}='", keyword.value)

    def dims_list(self, node: ast.List | ast.Tuple) -> ShapeList:
        items: list[DimExpr | DimSlice] = []
        failed = False
        for element in node.elts:
            try:
                if isinstance(element, ast.Starred):
                    items.append(self.dim_slice(element.value))
                else:
                    items.append(self.dim(element))
            except _Refused:
                failed = True
        if failed:
            raise _Refused
        fixed = sum(1 for i in items if not isinstance(i, DimSlice))
        if fixed > MAX_RANK:
            raise self.refuse(
                "OPG033", f"{fixed} dimensions", node, why=f"a tensor has at most {MAX_RANK}"
            )
        return ShapeList(tuple(items))

    def permute(self, node: ast.Call) -> ShapePermute:
        self.no_keywords(node)
        if len(node.args) != 2 or not isinstance(node.args[1], ast.Name):
            raise self.refuse(
                "OPG030", "permute() takes an input and a list attr: permute(x, perm)", node
            )
        return ShapePermute(self.tensor(node.args[0]), self.attr(node.args[1], ("list_int",)))

    def strided_slice(self, node: ast.Call) -> ShapeStridedSlice:
        self.no_keywords(node)
        names = [argument for argument in node.args[1:] if isinstance(argument, ast.Name)]
        if not 4 <= len(node.args) <= 9 or len(names) < len(node.args) - 1:
            raise self.refuse(
                "OPG030",
                "strided_slice() takes an input, three list attrs and up to five masks, int attrs",
                node,
                fix="strided_slice(x, begin, end, strides, begin_mask, end_mask, ellipsis_mask, "
                "new_axis_mask, shrink_axis_mask)",
            )
        lists = tuple(self.attr(name, ("list_int",)) for name in names[:3])
        masks = tuple(self.attr(name, ("int",)) for name in names[3:])
        return ShapeStridedSlice(self.tensor(node.args[0]), lists, masks)

    def reduce(self, node: ast.Call) -> ShapeReduce:
        given: dict[str, ast.expr] = {}
        order = ("x", "dim", "keepdim")
        if len(node.args) > 3:
            raise self.refuse("OPG030", "reduce() takes (x, dim, keepdim)", node)
        given.update(zip(order, node.args, strict=False))
        for keyword in node.keywords:
            if keyword.arg not in ("dim", "keepdim") or keyword.arg in given:
                raise self.refuse("OPG030", f"unexpected argument '{keyword.arg}='", keyword.value)
            given[keyword.arg] = keyword.value
        if "x" not in given or "dim" not in given:
            raise self.refuse("OPG030", "reduce() needs an input and dims: reduce(x, dim)", node)
        tensor = self.tensor(given["x"])
        return ShapeReduce(tensor, self.reduce_dims(given["dim"]), self.flag(given.get("keepdim")))

    def reduce_dims(self, node: ast.expr) -> tuple[int, ...] | str:
        if isinstance(node, (ast.Tuple, ast.List)):
            return tuple(self.integer(e) for e in node.elts)
        if isinstance(node, ast.Name):
            return self.attr(node, ("int", "list_int"))
        return (self.integer(node),)

    def flag(self, node: ast.expr | None) -> bool | str:
        if node is None:
            return False
        if isinstance(node, ast.Constant) and isinstance(node.value, bool):
            return node.value
        if isinstance(node, ast.Name):
            if node.id in ("true", "false"):
                return node.id == "true"
            return self.attr(node, ("bool",))
        raise self.refuse("OPG033", "keepdim must be true, false or a bool attr", node)

    # ---- names ----

    def tensor(self, node: ast.expr) -> str:
        if not isinstance(node, ast.Name):
            raise self.refuse("OPG033", "an input name is expected here", node)
        if node.id in self.names.tensors:
            return node.id
        if node.id in self.names.attrs:
            raise self.refuse("OPG033", f"'{node.id}' is an attr, not an input", node)
        if node.id in self.names.later:
            raise self.refuse(
                "OPG031",
                f"input '{node.id}' is named behind the one whose shape rule reads it",
                node,
                why=f"inputs named before: {listed(self.names.tensors) or 'none'}",
                fix=f"list '{node.id}' first, or give it the rule",
            )
        hint = suggestion(node.id, self.names.tensors)
        raise self.refuse(
            "OPG031",
            f"unknown input '{node.id}' in the shape rule",
            node,
            why=f"inputs: {listed(self.names.tensors) or 'none'}",
            fix=hint,
        )

    def attr(self, node: ast.Name, types: tuple[str, ...]) -> str:
        kind = self.names.attrs.get(node.id)
        if kind is None:
            hint = suggestion(node.id, [*self.names.attrs, *self.names.tensors])
            free = (
                "a size of an input is written x[0]; an input whose sizes nothing gives has "
                "`rank: 2` in place of a shape, and compute says which are fixed: "
                "`assert x.shape[1] == 3`"
            )
            raise self.refuse(
                "OPG031",
                f"unknown name '{node.id}' in the shape rule",
                node,
                why=f"attrs: {listed(self.names.attrs) or 'none'}",
                fix=hint or free,
            )
        if kind not in types:
            raise self.refuse(
                "OPG033",
                f"attr '{node.id}' has type {kind}",
                node,
                why=f"this place takes {' or '.join(types)}",
            )
        return node.id

    def integer(self, node: ast.expr) -> int:
        sign = 1
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            sign, node = -1, node.operand
        if not isinstance(node, ast.Constant) or type(node.value) is not int:
            raise self.refuse("OPG033", "an integer literal is expected here", node)
        if node.value > MAX_DIM:
            raise self.refuse("OPG033", f"{node.value} is too large", node)
        return sign * node.value

    # ---- dimensions ----

    def axis(self, node: ast.expr) -> int:
        value = self.integer(node)
        if not -MAX_RANK <= value < MAX_RANK:
            raise self.refuse("OPG033", f"axis {value} is out of range", node)
        return value

    def dim_slice(self, node: ast.expr) -> DimSlice:
        if isinstance(node, ast.Name):
            return DimSlice(self.tensor(node), None, None)
        if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Slice):
            tensor = self.tensor(node.value)
            if node.slice.step is not None:
                raise self.refuse("OPG033", "a slice of dimensions has no step", node)
            start = self.axis(node.slice.lower) if node.slice.lower else None
            stop = self.axis(node.slice.upper) if node.slice.upper else None
            return DimSlice(tensor, start, stop)
        raise self.refuse("OPG030", "write '*x[:-1]' or '*x'", node)

    def dim(self, node: ast.expr) -> DimExpr:
        if isinstance(node, (ast.Constant, ast.UnaryOp)):
            return self.literal(node)
        if isinstance(node, ast.Name):
            if node.id in self.names.tensors:
                raise self.refuse(
                    "OPG033",
                    f"'{node.id}' is a tensor, not a dimension",
                    node,
                    fix=f"'*{node.id}' for all its dimensions, '{node.id}[0]' for one",
                )
            return DimAttr(self.attr(node, ("int",)))
        if isinstance(node, ast.Subscript):
            return self.subscript(node)
        if isinstance(node, ast.BinOp):
            op = _BINARY.get(type(node.op))
            if op is None:
                fix = "use '//'" if isinstance(node.op, ast.Div) else "known: + - * // % min max"
                raise self.refuse("OPG030", "unknown operator in a dimension", node, fix=fix)
            return DimBinary(op, self.dim(node.left), self.dim(node.right))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            return self.call(node, node.func.id)
        if isinstance(node, ast.IfExp):
            return self.given(node)
        raise self.refuse("OPG030", "this is not a dimension", node)

    def given(self, node: ast.IfExp) -> DimExpr:
        """Read ``x[1] if x is not None else 1``, or its two sides in the other order."""
        test = node.test
        if (
            not isinstance(test, ast.Compare)
            or not isinstance(test.ops[0], (ast.Is, ast.IsNot))
            or len(test.ops) != 1
            or not isinstance(test.comparators[0], ast.Constant)
            or test.comparators[0].value is not None
        ):
            raise self.refuse(
                "OPG030",
                "this is not a condition of a dimension",
                test,
                why="it tests whether an optional input is given",
                fix="write x is not None",
            )
        sides = (self.dim(node.body), self.dim(node.orelse))
        given, absent = sides if isinstance(test.ops[0], ast.IsNot) else sides[::-1]
        return DimGiven(self.tensor(test.left), given, absent)

    def literal(self, node: ast.expr) -> DimExpr:
        if isinstance(node, ast.UnaryOp) and not isinstance(node.operand, ast.Constant):
            if isinstance(node.op, ast.USub):
                return DimBinary("-", DimConst(0), self.dim(node.operand))
            raise self.refuse("OPG030", "unknown operator in a dimension", node)
        return DimConst(self.integer(node))

    def subscript(self, node: ast.Subscript) -> DimExpr:
        if isinstance(node.slice, ast.Slice):
            raise self.refuse("OPG030", "a slice needs a star", node, fix="write '*x[:-1]'")
        if isinstance(node.value, ast.Name) and node.value.id in self.names.attrs:
            name = self.attr(node.value, ("list_int",))
            return DimAttr(name, self.axis(node.slice))
        return DimOf(self.tensor(node.value), self.axis(node.slice))

    def scaled(self, node: ast.Call, name: str) -> DimExpr:
        """Read ``floor(dimension * factor)``, where a float attr is the factor."""
        product = node.args[0] if len(node.args) == 1 else None
        if not isinstance(product, ast.BinOp) or not isinstance(product.op, ast.Mult):
            raise self.refuse(
                "OPG030",
                f"{name}() takes a dimension times a float attr",
                node,
                fix=f"write '{name}(x[0] * scale)'",
            )
        left, right = product.left, product.right
        if self.factor_name(left) is not None:
            left, right = right, left
        attr = self.factor_name(right)
        if attr is None:
            floats = [n for n, kind in self.names.attrs.items() if kind in ("float", "list_float")]
            raise self.refuse(
                "OPG033",
                f"no factor of {name}() is a float attr",
                node,
                why=f"float attrs: {listed(floats) or 'none'}",
                fix="a product of integers needs no rounding",
            )
        if isinstance(right, ast.Subscript):
            factor = DimAttr(self.attr(attr, ("list_float",)), self.axis(right.slice))
        else:
            factor = DimAttr(self.attr(attr, ("float",)))
        return DimScaled(self.dim(left), factor, name == "ceil")

    def factor_name(self, node: ast.expr) -> ast.Name | None:
        """Return the name of the float attr that an expression is, or is an element of."""
        name = node.value if isinstance(node, ast.Subscript) else node
        if isinstance(name, ast.Name) and "float" in self.names.attrs.get(name.id, ""):
            return name
        return None

    def call(self, node: ast.Call, name: str) -> DimExpr:
        self.no_keywords(node)
        if name in ("rank", "numel"):
            if len(node.args) != 1:
                raise self.refuse("OPG030", f"{name}() takes one input", node)
            tensor = self.tensor(node.args[0])
            return DimRank(tensor) if name == "rank" else DimNumel(tensor)
        if name in ("min", "max"):
            if len(node.args) < 2:
                raise self.refuse("OPG030", f"{name}() takes two or more dimensions", node)
            dims = [self.dim(a) for a in node.args]
            result = dims[0]
            for other in dims[1:]:
                result = DimBinary(name, result, other)
            return result
        if name in ("floor", "ceil"):
            return self.scaled(node, name)
        hint = suggestion(name, ["rank", "numel", "min", "max", "floor", "ceil"])
        raise self.refuse("OPG031", f"unknown function '{name}' in a dimension", node, fix=hint)

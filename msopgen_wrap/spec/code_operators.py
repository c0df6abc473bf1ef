"""Check the operators, sequences and comprehensions of compute."""

from __future__ import annotations

import ast

from msopgen_wrap.spec.code_calls import CallChecker
from msopgen_wrap.spec.code_values import (
    ANY,
    BOOL,
    DTYPE,
    FLOAT,
    INT,
    MAX_INT,
    NONE,
    NUMBERS,
    ROOTS,
    SEQUENCES,
    SHAPE,
    STR,
    TENSOR,
    TENSORS,
    TUPLE,
    article,
)


class OperatorChecker(CallChecker):
    """Adds operators, sequences, indexing and comprehensions."""

    # ---- operators ----

    def kind_BinOp(self, node: ast.BinOp) -> str:
        left, right = self.kind(node.left), self.kind(node.right)
        operation = type(node.op)
        if STR in (left, right):
            return self.refuse("OPG042", "text cannot be computed with", node)
        if NONE in (left, right):
            return self.refuse("OPG042", "None cannot be computed with", node)
        sequences = [k for k in (left, right) if k in SEQUENCES]
        if sequences:
            if operation is ast.Add:
                return sequences[0]
            return self.refuse(
                "OPG042", "a list can only be joined with '+'", node, fix="use tensor operations"
            )
        whole = (INT, BOOL)
        if left in whole and right in whole and operation in (ast.Pow, ast.LShift):
            return self.integer_power(node)
        if TENSOR in (left, right):
            return TENSOR
        if ANY in (left, right):
            return ANY
        if operation is ast.Div or FLOAT in (left, right):
            return FLOAT
        return INT

    def integer_power(self, node: ast.BinOp) -> str:
        left, right = node.left, node.right
        if (
            isinstance(left, ast.Constant)
            and isinstance(right, ast.Constant)
            and isinstance(left.value, int)
            and isinstance(right.value, int)
            and 0 <= right.value <= 62
            and abs(left.value) ** max(1, right.value) <= MAX_INT
            and (isinstance(node.op, ast.Pow) or left.value << right.value <= MAX_INT)
        ):
            return INT
        if (
            isinstance(node.op, ast.Pow)
            and isinstance(right, ast.Constant)
            and right.value in (2, 3)
        ):
            return INT
        return self.refuse(
            "OPG046",
            "this integer power or shift is not bounded",
            node,
            why="Python integers grow without limit",
            fix="use a float base, e.g. 2.0 ** n",
        )

    def kind_UnaryOp(self, node: ast.UnaryOp) -> str:
        kind = self.kind(node.operand)
        if isinstance(node.op, ast.Not):
            if kind == TENSOR:
                return self.refuse(
                    "OPG047", "'not' reads tensor data", node, fix="use torch.logical_not or '~'"
                )
            return BOOL
        if kind in (STR, NONE, *SEQUENCES):
            return self.refuse("OPG042", f"{article(kind)} cannot be computed with", node)
        return INT if kind == BOOL else kind

    def kind_BoolOp(self, node: ast.BoolOp) -> str:
        kinds = [self.kind(v) for v in node.values]
        if TENSOR in kinds:
            word = "and" if isinstance(node.op, ast.And) else "or"
            sign = "&" if word == "and" else "|"
            return self.refuse(
                "OPG047",
                f"'{word}' reads tensor data",
                node,
                fix=f"use '{sign}' or torch.logical_{word}",
            )
        return kinds[0] if len(set(kinds)) == 1 else ANY

    def kind_Compare(self, node: ast.Compare) -> str:
        kinds = [self.kind(node.left), *(self.kind(c) for c in node.comparators)]
        identity = all(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops)
        if identity:
            if kinds[-1] != NONE or len(kinds) != 2:
                return self.refuse("OPG042", "'is' only compares with None", node, fix="use '=='")
            return BOOL
        if any(isinstance(op, (ast.Is, ast.IsNot)) for op in node.ops):
            return self.refuse("OPG042", "'is' only compares with None", node)
        if TENSOR in kinds:
            if len(kinds) > 2:
                return self.refuse(
                    "OPG047",
                    "a chained comparison reads tensor data",
                    node,
                    fix="write (a < x) & (x < b)",
                )
            if any(isinstance(op, (ast.In, ast.NotIn)) for op in node.ops):
                return self.refuse("OPG047", "'in' reads tensor data", node)
            return TENSOR
        return BOOL

    def kind_IfExp(self, node: ast.IfExp) -> str:
        self.condition(node.test, node)
        kinds = {self.kind(node.body), self.kind(node.orelse)}
        if len(kinds) == 1:
            return kinds.pop()
        return TENSOR if TENSOR in kinds and NONE not in kinds else ANY

    def kind_Tuple(self, node: ast.Tuple) -> str:
        return self.sequence(node.elts)

    def kind_List(self, node: ast.List) -> str:
        return self.sequence(node.elts)

    def sequence(self, elements: list[ast.expr]) -> str:
        kinds = set()
        for element in elements:
            if isinstance(element, ast.Starred):
                self.kind(element.value)
            else:
                kinds.add(self.kind(element))
        if kinds and kinds <= {INT}:
            return SHAPE
        return TENSORS if kinds == {TENSOR} else TUPLE

    def kind_Starred(self, node: ast.Starred) -> str:
        return self.refuse("OPG042", "'*' is only allowed in calls and lists", node)

    def kind_Subscript(self, node: ast.Subscript) -> str:
        base = self.kind(node.value)
        single = self.index(node.slice)
        if base == SHAPE:
            return INT if single else SHAPE
        if base == NUMBERS:
            return ANY if single else NUMBERS
        if base in (TENSORS, TUPLE):
            return TENSOR if single else base
        if base in (INT, FLOAT, BOOL, NONE, DTYPE, STR):
            return self.refuse("OPG045", f"{article(base)} has no elements", node)
        return TENSOR if base == TENSOR else ANY

    def index(self, node: ast.expr) -> bool:
        """Check an index; return whether it picks one element."""
        if isinstance(node, ast.Slice):
            for part in (node.lower, node.upper, node.step):
                if part is not None:
                    self.kind(part)
            return False
        if isinstance(node, ast.Tuple):
            for element in node.elts:
                self.index(element)
            return True
        if isinstance(node, ast.Constant) and (node.value is Ellipsis or node.value is None):
            return True
        self.kind(node)
        return True

    def kind_ListComp(self, node: ast.ListComp) -> str:
        if len(node.generators) != 1 or node.generators[0].is_async or self.loops:
            return self.refuse("OPG042", "only one 'for' is allowed in a comprehension", node)
        generator = node.generators[0]
        self.loops += 1
        source = generator.iter
        kind, element = self._walked(source)
        if kind not in SEQUENCES:
            self.loops -= 1
            return self.refuse(
                "OPG042",
                "a comprehension runs over a list input or zip() of them",
                source,
                why="the number of steps must be bounded by the inputs",
            )
        saved = dict(self.kinds)
        self._assign_targets(generator, element)
        for test in generator.ifs:
            self.condition(test, node)
        result = self.kind(node.elt)
        self.kinds = saved
        self.loops -= 1
        return TENSORS if result in (TENSOR, ANY) else TUPLE

    def _walked(self, source: ast.expr) -> tuple[str, str]:
        """Return the kind of what a comprehension runs over, and that of an element of it."""
        if isinstance(source, ast.Name):
            kind = self.kind(source)
            return kind, _element_kind(kind)
        if (
            isinstance(source, ast.Call)
            and isinstance(source.func, ast.Name)
            and source.func.id in ("zip", "enumerate")
        ):
            kinds = self.arguments(source, "")
            if not kinds or not all(k in SEQUENCES for k in kinds):
                self.refuse("OPG042", "zip() takes list inputs and list attrs", source)
            return TENSORS, ANY
        return ANY, TENSOR

    def _assign_targets(self, generator: ast.comprehension, element: str) -> None:
        """Give the names that a comprehension assigns the kinds of what it runs over."""
        target, source = generator.target, generator.iter
        zipped = source.args if isinstance(source, ast.Call) else []
        for i, name in enumerate(target.elts if isinstance(target, ast.Tuple) else [target]):
            if not isinstance(name, ast.Name):
                self.refuse("OPG042", "only names can be assigned", name)
                continue
            item = element
            if zipped and isinstance(source, ast.Call) and isinstance(source.func, ast.Name):
                if source.func.id == "zip" and i < len(zipped):
                    item = _element_kind(self.quiet_kind(zipped[i]))
                elif source.func.id == "enumerate":
                    item = INT if i == 0 else TENSOR
            if name.id in ROOTS or name.id.startswith("__") or name.id in self.scope.attrs:
                self.refuse("OPG042", f"'{name.id}' cannot be assigned", name)
                continue
            self.kinds[name.id] = item


def _element_kind(kind: str) -> str:
    """Return the kind of an element of a sequence."""
    return TENSOR if kind in (TENSORS, TUPLE) else INT if kind == SHAPE else FLOAT

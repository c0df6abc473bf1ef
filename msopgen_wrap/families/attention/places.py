"""Read what an attention makes of the places of scores: conditions, masks, and what they choose.

A causal mask compares the number of a key with that of a query; ``tril`` and ``triu`` do so, too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from msopgen_wrap.families.attention.scores import (
    ONE,
    ZERO,
    Choice,
    Condition,
    Line,
    Literal,
    Operand,
    Scores,
    Stage,
)
from msopgen_wrap.families.contract.reading import Matrices, ProductLowerer
from msopgen_wrap.graph.scalars import Const, ScalarExpr, fold
from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, VIEW_OPS, Node
from msopgen_wrap.schedule.views import View

CASTS = {"prims.convert_element_type.default", "aten._to_copy.default", "aten.to.dtype"}
FILLED = {
    "aten.full.default": 1,
    "aten.full_like.default": 1,
    "aten.scalar_tensor.default": 0,
    "aten.zeros.default": None,
    "aten.zeros_like.default": None,
    "aten.ones.default": None,
    "aten.ones_like.default": None,
}
COMPARISONS = ("eq", "ne", "le", "lt", "ge", "gt")
_MASK_STEPS = ("unsqueeze", "squeeze", "permute", "slice", "select", "reshape")
INFINITE = Const(-math.inf)
# What the name of a call in ATen says, without its overload.
NOT = ("logical_not", "bitwise_not")
AND = ("logical_and", "bitwise_and")
OR = ("logical_or", "bitwise_or")
CONDITIONS = (*NOT, *AND, *OR, *COMPARISONS, "where")
_NO_NUMBERS = (Scores, Stage, Line, Condition, Choice, Matrices)


@dataclass
class PlaceReader(ProductLowerer):
    """Reads conditions on scores, and numbers, of the graph of an attention."""

    def _scalar(self, node: Node, name: str) -> Any:
        """Return a number of the host, also one that a condition on numbers chooses."""
        operands: Any = node.args
        if name in ("gt", "ge", "lt", "le"):
            sides = [self._number(a) for a in operands[:2]]
            op = ">" if name in ("gt", "lt") else ">="
            return fold(op, *(sides if name.startswith("g") else sides[::-1]))
        if name == "where":
            holds, one, other = (self._number(a) for a in operands)
            return fold("+", fold("if", one, holds), fold("if", other, fold("-", ONE, holds)))
        return self._call(node)

    def _filled(self, node: Node, target: str) -> Any:
        place = FILLED[target]
        if place is None:
            return ONE if "ones" in target else ZERO
        return self._number(node.args[place])

    def _number(self, value: Any) -> ScalarExpr:
        if isinstance(value, Node) and isinstance(self.values.get(value), _NO_NUMBERS):
            raise self.more(value)
        return self.scalar_expr(value)

    def _mask_view(self, node: Node, view: View) -> View:
        """Return a tensor that broadcasts to the scores, with rows that lie without gaps."""
        operand = Operand.of(view)
        strange = any(step.op not in _MASK_STEPS for step in operand.steps)
        # heads that share a mask read it from the workspace, one copy each
        if strange or operand.counted is not None or operand.repeat != ONE:
            raise self.more(node)
        return replace(operand.plain(), leading=0, rank=operand.rank - operand.leading)

    def _condition(self, value: Any, node: Node) -> Condition:
        found = self.values.get(value) if isinstance(value, Node) else value
        if isinstance(found, Condition):
            return found
        given = found if isinstance(found, View) and found.counted is None else None
        if given is not None and self.spec.param(given.tensor).dtypes[self.combo] == "bool":
            return Condition((Literal(self._mask_view(node, given)),))
        if isinstance(found, (bool, Const)):
            true = bool(found.value if isinstance(found, Const) else found)
            return Condition((), true)
        raise self.more(node)

    def _on_places(self, node: Node, name: str, target: str) -> Any:
        """Return a condition, or numbers that follow from the place of a score."""
        args: Any = node.args
        first = self.values.get(args[0]) if args and isinstance(args[0], Node) else None
        if target in CASTS | IDENTITY or target in VIEW_OPS | RESHAPES:
            if isinstance(first, View):
                return super()._value(node)
            source: Any = args[0]
            if target == "aten.expand.default" or target in CASTS | IDENTITY:
                return first
            if isinstance(first, (Condition, Choice)) and _leading_ones(source, node, target):
                return first
            raise self.more(node)
        if name in ("add", "sub") and not node.kwargs:
            lines = [self._line(a, node) for a in args[:2]]
            return lines[0].plus(lines[1], 1 if name == "add" else -1)
        if name in NOT:
            return self._condition(args[0], node).opposite()
        if name in (*AND, *OR):
            sides = [self._condition(a, node) for a in args]
            joined = sides[0].joined(sides[1], name in AND)
            if joined is None:
                raise self.more(node)
            return joined
        if name == "where":
            numbers = [self._number(a) for a in args[1:]]
            return Choice(self._condition(args[0], node), *numbers)
        if name in COMPARISONS:
            return self._compared(node, name)
        raise self.more(node)

    def _compared(self, node: Node, name: str) -> Condition:
        one: Any = node.args[0]
        value = self.values.get(one)
        if name in ("eq", "ne") and not isinstance(value, Line):
            return self._equal(node, value, name == "eq")
        apart = self._line(one, node).plus(self._line(node.args[1], node), -1)
        if name in ("ge", "lt"):  # less one, these are gt and le
            apart = replace(apart, first=fold("+", apart.first, ONE))
        below = name in ("le", "lt")
        if (apart.by_row, apart.by_key) == (1, -1):
            # row - key + first > 0 is key - row - first < 0
            apart = Line(-1, 1, fold("-", fold("neg", apart.first), Const(-1)))
            below = not below
        if (apart.by_row, apart.by_key) != (-1, 1) or name in ("eq", "ne"):
            raise self.more(node)
        return Condition((Literal(diagonal=fold("neg", apart.first), true=below),))

    def _equal(self, node: Node, value: Any, equal: bool) -> Condition:
        """Return whether a tensor of two numbers, or of bool, has one of them."""
        number = self._number(node.args[1])
        if isinstance(value, Choice):
            holds = [value.number == number, value.other == number]
            if holds[0] != holds[1]:
                return value.condition if holds[0] == equal else value.condition.opposite()
            raise self.more(node)
        condition = self._condition(node.args[0], node)
        if not isinstance(number, Const) or number.value not in (0, 1):
            raise self.more(node)
        return condition if bool(number.value) == equal else condition.opposite()

    def _line(self, value: Any, node: Node) -> Line:
        found = self.values.get(value) if isinstance(value, Node) else value
        if isinstance(found, Line):
            return found
        if isinstance(found, View):
            return self._counted_line(found, node)
        return Line(first=self._number(value))

    def _counted_line(self, view: View, node: Node) -> Line:
        counted = view.counted
        if counted is None or counted.floating or counted.shape or counted.step != ONE:
            raise self.more(node)
        axis = -1
        for step in view.steps:
            if step.op != "unsqueeze":
                raise self.more(node)
            axis -= step.axis >= axis
        if axis not in (-1, -2):
            raise self.more(node)
        return Line(int(axis == -2), int(axis == -1), counted.start)


def all_same(first: Any, second: Any) -> bool:
    """Whether two shapes are."""
    return len(first) == len(second) and all(map(same_size, first, second))


def _leading_ones(source: Node, node: Node, target: str) -> bool:
    """Whether a view only adds axes in front."""
    if not (target.startswith("aten.unsqueeze") or target in RESHAPES):
        return False
    before, after = list(source.meta["val"].shape), list(node.meta["val"].shape)
    more = after[: max(0, len(after) - len(before))]
    return all(isinstance(s, int) and s == 1 for s in more) and all_same(before, after[len(more) :])

"""Bounds of 64-bit integers in a graph, as expressions that the host can check.

PyTorch counts in int64: an index is int64 without anyone having asked for it. Vector instructions
have int32, which is exact for values between bounds that int32 holds. The bounds follow from
lengths of axes, literals and attrs; those that are no literals are checked by the tiling function.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.graph.scalars import Const, ScalarExpr, fold, has_attr, is_integer
from msopgen_wrap.schedule.views import Counted
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
Interval = tuple[ScalarExpr, ScalarExpr]

# Tiling functions refuse longer rows where a kernel gives positions.
MOST_POSITIONS = 2**24
_INT32 = (Const(-(2**31)), Const(2**31 - 1))
_DTYPES: dict[str, Interval] = {
    "bool": (Const(0), Const(1)),
    "int8": (Const(-128), Const(127)),
    "uint8": (Const(0), Const(255)),
    "int16": (Const(-(2**15)), Const(2**15 - 1)),
    "int32": _INT32,
}
_CHOICES = {"where": (1, 2), "maximum": (0, 1), "minimum": (0, 1)}


def _least(values: list[ScalarExpr]) -> ScalarExpr:
    return functools.reduce(functools.partial(fold, "min"), dict.fromkeys(values))


def _greatest(values: list[ScalarExpr]) -> ScalarExpr:
    return functools.reduce(functools.partial(fold, "max"), dict.fromkeys(values))


def _sum(a: Interval, b: Interval) -> Interval:
    return fold("+", a[0], b[0]), fold("+", a[1], b[1])


def _difference(a: Interval, b: Interval) -> Interval:
    return fold("-", a[0], b[1]), fold("-", a[1], b[0])


def _product(a: Interval, b: Interval) -> Interval:
    ends = [fold("*", x, y) for x in a for y in b]
    return _least(ends), _greatest(ends)


def _total(terms: Interval, count: ScalarExpr | None) -> Interval | None:
    """Return the bounds of a sum; None where not even two of the terms need to fit int32."""
    twice = [2 * end.value for end in terms if isinstance(end, Const)]
    if count is None or not all(-(2**31) <= end < 2**31 for end in twice):
        return None
    return _product(terms, (count, count))


def _of_signs(factors: Interval) -> Interval | None:
    """Return the bounds of products of any number of factors: only -1, 0 and 1 have any."""
    least, greatest = factors
    if not isinstance(least, Const) or not isinstance(greatest, Const):
        return None
    if least.value < -1 or greatest.value > 1:
        return None
    return Const(min(0, least.value)), Const(1)


def _remainders(divisors: Interval | None) -> Interval | None:
    """Return the bounds of remainders, which have the sign of a literal divisor."""
    divisor = _literal(divisors)
    return (Const(min(divisor + 1, 0)), Const(max(divisor - 1, 0))) if divisor else None


def _quotients(dividends: Interval, divisors: Interval | None) -> Interval | None:
    """Return the bounds of whole quotients by a positive literal, rounded in any direction."""
    divisor = _literal(divisors)
    return hull([dividends, (Const(0), Const(0))]) if divisor and divisor > 0 else None


def _literal(interval: Interval | None) -> int | None:
    if interval is None or interval[0] != interval[1] or not isinstance(interval[0], Const):
        return None
    return int(interval[0].value)


def _fits_int32(interval: Interval) -> bool:
    """Whether values between these bounds are never beyond int32.

    Literals are looked at, and lengths of axes are below that; an attr may be any number.
    """
    if any(map(has_attr, interval)):
        return False
    numbers = [end.value for end in interval if isinstance(end, Const)]
    return all(-(2**31) <= number < 2**31 for number in numbers)


def hull(intervals: list[Interval]) -> Interval:
    """Return the bounds of values that lie in one of several intervals."""
    return _least([i[0] for i in intervals]), _greatest([i[1] for i in intervals])


def counted(length: ScalarExpr, start: ScalarExpr, step: ScalarExpr) -> Interval:
    """Return the bounds of ``start + step * i`` for ``i`` below ``length``.

    The start is always within them: without it no numbers at all (a length of 0) would end before
    they begin, and the host would refuse empty tensors.
    """
    if isinstance(step, Const):
        last = fold("+", start, fold("*", step, fold("-", length, Const(1))))
        rises = step.value >= 0
        return (start, _greatest([start, last])) if rises else (_least([start, last]), start)
    steps = fold("max", Const(0), fold("-", length, Const(1)))
    last = fold("+", start, fold("*", step, steps))
    return hull([(start, start), (last, last)])


@dataclass
class Intervals:
    """Bounds of the integer values of a graph.

    Attributes:
        numbers: what gives the scalar expression of a node, None for a tensor.
        indices: what gives the numbers that a node counts from the index, None for any other.
        elements: what gives how many elements a reduction joins.
        handed: what gives the bounds of a placeholder, None for an input.
        known: node -> its bounds, None where there are none.
    """

    numbers: Callable[[Node], ScalarExpr | None]
    indices: Callable[[Node], Counted | None]
    elements: Callable[[Node], ScalarExpr | None] = lambda node: None
    handed: Callable[[Node], Interval | None] = lambda node: None
    known: dict[Node, Interval | None] = field(default_factory=dict)

    def of(self, value: Any) -> Interval | None:
        """Return the bounds of a node or number; None where nothing is known."""
        if not isinstance(value, Node):
            integer = isinstance(value, int)
            return (Const(int(value)), Const(int(value))) if integer else None
        if value not in self.known:
            self.known[value] = self._of_node(value)
        return self.known[value]

    def _of_node(self, node: Node) -> Interval | None:
        expr = self.numbers(node)
        if expr is not None:
            return (expr, expr) if is_integer(expr) else None
        index = self.indices(node)
        if index is not None and not index.floating:
            return counted(index.length, index.start, index.step)
        tensor = node.meta.get("val")
        if not isinstance(tensor, torch.Tensor):
            return None
        dtype = str(tensor.dtype).removeprefix("torch.")
        if dtype not in ("int32", "int64"):
            return _DTYPES.get(dtype)
        found = self._of_call(node) if node.op == "call_function" else self.handed(node)
        if dtype == "int64":
            return found
        # what may wrap lies anywhere
        return found if found is not None and _fits_int32(found) else _INT32

    # One case per operator; splitting would hide the table.
    def _of_call(self, node: Node) -> Interval | None:
        name = str(node.target).removeprefix("aten.").removeprefix("opgen.").split(".")[0]
        arguments = [self.of(a) for a in node.args if not isinstance(a, (list, tuple))]
        first = arguments[0] if arguments else None
        if name in _CHOICES:
            chosen = [arguments[i] for i in _CHOICES[name]]
            if name == "where":
                chosen = [
                    self._narrowed(bounds, node.args[i], node.args[0], holds=i == 1)
                    for bounds, i in zip(chosen, _CHOICES[name], strict=True)
                ]
            both = [i for i in chosen if i is not None]
            return hull(both) if len(both) == len(chosen) else None
        if name in ("full", "full_like", "scalar_tensor"):
            return arguments[-1]
        if name in ("zeros", "zeros_like", "ones", "ones_like"):
            value = Const(int("ones" in name))
            return value, value
        if name == "clamp":
            return self._clamped(first, *arguments[1:])
        if name in ("argmax", "argmin"):
            return Const(0), Const(MOST_POSITIONS - 1)
        if first is None:
            return None
        if name in _OF_BITS and None not in arguments:
            return _DTYPES["int32"]
        if name in ("bitwise_left_shift", "__lshift__") and isinstance(node.args[1], int):
            power = Const(2 ** min(max(node.args[1], 0), 64))
            return _product(first, (power, power))
        if name == "remainder" and len(arguments) > 1:
            return _remainders(arguments[1])
        if name in ("div", "floor_divide") and len(arguments) > 1:
            return _quotients(first, arguments[1])
        if name == "abs":
            return _least([Const(0), *first]), _greatest([fold("neg", first[0]), first[1]])
        if name == "sum":
            return _total(first, self.elements(node))
        if name in ("cumsum", "reversed_cumsum"):
            total = _total(first, self.elements(node))
            return total and hull([first, total])
        if name in ("prod", "cumprod", "reversed_cumprod"):
            return _of_signs(first)
        if name in ("add", "sub", "rsub", "mul") and len(arguments) > 1 and not node.kwargs:
            second = arguments[1]
            if second is None or len(arguments) > 2:
                return None
            joined = {"add": _sum, "sub": _difference, "mul": _product}
            return _difference(second, first) if name == "rsub" else joined[name](first, second)
        if name == "neg":
            return _difference((Const(0), Const(0)), first)
        if name in _PASSING:
            return first
        return None

    def _clamped(
        self,
        value: Interval | None,
        least: Interval | None = None,
        most: Interval | None = None,
    ) -> Interval | None:
        """Return the bounds of a value between two others, either of which may be missing."""
        if least is not None and most is not None:
            # also of an input that int32 does not hold: what is beyond counts as its end
            return hull([least, most])
        if value is None:
            return None
        end = least or most or value
        choose = _greatest if least is not None else _least
        return choose([value[0], end[0]]), choose([value[1], end[1]])

    def _narrowed(
        self, bounds: Interval | None, value: Any, condition: Any, *, holds: bool
    ) -> Interval | None:
        """Return the bounds of a value where a condition compares it, from inputs of 64 bits too.

        Such an input is read as the nearest number that int32 holds, which comparisons with numbers
        of int32 do not tell from it.
        """
        least, greatest = bounds or (None, None)
        for relation, other in _comparisons(condition, value, holds):
            limits = self.of(other)
            if limits is None:
                continue
            step = Const(int(relation in ("lt", "gt")))
            if relation in ("lt", "le", "eq"):
                end = fold("-", limits[1], step)
                greatest = end if greatest is None else fold("min", greatest, end)
            if relation in ("gt", "ge", "eq"):
                end = fold("+", limits[0], step)
                least = end if least is None else fold("max", least, end)
        return None if least is None or greatest is None else (least, greatest)


_OPPOSITE = {"lt": "ge", "ge": "lt", "gt": "le", "le": "gt", "ne": "eq", "eq": "ne"}
_MIRRORED = {"lt": "gt", "gt": "lt", "le": "ge", "ge": "le", "eq": "eq", "ne": "ne"}


def _comparisons(condition: Any, value: Any, holds: bool) -> list[tuple[str, Any]]:
    """Return what a condition says of a value: ``("lt", number or node)`` for ``value < other``.

    Args:
        condition: a node of bool.
        value: the node that is compared.
        holds: whether the condition is true.
    """
    if not isinstance(condition, Node) or condition.op != "call_function":
        return []
    name = str(condition.target).removeprefix("aten.").split(".")[0]
    if name in ("logical_not", "bitwise_not"):
        return _comparisons(condition.args[0], value, not holds)
    if name in (("logical_and", "bitwise_and") if holds else ("logical_or", "bitwise_or")):
        return [found for a in condition.args[:2] for found in _comparisons(a, value, holds)]
    if name not in _OPPOSITE:
        return []
    relation = name if holds else _OPPOSITE[name]
    first, second = condition.args[:2]
    if _plain(first) is _plain(value):
        return [(relation, second)]
    return [(_MIRRORED[relation], first)] if _plain(second) is _plain(value) else []


def _plain(value: Any) -> Any:
    """Return what a node converts from int32 to int64 or copies."""
    while isinstance(value, Node) and value.op == "call_function":
        name = str(value.target).removeprefix("aten.").split(".")[0]
        source: Any = value.args[0] if value.args else None
        integers = isinstance(source, Node) and all(
            # a size has no dtype
            getattr(n.meta.get("val"), "dtype", None) in (torch.int32, torch.int64)
            for n in (source, value)
        )
        if name not in ("_to_copy", "alias", "clone", "detach") or not integers:
            break
        value = source
    return value


# Calls that join the bits of numbers: those of int32 give numbers of int32.
_OF_BITS = frozenset(
    (
        *("bitwise_and", "bitwise_or", "bitwise_xor", "bitwise_not"),
        *("bitwise_right_shift", "__rshift__"),
    )
)

# Calls whose values are among those of their first argument.
_PASSING = frozenset(
    (
        *("_to_copy", "alias", "clone", "copy", "detach", "amax", "amin"),
        *("expand", "flip", "permute", "reshape", "select", "slice", "squeeze", "t"),
        *("transpose", "unfold", "unsqueeze", "view"),
    )
)

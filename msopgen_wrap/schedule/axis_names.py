"""What the axes of a sample are for every rank, as traces of two ranks show it.

An axis that is the same from the front in both is counted from the front, one that is the same from
the end is counted from there. A product of sizes with more factors at the higher rank (the number
of elements of a mean) is told by the axes that are not in it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msopgen_wrap.graph.scalars import (
    Binary,
    DimRef,
    ScalarExpr,
    Unary,
    factors,
)

# The first and the last axes of an order, each as an axis of what is ordered, for every rank.
OpenOrder = tuple[tuple[int, ...], tuple[int, ...]]


class AxisNames(dict[tuple[str, int], int]):
    """(input, axis in the sample) -> the axis for every rank; negative ones count from the end.

    Attributes:
        left_out: (input, axes in the sample) of products of sizes that have more factors at a
            higher rank -> the axes, for every rank, that are not among the factors.
        tails: the numbers of the reshapes of a graph that change the same last axes at every rank.
        heads: the numbers of those that change the same first axes.
        fronts: the numbers of the views of a graph whose axes count from the front.
        behind: the numbers of the chains of axes of size 1 that are longer at a higher rank.
        orders: the first and the last axes of permutes, by their numbers, between which all other
            axes lie in their order; of those that do more than order as many last axes.
        ranked: an input that has this rank.
    """

    def __init__(
        self,
        names: Mapping[tuple[str, int], int] | None = None,
        tails: frozenset[int] = frozenset(),
        heads: frozenset[int] = frozenset(),
    ) -> None:
        super().__init__(names or {})
        self.left_out: dict[tuple[str, tuple[int, ...]], tuple[int, ...]] = {}
        self.tails, self.heads = tails, heads
        self.fronts: frozenset[int] = frozenset()
        self.behind: frozenset[int] = frozenset()
        self.orders: dict[int, OpenOrder] = {}
        self.ranked = ""

    def with_names(self, names: AxisNames) -> AxisNames:
        """Return the names of axes, with what else is known of the graph."""
        names.tails, names.heads = self.tails, self.heads
        names.fronts, names.behind, names.ranked = self.fronts, self.behind, self.ranked
        names.orders = self.orders
        return names

    def unnamed(self) -> AxisNames:
        """Return what holds for the graph of another rank, whose axes have no other names."""
        return AxisNames(tails=self.tails, heads=self.heads)


def named(pairs: Iterable[tuple[ScalarExpr, ScalarExpr]]) -> AxisNames:
    """Return the names of the axes in numbers of a graph.

    Args:
        pairs: the same numbers at the rank of the sample and at another rank.
    """
    found: dict[tuple[str, int], set[int]] = {}
    others_of: dict[tuple[str, tuple[int, ...]], set[tuple[int, ...]]] = {}
    for a, b in pairs:
        for x, y in zip(products(a), products(b), strict=False):
            left_out = _left_out(x, y)
            if left_out is not None:
                key = (x[0].tensor, tuple(dim.axis for dim in x))
                others_of.setdefault(key, set()).add(left_out)
                continue
            for one, other in zip(x, y, strict=False):
                both = {one.axis, one.axis - one.rank} & {other.axis, other.axis - other.rank}
                name = (one.tensor, one.axis)
                same = one.tensor == other.tensor
                found[name] = found.get(name, both) & both if same else set()
    names = AxisNames({key: min(ends) for key, ends in found.items() if len(ends) == 1})
    for (tensor, axes), known in others_of.items():
        # a size that is also used by itself means that axis
        if len(known) == 1 and (len(axes) > 1 or (tensor, axes[0]) not in found):
            names.left_out[tensor, axes] = next(iter(known))
    return names


def _left_out(one: list[DimRef], other: list[DimRef]) -> tuple[int, ...] | None:
    """Return the axes that two products leave out, for every rank; None where they differ.

    Args:
        one: sizes of an input in a product at one rank.
        other: those in the same product at another rank, all of the further axes among them.
    """
    a, b = one[0], other[0]
    if a.rank == b.rank or a.tensor != b.tensor or len(other) - len(one) != b.rank - a.rank:
        return None
    first, second = (
        sorted(set(range(dims[0].rank)) - {d.axis for d in dims}) for dims in (one, other)
    )
    found = []
    for x, y in zip(first, second, strict=True):
        if x != y and x - a.rank != y - b.rank:
            return None
        found.append(x if x == y else x - a.rank)
    return tuple(found)


def products(expr: Any) -> list[list[DimRef]]:
    """Return the sizes in an expression, those of one input in one product together."""
    if isinstance(expr, DimRef):
        return [[expr]]
    if isinstance(expr, Unary):
        return products(expr.arg)
    if not isinstance(expr, Binary):
        return []
    if expr.op != "*":
        both = [*products(expr.left), *products(expr.right)]
        # a trace names sizes anew, and sorts the sides of these by the names
        return sorted(both, key=_place) if expr.op in ("+", "min", "max") else both
    of_tensors: dict[str, list[DimRef]] = {}
    inner: list[list[DimRef]] = []
    for factor in factors(expr):
        if isinstance(factor, DimRef):
            of_tensors.setdefault(factor.tensor, []).append(factor)
        else:
            inner += products(factor)
    return [*(sorted(d, key=lambda dim: dim.axis) for d in of_tensors.values()), *inner]


def _place(dims: list[DimRef]) -> tuple[str, int]:
    return dims[0].tensor, dims[0].axis

"""What sizes and attrs of a call must fulfil for ``compute`` to accept them.

``assert x.shape[-1] % 2 == 0`` in ``compute`` is one such demand, and `F.glu` makes the same one.
PyTorch raises an exception where it is not met; on the device the tiling function refuses the call.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

import sympy

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.demands import count_symbol
from msopgen_wrap.graph.scalars import Binary, ScalarExpr, describe, tensors_of
from msopgen_wrap.graph.sizes import number_of, size_symbols
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.axis_names import AxisNames, named, products
from msopgen_wrap.schedule.ranks import (
    compute_nodes,
    open_inputs,
    open_rank,
    takes_rank,
    trace_at,
)
from msopgen_wrap.spec.model import DimSlice, OpSpec, ParamKind, ShapeLike, ShapeList

# Relations of sympy, as C++ and Python write them.
RELATIONS: dict[type[sympy.Basic], str] = {
    sympy.Eq: "==",
    sympy.Ne: "!=",
    sympy.Lt: "<",
    sympy.Le: "<=",
    sympy.Gt: ">",
    sympy.Ge: ">=",
}
_Sides = tuple[ScalarExpr, ScalarExpr]


@dataclass(frozen=True)
class Demand:
    """A relation between two numbers that the tiling function can compute.

    Attributes:
        text: how to say it.
        asserted: whether ``compute`` asserts it, and not a function of PyTorch.
    """

    left: ScalarExpr
    operator: str
    right: ScalarExpr
    text: str
    asserted: bool = True

    @classmethod
    def of(cls, relation: sympy.Basic, left: ScalarExpr, right: ScalarExpr, text: str) -> Demand:
        """Return a relation of symbols, whose sides are given as numbers.

        Args:
            text: of the assertion, "" for what PyTorch asks.
        """
        operator = RELATIONS[type(relation)]
        sides = [describe(e)[1:-1] if isinstance(e, Binary) else describe(e) for e in (left, right)]
        said = text or f"{sides[0]} {operator} {sides[1]}"
        return cls(left, operator, right, said, bool(text))

    @property
    def tensors(self) -> list[str]:
        """The inputs whose sizes it compares."""
        return sorted(tensors_of(self.left) | tensors_of(self.right))


def demands_of(spec: OpSpec, variant: Variant) -> list[Demand]:
    """Return what a call of a variant must fulfil.

    Raises:
        OpgenError: OPG205 where ``compute`` asserts what the tiling function cannot check.
    """
    traced = trace(spec, variant)
    asserts = any(isinstance(node, ast.Assert) for node in compute_nodes(spec))
    if not traced.demands and not asserts:
        return []
    names = None
    if open_inputs(spec, traced):
        other = _at_other_rank(spec, traced)
        if asserts and (other is None or _asserted(other) != _asserted(traced)):
            # It holds at one rank whatever the sizes are, or fails at the others.
            raise OpgenError(unknown_demand(spec, "what compute asserts"))
        names = named(_pairs(traced, other)) if other is not None else None
    found: list[Demand] = []
    for (relation, text), sides in zip(traced.demands, _all_sides(traced, names), strict=True):
        if sides is not None and _are_known(spec, sides):
            found.append(Demand.of(relation, *sides, text))
        elif text:
            raise OpgenError(unknown_demand(spec, f"'{text}'"))
    return list(dict.fromkeys(found))


def sides_of(relation: sympy.Basic, symbols: Mapping[Any, ScalarExpr]) -> _Sides | None:
    """Return both sides of a relation; None for another one, or where a symbol has no meaning."""
    numbers = [number_of(side, symbols) for side in relation.args]
    left, right = numbers if len(numbers) == 2 else (None, None)
    known = type(relation) in RELATIONS and left is not None and right is not None
    return (left, right) if known else None  # type: ignore[return-value]


def demand_symbols(traced: TracedGraph, names: AxisNames | None = None) -> dict[Any, ScalarExpr]:
    """Return what the symbols in the demands of a graph are.

    Args:
        names: what axes of the sample are for every rank.
    """
    # A demand that made sizes equal has the symbol that each of them had before.
    refs = size_symbols(traced.graph, traced.inputs)
    refs |= size_symbols(traced.graph, traced.inputs, own=True)
    symbols: dict[Any, ScalarExpr] = {
        symbol: replace(ref, signed=names.get((ref.tensor, ref.axis)) if names else None)
        for symbol, ref in refs.items()
    }
    for node in traced.graph.find_nodes(op="placeholder"):
        if node.name in traced.attrs:
            symbol = getattr(getattr(node.meta.get("val"), "node", None), "_expr", None)
            ref = traced.attrs[node.name]
            symbols |= {symbol: ref, count_symbol(ref.name): ref}
    return symbols


def _all_sides(traced: TracedGraph, names: AxisNames | None = None) -> list[_Sides | None]:
    symbols = demand_symbols(traced, names)
    return [sides_of(relation, symbols) for relation, _ in traced.demands]


def _asserted(traced: TracedGraph) -> list[str]:
    return [text for _, text in traced.demands if text]


def _pairs(first: TracedGraph, second: TracedGraph) -> Iterator[tuple[ScalarExpr, ScalarExpr]]:
    """Yield the same numbers at two ranks, in demands that graphs of both have."""
    for asserted in (True, False):
        ours, theirs = (
            [
                s
                for s, (_, text) in zip(_all_sides(t), t.demands, strict=True)
                if asserted == bool(text)
            ]
            for t in (first, second)
        )
        if len(ours) == len(theirs):
            for one, other in zip(ours, theirs, strict=True):
                yield from zip(one or (), other or (), strict=False)


def _at_other_rank(spec: OpSpec, traced: TracedGraph) -> TracedGraph | None:
    """Return the graph at another rank, which tells where axes are counted from."""
    free = open_inputs(spec, traced)
    rank = open_rank(spec, traced)
    for other in (rank + 1, rank - 1):
        if other > 0 and takes_rank(free, other):
            try:
                return trace_at(spec, traced, other)
            except OpgenError:  # compute takes no such rank
                continue
    return None


def _are_known(spec: OpSpec, sides: _Sides) -> bool:
    """Whether a tiling function knows the sizes: none of a list, and axes that every rank has."""
    dims = [dim for side in sides for product in products(side) for dim in product]
    fixed = _of_fixed_rank(spec)
    lists = any(p.kind is ParamKind.DYNAMIC for p in spec.inputs)
    named = all(dim.signed is not None or dim.tensor in fixed for dim in dims)
    return named and not (lists and dims)


def _of_fixed_rank(spec: OpSpec) -> set[str]:
    """Return the inputs that have one rank, or get one from a shape rule."""
    fixed: set[str] = set()
    for param in spec.inputs:
        rule = param.shape
        ruled = isinstance(rule, ShapeLike) and rule.tensor in fixed
        if isinstance(rule, ShapeList):
            ruled = not any(isinstance(item, DimSlice) for item in rule.items)
        if param.min_rank == param.max_rank or ruled:
            fixed.add(param.name)
    return fixed


def unknown_demand(spec: OpSpec, text: str) -> Diagnostic:
    """Return the refusal of an assertion that host code cannot check."""
    assert spec.compute is not None
    return Diagnostic(
        "OPG205",
        f"the host code of {spec.op} cannot check {text}",
        spec.compute.location,
        "it knows sizes and attrs; axes of an input of any rank are all counted from the same end",
        "compare sizes (`x.shape[-1] % 2 == 0`), or give the input a `rank`; two inputs of one "
        "shape have `shape: like x`",
    )

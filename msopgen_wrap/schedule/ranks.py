"""Which end an axis counts from, where the rank of an input is open.

A graph is traced at one rank, where ``x.shape[1]`` and ``x.shape[-2]`` may be the same size. The
same formula traced at another rank tells them apart: an axis that is the same from the front in
both is counted from the front.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.scalars import Binary, DimRef, ScalarExpr, Unary
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.schedule.program import Program, Scalar
from msopgen_wrap.schedule.views import View
from msopgen_wrap.spec.model import OpSpec

Lowered = tuple[Program, dict[str, View]]


def other_rank(spec: OpSpec, traced: TracedGraph) -> TracedGraph | None:
    """Trace the variant of a graph at a neighbouring rank, None when the spec has no other."""
    open_ranks = [p for p in spec.inputs if p.name in traced.shapes and p.min_rank < p.max_rank]
    if not open_ranks:
        return None
    rank = max(len(traced.shapes[p.name]) for p in open_ranks)
    for other in (rank + 1, rank - 1):
        if all(p.min_rank <= other <= p.max_rank for p in open_ranks):
            try:
                return trace(spec, traced.variant, 0, rank=other)
            except OpgenError:
                continue
    return None


def axis_names(
    spec: OpSpec, traced: TracedGraph, lower: Callable[[TracedGraph], Lowered]
) -> dict[tuple[str, int], int]:
    """Return (input, axis in the sample) -> axis for every rank, negative from the end."""
    first = list(_scalars(*lower(traced)))
    if not any(_dims(e) for e in first):
        return {}
    other = other_rank(spec, traced)
    if other is None:
        return {}
    try:
        second = list(_scalars(*lower(other)))
    except OpgenError:
        return {}
    if len(first) != len(second):
        return {}
    found: dict[tuple[str, int], set[int]] = {}
    for a, b in zip(first, second, strict=True):
        for x, y in zip(_dims(a), _dims(b), strict=False):
            both = {x.axis, x.axis - x.rank} & {y.axis, y.axis - y.rank}
            key = (x.tensor, x.axis)
            found[key] = found.get(key, both) & both if x.tensor == y.tensor else set()
    return {key: min(ends) for key, ends in found.items() if len(ends) == 1}


def _scalars(program: Program, operands: dict[str, View]) -> Iterator[ScalarExpr]:
    for inst in program.insts:
        yield from (a.expr for a in inst.args if isinstance(a, Scalar))
    for view in operands.values():
        for step in view.steps:
            yield from (step.start, step.length, *step.shape)


def _dims(expr: Any) -> list[DimRef]:
    if isinstance(expr, DimRef):
        return [expr]
    if isinstance(expr, Unary):
        return _dims(expr.arg)
    if isinstance(expr, Binary):
        return [*_dims(expr.left), *_dims(expr.right)]
    return []

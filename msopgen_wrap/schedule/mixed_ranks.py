"""Inputs of any rank, each by itself: what holds where they have different ones.

A graph is traced at one rank of all inputs. There a view of a broadcast result, as in
``(x + y).flip(0)``, is the same as a view of each operand; of an input with fewer axes it is not.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.cuts import cut
from msopgen_wrap.graph.kept_tensors import meta_inputs
from msopgen_wrap.graph.proof import base_attrs
from msopgen_wrap.graph.tracing import TracedGraph, fresh_trace, trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.axis_names import AxisNames
from msopgen_wrap.schedule.ranks import Lower, has_axes, open_inputs, open_rank, replays
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.contradicted_shape import contradicted_shape
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam

# Of so many inputs every mixture of two ranks is tried; of more, one input at a time.
_FEW_INPUTS = 3


def prove_mixed_ranks(
    spec: OpSpec, traced: TracedGraph, lower: Lower, names: AxisNames, views_only: bool = False
) -> list[TracedGraph]:
    """Replay the lowered graph on inputs of different ranks, as far as compute takes them.

    Args:
        spec: the op.
        traced: its graph.
        lower: lowers a graph.
        names: of the axes of the graph.
        views_only: only where views of inputs are read. In a pass along axes an input that lacks
            them is another kind of operand; its own reductions are the business of the tiling
            function, which refuses them.

    Returns:
        The graphs of such inputs.

    Raises:
        OpgenError: OPG204 when compute does something else there.
    """
    free, rank = _free_inputs(spec, traced)
    if not free:
        return []
    first = lower(traced, names)
    if views_only and not any(view.steps for view in first.operands.values()):
        return []
    mixed = _mixed_ranks(spec, traced.variant, free, rank)
    for other in mixed:
        if not replays(spec, first, other, lower, names, broadcast=True):
            raise OpgenError(_mixture_matters(spec, other))
    return mixed


def _mixed_ranks(
    spec: OpSpec, variant: Variant, free: list[TensorParam], rank: int
) -> list[TracedGraph]:
    """Trace a variant with one more axis of some of the inputs of any rank.

    Inputs are few where a formula has axes; of many only single ones get another rank.
    """
    rank -= rank == max(p.max_rank for p in free)
    whole = spec.whole or spec
    sizes = range(1, len(free)) if len(free) <= _FEW_INPUTS else (1,)
    found = []
    for deeper in itertools.chain.from_iterable(itertools.combinations(free, n) for n in sizes):
        ranks = {p.name: rank + (p in deeper) for p in free}
        if all(p.min_rank <= ranks[p.name] <= p.max_rank for p in free):
            other = _kept_mixtures.trace(whole, variant, ranks)
            found += [other] if other is not None else []
    return found if whole is spec else [_part(spec, whole, other) for other in found]


def _part(spec: OpSpec, whole: OpSpec, traced: TracedGraph) -> TracedGraph:
    try:
        return cut(spec, traced, 0)
    except (OpgenError, LookupError):  # it has other parts
        raise OpgenError(_mixture_matters(whole, traced)) from None


def _free_inputs(spec: OpSpec, traced: TracedGraph) -> tuple[list[TensorParam], int]:
    """Return the inputs of any rank of a formula with axes, where there are several, and the rank.

    Of a part of a formula they are those of the whole one.
    """
    whole = spec.whole or spec
    if traced.orders or not any(map(has_axes, traced.graph.nodes)):
        return [], 0
    base = traced if whole is spec else trace(whole, traced.variant)
    free = open_inputs(whole, base)
    return (free, open_rank(whole, base)) if len(free) > 1 else ([], 0)


class _KeptMixtures:
    """Keeps the graphs of an op for all of its parts, until another op is traced."""

    def __init__(self) -> None:
        self._of: OpSpec | None = None
        self._known: dict[Any, TracedGraph | None] = {}

    def trace(self, spec: OpSpec, variant: Variant, ranks: dict[str, int]) -> TracedGraph | None:
        """Return the graph of inputs of some ranks; None where compute or a rule refuses them."""
        if self._of is not spec:
            self._of, self._known = spec, {}
        key = variant, tuple(ranks.items())
        if key not in self._known:
            self._known[key] = _traced_with(spec, variant, ranks)
        return self._known[key]


_kept_mixtures = _KeptMixtures()


def _traced_with(spec: OpSpec, variant: Variant, ranks: dict[str, int]) -> TracedGraph | None:
    fixed = [
        replace(p, min_rank=ranks[p.name], max_rank=ranks[p.name]) if p.name in ranks else p
        for p in spec.inputs
    ]
    mixed = replace(spec, inputs=tuple(fixed))
    try:
        other = fresh_trace(mixed, variant)
    except OpgenError:
        return None
    return other if _accepts(mixed, other) else None


def _accepts(spec: OpSpec, traced: TracedGraph) -> bool:
    """Whether ``compute`` itself takes the shapes of a trace, and gives those of the rules."""
    attrs = base_attrs(spec, traced)
    lists = {p.name for p in spec.inputs if p.kind is ParamKind.DYNAMIC}
    shapes = {n: [s] if n in lists and s is not None else s for n, s in traced.shapes.items()}
    try:
        results = compile_compute(spec, wrap_errors=False)(meta_inputs(spec, shapes, 0), attrs)
        return all(
            contradicted_shape(p, results[p.name], shapes, attrs) is None
            for p in spec.outputs
            if results[p.name] is not None
        )
    except Exception:  # whatever PyTorch raises for shapes that it does not take
        return False


def _mixture_matters(spec: OpSpec, other: TracedGraph) -> Diagnostic:
    assert spec.compute is not None
    given = ", ".join(f"{p.name} {len(other.shapes[p.name])}" for p in open_inputs(spec, other))
    return Diagnostic(
        "OPG204",
        f"compute of {spec.op} does different things to inputs of one rank and of several: {given}",
        spec.compute.location,
        "the inputs may have any rank, each by itself; an axis of what is computed of them is "
        "another one in an input with fewer axes",
        "give an input that belongs to another one a shape rule, as `shape: like x`, or fix the "
        "`rank:` of the inputs",
    )

"""What holds for every rank, where the rank of an input is open.

A graph is traced at one rank, where ``x.shape[1]`` and ``x.shape[-2]`` may be the same size. The
same formula traced at another rank tells them apart: an axis that is the same from the front in
both is counted from the front. Axes of operations are counted from the end in a plan; the proof
replays the plan on the shapes of other ranks, and what is something else there (``softmax(x, 1)``,
``x * x.dim()``) is refused.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.proof import base_attrs
from msopgen_wrap.graph.scalars import Binary, DimRef, ScalarExpr, Unary, evaluate
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.schedule.program import Inst, Program, Scalar, Val
from msopgen_wrap.schedule.view_sizes import apply_steps, span_dims
from msopgen_wrap.schedule.views import Span, View
from msopgen_wrap.spec.model import OpSpec, TensorParam

AxisNames = dict[tuple[str, int], int]
MAX_RANK = 8


@dataclass(frozen=True)
class Lowered:
    """A lowered graph.

    Attributes:
        axes: of a row kernel, what gives the reduced axes of a space of some rank; None where
            they are an attr.
        rank, reduced: of a row kernel, the rank of its space and its reduced axes.
    """

    program: Program
    operands: dict[str, View]
    spans: tuple[Span, ...] = ()
    axes: Callable[[int], set[int]] | None = None
    rank: int = 0
    reduced: frozenset[int] = frozenset()


Lower = Callable[[TracedGraph, AxisNames], Lowered]


def other_ranks(spec: OpSpec, traced: TracedGraph) -> list[TracedGraph]:
    """Trace the variant of a graph at other ranks, as far as the spec and compute allow some.

    The neighbours tell where axes count from; where compute asks for the rank, it may be any.
    """
    open_ranks = _open_inputs(spec, traced)
    asks = _asks_rank(spec)
    axes = any(map(_has_axes, traced.graph.nodes))
    if not open_ranks or not (asks or axes):
        return []
    reshaped = any(_is_reshape(node) for node in traced.graph.nodes)
    rank = _open_rank(spec, traced)
    found: list[TracedGraph] = []
    for other in (rank + 1, rank - 1, *(range(MAX_RANK + 1) if asks else ())):
        known = {rank, *(_open_rank(spec, t) for t in found)}
        if other in known or not all(p.min_rank <= other <= p.max_rank for p in open_ranks):
            continue
        if other == 0 and axes:
            continue  # there are none to compare
        if other < rank and found and reshaped:
            continue  # a reshape of fewer axes lacks sizes of 1 and means the same
        try:
            found.append(trace(spec, traced.variant, 0, rank=other))
        except OpgenError as error:
            if not any(d.code == "OPG201" for d in error.diagnostics):
                raise OpgenError(_rank_matters(spec, rank, other)) from error
    return found


def _has_axes(node: Any) -> bool:
    from msopgen_wrap.schedule.calls import RESHAPES, VIEW_OPS, target_name
    from msopgen_wrap.schedule.reductions import reduction_kind

    if node.op != "call_function":
        return False
    target = target_name(node)
    return bool(
        target in VIEW_OPS or target in RESHAPES or "size" in target or reduction_kind(node)
    )


def _is_reshape(node: Any) -> bool:
    from msopgen_wrap.schedule.calls import RESHAPES, target_name

    return node.op == "call_function" and target_name(node) in RESHAPES


def _asks_rank(spec: OpSpec) -> bool:
    """Whether compute takes the rank of a tensor as a number."""
    assert spec.compute is not None
    nodes = list(ast.walk(ast.parse(spec.compute.text.strip())))
    names = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    calls = {n.id for n in nodes if isinstance(n, ast.Name)}
    return bool(names & {"dim", "ndim", "ndimension"}) or "len" in calls


def _open_inputs(spec: OpSpec, traced: TracedGraph) -> list[TensorParam]:
    """Return the inputs of any rank; a shape rule or a phase gives the rank of another one."""
    return [
        p
        for p in spec.inputs
        if p.name in traced.shapes and p.shape is None and p.min_rank < p.max_rank and not p.site
    ]


def _open_rank(spec: OpSpec, traced: TracedGraph) -> int:
    return max(len(traced.shapes[p.name]) for p in _open_inputs(spec, traced))


def axis_names(
    traced: TracedGraph, others: list[TracedGraph], lower: Lower
) -> dict[tuple[str, int], int]:
    """Return (input, axis in the sample) -> axis for every rank, negative from the end."""
    first = list(_scalars(lower(traced, {})))
    if not others or not any(_dims(e) for e in first):
        return {}
    try:
        second = list(_scalars(lower(others[0], {})))
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


def prove_ranks(
    spec: OpSpec,
    traced: TracedGraph,
    others: list[TracedGraph],
    lower: Lower,
    names: AxisNames,
) -> None:
    """Replay the lowered graph on the shapes of other ranks, and compare with what they give.

    Raises:
        OpgenError: OPG204 when compute does something else at another rank.
    """
    first = lower(traced, names) if others else None
    for other in others:
        assert first is not None
        attrs = base_attrs(spec, other)
        try:
            same = _same(first, lower(other, {}), other.shapes, attrs)
        except (OpgenError, LookupError, ArithmeticError):
            same = False
        if not same:
            raise OpgenError(_rank_matters(spec, _open_rank(spec, traced), _open_rank(spec, other)))


def _same(first: Lowered, second: Lowered, shapes: dict[str, Any], attrs: dict[str, Any]) -> bool:
    if list(first.operands) != list(second.operands):
        return False
    for a, b in zip(first.operands.values(), second.operands.values(), strict=True):
        if (a.tensor, a.extent) != (b.tensor, b.extent):
            return False
        if _reach(a, shapes, attrs) != _reach(b, shapes, attrs):
            return False
    one, two = ([span_dims(s, shapes, attrs) for s in x.spans] for x in (first, second))
    if one != two:
        return False
    if first.axes is not None and first.axes(second.rank) != set(second.reduced):
        return False
    calls, others = first.program.insts, second.program.insts
    return len(calls) == len(others) and all(
        _same_call(a, b, shapes, attrs) for a, b in zip(calls, others, strict=True)
    )


def _reach(view: View, shapes: dict[str, Any], attrs: dict[str, Any]) -> Any:
    """Return what an operand reads: sizes, strides where they matter, first element."""
    seen = apply_steps(view, shapes, attrs)
    return seen.dim, [s for n, s in zip(seen.dim, seen.stride, strict=True) if n > 1], seen.offset


def _same_call(a: Inst, b: Inst, shapes: dict[str, Any], attrs: dict[str, Any]) -> bool:
    if (a.op, a.mode, len(a.args)) != (b.op, b.mode, len(b.args)):
        return False
    for x, y in zip(a.args, b.args, strict=True):
        if isinstance(x, Val) or isinstance(y, Val):
            if not (isinstance(x, Val) and isinstance(y, Val)):
                return False
            if (x.kind, x.extent) != (y.kind, y.extent):
                return False
        elif not _same_number(x, y, shapes, attrs):
            return False
    return True


def _same_number(x: Scalar, y: Scalar, shapes: dict[str, Any], attrs: dict[str, Any]) -> bool:
    # the number of reduced elements is the host's, whatever it is
    values = {**attrs, "reducedCount": 101}
    a, b = (float(evaluate(s.expr, values, shapes)) for s in (x, y))
    return x.kind == y.kind and (a == b or math.isclose(a, b) or (a != a and b != b))


def _rank_matters(spec: OpSpec, rank: int, other: int) -> Diagnostic:
    assert spec.compute is not None
    return Diagnostic(
        "OPG204",
        f"compute of {spec.op} does different things to inputs of rank {rank} and of rank {other}",
        spec.compute.location,
        "one kernel serves every rank that the spec accepts, so axes have one meaning for all: "
        "an axis counted from the front is another one from the end at each rank",
        f"count axes from the end (`dim=-1`, `x[..., :n]`), or fix the rank: `rank: {rank}`",
    )


def _scalars(lowered: Lowered) -> Iterator[ScalarExpr]:
    for inst in lowered.program.insts:
        yield from (a.expr for a in inst.args if isinstance(a, Scalar))
    for view in lowered.operands.values():
        yield from view.scalars()
    for span in lowered.spans:
        yield from span.sizes


def _dims(expr: Any) -> list[DimRef]:
    if isinstance(expr, DimRef):
        return [expr]
    if isinstance(expr, Unary):
        return _dims(expr.arg)
    if isinstance(expr, Binary):
        return [*_dims(expr.left), *_dims(expr.right)]
    return []

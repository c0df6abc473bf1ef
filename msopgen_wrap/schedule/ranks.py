"""What holds for every rank, where the rank of an input is open.

A graph is traced at one rank, where ``x.shape[1]`` and ``x.shape[-2]`` may be the same size. The
same formula traced at another rank tells them apart: an axis that is the same from the front in
both is counted from the front. Axes of operations are counted from the end in a plan; the proof
replays the plan on the shapes of other ranks, and what is something else there (``softmax(x, 1)``,
``x * x.dim()``) is refused. ``apply_steps`` replays views at concrete shapes: sizes, strides and
first element of what an operand reads. What TilingFunc decides is not here: it is C++, and
``run.tiling_decisions`` asks it.
"""

from __future__ import annotations

import ast
import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.proof import base_attrs
from msopgen_wrap.graph.scalars import ScalarExpr, evaluate
from msopgen_wrap.graph.scalars import evaluate as evaluate_scalar
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.views import reshapes
from msopgen_wrap.schedule.axis_names import AxisNames, named, products
from msopgen_wrap.schedule.open_axes import behind, fronts, heads, orders, tails
from msopgen_wrap.schedule.program import Inst, Program, Scalar, Val
from msopgen_wrap.schedule.views import Span, Step, View
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam


@dataclass
class Strided:
    """Sizes, strides and first element of an operand, in elements."""

    dim: list[int]
    stride: list[int]
    offset: int = 0

    @staticmethod
    def dense(shape: tuple[int, ...]) -> Strided:
        """A contiguous tensor."""
        stride = [1] * len(shape)
        for i in range(len(shape) - 2, -1, -1):
            stride[i] = stride[i + 1] * shape[i + 1]
        return Strided(list(shape), stride)


# One case per kind of step, as in `opgen::View`; splitting would hide the table.
def apply_steps(view: View, shapes: dict[str, tuple[int, ...]], attrs: dict[str, Any]) -> Strided:
    """Replay the steps of a view on a concrete shape."""
    if view.counted is not None:
        numbers = view.counted
        ends = (numbers.length, numbers.start, numbers.step)
        length, start, every = (int(evaluate_scalar(e, attrs, shapes)) for e in ends)
        result = Strided([length], [every], start)
        if numbers.shape:
            result = Strided.dense(tuple(shapes[numbers.shape]))
            result = Strided(result.dim, [every * stride for stride in result.stride], start)
    else:
        result = Strided.dense(tuple(shapes[view.tensor]))
    for step in view.steps:
        rank = len(result.dim)
        if step.op in ("slice", "slab"):
            start = int(evaluate_scalar(step.start, attrs, shapes))
            length = int(evaluate_scalar(step.length, attrs, shapes))
            axis = _axis(step.axis, rank)
            result.offset += start * result.stride[axis] if length else 0
            result.dim[axis] = length
        elif step.op == "every":
            axis, every = _axis(step.axis, rank), int(evaluate_scalar(step.length, attrs, shapes))
            result.dim[axis] = -(-result.dim[axis] // every)
            result.stride[axis] *= every
        elif step.op == "diagonal":
            _take_diagonal(result, step, int(evaluate_scalar(step.start, attrs, shapes)))
        elif step.op == "unfold":
            size = int(evaluate_scalar(step.length, attrs, shapes))
            every = int(evaluate_scalar(step.start, attrs, shapes))
            axis = _axis(step.axis, rank)
            result.dim[axis] = (result.dim[axis] - size) // every + 1
            result.dim.append(size)
            result.stride.append(result.stride[axis])
            result.stride[axis] *= every
        elif step.op == "select":
            axis = _axis(step.axis, rank)
            index = int(evaluate_scalar(step.start, attrs, shapes)) % result.dim[axis]
            result.offset += index * result.stride[axis]
            del result.dim[axis], result.stride[axis]
        elif step.op == "flip" and rank:
            axis = _axis(step.axis, rank)
            result.offset += max(0, result.dim[axis] - 1) * result.stride[axis]
            result.stride[axis] *= -1
        elif step.op == "place":
            axis = _axis(step.axis, rank)
            size = int(evaluate_scalar(step.shape[0], attrs, shapes))
            if result.dim[axis] == size:  # else broadcast along the axis
                result.offset -= (
                    int(evaluate_scalar(step.start, attrs, shapes)) * (result.stride[axis])
                )
                result.dim[axis] = int(evaluate_scalar(step.length, attrs, shapes))
        elif step.op == "unsqueeze":
            axis = _axis(step.axis, rank + 1)
            result.dim.insert(axis, 1)
            result.stride.insert(axis, 0)
        elif step.op == "behind":
            wanted = len(shapes[step.tensor]) + int(evaluate_scalar(step.start, attrs, shapes))
            result.stride += [0] * max(0, wanted - rank)
            result.dim += [1] * max(0, wanted - rank)
        elif step.op == "squeeze":
            axis = _axis(step.axis, rank)
            if result.dim[axis] == 1:
                del result.dim[axis], result.stride[axis]
        elif step.op == "permute":
            axes = step.axes
            if step.named:
                axes = evaluate_scalar(step.start, attrs, shapes)
            outer = [_axis(a, rank) for a in axes]
            between = [a for a in range(rank) if a not in outer]
            places = [*outer[: step.axis], *between, *outer[step.axis :]]
            result.dim = [result.dim[a] for a in places]
            result.stride = [result.stride[a] for a in places]
        elif step.op == "reshape":
            sizes = [int(evaluate_scalar(s, attrs, shapes)) for s in step.shape]
            front = result.dim[: step.axis] if step.axis < 0 else []
            back = result.dim[step.axis :] if step.axis > 0 else []
            total = math.prod(result.dim[len(front) : rank - len(back)])
            known = math.prod([s for s in sizes if s >= 0])
            sizes = [s if s >= 0 else (total // known if known else 0) for s in sizes]
            result = Strided.dense((*front, *sizes, *back))
    return result


def span_dims(span: Span, shapes: dict[str, tuple[int, ...]], attrs: dict[str, Any]) -> list[int]:
    """Return the sizes of a span for concrete shapes."""
    if span.tensor:
        return list(shapes[span.tensor])
    return [int(evaluate_scalar(size, attrs, shapes)) for size in span.sizes]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise IndexError(f"no axis {axis} at rank {rank}")
    return axis % rank


def _take_diagonal(view: Strided, step: Step, shift: int) -> None:
    rank = len(view.dim)
    i, j = (_axis(a, rank) for a in step.axes)
    down, right = max(0, -shift), max(0, shift)
    length = max(0, min(view.dim[i] - down, view.dim[j] - right))
    if length:
        view.offset += down * view.stride[i] + right * view.stride[j]
    stride = view.stride[i] + view.stride[j]
    for axis in sorted((i, j), reverse=True):
        del view.dim[axis], view.stride[axis]
    view.dim.append(length)
    view.stride.append(stride)


MAX_RANK = 8


@dataclass(frozen=True)
class Lowered:
    """A lowered graph.

    Attributes:
        axes: of a row kernel, what gives the reduced axes of a space of some rank; None where
            they are an attr.
        rank, reduced: of a row kernel, the rank of its space and its reduced axes.
        stored: the steps from the shape of an output to that which it is written in.
        numbers: what the tiling function computes of sizes besides.
    """

    program: Program
    operands: dict[str, View]
    spans: tuple[Span, ...] = ()
    axes: Callable[[int], set[int]] | None = None
    rank: int = 0
    reduced: frozenset[int] = frozenset()
    stored: tuple[Step, ...] = ()
    numbers: tuple[ScalarExpr, ...] = ()


Lower = Callable[[TracedGraph, AxisNames], Lowered]


def other_ranks(spec: OpSpec, traced: TracedGraph) -> list[TracedGraph]:
    """Trace the variant of a graph at other ranks, as far as the spec and compute allow some.

    The neighbours tell where axes count from; where compute asks for the rank, it may be any.
    """
    open_ranks = open_inputs(spec, traced)
    asks = _asks_rank(spec)
    axes = any(map(has_axes, traced.graph.nodes))
    if not open_ranks or not (asks or axes):
        return []
    reshaped = bool(reshapes(traced.graph))
    rank = open_rank(spec, traced)
    found: list[TracedGraph] = []
    for other in (rank + 1, rank - 1, *(range(MAX_RANK + 1) if asks else ())):
        known = {rank, *(open_rank(spec, t) for t in found)}
        if other in known or not takes_rank(open_ranks, other):
            continue
        if other == 0 and axes:
            continue  # there are none to compare
        if other < rank and found and reshaped:
            continue  # a reshape of fewer axes lacks sizes of 1 and means the same
        found += _traced_at(spec, traced, other)
    return found


def _traced_at(spec: OpSpec, traced: TracedGraph, rank: int) -> list[TracedGraph]:
    """Return the graph of another rank, or nothing where compute accepts no such inputs."""
    try:
        return [trace_at(spec, traced, rank)]
    except OpgenError as error:
        if any(d.code == "OPG201" for d in error.diagnostics):
            return []
        raise OpgenError(_rank_matters(spec, open_rank(spec, traced), rank)) from error


def takes_rank(params: list[TensorParam], rank: int) -> bool:
    """Whether all of some inputs may have a rank."""
    return all(p.min_rank <= rank <= p.max_rank for p in params)


def trace_at(spec: OpSpec, traced: TracedGraph, rank: int) -> TracedGraph:
    """Return the variant of a graph as ``trace`` gives it with another rank of the open inputs."""
    orders = {name: list(range(rank))[::-1] for name in traced.orders}
    return trace(spec, traced.variant, 0, orders, rank=rank)


def has_axes(node: Any) -> bool:
    """Whether a call of a graph depends on the axes of a tensor."""
    from msopgen_wrap.schedule.anchors import is_anchor
    from msopgen_wrap.schedule.calls import RESHAPES, VIEW_OPS, reduction_kind, target_name

    if node.op != "call_function":
        return False
    target = target_name(node)
    return bool(
        target in VIEW_OPS
        or target in RESHAPES
        or any(word in target for word in ("size", "numel"))
        or reduction_kind(node)
        or is_anchor(node)
    )


def compute_nodes(spec: OpSpec) -> list[ast.AST]:
    """Return the nodes of the syntax tree of ``compute``."""
    assert spec.compute is not None
    return list(ast.walk(ast.parse(spec.compute.text.strip())))


def _asks_rank(spec: OpSpec) -> bool:
    """Whether compute takes the rank of a tensor as a number."""
    nodes = compute_nodes(spec)
    names = {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    calls = {n.id for n in nodes if isinstance(n, ast.Name)}
    return bool(names & {"dim", "ndim", "ndimension"}) or "len" in calls


def open_inputs(spec: OpSpec, traced: TracedGraph) -> list[TensorParam]:
    """Return the inputs of any rank; a shape rule or a phase gives the rank of another one."""
    return [
        p
        for p in spec.inputs
        if p.name in traced.shapes and p.shape is None and p.min_rank < p.max_rank and not p.site
    ]


def open_rank(spec: OpSpec, traced: TracedGraph) -> int:
    """Return the rank that the inputs of any rank have in a graph."""
    return max(len(traced.shapes[p.name]) for p in open_inputs(spec, traced))


def axis_names(
    traced: TracedGraph, others: list[TracedGraph], lower: Lower, *, ranked: str = ""
) -> AxisNames:
    """Return what the axes of the sample are for every rank, as far as another rank shows it.

    Args:
        traced: the graph of the sample.
        others: those of other ranks.
        lower: what lowers a graph.
        ranked: an input whose rank is open, where axes of views may count from the front.
    """
    plain = AxisNames()
    if others:
        plain = AxisNames(tails=tails(traced, others[0]))
        if ranked:
            plain.heads = heads(traced, others[0])
            plain.fronts, plain.ranked = fronts(traced, others[0]), ranked
            plain.behind = behind(traced, others[0], ranked)
            plain.orders = orders(traced, others[0])
    first = _scalars(lower(traced, plain))
    if not others or not any(products(e) for group in first for e in group):
        return plain
    try:
        second = _scalars(lower(others[0], plain.unnamed()))
    except OpgenError:
        return plain
    pairs = [
        pair
        for one, other in zip(first, second, strict=True)
        if len(one) == len(other)
        for pair in zip(one, other, strict=True)
    ]
    return plain.with_names(named(pairs))


def ranked_input(spec: OpSpec, traced: TracedGraph) -> str:
    """Return an input of open rank that every call has; empty where there is none."""
    rank = open_rank(spec, traced) if open_inputs(spec, traced) else 0
    return next(
        (
            p.name
            for p in open_inputs(spec, traced)
            if p.kind is ParamKind.REQUIRED and len(traced.shapes[p.name]) == rank
        ),
        "",
    )


def _with_lower_ranks(
    spec: OpSpec, traced: TracedGraph, others: list[TracedGraph], names: AxisNames
) -> list[TracedGraph]:
    """Return the graphs of other ranks, with all lower ones where axes count from the front.

    Two axes of the sample, one counted from each end, are the same axis at a lower rank.
    """
    if not (names.fronts or names.behind or names.orders) or reshapes(traced.graph):
        return others  # a reshape of fewer axes lacks sizes of 1 and means the same
    found = list(others)
    known = {open_rank(spec, t) for t in (traced, *others)}
    for rank in range(min(known) - 1, 0, -1):
        if takes_rank(open_inputs(spec, traced), rank):
            found += _traced_at(spec, traced, rank)
    return found


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
    for other in _with_lower_ranks(spec, traced, others, names):
        assert first is not None
        if not replays(spec, first, other, lower, names):
            raise OpgenError(_rank_matters(spec, open_rank(spec, traced), open_rank(spec, other)))


def replays(
    spec: OpSpec,
    first: Lowered,
    other: TracedGraph,
    lower: Lower,
    names: AxisNames,
    broadcast: bool = False,
) -> bool:
    """Whether a lowered graph on the shapes of another trace is what that trace gives.

    Args:
        spec: the op.
        first: the lowered graph.
        other: the other trace.
        lower: lowers it.
        names: of the axes of ``first``.
        broadcast: whether operands may have more leading axes of size 1 in one than in the other.
    """
    attrs = base_attrs(spec, other)
    try:
        return _same(first, lower(other, names.unnamed()), other.shapes, attrs, broadcast)
    except (OpgenError, LookupError, ArithmeticError):
        return False


def _same(
    first: Lowered,
    second: Lowered,
    shapes: dict[str, Any],
    attrs: dict[str, Any],
    broadcast: bool = False,
) -> bool:
    if list(first.operands) != list(second.operands):
        return False
    for a, b in zip(first.operands.values(), second.operands.values(), strict=True):
        if (a.tensor, a.extent) != (b.tensor, b.extent):
            return False
        ours, theirs = (_reach(view, shapes, attrs) for view in (a, b))
        if broadcast:
            ours, theirs = (_without_leading_ones(reach) for reach in (ours, theirs))
        if ours != theirs:
            return False
    one, two = ([span_dims(s, shapes, attrs) for s in x.spans] for x in (first, second))
    if one != two:
        return False
    ours, theirs = ([_written(s, shapes, attrs) for s in x.stored] for x in (first, second))
    if ours != theirs:
        return False
    ours, theirs = ([evaluate(e, attrs, shapes) for e in x.numbers] for x in (first, second))
    if ours != theirs:
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


def _without_leading_ones(reach: tuple[list[int], list[int], int]) -> Any:
    sizes, strides, first = reach
    return list(itertools.dropwhile(lambda size: size == 1, sizes)), strides, first


def _written(step: Step, shapes: dict[str, Any], attrs: dict[str, Any]) -> Any:
    return step.axis, [int(evaluate(e, attrs, shapes)) for e in step.scalars]


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
        f"count axes from one end (`dim=-1`, `x[..., :n]`), or fix the rank: `rank: {rank}`",
    )


def _scalars(lowered: Lowered) -> list[list[ScalarExpr]]:
    """Return the numbers of a lowered graph: of its calls, operands, spans and outputs."""
    return [
        [a.expr for inst in lowered.program.insts for a in inst.args if isinstance(a, Scalar)],
        [e for view in lowered.operands.values() for e in view.scalars()],
        [size for span in lowered.spans for size in span.sizes],
        [e for step in lowered.stored for e in step.scalars],
        list(lowered.numbers),
    ]

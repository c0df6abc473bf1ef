"""Plan the row family: reductions over some axes of an iteration space, pointwise work around them.

The host brings every call to rows and columns: the last collapsed dimension is the columns, the
innermost dimension of the other kind (kept or reduced) the rows. A kernel reduces along the columns
or along the rows (vectorised over the columns). If all reduced elements of
a tile fit, the tile is read once (*resident*); otherwise they stream through in chunks, one pass
for the reductions, more where one needs another that no rule merges (``row_online``), and one for
the outputs (*streamed*). Where the rows leave cores idle, teams of cores share the chunks of as
many rows each (*split*: the same passes with an exchange through the workspace after each).
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.row.axes import GraphAxes, check_outputs
from msopgen_wrap.families.row.body import ReducedAxes, RowBody, RowPlan, needs_slot, row_budget
from msopgen_wrap.families.row.columns import added_early, operands_added, refused
from msopgen_wrap.families.row.extents import (
    assign_extents,
    covering_operands,
    kept_operands,
    spread_operands,
)
from msopgen_wrap.families.row.lowering import RowLowerer
from msopgen_wrap.families.row.open_ranks import axes_of_ranks, reduced_ranks
from msopgen_wrap.families.row.passes import (
    Piece,
    holds_last_chunk,
    reduce_in_place,
    resident_order,
    row_places,
    split_passes,
)
from msopgen_wrap.families.row.stretched import reduced_alone
from msopgen_wrap.graph.other_traces import traces_with_others
from msopgen_wrap.graph.sample import count_attrs
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import Place, Placement, allocate, share_slots
from msopgen_wrap.schedule.calls import reduction_kind
from msopgen_wrap.schedule.kernel_classes import class_name, share_classes
from msopgen_wrap.schedule.mixed_ranks import prove_mixed_ranks
from msopgen_wrap.schedule.peepholes import divide_directly, inverse_roots
from msopgen_wrap.schedule.plan import DOUBLE, MAX_OPERANDS, RESIDENT, ROW_BUDGETS
from msopgen_wrap.schedule.program import (
    DIRECT,
    Program,
    Scalar,
    eliminate_dead,
    join_group,
    share_common,
    signature,
)
from msopgen_wrap.schedule.ranks import (
    AxisNames,
    Lowered,
    axis_names,
    other_ranks,
    prove_ranks,
    ranked_input,
)
from msopgen_wrap.schedule.views import FULL, View
from msopgen_wrap.spec.model import Attr, OpSpec

# What traces_with_others gives for an attr of a graph, by its name.
OtherTraces = Callable[[str], list[tuple[Any, TracedGraph]]]

# The last digit of the tiling key.
MODES = {"resident": 0, "streamed": 1}


def plan_row(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> RowPlan:
    """Plan every variant and dtype combination of a graph with reductions."""
    columns = tuple(p for p in spec.outputs if p.name in spec.columns)
    own = replace(spec, outputs=tuple(p for p in spec.outputs if p not in columns))
    modes = {RESIDENT: 0} if columns else dict(MODES)
    plan = RowPlan(own, family, variants, [], modes, columns=columns)
    operand_names: dict[View, str] = {}
    rules: list[tuple[ReducedAxes, frozenset[str]]] = []
    for index in plan.served:
        variant = variants[index]
        groups: list[tuple[Program, RowLowerer, list[int]]] = []
        for combo in range(spec.combos):
            traced = first.get(index) if combo == 0 and index in first else None
            traced = traced or trace(spec, variant, combo)
            if combo == 0:
                others, unreduced = reduced_ranks(traced, other_ranks(spec, traced))
                open_axes = axes_of_ranks(spec, [traced, *others], unreduced)
                lower = functools.partial(_lowered, spec, open_axes, False)
                ends = axis_names(traced, others, lower, ranked=ranked_input(spec, traced))
                others_of = functools.cache(functools.partial(traces_with_others, spec, traced))
                spread = _changes_rows(spec, others_of, traced, open_axes, ends)
                if spread:
                    lower = functools.partial(_lowered, spec, open_axes, True)
                    ends = axis_names(traced, others, lower, ranked=ranked_input(spec, traced))
            program, lowerer = _lower(
                spec, traced, combo, operand_names, plan.scalar_names, ends, spread, keep=True
            )
            if combo == 0:
                _check_general(spec, others_of, traced, program, lowerer, open_axes)
            plan.narrow += [e for e in lowerer.narrow if e not in plan.narrow]
            if combo == 0:
                prove_ranks(spec, traced, others, lower, ends)
                prove_mixed_ranks(spec, traced, lower, ends, views_only=True)
            join_group(groups, program, lowerer, combo)
            squeezed = lowerer.space.squeezed_temporaries()
            rules.append((_axes_rule(spec, traced, lowerer.space, open_axes), squeezed))
        for program, lowerer, combos in groups:
            body = _body(own, plan, index, program, lowerer, combos, len(groups))
            slabs = _slab_views(own, body, lowerer)
            plan.bodies.append(replace(body, spans=lowerer.spans(), output_views=slabs))
    written = [set(body.row_outputs) for body in plan.bodies]
    if any(rule != rules[0] for rule in rules) or any(names != written[0] for names in written):
        raise OpgenError(
            Diagnostic(
                "OPG335",
                f"the variants of {spec.op} reduce different axes",
                spec.compute.location if spec.compute else spec.outputs[0].location,
                "all kernels of an op share one tiling function",
                "make the axes an attr without `allowed:`, or split the op",
            )
        )
    plan.axes, plan.squeezed = rules[0]
    share_classes(spec, variants, plan.bodies)
    return plan


def _slab_views(spec: OpSpec, body: RowBody, lowerer: RowLowerer) -> dict[str, View]:
    """Return where the slabs of outputs lie that a body writes; the host reshapes other outputs.

    Raises:
        OpgenError: OPG337 where a slab has one number per row, which are copied as one range.
    """
    slabs = [p for p in spec.outputs if p.slab is not None]
    for param in slabs:
        if param.name in body.row_outputs:
            raise OpgenError(
                Diagnostic(
                    "OPG337",
                    f"a slab of {param.tensor!r} has one number per row",
                    param.location,
                    "a pass with reductions stores such numbers one behind the other",
                    "make an op of what the slab holds",
                )
            )
    return {p.name: lowerer.output_views[p.name] for p in slabs}


def _lower(
    spec: OpSpec,
    traced: TracedGraph,
    combo: int,
    operand_names: dict[View, str],
    scalar_names: dict[Scalar, str],
    ends: AxisNames,
    spread: bool,
    keep: bool = False,
) -> tuple[Program, RowLowerer]:
    """Lower a graph; ``keep`` marks the operands that boxes share, which depends on the rank."""
    lowerer = RowLowerer(
        spec,
        traced,
        combo,
        operand_names=operand_names,
        scalar_names=scalar_names,
        axis_names=ends,
        spread=spread,
    )
    program = lowerer.run()
    check_outputs(spec, traced, lowerer.space)
    kept = kept_operands(lowerer) if keep else frozenset()
    program = _simplified(assign_extents(program, lowerer, kept))
    if not program.loads:
        raise OpgenError(_reads_nothing(spec))
    return program, lowerer


def _reads_nothing(spec: OpSpec) -> Diagnostic:
    return Diagnostic(
        "OPG331",
        f"no output of {spec.op} depends on the data of its inputs",
        spec.compute.location if spec.compute else spec.outputs[0].location,
        "a kernel with reductions gets its iteration space from the tensors that it reads",
        "write the constant without the reduction (torch.full_like, torch.ones_like)",
    )


def _simplified(program: Program) -> Program:
    return eliminate_dead(inverse_roots(divide_directly(share_common(program))))


def _changes_rows(
    spec: OpSpec,
    others_of: OtherTraces,
    traced: TracedGraph,
    open_axes: ReducedAxes | None,
    ends: AxisNames,
) -> bool:
    """Whether operands are numbers of rows for some axes that an attr may choose, not for all."""
    if not _axes_rule(spec, traced, GraphAxes(spec, traced), open_axes).attr:
        return False
    program, lowerer = _lower(spec, traced, 0, {}, {}, ends, False, keep=True)
    if not lowerer.row_loads:
        return False
    try:
        _check_general(spec, others_of, traced, program, lowerer, open_axes)
    except OpgenError:
        return True
    return False


def _lowered(
    spec: OpSpec, open_axes: ReducedAxes | None, spread: bool, traced: TracedGraph, names: AxisNames
) -> Lowered:
    program, lowerer = _lower(spec, traced, 0, {}, {}, names, spread)
    rule = _axes_rule(spec, traced, lowerer.space, open_axes)
    reduced, rank = lowerer.space.reduced, lowerer.space.rank
    by_rank = None if rule.attr else rule.at
    views = {**lowerer.operands, **lowerer.indices}
    spans, stored = lowerer.spans(), lowerer.stored_steps()
    return Lowered(program, views, spans, by_rank, rank, reduced, stored)


def _axes_rule(
    spec: OpSpec, traced: TracedGraph, space: GraphAxes, open_axes: ReducedAxes | None
) -> ReducedAxes:
    """How the host finds the reduced axes: by an attr, or as ``_fixed_axes`` says."""
    dim = _dim_of(spec, traced, space)
    return ReducedAxes(attr=dim) if dim else _fixed_axes(space, open_axes)


def _dim_of(spec: OpSpec, traced: TracedGraph, space: GraphAxes) -> str:
    """Return the attr whose value is the reduced axes, or an empty name."""
    counts = count_attrs(spec)
    structural = [
        n for n in traced.structural if spec.attr(n).type in ("int", "list_int") and n not in counts
    ]
    dims = [n for n in structural if _is_dim(spec, traced, n, space)]
    return dims[0] if dims else ""


def _fixed_axes(space: GraphAxes, open_axes: ReducedAxes | None) -> ReducedAxes:
    """How the host finds reduced axes that no attr chooses.

    Args:
        space: the space of a graph.
        open_axes: what gives them at all ranks, where the rank is open.
    """
    if len(space.reduced) == space.rank and space.rank > 1:
        return ReducedAxes(kept=0)
    if open_axes is not None:
        return open_axes
    return ReducedAxes(axes=tuple(sorted(a - space.rank for a in space.reduced)))


def _is_dim(spec: OpSpec, traced: TracedGraph, name: str, space: GraphAxes) -> bool:
    value = traced.structural[name]
    values = value if isinstance(value, (list, tuple)) else [value]
    if not all(isinstance(v, int) and -space.rank <= v < max(1, space.rank) for v in values):
        return False
    chosen = {int(v) % space.rank for v in values} if values else set(range(space.rank))
    return chosen == set(space.reduced)


def _check_general(
    spec: OpSpec,
    others_of: OtherTraces,
    traced: TracedGraph,
    program: Program,
    first: RowLowerer,
    open_axes: ReducedAxes | None,
) -> None:
    """Prove that other values of a dim attr give the same program, of the first dtypes."""
    counts = count_attrs(spec)
    rule = _axes_rule(spec, traced, first.space, open_axes)
    for name in traced.structural:
        attr = spec.attr(name)
        if name in counts:
            continue
        for _, again in others_of(name):
            if not any(map(reduction_kind, again.graph.nodes)):
                raise OpgenError(_changed_by(attr))
            lowerer = RowLowerer(spec, again, 0, axis_names=first.axis_names, spread=first.spread)
            second = lowerer.run()
            kept = kept_operands(lowerer)
            second = _simplified(assign_extents(second, lowerer, kept))
            # another axis than the reduced ones may be chosen, and by chance one of them
            fixed = _fixed_axes(lowerer.space, open_axes)
            axes = _axes_rule(spec, again, lowerer.space, open_axes) if rule.attr else fixed
            same_views = _reshapes(lowerer) == _reshapes(first)
            if axes != rule or not same_views or signature(second) != signature(program):
                raise OpgenError(_changed_by(attr))


def _reshapes(lowerer: RowLowerer) -> set[tuple[str, tuple[object, ...]]]:
    """Return the sizes that operands are reshaped to."""
    views = lowerer.operands.values()
    return {(v.tensor, s.shape) for v in views for s in v.steps if s.op == "reshape"}


def _changed_by(attr: Attr) -> Diagnostic:
    return Diagnostic(
        "OPG202",
        f"attr {attr.name!r} changes what compute does beyond the axes it reduces",
        attr.location,
        "the kernel is generated once and must serve every value",
        "give it `allowed:` values, `min: 1` where it counts something, or use it only as `dim`",
    )


# ---- bodies and UB -----------------------------------------------------------------------------


def _body(
    spec: OpSpec,
    plan: RowPlan,
    index: int,
    program: Program,
    lowerer: RowLowerer,
    combos: list[int],
    groups: int,
) -> RowBody:
    operands = lowerer.loaded(program)
    kept = set(_loads_of(program, "kept"))
    changing = kept & spread_operands(lowerer)
    spread = [name for name in operands if name in changing]
    _check_queues(spec, len(operands) - len(kept) + len(spread))
    resident, streamed = split_passes(program)
    if plan.columns:
        streamed = resident  # no rows stream through
    places, row_words, row_masks = row_places([streamed.order(), resident.order()])
    given = {**places, **_kept_places(program)}
    dtypes = {n: spec.param(v.tensor).dtypes for n, v in operands.items()}
    # an output and an operand of the same storage types both have a scratch slot, or neither has
    mergeable = {
        p.name: [n for n in operands if n not in kept and dtypes[n] == p.dtypes]
        for p in spec.outputs
    }
    whole = reduce_in_place(added_early(resident_order(program, resident)))
    placement = allocate(whole, mergeable, given, newest=True)
    holds = holds_last_chunk(streamed) and not plan.columns
    pieces = []
    for group in streamed.full if not plan.columns else ():
        pinned = holds and group is not streamed.full[-1]
        part = reduce_in_place(Program(group, dict(program.scalars), program._next), pinned)
        place = allocate(part, mergeable, given, newest=True, pinned=pinned)
        pieces.append(Piece(part, place, {i.mode: operands[i.mode] for i in part.loads}))
    final = pieces[-1].placement if pieces else placement
    _share_outputs(placement, final)
    placement.masks = max([placement.masks, *(p.placement.masks for p in pieces)])
    used = dict.fromkeys(i.mode for i in program.insts if i.op == "Index")
    indices = {name: lowerer.indices[name] for name in used}
    root, covering = covering_operands(spec, operands, lowerer.spans(), indices.values())
    for param in plan.columns:
        # else the rows of the pass could be more than those that are added up
        if not operands_added(program, param.name) & covering:
            raise refused(spec, param.name)
    body = RowBody(
        class_name(spec, plan.variants, index, combos, groups),
        index,
        tuple(combos),
        whole,
        placement,
        operands,
        len(spec.outputs),
        indices=indices,
        resident=resident,
        streamed=streamed,
        pieces=pieces,
        row_operands=_loads_of(program, "row"),
        row_outputs=[s.mode for s in streamed.row_stores],
        row_words=row_words,
        row_masks=row_masks,
        kept=[name for name in operands if name in kept],
        spread=spread,
        root=root,
        covering=covering,
        holds=holds,
        columns=plan.columns,
        reductions=tuple(reduced_alone(spec, program, operands, indices, covering)),
    )
    if any(_lacks_stage(spec, body, combo) for combo in combos):
        final.words = placement.words = 1
    for combo in combos:
        for mode in (RESIDENT, DOUBLE) if plan.columns else ROW_BUDGETS:
            body.budgets[combo, mode] = row_budget(spec, body, combo, mode)
    return body


def _loads_of(program: Program, extent: str) -> list[str]:
    """Return the operands that are loaded as values of an extent."""
    return [i.mode for i in program.loads if i.dst is not None and i.dst.extent == extent]


def _check_queues(spec: OpSpec, read: int) -> None:
    """Raise OPG311 when a kernel has fewer queues than it reads or writes tensors."""
    # one event id stays free for the exchange between cores
    most = MAX_OPERANDS - 1
    if read > most:
        raise OpgenError(
            Diagnostic(
                "OPG311",
                f"{spec.op} reads {read} tensors at once; a kernel with "
                f"reductions has {most} input queues",
                spec.inputs[most].location if len(spec.inputs) > most else spec.inputs[0].location,
                "each queue needs its own event id, and the exchange between cores one: there are "
                "8 per pipe pair; an input that is read in two ways counts twice",
                "split the op, or write the kernel with `kernel:`",
            )
        )
    if len(spec.outputs) > most:
        raise OpgenError(
            Diagnostic(
                "OPG311",
                f"{spec.op} writes {len(spec.outputs)} tensors at once; a kernel with reductions "
                f"has {most} output queues",
                spec.outputs[most].location,
                "each queue needs its own event id, and the exchange between cores one: there are "
                "8 per pipe pair",
                "split the op, or write the kernel with `kernel:`",
            )
        )


def _share_outputs(resident: Placement, streamed: Placement) -> None:
    """Let both modes write the outputs to the same slots; ``streamed`` is that of the last pass."""
    streamed.words = resident.words = max(streamed.words, resident.words)
    both = {
        name: [p for p in places if p in streamed.sharable.get(name, [])]
        for name, places in resident.sharable.items()
    }
    streamed.shared = resident.shared = share_slots(both)


def _lacks_stage(spec: OpSpec, body: RowBody, combo: int) -> bool:
    """Whether kept operands are widened, and no scratch slot takes what is loaded of them."""
    kept = [n for n in body.kept if n not in body.spread]
    names = [n for n, v in body.operands.items() if n not in body.kept and v.extent == FULL]
    slots = body.placement.words + sum(needs_slot(spec, body, n, combo) for n in names)
    narrow = any(spec.param(body.operands[n].tensor).dtypes[combo] not in DIRECT for n in kept)
    return narrow and not slots


def _kept_places(program: Program) -> dict[int, Place]:
    return {
        i.dst.id: Place("kept", i.mode)
        for i in program.loads
        if i.dst is not None and i.dst.extent == "kept"
    }

"""Plan the scan family: prefix sums and the like along one axis, pointwise work around them.

The host brings every call to rows and columns, one of which is the axis. A core takes items: the
rows, or the columns, that it scans side by side. It goes through the boxes of an item one after
another, and keeps what the next one begins with.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, field

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.call_variants import different_variants
from msopgen_wrap.families.elementwise.plan import budget
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.scan.loops import (
    is_looped,
    loop_group,
    sorted_sections,
    state_values,
)
from msopgen_wrap.families.scan.lowering import COMPARING, SCRATCH_TILES, ScanLowerer
from msopgen_wrap.graph.other_traces import traces_with_others
from msopgen_wrap.graph.sample import count_attrs
from msopgen_wrap.graph.scalars import ScalarExpr
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import Place, allocate
from msopgen_wrap.schedule.kernel_classes import class_name, share_classes
from msopgen_wrap.schedule.mixed_ranks import prove_mixed_ranks
from msopgen_wrap.schedule.peepholes import divide_directly
from msopgen_wrap.schedule.plan import ROW_GROUP, SELECT_RESERVE, Body, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import Program, eliminate_dead, join_group, signature
from msopgen_wrap.schedule.ranks import (
    AxisNames,
    Lowered,
    axis_names,
    other_ranks,
    prove_ranks,
    ranked_input,
)
from msopgen_wrap.schedule.views import Span, View
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.schedule_entries import asked_buffers

# The last digit of the tiling key, and the name of the UB budget.
MODES = {"boxes": 0}
# Numbers per row of a box that a scan along the columns keeps of segments: those before each of
# the 16, and the steps from one to the next.
_SEGMENT_NUMBERS = 2 * 16 + 1


@dataclass(frozen=True)
class ScanAxis:
    """How the host finds the axis of a call.

    Attributes:
        attr: the attr that names it, empty when none does.
        axis: a fixed axis, negative from the end.
    """

    attr: str = ""
    axis: int = -1


@dataclass
class ScanPlan(OpPlan[Body]):
    """The plan of an op with scans.

    Attributes:
        axis: how the host finds the axis.
        backwards: whether the kernels go from the last element to the first.
        scanned_spans: sizes that expanded tensors which are scanned have, with their variants.
    """

    axis: ScanAxis = ScanAxis()
    backwards: bool = False
    scanned_spans: list[tuple[int, Span]] = field(default_factory=list)

    def tiling_attrs(self) -> set[str]:
        """Return the attr that names the axis."""
        return {self.axis.attr} - {""}


def plan_scan(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> ScanPlan:
    """Plan every variant and dtype combination of a graph with scans.

    Raises:
        OpgenError: OPG350 where the formula takes more than one pass.
    """
    plan = ScanPlan(spec, family, variants, [], dict(MODES))
    names: dict[View, str] = {}
    narrow: dict[ScalarExpr, None] = {}
    ways: dict[tuple[ScanAxis, bool], None] = {}
    layouts = []
    for index in plan.served:
        groups: list[tuple[Program, ScanLowerer, list[int]]] = []
        for combo in range(spec.combos):
            traced = first.get(index) if combo == 0 else None
            traced = traced or trace(spec, variants[index], combo)
            if combo == 0:
                lower = functools.partial(_lowered, spec)
                others = other_ranks(spec, traced)
                ends = axis_names(traced, others, lower, ranked=ranked_input(spec, traced))
                prove_ranks(spec, traced, others, lower, ends)
                prove_mixed_ranks(spec, traced, lower, ends, views_only=True)
                axis = _axis(spec, traced)
            lowerer = ScanLowerer(
                spec,
                traced,
                combo,
                operand_names=names,
                scalar_names=plan.scalar_names,
                axis_names=ends,
            )
            program = _program(lowerer)
            ways[axis, True in lowerer.directions] = None
            narrow.update(lowerer.narrow)
            layouts.append((lowerer.output_views, lowerer.stored_shapes))
            join_group(groups, program, lowerer, combo)
            spans = [(index, span) for span in lowerer.scanned_spans()]
            plan.scanned_spans += [s for s in spans if s not in plan.scanned_spans]
        for program, lowerer, combos in groups:
            plan.bodies.append(_body(spec, plan, index, program, lowerer, combos, len(groups)))
    if len(ways) > 1 or any(layout != layouts[0] for layout in layouts):
        what = "scan along different axes, or in different directions"
        cure = "make the axis an attr without `allowed:`"
        raise OpgenError(different_variants(spec, what, cure))
    (plan.axis, plan.backwards), plan.narrow = next(iter(ways)), list(narrow)
    share_classes(spec, variants, plan.bodies)
    return plan


def _program(lowerer: ScanLowerer) -> Program:
    """Return the program of a graph.

    Raises:
        OpgenError: OPG350 where nothing is scanned, as in some variants of gradients, or read.
    """
    program = sorted_sections(lowerer, eliminate_dead(divide_directly(lowerer.run())))
    if not lowerer.scanned:
        raise OpgenError(lowerer.other_pass(lowerer.result(), "nothing is scanned"))
    if not program.loads:
        raise OpgenError(lowerer.other_pass(lowerer.scanned[0], "it reads no tensor"))
    return program


def _lowered(spec: OpSpec, traced: TracedGraph, names: AxisNames) -> Lowered:
    lowerer = ScanLowerer(spec, traced, 0, axis_names=names)
    program = _program(lowerer)
    views = {**lowerer.operands, **lowerer.indices}

    def axes(rank: int) -> set[int]:
        return {axis % max(1, rank) for axis in lowerer.axes}

    rank = lowerer.rank
    spans = (*lowerer.spans(), *lowerer.stored_spans())
    stored = lowerer.stored_steps()
    return Lowered(program, views, spans, axes, rank, frozenset(axes(rank)), stored)


def _axis(spec: OpSpec, traced: TracedGraph) -> ScanAxis:
    """Return how the host finds the axis, proved for other values of the attr that names it.

    Raises:
        OpgenError: OPG202 where an attr shapes more than the axis.
    """
    counts = count_attrs(spec)
    form, axis = _form(spec, traced)
    found = ScanAxis(axis=axis)
    for name, value in traced.structural.items():
        attr = spec.attr(name)
        if name in counts or attr.type == "str":
            continue
        names_axis = attr.type == "int" and value == axis
        for other, again in traces_with_others(spec, traced, name):
            other_form, other_axis = _form(spec, again)
            names_axis = names_axis and other_axis == other
            if other_form != form or not (names_axis or other_axis == axis):
                raise OpgenError(_structural(spec, name))
        if names_axis:
            found = ScanAxis(attr=name)
    return found


def _form(spec: OpSpec, traced: TracedGraph) -> tuple[object, int]:
    """Return what is equal for graphs that have the same kernel and tiling, and the axis."""
    lowerer = ScanLowerer(spec, traced, 0)
    program = _program(lowerer)
    views = {**lowerer.loaded(program), **lowerer.indices, **lowerer.output_views}
    form = (signature(program), views, lowerer.stored_shapes, lowerer.spans())
    return form, next(iter(lowerer.axes))


def _structural(spec: OpSpec, name: str) -> Diagnostic:
    attr = spec.attr(name)
    return Diagnostic(
        "OPG202",
        f"attr {attr.name!r} changes what compute does beyond the axis it scans",
        attr.location,
        "the kernel is generated once and must serve every value",
        "give it `allowed:` values, or use it only as `dim`",
    )


# ---- bodies and UB -----------------------------------------------------------------------------


def _body(
    spec: OpSpec,
    plan: ScanPlan,
    index: int,
    program: Program,
    lowerer: ScanLowerer,
    combos: list[int],
    groups: int,
) -> Body:
    operands = lowerer.loaded(program)
    mergeable = {
        p.name: [n for n, view in operands.items() if spec.param(view.tensor).dtypes == p.dtypes]
        for p in spec.outputs
    }
    used = dict.fromkeys(i.mode for i in program.insts if i.op == "Index")
    # the shape of an output is given, that of a temporary follows from all spans
    given = not any(p.site is not None for p in spec.outputs)
    spans = lowerer.scanned_spans() if given else (*lowerer.spans(), *lowerer.scanned_spans())
    body = Body(
        class_name(spec, plan.variants, index, combos, groups),
        index,
        tuple(combos),
        program,
        allocate(program, mergeable, fixed=_state_places(program)),
        operands,
        len(spec.outputs),
        output_views=lowerer.output_views,
        spans=tuple(dict.fromkeys(spans)),
        indices={name: lowerer.indices[name] for name in used},
        stored_shapes=lowerer.stored_shapes,
        asked_buffers=asked_buffers(spec.schedule),
    )
    for combo in combos:
        body.budgets[combo, "boxes"] = scan_budget(spec, body, combo)
    return body


def _state_places(program: Program) -> dict[int, Place]:
    """Return the places of the states of a loop, which are rows and no tiles."""
    states = enumerate(state_values(program), 1)
    return {value.id: Place("state", f"state{number}") for number, value in states}


def scan_budget(spec: OpSpec, body: Body, combo: int) -> Budget:
    """Return the UB use of a body for a dtype combination: its tiles, and what scans keep."""
    tiles = budget(spec, body, combo, "broadcast")
    kept: list[Buffer] = []
    modes = [i.mode for i in body.program.insts if i.op == "Scan"]
    for number, mode in enumerate(modes, 1):
        states = 2 if SCRATCH_TILES[mode] > 1 else 1
        scratch = 2 if mode in COMPARING or states > 1 else 0
        row = 4 * (states * _SEGMENT_NUMBERS + 16 * scratch)
        extra = scan_group(body) - ROW_GROUP  # rows come in groups
        kept += [
            Buffer(f"scan{number}: carry and scratch", 0, per_number=4 * (states + scratch)),
            Buffer(f"scan{number}: segments", 0, fixed=extra * row, per_row=row),
        ]
    reserved = max(tiles.reserved, SELECT_RESERVE if set(modes) & set(COMPARING) else 0)
    for number, _ in enumerate(state_values(body.program), 1):
        kept.append(Buffer(f"state{number} of the loop", 0, per_number=4))
    return Budget((*tiles.buffers, *kept), reserved)


def scan_group(body: Body) -> int:
    """Return how many rows, or segments of rows, the scans of a body work on at once."""
    if is_looped(body.program):
        return loop_group(body.program)
    modes = {i.mode for i in body.program.insts if i.op == "Scan"}
    return 64 if modes & set(COMPARING) else 16

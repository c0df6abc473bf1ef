"""Plan calls over windows: one call per variant, over an input as it lies in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.call_variants import CallVariant, different_variants, read_variants
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.float_dtypes import check_floats
from msopgen_wrap.families.window.call import WindowCall, WindowReader
from msopgen_wrap.graph.other_traces import trace_with
from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.kernel_classes import class_name, share_classes
from msopgen_wrap.schedule.plan import SELECT_RESERVE, Body, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES, Program
from msopgen_wrap.spec.model import OpSpec

# The only mode, and the last digit of its tiling key.
MODES = {"windows": 0}
# Bytes of the masks that a search for positions compares into, as opgen/window.h has it.
MASK_BYTES = 1024


@dataclass
class WindowPlan(OpPlan[Body]):
    """The plan of a call.

    Attributes:
        call: the call.
    """

    call: WindowCall = field(default_factory=lambda: WindowCall("", "max", "", "", 0))


def plan_window(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> WindowPlan:
    """Plan the call of every variant and dtype combination.

    Raises:
        OpgenError: OPG350 where the graph is more than one call over an input.
    """
    plan = WindowPlan(spec, family, variants, [], dict(MODES))
    calls: list[tuple[WindowCall, dict[str, Any]]] = []
    for read in read_variants(spec, variants, list(plan.served), first, WindowReader):
        call = read.call
        _check_dtypes(spec, call)
        _check_others(spec, read)
        calls.append((call, read.operands))
        combos = tuple(range(spec.combos))
        name = class_name(spec, variants, read.index, list(combos), 1)
        body = Body(
            name, read.index, combos, Program(), Placement(), read.operands, len(spec.outputs)
        )
        for combo in combos:
            body.budgets[combo, "windows"] = budget(spec, call, combo)
        plan.bodies.append(body)
    if any(found != calls[0] for found in calls):
        cure = "make the numbers of the windows attrs without `allowed:`"
        raise OpgenError(different_variants(spec, "have other windows", cure))
    plan.call = calls[0][0]
    numbers = dict.fromkeys(plan.call.numbers())
    plan.narrow = [n for n in numbers if not isinstance(n, Const)]
    share_classes(spec, variants, plan.bodies)
    return plan


def _check_others(spec: OpSpec, read: CallVariant[WindowCall]) -> None:
    """Prove that other ranks, and other values of the attrs that shaped the graph, are the call.

    Raises:
        OpgenError: OPG202 or OPG204.
    """
    for other in read.others:
        if WindowReader(spec, other, 0, axis_names=read.names).read() != read.call:
            raise OpgenError(
                Diagnostic(
                    "OPG204",
                    f"the windows of {spec.op} depend on the rank of its inputs",
                    spec.compute.location if spec.compute else spec.outputs[0].location,
                    "one kernel serves every rank",
                    "give the input a `rank`",
                )
            )
    for name, known in read.traced.structural.items():
        values = [known] if not isinstance(known, int) else [known + 1, known + 2, known - 1]
        for value in values:
            again = trace_with(spec, read.traced, name, value)
            if again is None:
                continue  # no window of the sample
            if WindowReader(spec, again, 0, axis_names=read.names).read() != read.call:
                raise OpgenError(_shapes(spec, name))


def _shapes(spec: OpSpec, name: str) -> Diagnostic:
    return Diagnostic(
        "OPG202",
        f"attr {name!r} changes what compute does beyond the sizes of its windows",
        spec.attr(name).location,
        "the kernel is generated once and must serve every value",
        "give it `allowed:` values, or use it only as a number of the windows",
    )


def _check_dtypes(spec: OpSpec, call: WindowCall) -> None:
    """Refuse what the vector unit does not compute windows of.

    Raises:
        OpgenError: OPG332.
    """
    params = [spec.param(call.tensor)] + ([spec.param(call.values)] if call.values else [])
    why = "windows are computed of float16, bfloat16 and float32"
    check_floats(params, f"{spec.op} has windows of", why)
    if call.places:
        places = spec.param(call.places)
        if {*places.dtypes} != {"int32"}:
            raise OpgenError(
                Diagnostic(
                    "OPG332",
                    f"{spec.op} has positions of {places.dtypes[0]}",
                    places.location,
                    "positions of elements in a plane are read as int32",
                    "leave them out of `save`, so that they are computed again",
                )
            )


def budget(spec: OpSpec, call: WindowCall, combo: int) -> Budget:
    """Return the UB use of a call: per element read, per element of joined columns, per result."""
    source = DTYPE_BYTES[spec.param(call.tensor).dtypes[combo]]
    if call.sizes:
        return _gradient_budget(spec, call, combo)
    states = 2 if call.positions else 1
    results = {
        f"{name}Queue": DTYPE_BYTES[spec.param(name).dtypes[combo]]
        for name in (call.values, call.positions)
        if name
    }
    buffers = [Buffer(f"{call.tensor}Queue", source, 2)]
    if source < 4:
        buffers.append(Buffer("wideBuf", 4))
    buffers += [
        Buffer("columns", 4),
        Buffer("joined columns", 0, per_number=4 * states),
        Buffer("joined rows", 0, per_number=4 * states),
        Buffer("results", 0, per_row=4 * states),
        *(Buffer(name, 0, per_row=2 * size) for name, size in results.items()),
    ]
    if call.kind == "average":
        buffers.append(Buffer("shares", 0, per_row=4))
    if call.positions:
        buffers.append(Buffer("masks", 0, fixed=MASK_BYTES))
    return Budget(tuple(buffers), SELECT_RESERVE if call.positions else 0)


def _gradient_budget(spec: OpSpec, call: WindowCall, combo: int) -> Budget:
    """Return the UB use of a gradient: per element read, per sum along rows, per result."""
    source = DTYPE_BYTES[spec.param(call.tensor).dtypes[combo]]
    buffers = [Buffer(f"{call.tensor}Queue", source, 2)]
    if source < 4:
        buffers.append(Buffer("wideBuf", 4))
    if call.places:
        places = DTYPE_BYTES[spec.param(call.places).dtypes[combo]]
        buffers.append(Buffer(f"{call.places}Queue", places, 2))
        buffers += [Buffer("places", 4), Buffer("chosen", 4), Buffer("mask", 0, fixed=MASK_BYTES)]
    else:
        # A row of a chunk, which has 16 lanes.
        buffers.append(Buffer("shares", 4 / 16))
    buffers += [
        Buffer("columns", 4),
        Buffer("joined columns", 0, per_number=4),
        Buffer("joined rows", 0, per_number=4),
        Buffer("results", 0, per_row=4),
        Buffer(call.values, 0, per_row=2 * DTYPE_BYTES[spec.param(call.values).dtypes[combo]]),
    ]
    return Budget(tuple(buffers), SELECT_RESERVE if call.places else 0)

"""Plan calls that resample planes: one call per variant, over an input as it lies in memory."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.call_variants import (
    Sizes,
    different_variants,
    prove_numbers,
    read_variants,
)
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.float_dtypes import check_floats
from msopgen_wrap.families.resize.call import ResizeCall, ResizeReader
from msopgen_wrap.graph.other_traces import other_values
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.kernel_classes import class_name, share_classes
from msopgen_wrap.schedule.plan import Body, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES, Program, Scalar
from msopgen_wrap.spec.model import OpSpec

# The only mode, and the last digit of its tiling key.
MODES = {"resize": 0}
# Bytes of where the rows of an axis lie: 256 lanes of three numbers (opgen/resize_places.h).
_ROWS_BYTES = 256 * 3 * 4


@dataclass
class ResizePlan(OpPlan[Body]):
    """The plan of a call.

    Attributes:
        call: the call, that of each variant but for the corners.
        by_corners: the variants whose results have the corners of their planes.
    """

    call: ResizeCall = field(default_factory=ResizeCall)
    by_corners: list[int] = field(default_factory=list)

    def tiling_numbers(self) -> dict[str, Scalar]:
        """Return the numbers of the call that TilingFunc reads."""
        return {
            f"{name}{i}": Scalar(number)
            for name, numbers in self.call.numbers().items()
            for i, number in enumerate(numbers)
        }


def plan_resize(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> ResizePlan:
    """Plan the call of every variant and dtype combination.

    Raises:
        OpgenError: OPG350 where the graph is more than one call over an input.
    """
    plan = ResizePlan(spec, family, variants, [], dict(MODES))
    calls: list[tuple[ResizeCall, dict[str, Any]]] = []
    for read in read_variants(spec, variants, list(plan.served), first, ResizeReader, _sizes_of):
        call = read.call
        why = "results are computed of float16, bfloat16 and float32"
        params = (spec.param(call.tensor), spec.outputs[0])
        check_floats(params, f"{spec.op} resizes tensors of", why)
        calls.append((call, read.operands))
        others = {n: other_values(spec.attr(n), read.traced) for n in read.traced.structural}
        prove_numbers(spec, read.traced, calls[-1], ResizeReader, others, "sizes and scales")
        combos = tuple(range(spec.combos))
        name = class_name(spec, variants, read.index, list(combos), 1)
        body = Body(name, read.index, combos, Program(), Placement(), read.operands, 1)
        for combo in combos:
            body.budgets[combo, "resize"] = budget(spec, call, combo)
        plan.bodies.append(body)
        plan.by_corners += [read.index] if call.corners else []
    if any(found != calls[0] for found in calls):
        cure = "make the sizes attrs without `allowed:`"
        raise OpgenError(different_variants(spec, "resize in other ways", cure))
    plan.call = calls[0][0]
    share_classes(spec, variants, plan.bodies)
    return plan


def _sizes_of(call: ResizeCall) -> Sizes:
    return (), (*call.lengths, *call.scales)


def budget(spec: OpSpec, call: ResizeCall, combo: int) -> Budget:
    """Return the UB use of a call: per element of a row, per column of a tile, per result."""
    source = DTYPE_BYTES[spec.param(call.tensor).dtypes[combo]]
    target = DTYPE_BYTES[spec.outputs[0].dtypes[combo]]
    rows = call.depths * call.heights
    buffers = [
        Buffer(f"{call.tensor}Queue", source, 2 * rows),
        Buffer("rows", 4 * (rows + 1)),
        Buffer("places", 0, per_number=4 * call.taps),
        Buffer("columns", 0, per_number=4),
        Buffer(f"{spec.outputs[0].name}Queue", 0, per_row=2 * target),
    ]
    if call.taps > 1:
        buffers.append(Buffer("weights", 0, per_number=4 * call.taps))
    if target < 4:
        buffers.append(Buffer("wideBuf", 0, per_row=4))
    if len(call.lengths) > 1:
        fixed = _ROWS_BYTES * (len(call.lengths) - 1)
        buffers.append(Buffer("numbers of rows", 0, fixed=fixed))
    return Budget(tuple(buffers), 0)

"""Plan depthwise convolutions: positions of eight planes side by side, and filters in UB."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.call_variants import (
    different_variants,
    prove_numbers,
    read_variants,
)
from msopgen_wrap.families.depthwise.call import BY_FILTERS, DepthwiseCall, DepthwiseReader
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.float_dtypes import check_floats
from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.graph.structural import other_values
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.kernel_classes import class_name, share_classes
from msopgen_wrap.schedule.plan import Body, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES, Program
from msopgen_wrap.spec.model import OpSpec

# The only mode, and the last digit of its tiling key.
MODES = {"depthwise": 0}
# Bytes of the numbers that sums start with, as opgen/depthwise.h has it.
_BIAS_BYTES = 544
# Bytes of a slot of sums, as opgen/depthwise_filters.h has it.
_SLOT_BYTES = 256
# Elements of the largest type that the bias of eight planes takes, a block each.
_LOADED_BIAS_BYTES = 256


@dataclass
class DepthwisePlan(OpPlan[Body]):
    """The plan of a depthwise convolution.

    Attributes:
        call: the convolution.
    """

    call: DepthwiseCall = field(default_factory=DepthwiseCall)


def plan_depthwise(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> DepthwisePlan:
    """Plan the convolution of every variant and dtype combination.

    Raises:
        OpgenError: OPG350 where the graph is more than one convolution of inputs, OPG202 where an
            attr shapes more than its numbers, OPG332 for dtypes that are not computed in float.
    """
    plan = DepthwisePlan(spec, family, variants, [], dict(MODES))
    calls: list[tuple[DepthwiseCall, dict[str, Any]]] = []
    for read in read_variants(spec, variants, list(plan.served), first, DepthwiseReader):
        calls.append((read.call, read.operands))
        _check_dtypes(spec, read.call)
        traced = read.traced
        others = {n: other_values(spec.attr(n), traced) for n in traced.structural}
        prove_numbers(spec, traced, calls[-1], DepthwiseReader, others)
        combos = tuple(range(spec.combos))
        name = class_name(spec, variants, read.index, list(combos), 1)
        body = Body(name, read.index, combos, Program(), Placement(), read.operands, 1)
        for combo in combos:
            body.budgets[combo, "depthwise"] = budget(spec, read.call, combo)
        plan.bodies.append(body)
    if any(found != calls[0] for found in calls):
        cure = "make the numbers attrs without `allowed:`"
        raise OpgenError(different_variants(spec, "are different convolutions", cure))
    plan.call = calls[0][0]
    plan.narrow = [n for n in dict.fromkeys(plan.call.every()) if not isinstance(n, Const)]
    share_classes(spec, variants, plan.bodies)
    return plan


def _check_dtypes(spec: OpSpec, call: DepthwiseCall) -> None:
    """Refuse what is not computed in float, and sums of parts that are not floats.

    Raises:
        OpgenError: OPG332, OPG350.
    """
    if call.read == BY_FILTERS and {*spec.param(call.result).dtypes} != {"float32"}:
        raise OpgenError(
            Diagnostic(
                "OPG350",
                f"{spec.op} has sums of parts of its images in another dtype than float32",
                spec.param(call.result).location,
                "cores add up products in float32, and another pass adds up their sums",
                "ask for the gradient of the filters, which is the sum of all parts",
            )
        )
    names = filter(None, (call.image, call.filters, call.bias, call.result))
    why = "convolutions with a group for each channel are computed of float16, bfloat16 and float32"
    check_floats(map(spec.param, names), f"{spec.op} convolves", why)


def budget(spec: OpSpec, call: DepthwiseCall, combo: int) -> Budget:
    """Return the UB use: per element loaded, per number in float, per result, per filter element.

    The last ones are the elements of the filters that a tile goes through at once.
    """
    size = {
        name: DTYPE_BYTES[spec.param(name).dtypes[combo]]
        for name in (call.image, call.filters, call.bias, call.result)
        if name
    }
    buffers = [
        Buffer(f"{call.image}Queue", size[call.image], 2),
        Buffer("planes", 4),
        Buffer("rows", 0, per_number=4),
    ]
    if call.read == BY_FILTERS:
        return Budget(
            (
                *buffers,
                Buffer("sums", 0, per_number=4),
                Buffer(f"{call.filters}Queue", 0, per_row=2 * size[call.filters]),
                Buffer("gradients", 0, per_row=4),
                Buffer("zeros", 0, fixed=_SLOT_BYTES),
            )
        )
    buffers += [
        Buffer("sums", 0, per_row=4),
        Buffer(f"{call.result}Queue", 0, per_row=2 * size[call.result]),
        Buffer("bias", 0, fixed=_BIAS_BYTES),
    ]
    if call.bias:
        buffers.append(Buffer(f"{call.bias}Queue", 0, fixed=_LOADED_BIAS_BYTES))
    return Budget(tuple(buffers))


def bytes_per_tap(spec: OpSpec, call: DepthwiseCall, combo: int) -> int:
    """Return the bytes of UB per element of the filters: as in memory, and in float."""
    name = call.result if call.read == BY_FILTERS else call.filters
    return DTYPE_BYTES[spec.param(name).dtypes[combo]] + 4

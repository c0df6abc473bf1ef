"""Plan the convolution family: the filters times columns that vector cores gather.

The columns of a tile of output positions hold, one to a row, the elements of the input that an
element of the window meets. They are never written for the whole input: a group of a cube core and
its vector cores keeps those of two tiles in the workspace, small enough to stay in L2.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.call_variants import (
    CallVariant,
    different_variants,
    prove_numbers,
    read_variants,
)
from msopgen_wrap.families.convolution.reading import ConvolutionCall, ConvolutionReader
from msopgen_wrap.families.family import Family
from msopgen_wrap.graph.structural import other_values
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.cube import (
    FLOAT_RESULTS,
    CubeBody,
    check_cube_cores,
    cube_block,
    cube_memories,
)
from msopgen_wrap.schedule.kernel_classes import class_name, share_classes
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.schedule.program import I32, Program, Scalar
from msopgen_wrap.spec.model import OpSpec

# The last digit of the tiling key: a convolution, or zeros, which the sums of a gradient over no
# images are.
MODES = {"convolution": 0}
ZEROS = {"zeros": 1}


@dataclass
class ConvolutionPlan(OpPlan[CubeBody]):
    """The plan of a convolution.

    Attributes:
        call: the convolution.
    """

    call: ConvolutionCall = field(default_factory=ConvolutionCall)

    def tiling_numbers(self) -> dict[str, Scalar]:
        """Return the numbers of the call that TilingFunc reads."""
        return {
            f"{name}{i}": Scalar(number, I32)
            for name, numbers in self.call.numbers().items()
            for i, number in enumerate(numbers)
        }


def plan_convolution(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> ConvolutionPlan:
    """Plan the convolution of every variant and dtype combination.

    Raises:
        OpgenError: OPG410 where the graph is more than one convolution of views of inputs, OPG412
            for dtypes that the cube does not multiply, OPG413 for a SoC without cube cores.
    """
    check_cube_cores(
        spec,
        "OPG413",
        "convolves",
        "generated convolutions run on cube and vector cores of arch 2201 together",
    )
    plan = ConvolutionPlan(spec, family, variants, [], dict(MODES))
    memories = cube_memories(spec.soc)
    calls: list[Any] = []
    for read in read_variants(spec, variants, list(plan.served), first, ConvolutionReader):
        calls.append((read.call, read.operands))
        others = {n: _other_values(spec, read.traced, n) for n in read.traced.structural}
        prove_numbers(spec, read.traced, calls[-1], ConvolutionReader, others)
        combos = list(range(spec.combos))
        name = class_name(spec, variants, read.index, combos, 1)
        body = CubeBody(name, read.index, tuple(combos), Program(), Placement(), read.operands)
        for combo in combos:
            dtype = _dtype(spec, read, combo)
            body.blocks[combo] = cube_block(dtype, memories)
        plan.bodies.append(body)
    if any(found != calls[0] for found in calls):
        cure = "make the numbers attrs without `allowed:`"
        raise OpgenError(different_variants(spec, "are different convolutions", cure))
    plan.call = calls[0][0]
    if plan.call.read == "ReadFilterGradient":
        plan.modes.update(ZEROS)
    share_classes(spec, variants, plan.bodies)
    return plan


def _other_values(spec: OpSpec, traced: TracedGraph, name: str) -> list[Any]:
    """Return other values of an attr that shapes the graph, small ones among them."""
    attr, known = spec.attr(name), traced.structural[name]
    small = [v for v in (1, 2) if attr.minimum is None or v >= attr.minimum]
    if attr.type == "list_int":
        return [[v] * len(known) for v in small]
    return [v for v in (*other_values(attr, traced), *small) if v != known]


def _dtype(spec: OpSpec, read: CallVariant[ConvolutionCall], combo: int) -> str:
    """Return the dtype of the operands.

    Raises:
        OpgenError: OPG410 where floats differ (they go through the workspace), else OPG412.
    """
    image, filters = (
        spec.param(read.operands[n].tensor).dtypes[combo]
        for n in (read.call.image, read.call.filters)
    )
    result = spec.outputs[0].dtypes[combo]
    if image == filters and result in FLOAT_RESULTS.get(image, ()):
        return image
    known = {image, filters, result} <= set(FLOAT_RESULTS)
    raise OpgenError(
        Diagnostic(
            "OPG410" if known else "OPG412",
            f"{spec.op} convolves {image} with {filters} to {result}",
            spec.compute.location if spec.compute else spec.outputs[0].location,
            "the cube convolves operands of one dtype: float16 or bfloat16 to the same or to "
            "float32, float32 to float32",
            "give the inputs one of these dtypes, and the output the dtype beside it",
        )
    )

"""What TilingFunc is told of results and blocks of the cube."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.render.call_reading import dtype_expr
from msopgen_wrap.render.kernel import like_input
from msopgen_wrap.render.tiling import combo_dtypes
from msopgen_wrap.schedule.cube import CubeBody
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec, TensorParam


def result_dtype(spec: OpSpec, output: TensorParam) -> str:
    """Return the expression for the ``ge::DataType`` of a result; temporaries lack a descriptor."""
    if output.site is None:
        return f"context->GetOutputDesc({spec.output_position(output.name)})->GetDataType()"
    if len(set(output.dtypes)) == 1:
        return BY_NAME[output.dtypes[0]].ge_cpp
    return dtype_expr(spec, like_input(spec, output.dtypes).name)


def block_rows(plan: OpPlan[Any]) -> list[dict[str, Any]]:
    """Return the largest blocks of a plan whose bodies are of :class:`CubeBody`."""
    bodies: list[CubeBody] = plan.bodies
    return [
        {
            "dtypes": combo_dtypes(plan.spec, combo),
            "variant": body.variant,
            "m": block.m,
            "n": block.n,
            "k": block.k,
            "bytes": block.bytes,
        }
        for body in bodies
        for combo, block in body.blocks.items()
    ]

"""Tiling struct and TilingFunc of the convolution family."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.families.convolution.plan import ConvolutionPlan
from msopgen_wrap.graph.host_text import to_cpp
from msopgen_wrap.render.call_reading import dtype_expr
from msopgen_wrap.render.kernel import like_input, member_name
from msopgen_wrap.render.tiling import (
    combo_dtypes,
    field_row,
    setters,
    shared_values,
    tiling_text,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.templating import environment

_SPATIAL = 3
_FIELDS = [
    field_row(
        "int64_t",
        "inputSteps",
        5,
        "elements between images, channels, depths, lines; the first one",
    ),
    field_row("uint64_t", "tiles", 0, "tiles of output positions"),
    field_row("uint64_t", "slotLength", 0, "elements of the columns of a tile"),
    field_row("uint32_t", "inputSizes", _SPATIAL, "depth, height and width of the input"),
    field_row("uint32_t", "outputSizes", _SPATIAL, "of the output"),
    field_row("uint32_t", "windowSizes", _SPATIAL, "of a filter"),
    field_row("uint32_t", "strides", _SPATIAL, "of the window"),
    field_row("int32_t", "paddings", _SPATIAL, "zeros before the input"),
    field_row("uint32_t", "dilations", _SPATIAL, "of the window"),
    field_row("uint32_t", "groups", 0, "of channels"),
    field_row("uint32_t", "channels", 0, "of the input, per group"),
    field_row("uint32_t", "filters", 0, "per group"),
    field_row("uint32_t", "tileLines", 0, "lines of output positions of a tile"),
    field_row("uint32_t", "tileColumns", 0, "positions of such a line"),
    field_row("uint32_t", "tileFilters", 0, "filters of a tile"),
    field_row("uint32_t", "stepChannels", 0, "channels that a vector core gathers at a time"),
    field_row("uint32_t", "stepColumns", 0, "columns of the window that it gathers at a time"),
    field_row("uint32_t", "linePitch", 0, "elements between lines in UB"),
    field_row("uint32_t", "columnPitch", 0, "elements between rows of the columns"),
    field_row("uint32_t", "inPlace", 0, "whether the input already lies as columns"),
    field_row("uint32_t", "depth", 0, "elements of a filter"),
    field_row("uint32_t", "positions", 0, "output positions of an image"),
    {
        **field_row("TCubeTiling", "cube", 0, "how the Matmul object makes a tile"),
        "struct": True,
    },
]
_HEADERS = ('"opgen_convolution_space.h"', '"opgen_tile_budget.h"', '"tiling/tiling_api.h"')


def render_tiling(plan: ConvolutionPlan, style: str) -> TilingText:
    """Return the tiling of a convolution.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, body, call = plan.spec, plan.bodies[0], plan.call
    shared = shared_values(spec, plan, style, plan.numbers(), all_views=True)
    output = spec.outputs[0]
    image = body.operands[call.image].tensor
    values = {
        "blocks": _blocks(plan),
        "image": call.image,
        "filters": call.filters,
        "numbers": {k: ", ".join(map(to_cpp, v)) for k, v in call.numbers().items()},
        "result": member_name(output, True, spec),
        "image_dtype": dtype_expr(spec, image),
        "result_dtype": _result_dtype(spec, output),
        "tiling_ref": "tiling." if style == "8.1" else "tiling->",
    }
    text = (
        environment("convolution")
        .get_template("tiling.cpp.jinja")
        .render(**setters(style), **shared, **values)
    )
    return tiling_text(spec, style, text, shared, list(_FIELDS), _HEADERS)


def _result_dtype(spec: OpSpec, output: TensorParam) -> str:
    """Return the expression for the ``ge::DataType`` of the result."""
    if output.site is None:
        return f"context->GetOutputDesc({spec.output_position(output.name)})->GetDataType()"
    if len(set(output.dtypes)) == 1:
        return BY_NAME[output.dtypes[0]].ge_cpp
    return dtype_expr(spec, like_input(spec, output.dtypes).name)


def _blocks(plan: ConvolutionPlan) -> list[dict[str, Any]]:
    return [
        {
            "dtypes": combo_dtypes(plan.spec, combo),
            "variant": body.variant,
            "m": block.m,
            "n": block.n,
            "k": block.k,
            "bytes": block.bytes,
        }
        for body in plan.bodies
        for combo, block in body.blocks.items()
    ]

"""Tiling struct and TilingFunc of the convolution family."""

from __future__ import annotations

from msopgen_wrap.families.convolution.plan import ConvolutionPlan
from msopgen_wrap.graph.host_text import to_cpp
from msopgen_wrap.render.call_reading import dtype_expr
from msopgen_wrap.render.cube_tiling import block_rows, result_dtype
from msopgen_wrap.render.kernel import member_name
from msopgen_wrap.render.tiling import (
    field_row,
    setters,
    shared_values,
    tiling_text,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.templating import environment

_SPATIAL = 3
_FIELDS = [
    field_row(
        "int64_t",
        "inputSteps",
        6,
        "elements between images, channels, depths, lines; the first one; between groups",
    ),
    field_row("uint64_t", "resultSteps", 2, "elements between images and filters of the result"),
    field_row("uint64_t", "tiles", 0, "tiles of output positions"),
    field_row("uint64_t", "slotLength", 0, "elements of the columns of a tile"),
    field_row("uint32_t", "inputSizes", _SPATIAL, "depth, height and width of the input"),
    field_row("uint32_t", "outputSizes", _SPATIAL, "of the output"),
    field_row("uint32_t", "windowSizes", _SPATIAL, "of a filter"),
    field_row("uint32_t", "strides", _SPATIAL, "of the window"),
    field_row(
        "int32_t",
        "paddings",
        _SPATIAL,
        "zeros before the input; below 0: elements that are left out",
    ),
    field_row("uint32_t", "dilations", _SPATIAL, "of the window"),
    field_row("uint32_t", "spreads", _SPATIAL, "elements from one of the input to the next"),
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
    {
        **field_row("TCubeTiling", "cube", 0, "how the Matmul object makes a tile"),
        "struct": True,
    },
]
# Of a convolution that may be a sum of nothing.
_ZEROS = field_row("uint64_t", "total", 0, "elements of the result, where all of them are 0")
_HEADERS = ('"opgen_convolution_space.h"', '"opgen_tile_budget.h"', '"tiling/tiling_api.h"')


def render_tiling(plan: ConvolutionPlan, style: str) -> TilingText:
    """Return the tiling of a convolution.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, body, call = plan.spec, plan.bodies[0], plan.call
    shared = shared_values(spec, plan, style, plan.tiling_numbers(), all_views=True)
    output = spec.outputs[0]
    image = body.operands[call.image].tensor
    values = {
        "blocks": block_rows(plan),
        "image": call.image,
        "filters": call.filters,
        "read": call.read,
        "numbers": {k: ", ".join(map(to_cpp, v)) for k, v in call.numbers().items()},
        "result": member_name(output, True, spec),
        "image_dtype": dtype_expr(spec, image),
        "result_dtype": result_dtype(spec, output),
        "zeros": plan.modes.get("zeros"),
        "tiling_ref": "tiling." if style == "8.1" else "tiling->",
    }
    text = (
        environment("convolution")
        .get_template("tiling.cpp.jinja")
        .render(**setters(style), **shared, **values)
    )
    fields = [*_FIELDS[:-1], _ZEROS, _FIELDS[-1]] if "zeros" in plan.modes else list(_FIELDS)
    return tiling_text(spec, style, text, shared, fields, _HEADERS)

"""Tiling struct and TilingFunc of depthwise convolutions."""

from __future__ import annotations

from msopgen_wrap.families.depthwise.call import BY_FILTERS
from msopgen_wrap.families.depthwise.plan import DepthwisePlan, bytes_per_tap
from msopgen_wrap.graph.host_text import to_cpp
from msopgen_wrap.render.kernel import member_name
from msopgen_wrap.render.tiling import (
    budget_rows,
    field_row,
    setters,
    shared_values,
    tiling_text,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.plan import Budget
from msopgen_wrap.templating import environment

_AXES = 3
_FIELDS = [
    field_row(
        "int64_t",
        "inputSteps",
        6,
        "elements between images, channels, depths, lines; the first one; between filters",
    ),
    field_row("uint64_t", "planes", 0, "channels of all images"),
    field_row("uint32_t", "inputSizes", _AXES, "depth, height and width of the input"),
    field_row("uint32_t", "outputSizes", _AXES, "of the result"),
    field_row("uint32_t", "windowSizes", _AXES, "of a filter"),
    field_row("uint32_t", "strides", _AXES, "of the window"),
    field_row("uint32_t", "paddings", _AXES, "zeros before the input"),
    field_row("uint32_t", "dilations", _AXES, "of the window"),
    field_row("uint32_t", "tileOutputs", _AXES, "positions of a tile"),
    field_row("uint32_t", "tileTaps", _AXES, "elements of a filter that a tile takes at once"),
    field_row("uint32_t", "channels", 0, "of the input"),
    field_row("uint32_t", "filters", 0, "of a channel"),
    field_row("uint32_t", "loadLength", 0, "elements of the planes of a tile"),
    field_row("uint32_t", "rowsLength", 0, "the same, results or filters, in float"),
    field_row("uint32_t", "tapsLength", 0, "elements of the filters of a tile"),
    field_row("uint32_t", "storeLength", 0, "results of a tile"),
]
# Of a gradient by the filters.
_OF_FILTERS = [
    field_row("uint32_t", "images", 0, "of the input"),
    field_row("uint32_t", "parts", 0, "of the images, each of which has sums of its own"),
    field_row("uint32_t", "slots", 0, "of eight positions for each element of a filter"),
    field_row("uint32_t", "sumsLength", 0, "sums of all slots"),
]


def render_tiling(plan: DepthwisePlan, style: str) -> TilingText:
    """Return the tiling of a depthwise convolution.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, call = plan.spec, plan.call
    values = shared_values(spec, plan, style, {}, all_views=True)
    fields = [*_FIELDS, *(_OF_FILTERS if call.read == BY_FILTERS else ())]

    def rates(need: Budget, combo: int) -> tuple[float, ...]:
        each = (need.bytes_per_element, 4, need.bytes_per_row)
        return *each, bytes_per_tap(spec, call, combo)

    text = (
        environment("depthwise")
        .get_template("tiling.cpp.jinja")
        .render(
            **setters(style),
            **values,
            image=call.image,
            filters=call.filters,
            bias=call.bias,
            result=member_name(spec.outputs[0], True, spec),
            numbers={k: ", ".join(map(to_cpp, v)) for k, v in call.numbers().items()},
            sizes=", ".join(map(to_cpp, call.sizes)),
            count="".join(map(to_cpp, call.count)),
            read=call.read,
            budgets=budget_rows(plan, "depthwise", call.image, rates),
            lists=_LISTS,
            singles=[f["name"] for f in fields if not f["count"] and f["type"] == "uint32_t"],
        )
    )
    headers = ('"opgen_depthwise_space.h"', '"opgen_tile_budget.h"')
    return tiling_text(spec, style, text, values, fields, headers)


# Field and member of the host's space.
_LISTS = [
    ("inputSizes", "input"),
    ("outputSizes", "output"),
    ("windowSizes", "window"),
    ("strides", "strides"),
    ("paddings", "paddings"),
    ("dilations", "dilations"),
    ("tileOutputs", "tileOutputs"),
    ("tileTaps", "tileTaps"),
]

"""Tiling struct and TilingFunc of kernels over windows."""

from __future__ import annotations

from msopgen_wrap.families.window.call import WindowCall
from msopgen_wrap.families.window.plan import WindowPlan
from msopgen_wrap.graph.host_text import to_cpp
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


def render_tiling(plan: WindowPlan, style: str) -> TilingText:
    """Return the tiling of a call over windows.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, call = plan.spec, plan.call
    fields = [
        field_row("int64_t", "inputSizes", _AXES, "depth, height and width of a plane"),
        field_row("int64_t", "outputSizes", _AXES, "windows along them"),
        field_row("int64_t", "windowSizes", _AXES, "elements of a window"),
        field_row("int64_t", "steps", _AXES, "elements from one window to the next"),
        field_row("int64_t", "before", _AXES, "how far the first window begins before a plane"),
        field_row("int64_t", "dilations", _AXES, "elements from one of a window to the next"),
        field_row("int64_t", "adaptive", _AXES, "1: windows share the axis evenly, 0: as above"),
        field_row("int64_t", "tileOutputs", _AXES, "windows of a tile"),
        field_row("int64_t", "chunkInputs", _AXES, "elements of a plane that UB holds at once"),
        field_row("int64_t", "planes", 0, "planes of a call"),
        field_row("int64_t", "tilePlanes", 0, "planes of a tile"),
        field_row("uint32_t", "inputLength", 0, "elements of a chunk in UB"),
        field_row("uint32_t", "columnsLength", 0, "elements of a chunk that is transposed"),
        field_row("uint32_t", "joinedLength", 0, "elements after the windows of rows are joined"),
        field_row("uint32_t", "outputLength", 0, "results of a tile in UB"),
    ]
    if call.kind == "average":
        fields += [
            field_row("uint32_t", "sharesLength", 0, "results of a row of a tile"),
            field_row("uint32_t", "countOutside", 0, "1: averages count what lies outside"),
            field_row("float", "share", 0, "of an element in an average; 0: as windows count"),
        ]
    values = shared_values(spec, plan, style, {}, all_views=True)
    text = (
        environment("window")
        .get_template("tiling.cpp.jinja")
        .render(
            **setters(style),
            **values,
            call=call,
            numbers={
                name: ", ".join(map(to_cpp, getattr(call, name)))
                for name in ("size", "step", "before", "dilation", "outputs", "sizes")
            },
            space=_space(call),
            divisor=to_cpp(call.divisor) if call.divisor is not None else "",
            budgets=budget_rows(plan, "windows", call.tensor, _rates),
        )
    )
    headers = ('"opgen_window_space.h"', '"opgen_tile_budget.h"')
    return tiling_text(spec, style, text, values, fields, headers)


def _space(call: WindowCall) -> str:
    """Return which space of the tiling function the windows make."""
    kind = "Window" if call.size else "Count"
    return f"Of{kind}Gradient" if call.sizes else f"Of{kind}s"


def _rates(need: Budget, combo: int) -> tuple[float, ...]:
    return need.bytes_per_element, need.bytes_per_number, need.bytes_per_row

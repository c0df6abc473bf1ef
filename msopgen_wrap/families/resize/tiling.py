"""Tiling struct and TilingFunc of kernels that resample planes."""

from __future__ import annotations

from msopgen_wrap.families.resize.plan import ResizePlan
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
from msopgen_wrap.schedule.program import DTYPE_BYTES
from msopgen_wrap.templating import environment

_AXES = 3


def render_tiling(plan: ResizePlan, style: str) -> TilingText:
    """Return the tiling of a call that resamples planes.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, call = plan.spec, plan.call
    fields = [
        field_row("int64_t", "inputSizes", _AXES, "depth, height and width of a plane"),
        field_row("int64_t", "outputSizes", _AXES, "and of its result"),
        field_row("float", "ratios", _AXES, "elements of a plane under one of the result"),
        field_row("int64_t", "rows", 0, "rows of all results"),
        field_row("int64_t", "tileRows", 0, "rows of a tile"),
        field_row("int64_t", "tileColumns", 0, "columns of a tile"),
        field_row("uint32_t", "inputPitch", 0, "elements of a row that UB has room for"),
        field_row("uint32_t", "outputPitch", 0, "elements from one row of a tile to the next"),
        field_row("uint32_t", "batch", 0, "rows whose columns are taken at once"),
        field_row("uint32_t", "corners", 0, "1: the ends of an axis are those of the results"),
        field_row("uint32_t", "blockRows", 0, "rows of a plane that are loaded at once, or 0: one"),
    ]

    def rates(need: Budget, combo: int) -> tuple[float, ...]:
        element = DTYPE_BYTES[spec.param(call.tensor).dtypes[combo]]
        return element, need.bytes_per_number, need.bytes_per_row, call.depths, call.heights

    values = shared_values(spec, plan, style, plan.tiling_numbers(), all_views=True)
    text = (
        environment("resize")
        .get_template("tiling.cpp.jinja")
        .render(
            **setters(style),
            **values,
            call=call,
            lengths=[to_cpp(n) for n in call.lengths],
            scales=[to_cpp(n) for n in call.scales],
            corners=_corners(plan),
            budgets=budget_rows(plan, "resize", call.tensor, rates),
        )
    )
    headers = ('"opgen_resize_space.h"', '"opgen_tile_budget.h"')
    return tiling_text(spec, style, text, values, fields, headers)


def _corners(plan: ResizePlan) -> str:
    """Return whether the results of a call have the corners of their planes, in C++."""
    if len(plan.by_corners) in (0, len(plan.served)):
        return "true" if plan.by_corners else "false"
    return " || ".join(f"variant == {index}" for index in plan.by_corners)

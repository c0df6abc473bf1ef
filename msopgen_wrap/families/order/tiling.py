"""Tiling struct and TilingFunc of kernels that sort."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.order.plan import DIGITS, OrderPlan
from msopgen_wrap.graph.host_text import attr_variable, to_cpp
from msopgen_wrap.render.tiling import (
    combo_dtypes,
    field_row,
    setters,
    shared_values,
    tiling_text,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.plan import Budget
from msopgen_wrap.templating import environment


def render_tiling(plan: OrderPlan, style: str) -> TilingText:
    """Return the tiling of a call that sorts.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, call = plan.spec, plan.call
    fields = [
        field_row("uint64_t", "outer", 0, "sizes before the axis of the rows"),
        field_row("uint64_t", "inner", 0, "sizes behind it"),
        field_row("uint32_t", "length", 0, "elements of a row"),
        field_row("uint32_t", "first", 0, "the first result of a row, in order"),
        field_row("uint32_t", "count", 0, "results of a row"),
        field_row("uint32_t", "tileRows", 0, "rows of a tile"),
        field_row("uint32_t", "pitch", 0, "elements from one row of a tile to the next"),
        field_row("uint32_t", "resultPitch", 0, "results from one row of a tile to the next"),
        field_row("uint32_t", "tileLength", 0, "elements that a tile has room for"),
        field_row("uint32_t", "resultLength", 0, "results that a tile has room for"),
        field_row("uint32_t", "runLength", 0, "elements of a run of a long row; 0: UB holds rows"),
        field_row("uint64_t", "keep", 0, "elements in order that the workspace has of a row"),
        field_row("uint64_t", "recordsAt", 0, "bytes of the workspace before records"),
        field_row("uint64_t", "mergedAt", 0, "before those that are merged"),
        field_row("uint64_t", "nansAt", 0, "before the numbers of NaN"),
        field_row("uint64_t", "valuesAt", 0, "before the values in order"),
        field_row("uint64_t", "positionsAt", 0, "before their positions"),
    ]
    values = shared_values(spec, plan, style, {}, all_views=True)
    text = (
        environment("order")
        .get_template("tiling.cpp.jinja")
        .render(
            **setters(style),
            **values,
            call=call,
            axis=attr_variable(call.attr) if call.attr else str(plan.axis),
            first=to_cpp(call.first),
            count=to_cpp(call.count) if call.count is not None else "",
            budgets=_budgets(plan),
        )
    )
    headers = ('"opgen_order_space.h"', '"opgen_tile_budget.h"')
    return tiling_text(spec, style, text, values, fields, headers)


def _budgets(plan: OrderPlan) -> list[dict[str, Any]]:
    spec, rows = plan.spec, []
    for body in plan.bodies:
        for combo in body.combos:
            need = body.budgets[combo, "rows"]
            workspace = body.budgets[combo, "workspace"]
            rows.append(
                {
                    "dtypes": combo_dtypes(spec, combo),
                    "variant": body.variant,
                    "bytes": _numbers(need),
                    "workspace": _numbers(workspace),
                    "reserved": max(need.fixed, workspace.fixed),
                    "digits": DIGITS.get(spec.param(plan.call.tensor).dtypes[combo], 0),
                }
            )
    return rows


def _numbers(budget: Budget) -> str:
    return f"{budget.bytes_per_element:g}, {budget.bytes_per_number:g}"

"""Tiling struct and TilingFunc of kernels that move elements by index."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.index.plan import IndexBody, IndexPlan, by_element, joins_columns
from msopgen_wrap.graph.host_text import attr_variable
from msopgen_wrap.render.call_reading import scalar_fields, scalar_values, span_sizes
from msopgen_wrap.render.tiling import (
    combo_dtypes,
    field_row,
    setters,
    shared_values,
    tiling_text,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.program import DTYPE_BYTES
from msopgen_wrap.templating import environment

_DIMS = 8


def render_tiling(plan: IndexPlan, style: str) -> TilingText:
    """Return the tiling of a call that moves elements by index.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, call = plan.spec, plan.call
    count = len(call.indices)
    moved = spec.outputs[0].name if call.combine else call.table
    fields = [
        field_row("int64_t", "itemDims", _DIMS, "sizes of the space that items are the points of"),
        field_row("int64_t", "tableSteps", _DIMS, f"elements between their rows of {moved}"),
        field_row("int64_t", "indexSteps", _DIMS * count, "elements between their indices"),
        field_row("int64_t", "indexOffsets", count, "the first index"),
        field_row("int64_t", "axisSizes", count, "sizes of the indexed axes"),
        field_row("int64_t", "axisSteps", count, "elements between neighbours along them"),
        field_row("int64_t", "tableOffset", 0, f"the first element of {moved}"),
        field_row("uint64_t", "rowLength", 0, "elements that lie together and have one index"),
        field_row("uint64_t", "pieces", 0, "tiles that a row takes; 1: a tile takes whole rows"),
        field_row("uint32_t", "pieceLength", 0, "elements of a row that a tile takes"),
        field_row("uint32_t", "rowPitch", 0, "elements between the rows of a tile"),
    ]
    if call.combine:
        fields += [
            field_row("uint64_t", "rows", 0, f"rows of {moved}"),
            field_row("uint64_t", "slabRows", 0, "rows that slabItems items lie in"),
            field_row("uint64_t", "slabItems", 0, "items that follow one another"),
            field_row("uint32_t", "rowsPerWindow", 0, "rows that a core holds in UB"),
        ]
    else:
        fields += [
            field_row("uint64_t", "items", 0, "points of the space"),
            field_row("uint32_t", "rowsPerTile", 0, "rows that a tile holds"),
        ]
    if "elements" in plan.modes:
        fields += _element_fields(call.table, count)
    if "columns" in plan.modes:
        fields += [
            field_row("uint64_t", "parts", 0, f"parts of {moved} that have all rows"),
            field_row("uint64_t", "columns", 0, "elements of a row"),
            field_row("uint64_t", "itemRows", 0, "rows of items of a part"),
            field_row("uint32_t", "boxCols", 0, "columns that a core holds in UB"),
        ]
    if call.values:
        fields += [
            field_row("int64_t", "valueSteps", _DIMS, f"elements between rows of {call.values}"),
            field_row("int64_t", "valueOffset", 0, f"the first element of {call.values}"),
        ]
    fields += scalar_fields(plan.scalar_names, plan.scalars())
    values = shared_values(spec, plan, style, plan.scalars(), all_views=True)
    text = (
        environment("index")
        .get_template("tiling.cpp.jinja")
        .render(
            **setters(style),
            **values,
            call=call,
            elements=plan.modes.get("elements"),
            columns=plan.modes.get("columns"),
            sizes=call.sizes and span_sizes(call.sizes),
            item_sizes=call.item_sizes and span_sizes(call.item_sizes),
            index_views=[f"{name}View" for name in call.indices],
            axis=attr_variable(call.attr) if call.attr else plan.axis,
            budgets=_budgets(plan),
            scalars=scalar_values(plan.scalar_names, plan.scalars()),
        )
    )
    headers = ['"opgen_indexed_space.h"', '"opgen_tile_budget.h"']
    if "elements" in plan.modes:
        headers.append('"opgen_table_tiling.h"')
    if "columns" in plan.modes:
        headers.append('"opgen_column_tiling.h"')
    return tiling_text(spec, style, text, values, fields, tuple(headers))


def _element_fields(table: str, count: int) -> list[dict[str, Any]]:
    """Return the fields of elements that are taken by the batch."""
    return [
        field_row(
            "int64_t", "windowSteps", count, "bytes of a window between neighbours of an axis"
        ),
        field_row("int64_t", "windowStep", 0, f"elements of {table} between rows of a window"),
        field_row("uint32_t", "windowRows", 0, "rows of a window"),
        field_row("uint32_t", "windowCols", 0, "elements of a row of a window"),
        field_row(
            "uint32_t", "windowPitch", 0, "elements between rows of a window; 0: one for all"
        ),
        field_row("uint32_t", "windowLength", 0, "elements that a window has room for"),
        field_row("uint32_t", "windowCopies", 0, "windows that UB holds"),
        field_row("uint32_t", "rowDim", 0, "the axis of the items along which a batch has rows"),
        field_row("uint32_t", "batchRows", 0, "rows of a batch"),
        field_row("uint32_t", "batchCols", 0, "elements of a row of a batch"),
        field_row("uint32_t", "batchPitch", 0, "elements between rows of a batch"),
        field_row("uint32_t", "byColumns", 0, f"1: windows are columns of {table}; 0: lines"),
        field_row("uint32_t", "sharedIndex", 0, "1: the rows of a batch have the same indices"),
    ]


def _budgets(plan: IndexPlan) -> list[dict[str, Any]]:
    spec, rows = plan.spec, []
    for body in plan.bodies:
        for combo in body.combos:
            need = body.budgets[combo, "rows"]
            names = (n for n in (plan.call.table, plan.call.values) if n)
            moved = [spec.param(body.operands[name].tensor).dtypes[combo] for name in names]
            moved.append(spec.outputs[0].dtypes[combo])
            rows.append(
                {
                    "dtypes": combo_dtypes(spec, combo),
                    "variant": body.variant,
                    "bytes": need.bytes_per_element,
                    "reserved": need.fixed,
                    "narrowest": min(DTYPE_BYTES[d] for d in moved),
                    "elements": _element_budget(body, combo),
                    "columns": _column_budget(body, combo),
                    "window": sum(
                        b.bytes_per_element
                        for b in need.buffers
                        if b.name in ("windowBuf", "stageBuf")
                    ),
                    "by_element": by_element(body),
                }
            )
    return rows


def _element_budget(body: IndexBody, combo: int) -> tuple[int, int]:
    """Return the bytes of an element in a window, and what a batch takes."""
    need = body.budgets.get((combo, "elements"))
    return (int(need.bytes_per_element), need.fixed) if need else (0, 0)


def _column_budget(body: IndexBody, combo: int) -> tuple[int, int, int]:
    """Return the bytes of a column for each row, those beside them, and what is kept free."""
    need = body.budgets.get((combo, "columns"))
    if need is None:
        return (0, 0, 0)
    rows = int(need.bytes_per_number) if joins_columns(body, need) else 0
    return (rows, int(need.bytes_per_element), need.fixed)

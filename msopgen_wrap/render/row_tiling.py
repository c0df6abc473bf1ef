"""Tiling struct and TilingFunc of the row family."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.host_text import attr_variable
from msopgen_wrap.render.kernel import member_name, tidy
from msopgen_wrap.render.tiling import (
    combo_dtypes,
    field_row,
    header_text,
    scalar_fields,
    scalar_values,
    setters,
    shared_values,
    whole_numbers_header,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.plan import ROW_UNIT, OpPlan
from msopgen_wrap.schedule.program import COMPUTE_KIND, DTYPE_BYTES, F32, Scalar
from msopgen_wrap.schedule.row import ROW_SHARE
from msopgen_wrap.schedule.views import FULL, SQUEEZED
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.templating import environment


def render_row_tiling(spec: OpSpec, plan: OpPlan, style: str) -> TilingText:
    """Return the tiling of an op with reductions."""
    names: dict[Scalar, str] = plan.details["scalar_names"]
    used = plan.scalars()
    walks = [*plan.operands(), *(member_name(p, True, spec) for p in spec.outputs)]
    fields: list[dict[str, Any]] = [
        field_row("int64_t", "outerDims", 6, "sizes before rows and columns, kept ones first"),
        field_row("uint64_t", "rowCount", 0, "size of the rows"),
        field_row("uint64_t", "colCount", 0, "size of the columns"),
    ]
    fields += [
        field_row("int64_t", f"{w}Walk", 9, f"strides and offset of {w}, elements") for w in walks
    ]
    fields += [
        field_row("uint32_t", "keptOuter", 0, "how many of outerDims are kept"),
        field_row("uint32_t", "lanes", 0, "1: reduce along the columns, 0: along the rows"),
        field_row("uint32_t", "split", 0, "1: all cores share the chunks of every item"),
        field_row("uint32_t", "boxRows", 0, "rows per tile"),
        field_row("uint32_t", "boxCols", 0, "columns per tile"),
        field_row("uint32_t", "pitchUnit", 0, "rows of a tile start at multiples of this"),
        field_row("uint32_t", "tileLength", 0, "elements a tile holds"),
        *scalar_fields(names, used),
    ]
    values = shared_values(spec, plan, style, used)
    views = plan.operands()
    row_outputs = {n for b in plan.bodies for n in b.details["row_outputs"]}
    for position, operand in enumerate(values["operands"]):
        view = views[operand["name"]]
        operand["row"] = view.extent != FULL
        operand["squeezed"] = view.extent == SQUEEZED
        operand["floating"] = all(
            COMPUTE_KIND[dtype] == F32 for dtype in spec.param(view.tensor).dtypes
        )
        operand["index"] = position
    for output in values["outputs"]:
        output["row"] = output["name"] in row_outputs
    budgets = []
    for body in plan.bodies:
        exchanged = max(
            sum(i.op == "Reduce" for i in piece.program.insts) for piece in body.details["pieces"]
        )
        for combo in body.combos:
            budget = body.budgets[combo, "row"]
            sizes = [DTYPE_BYTES[p.dtypes[combo]] for p in (*spec.inputs, *spec.outputs)]
            budgets.append(
                {
                    "dtypes": combo_dtypes(spec, combo),
                    "variant": body.variant,
                    "bytes": budget.bytes_per_element,
                    "reserved": budget.fixed,
                    "pitch": 32 // min(sizes),
                    "exchanged": max(1, exchanged),
                }
            )
    values["budgets"] = budgets
    axes = plan.details["axes"]
    positions = any(i.op == "Position" for b in plan.bodies for i in b.program.insts)
    text = (
        environment("tiling")
        .get_template("row.cpp.jinja")
        .render(
            **setters(style),
            **values,
            scalars=scalar_values(names, used),
            walks=walks,
            axes={"attr": "", "all": False, "axes": (), **axes},
            axes_value=attr_variable(axes.get("attr", "")),
            axes_is_list="attr" in axes and spec.attr(axes["attr"]).type == "list_int",
            positions=positions,
            row_unit=ROW_UNIT,
            row_share=ROW_SHARE,
        )
    )
    return TilingText(
        includes=(
            "<algorithm>",
            "<cmath>",
            "<string>",
            "<vector>",
            '"opgen_row_space.h"',
            *whole_numbers_header(values),
            '"tiling/platform/platform_ascendc.h"',
        ),
        functions=tidy(text),
        tiling_func_name="TilingFunc",
        header_text=tidy(header_text(spec, style, fields, [f"Tiling data of {spec.op}."])),
    )

"""Tiling struct and TilingFunc of kernels on tensor lists."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.elementwise.plan import ElementwisePlan
from msopgen_wrap.families.elementwise.tiling import budgets, pointwise_tiling
from msopgen_wrap.families.foreach.reductions import MAX_CORES, records
from msopgen_wrap.families.row.body import RowPlan
from msopgen_wrap.render.kernel import MAX_TENSORS
from msopgen_wrap.render.tiling import TILE_LENGTH, combo_dtypes, field_row
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.plan import UNIT, OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES
from msopgen_wrap.schedule.soc import vector_cycles, vector_passes

_HEADERS = ('"opgen_tile_budget.h"', '"opgen_view.h"')
_BLOCK_BYTES = 32


def render_tiling(plan: ElementwisePlan, style: str) -> TilingText:
    """Return the tiling of a pointwise op on tensor lists.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return _tiling(plan, style, {"budgets": budgets(plan), "reduces": False})


def render_reduction_tiling(plan: RowPlan, style: str) -> TilingText:
    """Return the tiling of an op that reduces the tensors of lists.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    values = {
        "budgets": _reduction_budgets(plan),
        "reduces": True,
        "max_cores": MAX_CORES,
        "block_bytes": _BLOCK_BYTES,
    }
    return _tiling(plan, style, values)


def _tiling(plan: OpPlan[Any], style: str, values: dict[str, Any]) -> TilingText:
    fields = [
        field_row("uint64_t", "lengths", MAX_TENSORS, "elements of each tensor of the lists"),
        field_row("uint64_t", "units", 0, "256-element units of all tensors"),
        field_row("uint32_t", "tensors", 0, "tensors per list"),
        TILE_LENGTH,
    ]
    values = {**values, "max_tensors": MAX_TENSORS}
    return pointwise_tiling(plan, style, "foreach", fields, values, _HEADERS)


def _reduction_budgets(plan: RowPlan) -> list[dict[str, Any]]:
    spec, rows = plan.spec, []
    for body in plan.bodies:
        for combo in body.combos:
            need = body.budgets[combo, "flat"]
            read = [spec.param(v.tensor).dtypes[combo] for v in body.operands.values()]
            passes = vector_passes(body.program, [*read, *(p.dtypes[combo] for p in spec.outputs)])
            rows.append(
                {
                    "dtypes": combo_dtypes(spec, combo),
                    "variant": body.variant,
                    "flat": need.bytes_per_element,
                    "reserved": need.used(0, UNIT),
                    "read": sum(DTYPE_BYTES[d] for d in read),
                    "written": 0,
                    "cycles": vector_cycles(passes, plan.socs),
                    "records": records(body),
                }
            )
    return rows

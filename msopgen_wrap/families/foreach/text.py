"""Kernels that reduce every tensor of a list, and the tiling of all kernels on tensor lists."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.elementwise.plan import ElementwisePlan
from msopgen_wrap.families.elementwise.tiling import budgets, pointwise_tiling
from msopgen_wrap.families.foreach.plan import MAX_CORES, records
from msopgen_wrap.families.row.body import RowBody, RowPlan
from msopgen_wrap.families.row.kernel import close_up, kernel_values
from msopgen_wrap.render.entry_values import entry_values
from msopgen_wrap.render.files import GeneratedFile, include_blocks
from msopgen_wrap.render.kernel import (
    MAX_TENSORS,
    class_bodies,
    entry_branches,
)
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.render.tiling import TILE_LENGTH, combo_dtypes, field_row
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.plan import UNIT, OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES
from msopgen_wrap.schedule.soc import vector_cycles, vector_passes
from msopgen_wrap.templating import environment


def render_reductions(plan: RowPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec = plan.spec
    branches = [_of_one_mode(plan, b) for b in entry_branches(plan, plan.modes, "")]
    values = {
        **entry_values(spec, style, branches),
        "kernels": [_values(plan, body) for body in class_bodies(plan)],
        "max_tensors": MAX_TENSORS,
    }
    text = environment("foreach").get_template("reduction_kernel.cpp.jinja").render(values)
    return [GeneratedFile(f"op_kernel/{spec.name}.cpp", include_blocks(tidy(close_up(text))))]


def _values(plan: RowPlan, body: RowBody) -> Any:
    values = kernel_values(plan.spec, plan, body)
    # the class has no template argument that chooses between modes
    values.slots = [_streamed(line) for line in values.slots]
    return values


def _streamed(line: str) -> str:
    """Return a constant of a row kernel as it is where rows stream through."""
    name, value = line.split(" = ", 1)
    if "kResident ? " in value:
        value = value.split(" : ", 1)[1]
    return f"{name} = {value.replace('kResident || ', '')}"


def _of_one_mode(plan: RowPlan, branch: dict[str, Any]) -> dict[str, Any]:
    """Return a branch of the entry without the mode, of which there is one."""
    note = plan.variants[branch["variant"]].label()
    return {**branch, "type": branch["type"].replace(", false>", ">"), "note": note}


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

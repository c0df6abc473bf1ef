"""Tiling struct and TilingFunc of the scan family."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.scan.loops import is_looped
from msopgen_wrap.families.scan.plan import ScanPlan, scan_group
from msopgen_wrap.graph.host_text import attr_variable
from msopgen_wrap.render.call_reading import scalar_fields, scalar_values, span_lines
from msopgen_wrap.render.kernel import member_name
from msopgen_wrap.render.tiling import (
    BOX_FIELDS,
    TILE_LENGTH,
    combo_dtypes,
    field_row,
    setters,
    shared_values,
    tiling_text,
    variant_conditions,
    walk_fields,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.schedule.program import DTYPE_BYTES, Program, Val, sources_of
from msopgen_wrap.schedule.soc import vector_cycles, vector_passes
from msopgen_wrap.templating import environment


def render_tiling(plan: ScanPlan, style: str) -> TilingText:
    """Return the tiling of an op with scans.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, names = plan.spec, plan.scalar_names
    used = plan.scalars()
    operands, indices = plan.operands(), plan.indices()
    walks = [*operands, *(member_name(p, True, spec) for p in spec.outputs), *indices]
    placed = {name: i for i, (name, view) in enumerate(operands.items()) if view.placed}
    fields: list[dict[str, Any]] = [
        field_row("int64_t", "outerDims", 6, "sizes before rows and columns"),
        field_row("uint64_t", "rowCount", 0, "size of the rows"),
        field_row("uint64_t", "colCount", 0, "size of the columns"),
        *walk_fields(walks, placed),
        field_row("uint32_t", "keptOuter", 0, "how many of outerDims are not the axis"),
        field_row("uint32_t", "lanes", 0, "1: scan along the columns, 0: along the rows"),
        field_row("uint32_t", "split", 0, "1: all cores share the chunks of every item"),
        *BOX_FIELDS,
        TILE_LENGTH,
        field_row("uint32_t", "rowLength", 0, "numbers that go from box to box, at most"),
        field_row("uint32_t", "blockRows", 0, "rows of a box that is scanned along the columns"),
        *scalar_fields(names, used),
    ]
    values = shared_values(spec, plan, style, used, all_views=True)
    scanned = {name for body in plan.bodies for name in scanned_sources(body)}
    text = (
        environment("scan")
        .get_template("tiling.cpp.jinja")
        .render(
            **setters(style),
            **values,
            budgets=_budgets(plan),
            scalars=scalar_values(names, used),
            walks=walks,
            placed=placed,
            axis=plan.axis,
            axis_value=attr_variable(plan.axis.attr),
            looped=any(is_looped(body.program) for body in plan.bodies),
            scanned=[row for row in values["operands"] if row["name"] in scanned],
            scans=_single_scans(plan, scanned),
            scanned_numbers=[name for name in indices if name in scanned],
            scanned_spans=[
                line
                for variant, span in plan.scanned_spans
                for line in span_lines(plan, variant, span, "elements")
            ],
        )
    )
    headers = ('"opgen_row_axes.h"', '"opgen_scan_space.h"', '"opgen_tile_budget.h"')
    return tiling_text(spec, style, text, values, fields, headers)


def scanned_sources(body: Body) -> set[str]:
    """Return the operands and the numbers of axes that the scans of a body are made of."""
    return _read_by(body.program, _scans(body.program))


def _single_scans(plan: ScanPlan, scanned: set[str]) -> list[tuple[tuple[str, ...], str]]:
    """Return what single scans read where several read different tensors, with conditions.

    Each has to have all elements along the axis by itself. Sizes of expanded tensors are those of
    all scans, so nothing is said where there are some.
    """
    if plan.scanned_spans:
        return []
    single = [
        (tuple(sorted(read)), body.variant)
        for body in plan.bodies
        for scan in _scans(body.program)
        if (read := _read_by(body.program, [scan])) and read != scanned
    ]
    return variant_conditions(single, plan.bodies)


def _scans(program: Program) -> list[Val]:
    return [i.dst for i in program.insts if i.op == "Scan" and i.dst is not None]


def _read_by(program: Program, values: list[Val]) -> set[str]:
    return sources_of(program, values, ("Load", "Index"))


def _budgets(plan: ScanPlan) -> list[dict[str, Any]]:
    """Return what the tiling weighs, per body and combination of dtypes: UB bytes, cycles."""
    spec, budgets = plan.spec, []
    for body in plan.bodies:
        for combo in body.combos:
            sizes = [DTYPE_BYTES[p.dtypes[combo]] for p in (*spec.inputs, *spec.outputs)]
            moved = [spec.param(v.tensor).dtypes[combo] for v in body.operands.values()]
            moved += [p.dtypes[combo] for p in spec.outputs]
            budget = body.budgets[combo, "boxes"]
            numbers = (
                repr(budget.bytes_per_element),
                repr(budget.bytes_per_number),
                str(budget.bytes_per_row),
            )
            budgets.append(
                {
                    "dtypes": combo_dtypes(spec, combo),
                    "variant": body.variant,
                    "bytes": ", ".join(numbers),
                    "reserved": budget.fixed,
                    "block": 32 // min(*sizes, 4),
                    "group": scan_group(body),
                    "cycles": vector_cycles(vector_passes(body.program, moved), plan.socs),
                }
            )
    return budgets

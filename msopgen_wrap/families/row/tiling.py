"""Tiling struct and TilingFunc of the row family."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.row.body import RowPlan
from msopgen_wrap.families.row.passes import accumulators
from msopgen_wrap.families.row.stretched import Reduced
from msopgen_wrap.graph.host_text import attr_variable
from msopgen_wrap.render.call_reading import scalar_fields, scalar_values
from msopgen_wrap.render.kernel import member_name
from msopgen_wrap.render.tiling import (
    BOX_FIELDS,
    TILE_LENGTH,
    combo_dtypes,
    field_row,
    joined_needs,
    setters,
    shared_values,
    tiling_text,
    variant_conditions,
    walk_fields,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.plan import RESIDENT, ROW_BUDGETS, Budget
from msopgen_wrap.schedule.program import COMPUTE_KIND, DTYPE_BYTES, F32
from msopgen_wrap.schedule.soc import vector_cycles, vector_passes
from msopgen_wrap.schedule.views import FULL, SQUEEZED
from msopgen_wrap.templating import environment


def render_tiling(plan: RowPlan, style: str) -> TilingText:
    """Return the tiling of an op with reductions.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, names = plan.spec, plan.scalar_names
    used = plan.scalars()
    indices = plan.indices()
    walks = [*plan.operands(), *(member_name(p, True, spec) for p in spec.outputs), *indices]
    buffers = any(b.buffers_in_flight() > 1 for b in plan.bodies)
    fields: list[dict[str, Any]] = [
        field_row("int64_t", "outerDims", 6, "sizes before rows and columns, kept ones first"),
        field_row("uint64_t", "rowCount", 0, "size of the rows"),
        field_row("uint64_t", "colCount", 0, "size of the columns"),
    ]
    placed = {name: i for i, (name, view) in enumerate(plan.operands().items()) if view.placed}
    fields += [
        *walk_fields(walks, placed),
        field_row("uint32_t", "keptOuter", 0, "how many of outerDims are kept"),
        field_row(
            "uint32_t", "lanes", 0, "1: reduce along the columns, 2: along both, 0: along the rows"
        ),
        field_row(
            "uint32_t", "split", 0, "teams of cores that share the chunks of their items; 0: none"
        ),
        *BOX_FIELDS,
        TILE_LENGTH,
        field_row("uint32_t", "rowLength", 0, "numbers a row tile holds"),
        field_row("uint32_t", "blockRows", 0, "rows of a tile that have a block of their own"),
        *([field_row("uint32_t", "buffers", 0, "copies of each queue")] if buffers else []),
        *scalar_fields(names, used),
    ]
    values = shared_values(spec, plan, style, used, all_views=True)
    _mark_rows(plan, values)
    values["indices"] = {name: view.extent == SQUEEZED for name, view in indices.items()}
    values["spreads"] = _spreads(plan)
    values["budgets"] = _budgets(plan)
    axes = plan.axes
    positions = any(i.op == "Position" for b in plan.bodies for i in b.program.insts)
    text = (
        environment("row")
        .get_template("tiling.cpp.jinja")
        .render(
            **setters(style),
            **values,
            scalars=scalar_values(names, used),
            walks=walks,
            placed=placed,
            axes=axes,
            axes_value=attr_variable(axes.attr),
            axes_is_list=bool(axes.attr) and spec.attr(axes.attr).type == "list_int",
            positions=positions,
            buffers=buffers,
            roots=covering_roots(plan),
            reductions=stretched_reductions(plan),
            columns=[(p.name, spec.output_position(p.name)) for p in plan.columns],
            deepest=_deepest(plan),
            atomic=not spec.deterministic,
        )
    )
    headers = ('"opgen_row_axes.h"', '"opgen_row_space.h"', '"opgen_tile_budget.h"')
    return tiling_text(spec, style, text, values, fields, headers)


def _deepest(plan: RowPlan) -> list[str]:
    """Return the views without the reduced axes that say how many dimensions the space has.

    These are none where an operand with the reduced axes has all dimensions.
    """
    # all axes but some are reduced, whatever their number
    if plan.axes.kept is not None or plan.axes.but is not None:
        return []
    views = {**plan.operands(), **plan.indices()}
    squeezed = [name for name, view in views.items() if view.extent == SQUEEZED]
    whole = max((v.rank for v in views.values() if v.extent != SQUEEZED), default=0)
    reduced = len(plan.axes.axes) or 1
    most = max((views[name].rank for name in squeezed), default=0) + reduced
    return squeezed if whole < most else []


def _mark_rows(plan: RowPlan, values: dict[str, Any]) -> None:
    """Add to operands, outputs and temporaries which axes of the space they have."""
    views = plan.operands()
    row_outputs = {n for b in plan.bodies for n in b.row_outputs}
    for position, operand in enumerate(values["operands"]):
        view = views[operand["name"]]
        operand["row"] = view.extent != FULL
        operand["squeezed"] = view.extent == SQUEEZED
        operand["apart"] = all(
            COMPUTE_KIND[dtype] == F32 or dtype == "int32"
            for dtype in plan.spec.param(view.tensor).dtypes
        )
        operand["index"] = position
    for output in values["outputs"]:
        output["row"] = output["name"] in row_outputs
    for temporary in values["written"]:
        temporary["row"] = temporary["name"] in row_outputs
        temporary["squeezed"] = temporary["name"] in plan.squeezed


def _spreads(plan: RowPlan) -> list[str]:
    """Return the operands of any body that take UB by their shapes."""
    names = {name for body in plan.bodies for name in body.spread}
    return [name for name in plan.operands() if name in names]


def _spread_bytes(budget: Budget, name: str) -> tuple[float, float]:
    """Return the bytes of an operand per element of a tile, and per row of a box."""
    own = [b for b in budget.buffers if b.spread == name]
    return sum(b.total for b in own), sum(b.spread_row * b.copies for b in own)


def _budgets(plan: RowPlan) -> list[dict[str, Any]]:
    """Return what the tiling weighs, per body and combination of dtypes: UB bytes, cycles."""
    spec, budgets = plan.spec, []
    spreads = _spreads(plan)
    positions = {name: position for position, name in enumerate(plan.operands())}
    for body in plan.bodies:
        gathered = [len(accumulators(body.streamed, n)) for n in range(len(body.streamed.rows))]
        exchanged = max(gathered, default=1)
        for combo in body.combos:
            sizes = [DTYPE_BYTES[p.dtypes[combo]] for p in (*spec.inputs, *spec.outputs)]
            moved = [spec.param(v.tensor).dtypes[combo] for v in body.operands.values()]
            moved += [p.dtypes[combo] for p in spec.outputs]
            rows = body.budgets[combo, RESIDENT]
            each = [body.budgets.get((combo, mode), rows) for mode in ROW_BUDGETS]
            taken = {b: sum(_spread_bytes(b, n)[0] for n in spreads) for b in each}
            budgets.append(
                {
                    "dtypes": combo_dtypes(spec, combo),
                    "variant": body.variant,
                    "bytes": [
                        (b.bytes_per_element - taken[b], b.bytes_per_number, b.bytes_per_row)
                        for b in each
                    ],
                    "spreads": [
                        (positions[n], *zip(*(_spread_bytes(b, n) for b in each), strict=True))
                        for n in spreads
                    ],
                    "reserved": max(b.fixed for b in each),
                    "pitch": 32 // min(*sizes, 4),
                    "exchanged": exchanged,
                    "cycles": vector_cycles(vector_passes(body.program, moved), plan.socs),
                }
            )
    joined = joined_needs(budgets)
    for row in joined:
        row["bytes"] = [f"{{{e!r}, {n!r}, {r}}}" for e, n, r in row["bytes"]]
        row["spreads"] = [
            f"{{{at}, {{{', '.join(map(str, e))}}}, {{{', '.join(map(str, r))}}}}}"
            for at, e, r in row["spreads"]
        ]
    return joined


def covering_roots(plan: RowPlan) -> dict[str, str]:
    """Return the operands that have the shape of the space, with the variants where they do.

    Returns:
        Operand -> condition on ``variant`` in C++, empty where it holds for all of them.
    """
    roots = [
        (name, body.variant)
        for body in plan.bodies
        for name, view in body.operands.items()
        if name in body.covering and view.tensor == body.root
    ]
    return dict(variant_conditions(roots, plan.bodies))


def stretched_reductions(plan: RowPlan) -> list[tuple[Reduced, str]]:
    """Return the reductions of tensors that others may stretch, with conditions on ``variant``."""
    reductions = [(reduced, body.variant) for body in plan.bodies for reduced in body.reductions]
    return variant_conditions(reductions, plan.bodies)

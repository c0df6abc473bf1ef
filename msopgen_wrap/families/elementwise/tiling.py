"""Tiling struct and TilingFunc of the elementwise family."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.elementwise.plan import ElementwisePlan, number_lists
from msopgen_wrap.render.call_reading import (
    reading_variants,
    scalar_fields,
    scalar_values,
    view_name,
)
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
    walk_fields,
)
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.kernel_classes import moves_wide, splits_elements
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES
from msopgen_wrap.schedule.soc import vector_cycles, vector_passes
from msopgen_wrap.templating import environment


def render_tiling(plan: ElementwisePlan, style: str) -> TilingText:
    """Return the tiling of an op with one walk over the shape of its outputs.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec, broadcast = plan.spec, plan.broadcasts()
    operands, indices = plan.operands(), plan.indices()
    tensors = [*operands, *(member_name(p, True, spec) for p in spec.outputs)]
    walks = [*tensors, *indices]
    placed = {name: i for i, (name, view) in enumerate(operands.items()) if view.placed}
    fields = [field_row("uint64_t", "total", 0, "elements of the output")]
    if broadcast:
        fields += [
            field_row(
                "int64_t", "outerDims", 6, "sizes before the last two of the collapsed space"
            ),
            field_row("uint64_t", "rowCount", 0, "last size but one"),
            field_row("uint64_t", "colCount", 0, "last size"),
        ]
        fields += [*walk_fields(walks, placed), *BOX_FIELDS]
    fields.append(TILE_LENGTH)
    edges = "elements of the first and the last tile of a core; 0: as of the others"
    fields.append(field_row("uint32_t", "edgeLength", 0, edges))
    readers = {name: reading_variants(plan, name, view) for name, view in operands.items()}
    views = [(view_name(name, view), readers[name]) for name, view in operands.items()]
    values = {
        "budgets": budgets(plan),
        "splits": any(splits_elements(spec, body) for body in plan.bodies),
        "broadcast": broadcast,
        "walks": walks,
        "placed": placed,
        "broadcast_views": [*views, *((f"{name}View", "") for name in indices)],
    }
    headers = ('"opgen_elementwise_tiling.h"',)
    return pointwise_tiling(plan, style, "elementwise", fields, values, headers)


def pointwise_tiling(
    plan: OpPlan[Any],
    style: str,
    folder: str,
    fields: list[dict[str, Any]],
    values: dict[str, Any],
    headers: tuple[str, ...],
) -> TilingText:
    """Return the tiling text of a family whose kernels are pointwise.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
        folder: of the family's templates.
        fields: of the tiling struct; the numbers that kernels take follow them.
        values: of the template, besides those that all tilings have; ``budgets`` among them.
        headers: that the template needs, besides those of all tilings.
    """
    spec, names, used = plan.spec, plan.scalar_names, plan.scalars()
    numbers = number_lists(spec)
    shared = shared_values(spec, plan, style, used)
    text = (
        environment(folder)
        .get_template("tiling.cpp.jinja")
        .render(
            **setters(style),
            **shared,
            **values,
            lists=[row for row in shared["inputs"] if row["list"] and row["name"] not in numbers],
            number_lists=[row for row in shared["inputs"] if row["name"] in numbers],
            scalars=scalar_values(names, used),
        )
    )
    fields = [*fields, *scalar_fields(names, used)]
    return tiling_text(spec, style, text, shared, fields, headers)


def budgets(plan: ElementwisePlan) -> list[dict[str, Any]]:
    """Return what the kernel of each dtype combination and variant needs."""
    spec, rows = plan.spec, []
    for body in plan.bodies:
        split = splits_elements(spec, body)
        for combo in body.combos:
            flat, box = body.budgets[combo, "flat"], body.budgets[combo, "broadcast"]
            sizes = [DTYPE_BYTES[p.dtypes[combo]] for p in (*spec.inputs, *spec.outputs)]
            read = [spec.param(v.tensor).dtypes[combo] for v in body.operands.values()]
            written = [p.dtypes[combo] for p in spec.outputs]
            passes = vector_passes(body.program, [*read, *written], keeps_coefficients=True)
            rows.append(
                {
                    "dtypes": combo_dtypes(spec, combo),
                    "variant": body.variant,
                    "flat": flat.bytes_per_element,
                    "box": box.bytes_per_element,
                    "reserved": max(flat.fixed, box.fixed),
                    "read": sum(DTYPE_BYTES[d] for d in read),
                    "written": sum(DTYPE_BYTES[d] for d in written),
                    "cycles": vector_cycles(passes, plan.socs),
                    "pitch": 32 // min(*sizes, 4),
                    "splits": split and moves_wide(spec, body, combo),
                }
            )
    return joined_needs(rows)

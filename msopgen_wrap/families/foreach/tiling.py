"""Tiling struct and TilingFunc of kernels on tensor lists."""

from __future__ import annotations

from msopgen_wrap.families.elementwise.plan import ElementwisePlan
from msopgen_wrap.families.elementwise.tiling import pointwise_tiling
from msopgen_wrap.render.kernel import MAX_TENSORS
from msopgen_wrap.render.tiling import TILE_LENGTH, field_row
from msopgen_wrap.render.tiling_text import TilingText


def render_tiling(plan: ElementwisePlan, style: str) -> TilingText:
    """Return the tiling of an op on tensor lists.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    fields = [
        field_row("uint64_t", "lengths", MAX_TENSORS, "elements of each tensor of the lists"),
        field_row("uint64_t", "units", 0, "256-element units of all tensors"),
        field_row("uint32_t", "tensors", 0, "tensors per list"),
        TILE_LENGTH,
    ]
    headers = ('"opgen_tile_budget.h"', '"opgen_view.h"')
    values = {"max_tensors": MAX_TENSORS}
    return pointwise_tiling(plan, style, "foreach", fields, values, headers)

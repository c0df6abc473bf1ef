"""Formulas that reduce over the same axes throughout, with pointwise work around the reductions."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.family import PartFamily
from msopgen_wrap.families.row.body import RowPlan
from msopgen_wrap.families.row.kernel import kernel_part, render_kernel
from msopgen_wrap.families.row.plan import plan_row
from msopgen_wrap.families.row.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelPart, KernelSources
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.calls import reduction_kind
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec, ParamKind


class Row(PartFamily):
    """Reductions along rows or columns, resident in UB or streamed through it."""

    name = "row"
    knobs = ("tile", "buffers", "cores", "elements_per_core", "rows")

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim formulas that reduce single tensors."""
        reduces = any(reduction_kind(node) for node in traced().graph.nodes)
        return reduces and all(p.kind is not ParamKind.DYNAMIC for p in spec.inputs)

    def plan(self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]) -> RowPlan:
        """Plan resident and streamed passes over one iteration space."""
        return plan_row(self, spec, variants, first)

    def render(self, plan: OpPlan, style: str) -> KernelSources:
        """Render the kernel and its tiling."""
        assert isinstance(plan, RowPlan)
        return KernelSources(render_kernel(plan, style), render_tiling(plan, style))

    def kernel_part(self, plan: OpPlan, style: str) -> KernelPart:
        """Return the kernel classes of one part."""
        assert isinstance(plan, RowPlan)
        return kernel_part(plan, style)

    def tiling_part(self, plan: OpPlan, style: str) -> TilingText:
        """Return the tiling of one part."""
        assert isinstance(plan, RowPlan)
        return render_tiling(plan, style)

"""Pools: what the largest, or the average, of the elements in each window is, and where."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.family import PartFamily
from msopgen_wrap.families.window.kernel import kernel_part, render_kernel
from msopgen_wrap.families.window.plan import WindowPlan, plan_window
from msopgen_wrap.families.window.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelPart, KernelSources
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec, ParamKind


class Window(PartFamily):
    """Windows along the last axes: one axis after another, each by whole rows."""

    name = "window"

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim formulas with a call that this family makes."""
        if any(p.kind is ParamKind.DYNAMIC for p in spec.inputs):
            return False
        return bool(anchors(traced().graph.nodes, self.name))

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> WindowPlan:
        """Plan one call over an input."""
        return plan_window(self, spec, variants, first)

    def render(self, plan: OpPlan, style: str) -> KernelSources:
        """Render the kernel and its tiling."""
        assert isinstance(plan, WindowPlan)
        return KernelSources(render_kernel(plan, style), render_tiling(plan, style))

    def kernel_part(self, plan: OpPlan, style: str) -> KernelPart:
        """Return the kernel classes of one part."""
        assert isinstance(plan, WindowPlan)
        return kernel_part(plan, style)

    def tiling_part(self, plan: OpPlan, style: str) -> TilingText:
        """Return the tiling of one part."""
        assert isinstance(plan, WindowPlan)
        return render_tiling(plan, style)

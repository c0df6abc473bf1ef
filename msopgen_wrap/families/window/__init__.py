"""Pools: what the largest, or the average, of the elements in each window is, and where."""

from __future__ import annotations

from msopgen_wrap.families.family import AnchorFamily, Rendering
from msopgen_wrap.families.window.kernel import kernel_part, render_kernel
from msopgen_wrap.families.window.plan import WindowPlan, plan_window
from msopgen_wrap.families.window.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.spec.model import OpSpec


class Window(AnchorFamily[WindowPlan]):
    """Windows along the last axes: one axis after another, each by whole rows."""

    name = "window"
    rendering = Rendering(WindowPlan, render_kernel, kernel_part, render_tiling)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> WindowPlan:
        """Plan one call over an input."""
        return plan_window(self, spec, variants, first)

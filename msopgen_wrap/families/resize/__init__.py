"""Planes resampled along their last axes: nearest, linear or cubic, in one pass."""

from __future__ import annotations

from msopgen_wrap.families.family import AnchorFamily, Rendering
from msopgen_wrap.families.resize.kernel import kernel_part, render_kernel
from msopgen_wrap.families.resize.plan import ResizePlan, plan_resize
from msopgen_wrap.families.resize.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.spec.model import OpSpec


class Resize(AnchorFamily[ResizePlan]):
    """Rows of results: sums of rows of a plane, of which elements are gathered for the columns."""

    name = "resize"
    rendering = Rendering(ResizePlan, render_kernel, kernel_part, render_tiling)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> ResizePlan:
        """Plan one call over an input."""
        return plan_resize(self, spec, variants, first)

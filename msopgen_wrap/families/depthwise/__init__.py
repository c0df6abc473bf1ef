"""Depthwise convolutions: every channel has filters of its own, so vector cores sum up products."""

from __future__ import annotations

from msopgen_wrap.families.depthwise.kernel import kernel_part, render_kernel
from msopgen_wrap.families.depthwise.plan import DepthwisePlan, plan_depthwise
from msopgen_wrap.families.depthwise.tiling import render_tiling
from msopgen_wrap.families.family import AnchorFamily, Rendering
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.spec.model import OpSpec


class Depthwise(AnchorFamily[DepthwisePlan]):
    """One convolution over one to three spatial axes, a group for each channel, and its bias."""

    name = "depthwise"
    rendering = Rendering(DepthwisePlan, render_kernel, kernel_part, render_tiling)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> DepthwisePlan:
        """Plan one pass on vector cores."""
        return plan_depthwise(self, spec, variants, first)

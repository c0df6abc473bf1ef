"""Convolutions on the cube cores, as products of filters and gathered columns of the input."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.convolution.kernel import kernel_part, render_kernel
from msopgen_wrap.families.convolution.plan import ConvolutionPlan, plan_convolution
from msopgen_wrap.families.convolution.tiling import render_tiling
from msopgen_wrap.families.family import AnchorFamily, Rendering
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec


class Convolution(AnchorFamily[ConvolutionPlan]):
    """One convolution over one to three spatial axes."""

    name = "convolution"
    rounds_to_hf32 = True
    rendering = Rendering(ConvolutionPlan, render_kernel, kernel_part, render_tiling)

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim formulas with a convolution."""
        return bool(anchors(traced().graph.nodes, self.name))

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> ConvolutionPlan:
        """Plan one pass on cube and vector cores."""
        return plan_convolution(self, spec, variants, first)

    def modes(self, plan: OpPlan) -> set[str]:
        """Return what calls can reach."""
        return set(plan.modes)

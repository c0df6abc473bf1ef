"""Calls that move elements by index: rows and elements that tensors of indices name."""

from __future__ import annotations

from msopgen_wrap.families.family import AnchorFamily, Rendering
from msopgen_wrap.families.index.kernel import kernel_part, render_kernel
from msopgen_wrap.families.index.plan import IndexPlan, plan_index
from msopgen_wrap.families.index.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.spec.model import OpSpec


class Index(AnchorFamily[IndexPlan]):
    """Gathers and scatters, by DMA of the rows that have the same index."""

    name = "index"
    rendering = Rendering(IndexPlan, render_kernel, kernel_part, render_tiling)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> IndexPlan:
        """Plan one call over views of the inputs."""
        return plan_index(self, spec, variants, first)

"""Calls that move elements by index: rows and elements that tensors of indices name."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.family import PartFamily
from msopgen_wrap.families.index.kernel import kernel_part, render_kernel
from msopgen_wrap.families.index.plan import IndexPlan, plan_index
from msopgen_wrap.families.index.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelPart, KernelSources
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec, ParamKind


class Index(PartFamily):
    """Gathers and scatters, by DMA of the rows that have the same index."""

    name = "index"

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim formulas with a call that this family makes."""
        if any(p.kind is ParamKind.DYNAMIC for p in spec.inputs):
            return False
        return bool(anchors(traced().graph.nodes, self.name))

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> IndexPlan:
        """Plan one call over views of the inputs."""
        return plan_index(self, spec, variants, first)

    def render(self, plan: OpPlan, style: str) -> KernelSources:
        """Render the kernel and its tiling."""
        assert isinstance(plan, IndexPlan)
        return KernelSources(render_kernel(plan, style), render_tiling(plan, style))

    def kernel_part(self, plan: OpPlan, style: str) -> KernelPart:
        """Return the kernel classes of one part."""
        assert isinstance(plan, IndexPlan)
        return kernel_part(plan, style)

    def tiling_part(self, plan: OpPlan, style: str) -> TilingText:
        """Return the tiling of one part."""
        assert isinstance(plan, IndexPlan)
        return render_tiling(plan, style)

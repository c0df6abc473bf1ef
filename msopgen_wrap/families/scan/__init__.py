"""Formulas with prefix sums and the like along one axis, with pointwise work around them."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.family import PartFamily
from msopgen_wrap.families.scan.kernel import kernel_part, render_kernel
from msopgen_wrap.families.scan.plan import ScanPlan, plan_scan
from msopgen_wrap.families.scan.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelPart, KernelSources
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec, ParamKind


class Scan(PartFamily):
    """Scans along the rows or the columns of boxes, chunk after chunk with a carry."""

    name = "scan"

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim formulas that scan single tensors."""
        scans = anchors(traced().graph.nodes, self.name)
        return bool(scans) and all(p.kind is not ParamKind.DYNAMIC for p in spec.inputs)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> ScanPlan:
        """Plan one pass through the elements along the axis."""
        return plan_scan(self, spec, variants, first)

    def render(self, plan: OpPlan, style: str) -> KernelSources:
        """Render the kernel and its tiling."""
        assert isinstance(plan, ScanPlan)
        return KernelSources(render_kernel(plan, style), render_tiling(plan, style))

    def kernel_part(self, plan: OpPlan, style: str) -> KernelPart:
        """Return the kernel classes of one part."""
        assert isinstance(plan, ScanPlan)
        return kernel_part(plan, style)

    def tiling_part(self, plan: OpPlan, style: str) -> TilingText:
        """Return the tiling of one part."""
        assert isinstance(plan, ScanPlan)
        return render_tiling(plan, style)

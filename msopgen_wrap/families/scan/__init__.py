"""Formulas with prefix sums and the like along one axis, with pointwise work around them."""

from __future__ import annotations

from msopgen_wrap.families.family import AnchorFamily, Rendering
from msopgen_wrap.families.scan.kernel import kernel_part, render_kernel
from msopgen_wrap.families.scan.plan import ScanPlan, plan_scan
from msopgen_wrap.families.scan.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.spec.model import OpSpec


class Scan(AnchorFamily[ScanPlan]):
    """Scans along the rows or the columns of boxes, chunk after chunk with a carry."""

    name = "scan"
    knobs = ("tile", "buffers", "cores", "elements_per_core")
    constant_buffers = True
    rendering = Rendering(ScanPlan, render_kernel, kernel_part, render_tiling)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> ScanPlan:
        """Plan one pass through the elements along the axis."""
        return plan_scan(self, spec, variants, first)

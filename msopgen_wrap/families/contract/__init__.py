"""Products of matrices on the cube cores."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.contract.body import ProductPlan
from msopgen_wrap.families.contract.kernel import kernel_part, render_kernel
from msopgen_wrap.families.contract.plan import plan_products
from msopgen_wrap.families.contract.reading import PRODUCTS
from msopgen_wrap.families.contract.tiling import render_tiling
from msopgen_wrap.families.family import PartFamily
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelPart, KernelSources
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.calls import target_name
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec


class Contract(PartFamily):
    """One product of matrices, or one of each batch, with views of operands and result."""

    name = "contract"

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim formulas that multiply matrices."""
        return any(target_name(node) in PRODUCTS for node in traced().graph.nodes)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> ProductPlan:
        """Plan one pass on the cube."""
        return plan_products(self, spec, variants, first)

    def render(self, plan: OpPlan, style: str) -> KernelSources:
        """Render the kernel and its tiling."""
        assert isinstance(plan, ProductPlan)
        return KernelSources(render_kernel(plan, style), render_tiling(plan, style))

    def modes(self, plan: OpPlan) -> set[str]:
        """Return both modes."""
        return set(plan.modes)

    def kernel_part(self, plan: OpPlan, style: str) -> KernelPart:
        """Return the kernel classes of one part."""
        assert isinstance(plan, ProductPlan)
        return kernel_part(plan, style)

    def tiling_part(self, plan: OpPlan, style: str) -> TilingText:
        """Return the tiling of one part."""
        assert isinstance(plan, ProductPlan)
        return render_tiling(plan, style)

"""Products of matrices on the cube cores."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.contract.body import ProductPlan
from msopgen_wrap.families.contract.kernel import kernel_part, render_kernel
from msopgen_wrap.families.contract.plan import plan_products
from msopgen_wrap.families.contract.reading import PRODUCTS
from msopgen_wrap.families.contract.tiling import render_tiling
from msopgen_wrap.families.family import AnchorFamily, Rendering
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.calls import target_name
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec


class Contract(AnchorFamily[ProductPlan]):
    """One product of matrices, or one of each batch, with views of operands and result."""

    name = "contract"
    rounds_to_hf32 = True
    rendering = Rendering(ProductPlan, render_kernel, kernel_part, render_tiling)

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim formulas that multiply matrices."""
        return any(target_name(node) in PRODUCTS for node in traced().graph.nodes)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> ProductPlan:
        """Plan one pass on the cube."""
        return plan_products(self, spec, variants, first)

    def modes(self, plan: OpPlan) -> set[str]:
        """Return both modes."""
        return set(plan.modes)

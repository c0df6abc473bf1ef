"""Sorts: elements of rows in order, or some of them, and where they are."""

from __future__ import annotations

from msopgen_wrap.families.family import AnchorFamily, Rendering
from msopgen_wrap.families.order.kernel import kernel_part, render_kernel
from msopgen_wrap.families.order.plan import OrderPlan, plan_order
from msopgen_wrap.families.order.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.spec.model import OpSpec


class Order(AnchorFamily[OrderPlan]):
    """Rows sorted in UB by the sort instructions, which are stable."""

    name = "order"
    rendering = Rendering(OrderPlan, render_kernel, kernel_part, render_tiling)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> OrderPlan:
        """Plan one call over an input."""
        return plan_order(self, spec, variants, first)

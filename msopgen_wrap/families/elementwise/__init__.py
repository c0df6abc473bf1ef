"""Pointwise formulas over one broadcast iteration space."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.elementwise.kernel import kernel_part, render_kernel
from msopgen_wrap.families.elementwise.plan import MODES, ElementwisePlan, plan_pointwise
from msopgen_wrap.families.elementwise.tiling import render_tiling
from msopgen_wrap.families.family import PartFamily
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelPart, KernelSources
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec


class Elementwise(PartFamily):
    """Every output is a pointwise function of views of the inputs."""

    name = "elementwise"
    knobs = ("tile", "buffers", "cores", "elements_per_core")
    constant_buffers = True

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim every formula: what is not pointwise is refused node by node."""
        return True

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> ElementwisePlan:
        """Plan one walk over the shape of the outputs."""
        return plan_pointwise(ElementwisePlan(spec, self, variants, [], dict(MODES)), first)

    def render(self, plan: OpPlan, style: str) -> KernelSources:
        """Render the kernel and its tiling."""
        assert isinstance(plan, ElementwisePlan)
        return KernelSources(render_kernel(plan, style), render_tiling(plan, style))

    def modes(self, plan: OpPlan) -> set[str]:
        """Return ``flat``, and ``broadcast`` when operands can differ in shape."""
        assert isinstance(plan, ElementwisePlan)
        return set(MODES) if plan.broadcasts() else {"flat"}

    def kernel_part(self, plan: OpPlan, style: str) -> KernelPart:
        """Return the kernel classes of one part."""
        assert isinstance(plan, ElementwisePlan)
        return kernel_part(plan, style)

    def tiling_part(self, plan: OpPlan, style: str) -> TilingText:
        """Return the tiling of one part."""
        assert isinstance(plan, ElementwisePlan)
        return render_tiling(plan, style)

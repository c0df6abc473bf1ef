"""Pointwise formulas over lists of tensors that are walked together."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.elementwise.kernel import render_kernel
from msopgen_wrap.families.elementwise.plan import MODES, ElementwisePlan, plan_pointwise
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.foreach.plan import check_lists
from msopgen_wrap.families.foreach.tiling import render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelSources
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec, ParamKind


class Foreach(Family):
    """The elementwise kernel over lists: tensors of one index have one shape."""

    name = "foreach"

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim ops that have a tensor list among their inputs."""
        return any(p.kind is ParamKind.DYNAMIC for p in spec.inputs)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> ElementwisePlan:
        """Plan one walk over all tensors of the lists."""
        check_lists(spec)
        empty = ElementwisePlan(spec, self, variants, [], dict(MODES), lists=True)
        return plan_pointwise(empty, first)

    def render(self, plan: OpPlan, style: str) -> KernelSources:
        """Render the kernel and its tiling."""
        assert isinstance(plan, ElementwisePlan)
        return KernelSources(render_kernel(plan, style), render_tiling(plan, style))

    def modes(self, plan: OpPlan) -> set[str]:
        """Return ``flat``: a list is walked element by element."""
        return {"flat"}

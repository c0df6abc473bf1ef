"""Formulas over lists of tensors that are walked together: pointwise, or one number per tensor."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.elementwise.kernel import render_kernel
from msopgen_wrap.families.elementwise.plan import MODES, ElementwisePlan, plan_pointwise
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.foreach.plan import (
    check_lists,
    check_numbers,
    check_tensors,
    plan_reductions,
)
from msopgen_wrap.families.foreach.text import (
    render_reduction_tiling,
    render_reductions,
    render_tiling,
)
from msopgen_wrap.families.row.body import RowPlan
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelSources
from msopgen_wrap.schedule.calls import reduction_kind
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec, ParamKind


class Foreach(Family):
    """Lists walked together: tensors of one index have one shape.

    Pointwise formulas have the elementwise kernel; reductions one of their own, made of the
    passes that the row family plans.
    """

    name = "foreach"
    knobs = ("tile", "cores", "elements_per_core")

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim ops that have a tensor list among their inputs."""
        return any(p.kind is ParamKind.DYNAMIC for p in spec.inputs)

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> ElementwisePlan | RowPlan:
        """Plan one walk over all tensors of the lists."""
        reduces = any(reduction_kind(node) for node in first[0].graph.nodes)
        check_lists(spec, numbers=not reduces)
        check_numbers(spec, first[0], reduces)
        if reduces:
            return plan_reductions(self, spec, variants, first)
        empty = ElementwisePlan(spec, self, variants, [], dict(MODES), lists=True)
        plan = plan_pointwise(empty, first)
        check_tensors(plan)
        return plan

    def render(self, plan: OpPlan, style: str) -> KernelSources:
        """Render the kernel and its tiling."""
        if isinstance(plan, RowPlan):
            tiling = render_reduction_tiling(plan, style)
            return KernelSources(render_reductions(plan, style), tiling)
        assert isinstance(plan, ElementwisePlan)
        return KernelSources(render_kernel(plan, style), render_tiling(plan, style))

    def modes(self, plan: OpPlan) -> set[str]:
        """Return ``flat``: a list is walked element by element."""
        return {"flat"}

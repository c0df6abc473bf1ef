"""Formulas that no family makes in one pass: one kernel that runs a plan per group of outputs."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.family import Family, PartFamily
from msopgen_wrap.families.parts.phases import PlanOne
from msopgen_wrap.families.parts.plan import PartsPlan, plan_in_slabs, plan_parts
from msopgen_wrap.families.parts.text import render_kernel, render_tiling
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelSources
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.schedule_entries import KNOBS


class Parts(Family):
    """Plans of other families that run one after another.

    Each makes some of the outputs, or values that later ones read from the workspace.

    Args:
        plan_one: plans a part with the families that make one pass.
    """

    name = "parts"

    def __init__(self, plan_one: PlanOne) -> None:
        self.plan_one = plan_one

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim every formula: the search tells whether parts and phases make it."""
        return spec.whole is None

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> PartsPlan:
        """Plan as few parts as possible."""
        return plan_parts(self, spec, variants, self.plan_one)

    def plan_in_slabs(
        self, spec: OpSpec, variants: list[Variant], alone: OpPlan
    ) -> PartsPlan | None:
        """Plan a part for each piece of outputs, where that computes less than one pass."""
        return plan_in_slabs(self, spec, variants, self.plan_one, alone)

    def knobs_of(self, plan: OpPlan) -> tuple[str, ...]:
        """Return what any part can be asked for; the others leave it."""
        known = {knob for part in plan.parts for knob in _family(part).knobs}
        return tuple(knob for knob in KNOBS if knob in known)

    def render(self, plan: OpPlan, style: str) -> KernelSources:
        """Render the classes of all parts into one kernel, and their tilings into one function."""
        assert isinstance(plan, PartsPlan)
        made = [(part, _family(part)) for part in plan.parts]
        kernels = [family.kernel_part(part, style) for part, family in made]
        tilings = [family.tiling_part(part, style) for part, family in made]
        return KernelSources(
            render_kernel(plan, kernels, style), render_tiling(plan, kernels, tilings, style)
        )


def _family(part: OpPlan) -> PartFamily:
    assert isinstance(part.family, PartFamily)
    return part.family

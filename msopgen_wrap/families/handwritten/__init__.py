"""Kernels that a spec brings along with ``kernel:``."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.families.family import Family
from msopgen_wrap.families.handwritten.sources import kernel_sources
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.render.kernel import KernelSources
from msopgen_wrap.schedule.plan import Body, OpPlan
from msopgen_wrap.spec.model import OpSpec


class Handwritten(Family):
    """The kernel is copied; its tiling is the spec's, or passes shapes and attributes."""

    name = "handwritten"

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim ops that name a kernel file."""
        return spec.kernel is not None

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> OpPlan[Body]:
        """Return a plan without bodies."""
        return OpPlan(spec, self, [Variant()], [], {})

    def render(self, plan: OpPlan[Body], style: str) -> KernelSources:
        """Return copies of the spec's sources; op_host chooses between its tiling and a default."""
        return KernelSources(kernel_sources(plan.spec), None)

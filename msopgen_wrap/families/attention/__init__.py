"""Attention: a softmax between two products of matrices, on cube and vector cores together."""

from __future__ import annotations

from collections.abc import Callable

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.attention.kernel import kernel_part, render_kernel
from msopgen_wrap.families.attention.plan import AttentionPlan, plan_attention
from msopgen_wrap.families.attention.reading import AttentionReader
from msopgen_wrap.families.attention.tiling import render_tiling
from msopgen_wrap.families.family import AnchorFamily, Rendering
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec, ParamKind


class AttentionFamily(AnchorFamily[AttentionPlan]):
    """softmax(queries x keys) x values, with work on the scores and views around it."""

    name = "attention"
    rendering = Rendering(AttentionPlan, render_kernel, kernel_part, render_tiling)

    def claims(self, spec: OpSpec, traced: Callable[[], TracedGraph]) -> bool:
        """Claim formulas that are one attention and nothing else."""
        if any(p.kind is ParamKind.DYNAMIC for p in spec.inputs):
            return False
        graph = traced()
        if len(anchors(graph.graph.nodes, "contract")) != 2:
            return False
        try:
            AttentionReader(spec, graph, 0).read_attention()
        except OpgenError:
            return False
        return True

    def plan(
        self, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
    ) -> AttentionPlan:
        """Plan one pass on cube and vector cores."""
        return plan_attention(self, spec, variants, first)

    def modes(self, plan: OpPlan) -> set[str]:
        """Return the only mode."""
        return set(plan.modes)

"""Kernel families: each folder holds what claims a formula, plans it and renders its kernel."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msopgen_wrap.schedule.plan import OpPlan
    from msopgen_wrap.spec.model import OpSpec


def plan_op(spec: OpSpec) -> OpPlan[Any]:
    """Plan the kernels of an op (imports torch); see ``planner.plan_op``."""
    from msopgen_wrap.families.planner import plan_op as plan

    return plan(spec)

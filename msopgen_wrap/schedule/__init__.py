"""Graph to kernel plan: family, tiles, buffers and the proof that they fit in UB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msopgen_wrap.schedule.plan import OpPlan
    from msopgen_wrap.spec.model import OpSpec


def plan_op(spec: OpSpec) -> OpPlan:
    """Plan the kernels of an op (imports torch); see ``planner.plan_op``."""
    from msopgen_wrap.schedule.planner import plan_op as plan

    return plan(spec)


def plan_dict(plan: OpPlan) -> dict[str, Any]:
    """Return a plan as JSON-ready data."""
    from msopgen_wrap.schedule.report import as_dict

    return as_dict(plan)


def plan_text(plan: OpPlan, shapes: dict[str, Any] | None = None) -> str:
    """Return a plan as a table for people, with the tiling of ``shapes`` when given."""
    from msopgen_wrap.schedule.report import as_text

    return as_text(plan, shapes)

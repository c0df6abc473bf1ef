"""Graph to kernel plan: family, tiles, buffers and the proof that they fit in UB."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from msopgen_wrap.schedule.plan import OpPlan


def plan_dict(plan: OpPlan[Any]) -> dict[str, Any]:
    """Return a plan as JSON-ready data."""
    from msopgen_wrap.schedule.report import as_dict

    return as_dict(plan)


def plan_text(plan: OpPlan[Any]) -> str:
    """Return a plan as a table for people."""
    from msopgen_wrap.schedule.report import as_text

    return as_text(plan)

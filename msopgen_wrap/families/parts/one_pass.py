"""Passes that add up columns beside the rows, in the place of two.

A pass over rows and one beside it that sums the columns of the same tensors read them twice. One
pass makes the outputs of both where whole rows stay in UB, which the tiling decides for each call:
the two passes stay in the kernel for the other calls.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.parts.phases import PlanOne, curable
from msopgen_wrap.schedule.plan import OpPlan


def with_one_pass(plans: Sequence[OpPlan[Any]], plan_one: PlanOne) -> list[OpPlan[Any]]:
    """Return the plans with those that may run in place of two neighbours before these.

    Args:
        plans: the parts of a kernel in the order in which they run.
        plan_one: plans a part.
    """
    found: list[OpPlan[Any]] = []
    position = 0
    while position < len(plans):
        pair = plans[position : position + 2]
        rest = plans[position + 2 :]
        joined = None
        for rows, columns in (pair, pair[::-1]) if len(pair) == 2 else ():
            joined = joined or _joined(rows, columns, rest, plan_one)
        if joined is not None:
            joined.instead = tuple(pair)
        found += [joined, *pair] if joined is not None else pair[:1]
        position += 2 if joined is not None else 1
    return found


def _joined(
    rows: OpPlan[Any], columns: OpPlan[Any], rest: Sequence[OpPlan[Any]], plan_one: PlanOne
) -> OpPlan[Any] | None:
    """Return a pass over rows that also sums columns, None where there is none."""
    written = (*rows.spec.outputs, *columns.spec.outputs)
    own = all(p.site is None for p in columns.spec.outputs)
    if rows.family is not columns.family or not own or any(p.inplace for p in written):
        return None
    read = {name for plan in rest for name in plan.temporaries_read()}
    kept = [p for p in rows.spec.outputs if p.site is None or p.name in read]
    spec = replace(
        rows.spec,
        outputs=(*kept, *columns.spec.outputs),
        columns=tuple(p.name for p in columns.spec.outputs),
    )
    try:
        plan = plan_one(spec)
    except OpgenError as error:
        if not curable(error):
            raise
        return None
    if {p.name for p in plan.spec.outputs} & {*spec.columns}:
        return None  # a family that knows no such sums
    return plan

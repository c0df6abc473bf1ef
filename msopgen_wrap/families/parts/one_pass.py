"""One pass in the place of two that read the same tensors.

The tiling decides for each call whether it runs; the two passes stay in the kernel for other calls.

A pass over rows and one beside it that sums the columns of the same tensors are one where whole
rows stay in UB. Two that write slabs of outputs are one in calls where the slabs have one size, as
the halves of an even axis.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.parts.curable import curable
from msopgen_wrap.families.parts.phases import PlanOne
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
        if any(plan.spec.loop is not None for plan in pair):
            pair = pair[:1]  # a step runs the passes that its loop knows
        rest = plans[position + 2 :]
        joined = None
        for rows, columns in (pair, pair[::-1]) if len(pair) == 2 else ():
            joined = joined or _joined(rows, columns, rest, plan_one)
        if len(pair) == 2:
            joined = joined or _slabs_at_once(pair[0], pair[1], plan_one)
        if joined is not None:
            joined.instead = tuple(pair)
        found += [joined, *pair] if joined is not None else pair[:1]
        position += 2 if joined is not None else 1
    return found


def _slabs_at_once(
    first: OpPlan[Any], second: OpPlan[Any], plan_one: PlanOne
) -> OpPlan[Any] | None:
    """Return a pass that writes the slabs of two passes, where it has far fewer operands.

    Otherwise its tiles are shorter than those of the two by as much as it saves.
    """
    written = (*first.spec.outputs, *second.spec.outputs)
    if any(p.slab is None for p in written):
        return None
    try:
        plan = plan_one(replace(second.spec, outputs=written, alike=True))
    except OpgenError:
        return None
    pointwise = all(p.family.name == "elementwise" for p in (first, second, plan))
    apart = len(first.operands()) + len(second.operands())
    return plan if pointwise and 3 * len(plan.operands()) <= 2 * apart else None


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

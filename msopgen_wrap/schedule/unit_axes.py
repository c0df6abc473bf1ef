"""Reshapes that add or drop axes of size 1 alone: they are possible whatever moved before."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msopgen_wrap.graph.axes_of_one import changed_axes, sizes_of
from msopgen_wrap.schedule.views import Step, View


def reshaped_by_ones(view: View, node: Any) -> View | None:
    """Return a view as such a reshape gives it; None for a reshape that does more.

    Args:
        node: the reshape.
    """
    after = sizes_of(node)
    steps = steps_of_ones(sizes_of(node.args[0]), after)
    if steps is None:
        return None
    return replace(view, rank=len(after), steps=(*view.steps, *steps), leading=0)


def steps_of_ones(before: list[Any], after: list[Any]) -> list[Step] | None:
    """Return the steps between shapes that differ in axes of size 1 alone; None for others.

    Args:
        before, after: what ``sizes_of`` returns of two tensors.
    """
    changed = changed_axes(before, after)
    if changed is None:
        return None
    dropped, added = changed
    # Axes count from the end, where those that are dropped later still stand.
    steps = [Step("squeeze", axis - len(before)) for axis in dropped]
    for left, axis in enumerate(added, len(before) - len(dropped) + 1):
        steps.append(Step("unsqueeze", axis - left))
    return steps

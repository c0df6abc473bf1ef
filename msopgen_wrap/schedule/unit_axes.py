"""Reshapes that add or drop axes of size 1 alone: they are possible whatever moved before."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.schedule.views import Step


def sizes_of(node: Any) -> list[Any]:
    """Return the sizes of a node of a graph, as ``same_size`` compares them."""
    return [getattr(size, "node", size) for size in node.meta["val"].shape]


def is_one(size: Any) -> bool:
    """Whether a size is 1 in every call."""
    return isinstance(size, int) and size == 1


def steps_of_ones(before: list[Any], after: list[Any]) -> list[Step] | None:
    """Return the steps of a reshape that adds or drops axes of size 1 alone; None for others.

    Args:
        before, after: what :func:`sizes_of` returns of its operand and of itself.
    """
    dropped, added, j = [], [], 0
    for i, size in enumerate(before):
        while j < len(after) and not same_size(size, after[j]) and is_one(after[j]):
            added.append(j)
            j += 1
        if j < len(after) and same_size(size, after[j]):
            j += 1
        elif is_one(size):
            dropped.append(i - len(before))
        else:
            return None
    added += [k for k in range(j, len(after)) if is_one(after[k])]
    if len(before) - len(dropped) + len(added) != len(after):
        return None
    # Axes count from the end, where those that are dropped later still stand.
    steps = [Step("squeeze", axis) for axis in dropped]
    left = len(before) - len(dropped)
    for k in added:
        left += 1
        steps.append(Step("unsqueeze", k - left))
    return steps

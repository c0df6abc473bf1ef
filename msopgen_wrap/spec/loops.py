"""Loops over the first axis: the function that ``compute`` calls as ``opgen.loop``.

A step computes the next states from the states before it and from the slices of the inputs at its
place. What every step returns is stacked along a first axis.

Generated torch packages contain a copy of this module.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

Step = Callable[..., Any]


def run_loop(step: Step, states: Any, inputs: Any, reverse: bool = False) -> Any:
    """Run ``step(*states, *slices)`` for every place along the first axis of the inputs.

    Args:
        step: returns the next states, in the shapes and dtypes of the states, then other results of
            the step; a tensor or a tuple.
        states: a tensor or several: the states before the first step.
        inputs: a tensor or several, of equal size along their first axis.
        reverse: whether to run from the last place to the first.

    Returns:
        What the step returns, of all steps: ``result[t]`` is that of place ``t``. A tensor where
        the step returns one.

    Raises:
        ValueError: inputs of different sizes along the first axis; a next state of another shape
            or dtype than the state.
    """
    befores, sources = listed(states), listed(inputs)
    steps = length_of(sources)
    found: Any = None
    rows: list[list[Any]] = []
    for place in reversed(range(steps)) if reverse else range(steps):
        found = step(*befores, *(x[place] for x in sources))
        results = listed(found)
        check_states(results, befores)
        befores = results[: len(befores)]
        rows.append(results)
    if not rows:  # the shapes of the results follow from those of a slice
        found = step(*befores, *(x.sum(0, dtype=x.dtype) for x in sources))
        none = [r.new_empty((0, *r.shape)) for r in listed(found)]
        return tuple(none) if isinstance(found, (list, tuple)) else none[0]
    rows = rows[::-1] if reverse else rows
    stacked = [torch.stack(column) for column in zip(*rows, strict=True)]
    return tuple(stacked) if isinstance(found, (list, tuple)) else stacked[0]


def listed(value: Any) -> list[Any]:
    """Return tensors that may be one, as a list."""
    return list(value) if isinstance(value, (list, tuple)) else [value]


def length_of(inputs: list[Any]) -> Any:
    """Return the number of steps; raises ValueError where inputs disagree."""
    if not inputs:
        raise ValueError("opgen.loop has no inputs, which say how many steps there are")
    if any(x.dim() == 0 for x in inputs):
        raise ValueError("an input of opgen.loop has no axis that the loop could run along")
    steps = inputs[0].shape[0]
    for x in inputs[1:]:
        # the sizes may be symbols: a check, not a branch
        torch._check_value(
            x.shape[0] == steps, lambda: "inputs of opgen.loop differ in size along the first axis"
        )
    return steps


def check_states(results: list[Any], states: list[Any]) -> None:
    """Check the next states of a step; raises ValueError."""
    if len(results) < len(states):
        raise ValueError(f"a step of opgen.loop returns {len(results)} of {len(states)} states")
    for number, (result, state) in enumerate(zip(results, states, strict=False), 1):
        if result.dim() != state.dim() or result.dtype != state.dtype:
            raise ValueError(
                f"state {number} of opgen.loop has {state.dim()} axes and {state.dtype}, the next "
                f"one {result.dim()} and {result.dtype}"
            )
        for axis in range(state.dim()):
            torch._check_value(
                result.shape[axis] == state.shape[axis],
                lambda: "a step of opgen.loop changes the shape of a state",
            )

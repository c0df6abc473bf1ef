"""Gradients of loops: another loop, from the last step to the first.

PyTorch does not differentiate the calls that stand for a loop in a graph. The formula is run twice:
first as it is, which records the loops; then with the results of loops as variables of their own,
whose gradients PyTorch finds. From these the gradient of a loop follows:

* the gradients of states, by a loop in the other direction, whose step is the derivative of the
  step by the states before it;
* the gradients of slices, and of tensors that steps read from around the loop, by the derivative of
  all steps together, as soon as the gradients of the states of all steps are known.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.graph.equal_sizes import same_sizes
from msopgen_wrap.graph.size_loops import has_counter
from msopgen_wrap.graph.step_hoisting import Calls, Place
from msopgen_wrap.spec.loops import Step, listed
from msopgen_wrap.torch_import import torch

tree_map = torch.utils._pytree.tree_map
tree_leaves = torch.utils._pytree.tree_leaves

# ``(step, states, inputs, reverse, ahead)``: runs a loop and returns its results; ``ahead`` gets
# what was computed for all steps before the loop.
Runner = Callable[[Step, list[Any], list[Any], bool, dict[Place, Any]], Any]


@dataclass
class LoopCall:
    """A loop of a formula.

    Attributes:
        step, reverse: of the loop.
        starts, sources: the states before the first step, and what steps read slices of.
        captured: the other floating-point tensors that a step reads, in the order of its calls.
        results: of all steps.
        befores: the states before all steps.
        several: whether a step returns several.
        ahead: what was computed for all steps before the loop, by its place in a step.
    """

    step: Step
    reverse: bool
    starts: list[Any]
    sources: list[Any]
    captured: list[Any]
    results: list[Any] = field(default_factory=list)
    befores: list[Any] = field(default_factory=list)
    several: bool = False
    ahead: dict[Place, Any] = field(default_factory=dict)

    @property
    def inputs(self) -> list[Any]:
        """The tensors that gradients of the loop go on to."""
        return [*self.starts, *self.sources, *self.captured]


@dataclass
class LoopTape:
    """The loops that a formula runs.

    Attributes:
        given: the results of each loop, if they are variables; None to run the loops.
    """

    given: list[Any] | None = None
    calls: list[LoopCall] = field(default_factory=list)

    def run(self, run: Runner, step: Step, states: Any, inputs: Any, reverse: bool) -> Any:
        """Record a loop and return its results."""
        starts, sources = listed(states), listed(inputs)
        call = LoopCall(step, reverse, starts, sources, _captured(step, starts, sources))
        self.calls.append(call)
        if self.given is not None:
            found: Any = self.given[len(self.calls) - 1]
            call.results = listed(found)
            return found
        several: list[bool] = []

        def with_states(*given: Any) -> Any:
            made = step(*given)
            several.append(isinstance(made, (list, tuple)))
            return (*listed(made), *given[: len(starts)])

        every = listed(run(with_states, starts, sources, reverse, call.ahead))
        count = len(every) - len(starts)
        call.results, call.befores = every[:count], every[count:]
        call.several = several[0]
        return tuple(call.results) if call.several else call.results[0]


_tape: ContextVar[LoopTape | None] = ContextVar("loop_tape", default=None)


def current_tape() -> LoopTape | None:
    """Return what records the loops of the formula that is being differentiated."""
    return _tape.get()


@contextlib.contextmanager
def _recorded(tape: LoopTape | None) -> Iterator[None]:
    token = _tape.set(tape)
    try:
        yield
    finally:
        _tape.reset(token)


def vjp_with_loops(
    formula: Callable[..., Any], targets: list[Any], run: Runner, *, in_steps: bool
) -> tuple[Any, Callable[[Any], Any], Any]:
    """Return ``torch.func.vjp(formula, *targets, has_aux=True)`` of a formula that may have loops.

    The formula is run twice, so that others are better given to ``torch.func.vjp``.

    Args:
        formula: gives its outputs and something else.
        run: runs a loop in the trace.
        in_steps: whether steps compute the gradients of their slices; all steps together do
            otherwise.
    """
    first = LoopTape()
    with _recorded(first):
        formula(*targets)
    if not first.calls:
        found: Any = torch.func.vjp(formula, *targets, has_aux=True)
        return found[0], found[1], found[2]
    floats = [[r for r in call.results if r.is_floating_point()] for call in first.calls]
    needs: list[list[bool]] = []

    def again(*chosen: Any) -> Any:
        variables = iter(chosen[len(targets) :])
        given = []
        for call in first.calls:
            results = (next(variables) if r.is_floating_point() else r for r in call.results)
            given.append(tuple(results) if call.several else next(results))
        second = LoopTape(given)
        with _recorded(second):
            outputs, others = formula(*chosen[: len(targets)])
        needs[:] = [[_is_needed(x) for x in call.inputs] for call in second.calls]
        inputs = [
            [x for x, needed in zip(call.inputs, own, strict=True) if needed]
            for call, own in zip(second.calls, needs, strict=True)
        ]
        return (outputs, inputs), others

    variables = [r for results in floats for r in results]
    found = torch.func.vjp(again, *targets, *variables, has_aux=True)
    (outputs, inputs), pull, others = found

    def pulled(weights: Any) -> Any:
        gradients = [[torch.zeros_like(x) for x in own] for own in inputs]
        for number in reversed(range(len(first.calls))):
            if not inputs[number]:
                continue
            start = len(targets) + sum(map(len, floats[:number]))
            every = pull((weights, gradients))
            own = every[start : start + len(floats[number])]
            gradients[number] = _gradients(
                first.calls[number], needs[number], list(own), run, in_steps=in_steps
            )
        return pull((weights, gradients))[: len(targets)]

    return outputs, pulled, others


def _is_needed(tensor: Any) -> bool:
    """Whether a gradient goes on to a tensor of a formula that is differentiated."""
    return bool(tensor.is_floating_point() and tensor.requires_grad)


# ---- one loop ------------------------------------------------------------------------------------


def _gradients(
    call: LoopCall, needs: list[bool], arriving: list[Any], run: Runner, *, in_steps: bool
) -> list[Any]:
    """Return the gradients of the inputs of a loop that are needed.

    Args:
        needs: per input, whether its gradient is.
        arriving: the gradients of the floating-point results of all steps.
        in_steps: whether the steps compute those of slices, too.
    """
    count, steps = len(call.starts), call.sources[0].shape[0]
    states = [n for n in range(count) if call.starts[n].is_floating_point()]
    sources = [n for n in range(len(call.sources)) if needs[count + n] and in_steps]
    sources = [n for n in sources if _is_as_large(call.sources[n], call.starts)]
    zeros = [torch.zeros_like(call.starts[n]) for n in states]

    def back(*given: Any) -> Any:
        after, rest = given[: len(states)], list(given[len(states) :])
        weights = [rest.pop(0) for _ in arriving]
        before = [rest.pop(0) for _ in call.starts]
        slices = [rest.pop(0) for _ in call.sources]
        known = dict(zip(call.ahead, rest, strict=True))

        def forward(*variables: Any) -> Any:
            own, other = list(before), list(slices)
            for n, value in zip(states, variables, strict=False):
                own[n] = value
            for n, value in zip(sources, variables[len(states) :], strict=True):
                other[n] = value
            with Calls(known):
                return tuple(_floats(call.step(*own, *other)))

        variables = [*(before[n] for n in states), *(slices[n] for n in sources)]
        pull: Any = torch.func.vjp(forward, *variables)[1]
        for n, gradient in enumerate(after):  # results begin with states
            weights[n] = weights[n] + gradient
        return (*pull(tuple(weights)), *weights[: len(states)])

    given = [*arriving, *call.befores, *call.sources, *call.ahead.values()]
    made = listed(run(back, zeros, given, not call.reverse, {})) if states else []
    found = {count + n: g for n, g in zip(sources, made[len(states) :], strict=False)}
    for place, zero, gradient in zip(states, zeros, made, strict=False):
        if needs[place]:  # that of the state after no step at all is zero
            ends = [zero.unsqueeze(0), gradient] if call.reverse else [gradient, zero.unsqueeze(0)]
            found[place] = torch.cat(ends).select(0, steps if call.reverse else 0)
    weights = [*made[len(states) + len(sources) :], *arriving[len(states) :]]
    left = [place for place, needed in enumerate(needs) if needed and place not in found]
    found |= _of_all_steps(call, left, weights)
    return [found[place] for place, needed in enumerate(needs) if needed]


def _is_as_large(source: Any, starts: list[Any]) -> bool:
    """Whether a slice has the shape of a state: no step adds up what makes its gradient."""
    return any(same_sizes(start.shape, source.shape[1:]) for start in starts)


def _of_all_steps(call: LoopCall, places: list[int], weights: list[Any]) -> dict[int, Any]:
    """Return the gradients of sources and captured tensors, by their places among the inputs."""
    count = len(call.starts)
    if not places:
        return {}
    inputs = call.inputs
    shared = count + len(call.sources)

    def forward(*variables: Any) -> Any:
        own = dict(zip(places, variables, strict=True))
        sources = [own.get(count + n, x) for n, x in enumerate(call.sources)]
        captured = {id(inputs[n]): value for n, value in own.items() if n >= shared}

        def one(*given: Any) -> Any:
            with _Replaced(captured):
                return tuple(_floats(call.step(*given)))

        return torch.vmap(one)(*call.befores, *sources)

    pull: Any = torch.func.vjp(forward, *(inputs[n] for n in places))[1]
    return dict(zip(places, pull(tuple(weights)), strict=True))


def _floats(results: Any) -> list[Any]:
    return [r for r in listed(results) if r.is_floating_point()]


class _Captured(torch.overrides.TorchFunctionMode):
    """Finds the tensors that a step reads and is not given."""

    def __init__(self, given: Sequence[Any]) -> None:
        super().__init__()
        self.kept = list(given)  # no other tensor gets their numbers
        self.known = {id(g) for g in given}
        self.found: dict[int, Any] = {}

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        if not any(map(has_counter, args)):  # x[:, t] reads a slice
            for leaf in tree_leaves((args, kwargs)):
                tensor = isinstance(leaf, torch.Tensor) and leaf.is_floating_point()
                if tensor and id(leaf) not in self.known:
                    self.found.setdefault(id(leaf), leaf)
        made = [leaf for leaf in tree_leaves(result) if isinstance(leaf, torch.Tensor)]
        self.kept += made
        self.known |= {id(leaf) for leaf in made}
        return result


def _captured(step: Step, starts: list[Any], sources: list[Any]) -> list[Any]:
    given = [*(s.detach() for s in starts), *(x.detach().select(0, 0) for x in sources)]
    mode = _Captured(given)
    with mode:
        step(*given)
    return list(mode.found.values())


class _Replaced(torch.overrides.TorchFunctionMode):
    """Gives the calls of a step other tensors in the place of some that it captures.

    Args:
        others: by the id of what they stand for.
    """

    def __init__(self, others: dict[int, Any]) -> None:
        super().__init__()
        self.others = others

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if not any(map(has_counter, args)):
            args, kwargs = tree_map(lambda a: self.others.get(id(a), a), (args, kwargs or {}))
        return func(*args, **(kwargs or {}))

"""Work of a loop's step that no state goes into: done for all steps together, before the loop.

A step often multiplies its slice by a matrix before the state comes in (``x[:, t] @ w + h @ u``).
One product for all steps does the same as one in each. The step is a function of Python, which is
run again: calls of PyTorch are counted, and those whose result is known get it from elsewhere.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.graph.size_loops import has_counter
from msopgen_wrap.spec.loops import Step, listed
from msopgen_wrap.torch_import import torch

tree_map = torch.utils._pytree.tree_map
tree_leaves = torch.utils._pytree.tree_leaves

Place = tuple[int, int]  # a call of PyTorch in a step, and which of its results

# Methods and functions whose results are elements of a tensor as they are.
_VIEWS = {"chunk", "split", "unbind", "__getitem__", "view", "reshape", "transpose", "permute", "t"}
_VIEWS |= {"unsqueeze", "squeeze", "expand", "expand_as", "narrow", "select", "movedim", "flatten"}
_VIEWS |= {"__get__", "unflatten", "swapaxes", "split_with_sizes", "tensor_split", "contiguous"}


class Calls(torch.overrides.TorchFunctionMode):
    """Counts the calls of a step, and gives those that are known their results.

    Args:
        known: results by their place.
    """

    def __init__(self, known: Mapping[Place, Any] | None = None) -> None:
        super().__init__()
        self.known = known or {}
        self.count = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        number = self.count
        self.count += 1
        found = self.called(number, func, args, kwargs or {})
        leaves = tree_leaves(found)
        if any((number, place) in self.known for place in range(len(leaves))):
            every = iter(range(len(leaves)))
            found = tree_map(lambda leaf: self.known.get((number, next(every)), leaf), found)
        return found

    def called(self, number: int, func: Any, args: Any, kwargs: Any) -> Any:
        """Return the result of a call."""
        return func(*args, **kwargs)


@dataclass
class _Value:
    """What a tensor of a step is made of.

    Attributes:
        place: the result that it is; None for what a step is given.
        states: whether a state before the step goes into it.
        slices: whether a slice does.
        heavy: whether more than pointwise work and views is.
        tensor: kept, so that no other one gets its number.
        source: the value that it is a view of.
    """

    place: Place | None
    states: bool
    slices: bool
    heavy: bool
    tensor: Any
    source: _Value | None = None


@dataclass
class _Survey(Calls):
    """Finds what each tensor of a step is made of."""

    values: dict[int, _Value] = field(default_factory=dict)
    needed: dict[Place, _Value] = field(default_factory=dict)

    def __post_init__(self) -> None:
        super().__init__()

    def called(self, number: int, func: Any, args: Any, kwargs: Any) -> Any:
        """Run a call and note what its results are made of."""
        before = _node_count()
        found = func(*args, **kwargs)
        given = [self.values[id(a)] for a in tree_leaves((args, kwargs)) if id(a) in self.values]
        if any(map(has_counter, args)):  # x[:, t], a slice that the loop gives
            given = [*given, _Value(None, False, True, False, None)]
        if not given:
            return found
        # what is computed while a step is differentiated exists there only
        states = any(v.states for v in given) or any(map(_is_variable, tree_leaves(found)))
        slices = any(v.slices for v in given)
        heavy = any(v.heavy for v in given) or _has_heavy_nodes(before)
        view = given[0] if getattr(func, "__name__", "") in _VIEWS else None
        for place, leaf in enumerate(tree_leaves(found)):
            if isinstance(leaf, torch.Tensor) and id(leaf) not in self.values:
                value = _Value((number, place), states, slices, heavy, leaf, view)
                self.values[id(leaf)] = value
        if states:
            for value in given:
                self.note(value)
        return found

    def note(self, value: _Value) -> None:
        """Remember a value for work with states, if it is heavy and no state goes into it."""
        while value.source is not None:
            value = value.source
        if value.place is not None and value.heavy and value.slices and not value.states:
            self.needed[value.place] = value


class _Done(Exception):
    """All that is wanted of a step is known."""


class _Taken(Calls):
    """Collects some results of a step; raises ``_Done`` when it has all."""

    def __init__(self, places: list[Place]) -> None:
        super().__init__()
        self.places = set(places)
        self.found: dict[Place, Any] = {}

    def called(self, number: int, func: Any, args: Any, kwargs: Any) -> Any:
        """Run a call and keep its results that are wanted."""
        result = func(*args, **kwargs)
        for place, leaf in enumerate(tree_leaves(result)):
            if (number, place) in self.places:
                self.found[number, place] = leaf
        if len(self.found) == len(self.places):
            raise _Done
        return result


def hoisted(
    step: Step, states: list[Any], sources: list[Any], slices: list[Any]
) -> dict[Place, Any]:
    """Compute what a step makes of its slices alone by more than pointwise work, for all steps.

    Args:
        step: the step.
        states, slices: what it is given; calls that are recorded for them have no results.
        sources: what the slices are of.

    Returns:
        The values along a first axis, by the place of the call that computes them in a step.
    """
    survey = _Survey()
    for number, tensor in enumerate([*states, *slices]):
        is_state = number < len(states)
        survey.values[id(tensor)] = _Value(None, is_state, not is_state, False, tensor)
    with survey:
        results = listed(step(*states, *slices))
    for result in results:
        if id(result) in survey.values:
            survey.note(survey.values[id(result)])
    places = list(survey.needed)
    if not places:
        return {}

    def compute(*given: Any) -> Any:
        taken = _Taken(places)
        with contextlib.suppress(_Done), taken:
            step(*states, *given)
        return tuple(taken.found[place] for place in places)

    return dict(zip(places, torch.vmap(compute)(*sources), strict=True))


def _is_variable(value: Any) -> bool:
    """Whether a tensor is one of a function that ``torch.func`` is differentiating."""
    return isinstance(value, torch.Tensor) and torch._C._functorch.is_gradtrackingtensor(value)


def _node_count() -> int:
    graph = _graph()
    return len(graph.nodes) if graph is not None else 0


def _has_heavy_nodes(before: int) -> bool:
    """Whether calls recorded since then do more than pointwise work and views."""
    graph = _graph()
    if graph is None:
        return False
    new = len(graph.nodes) - before
    nodes = reversed(graph.nodes)
    return any(_is_heavy(node) for _, node in zip(range(new), nodes, strict=False))


# Calls that make numbers, or move elements.
_LIGHT = (
    *("aten.full", "aten.zeros", "aten.ones", "aten.empty", "aten.new_", "aten.arange"),
    *("aten.scalar_tensor", "aten.sym_", "aten._to_copy", "aten.cat.", "aten.stack."),
    *("aten.clone", "aten.copy", "aten.lift_fresh", "aten.detach", "aten.roll", "aten.flip"),
)


def _is_heavy(node: Any) -> bool:
    target = node.target
    if node.op != "call_function" or not isinstance(target, torch._ops.OpOverload):
        return False
    light = torch.Tag.pointwise in target.tags or target.is_view
    return not light and not str(target).startswith(_LIGHT)


def _graph() -> Any:
    from torch.fx.experimental.proxy_tensor import get_proxy_mode

    mode = get_proxy_mode()
    return mode.tracer.graph if mode is not None else None

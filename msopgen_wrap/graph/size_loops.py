"""Loops of Python over an axis of a tensor, traced as ``opgen.loop``.

The body of ``for t in range(x.shape[1])`` is a function of the counter and of what the steps hand
on (``spec.size_loops``). It runs twice. The first run, on the first slices, finds which slices of
which tensors it reads, which values are states, and which lists get an item in each step. The
second run is the step of ``opgen.loop``: slices and states come from there.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NoReturn

from msopgen_wrap.graph.equal_sizes import always_equal
from msopgen_wrap.graph.frozen_steps import frozen
from msopgen_wrap.graph.size_branches import SizeBranchError
from msopgen_wrap.spec.compute_limits import MAX_STEPS
from msopgen_wrap.spec.loops import listed
from msopgen_wrap.torch_import import torch

_NUMBERS = (int, float, torch.SymInt, torch.SymFloat)
_WHY = "a loop over the size of an axis becomes one pass that hands its states from step to step"


class Counter:
    """The counter of a loop, ``factor * place + offset`` of it: it chooses slices, no more.

    Args:
        loop: the loop.
        factor: 1 or -1.
        offset: added to it, an integer or a size.
    """

    def __init__(self, loop: SizeLoop, factor: int = 1, offset: Any = 0) -> None:
        self.loop, self.factor, self.offset = loop, factor, offset

    def __add__(self, other: Any) -> Counter:
        if not isinstance(other, (int, torch.SymInt)):
            self.loop.refuse("the counter of the loop is used as a number")
        return Counter(self.loop, self.factor, self.offset + other)

    __radd__ = __add__

    def __neg__(self) -> Counter:
        return Counter(self.loop, -self.factor, -self.offset)

    def __sub__(self, other: Any) -> Counter:
        return self + (-other)

    def __rsub__(self, other: Any) -> Counter:
        return -self + other

    def _is_no_number(self, *_: Any) -> NoReturn:
        self.loop.refuse("the counter of the loop is used as a number")

    __mul__ = __rmul__ = __floordiv__ = __mod__ = __truediv__ = __rtruediv__ = _is_no_number
    __pow__ = __rpow__ = __bool__ = __int__ = __float__ = __index__ = _is_no_number
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = _is_no_number  # type: ignore[assignment]
    __hash__ = None  # type: ignore[assignment]


class Rows(list[Any]):
    """A list that gets an item in each step of a loop; it can be stacked, and read from an end.

    Args:
        loop: the loop.
        before: the items that were in the list before it.
        stacked: the other items, along a first axis.
        backwards: whether the last item comes first there.
    """

    def __init__(self, loop: SizeLoop, before: list[Any], stacked: Any, backwards: bool) -> None:
        super().__init__([stacked.select(0, 0)])  # PyTorch looks for a tensor in a list
        self._loop, self._before = loop, before
        self._stacked, self._backwards = stacked, backwards

    def stack(self, dim: int = 0) -> Any:
        """Return ``torch.stack(self, dim)``."""
        rows = self._stacked.flip(0) if self._backwards else self._stacked
        if self._before:
            rows = torch.cat([torch.stack(self._before), rows])
        return rows.movedim(0, dim) if dim else rows

    def cat(self, dim: int = 0) -> Any:
        """Return ``torch.cat(self, dim)``."""
        dim %= self[0].dim()
        return self.stack(dim).flatten(dim, dim + 1)

    def __getitem__(self, item: Any) -> Any:
        if item == 0 and type(item) is int and not self._before:
            return self._stacked.select(0, -1 if self._backwards else 0)
        if item == -1 and type(item) is int:
            return self._stacked.select(0, 0 if self._backwards else -1)
        if item == slice(None, None, -1) and not self._before:
            return Rows(self._loop, [], self._stacked, not self._backwards)
        self._loop.refuse("an item in the middle of a list that the loop makes is read")

    def _is_not_known(self, *_: Any) -> NoReturn:
        self._loop.refuse("a list that the loop makes is used for more than torch.stack")

    __iter__ = __add__ = __radd__ = __iadd__ = __len__ = _is_not_known  # type: ignore[assignment]


@dataclass
class _Source:
    """A tensor of which every step reads a slice."""

    tensor: Any
    axis: int
    first: Any  # the slice of the first step
    forward: bool


class SizeLoop:
    """One loop.

    Args:
        ends: the arguments of ``range``.
        body: its statements, a function of the counter and of the values that steps hand on; gives
            these values.
        loop: makes the calls of a loop in the graph, as ``opgen.loop``.
    """

    def __init__(self, ends: tuple[Any, ...], body: Callable[..., Any], loop: Any) -> None:
        first, last, self._by = (0, *ends, 1) if len(ends) == 1 else (*ends, 1)[:3]
        if type(self._by) is not int or self._by not in (1, -1):
            self.refuse("the loop counts by other steps than 1 or -1")
        self._first = first
        low, high = (first, last) if self._by == 1 else (last, first)
        self._steps = high if type(low) is int and low == 0 else high - low
        self._body, self._loop = frozen(body), loop
        self._sources: dict[Any, _Source] = {}
        self._given: dict[Any, Any] | None = None  # slices of a step

    def refuse(self, what: str) -> NoReturn:
        """Refuse the loop; raises SizeBranchError."""
        raise SizeBranchError(
            f"{what}; {_WHY}",
            "read slices such as x[:, t], assign states of one shape and dtype, append to lists "
            "that torch.stack joins; or give the number of steps as an attr with `allowed:`",
        )

    def take(self, tensor: Any, axis: int, counter: Counter) -> Any:
        """Return the slice of a tensor that a step reads, without the axis."""
        key = (id(tensor), axis, counter.factor, str(counter.offset))
        if self._given is not None:
            if key not in self._given:
                self.refuse("a slice is read of a tensor that the loop itself makes")
            return self._given[key]
        first = self._first * counter.factor + counter.offset
        forward = counter.factor * self._by == 1
        self._sources.setdefault(key, _Source(tensor, axis, first, forward))
        return tensor.select(axis, 0)

    def run(self, carried: tuple[Any, ...]) -> tuple[Any, ...]:
        """Return the values that are handed on, as they are after the last step."""
        found = self._body(Counter(self), *_copies(carried))
        kinds = [self._kind(a, b) for a, b in zip(carried, found, strict=True)]
        starts = [
            self._start(a, b)
            for a, b, kind in zip(carried, found, kinds, strict=True)
            if kind == "state"
        ]
        if not self._sources and not (starts and type(self._steps) is int):
            self.refuse("no step reads a slice")
        reverse = bool(self._sources) and not any(
            source.forward for source in self._sources.values()
        )
        keys = list(self._sources)

        def step(*given: Any) -> tuple[Any, ...]:
            states = list(given[: len(starts)])
            self._given = dict(zip(keys, given[len(starts) :], strict=False))
            values = _copies(carried)
            for place, kind in enumerate(kinds):
                if kind == "state":
                    values[place] = states.pop(0)
            after = self._body(Counter(self), *values)
            states = [a for a, kind in zip(after, kinds, strict=True) if kind == "state"]
            return (
                *states,
                *(a[-1] for a, kind in zip(after, kinds, strict=True) if kind == "list"),
            )

        slices = [self._slices(self._sources[key], reverse) for key in keys]
        if not slices:  # a tensor that no step reads says how many there are
            slices = [starts[0].new_ones(self._steps)]
        if starts:
            results = listed(self._loop(step, starts, slices, reverse))
        else:
            results = listed(torch.vmap(step)(*slices))
        self._given = None
        last = [
            self._last(start, rows, reverse)
            for start, rows in zip(starts, results[: len(starts)], strict=True)
        ]
        rows = results[len(starts) :]
        return tuple(
            last.pop(0)
            if kind == "state"
            else Rows(self, list(a), rows.pop(0), reverse)
            if kind == "list"
            else a
            for a, kind in zip(carried, kinds, strict=True)
        )

    def _kind(self, before: Any, after: Any) -> str:
        """Return whether a value is a ``state``, a ``list`` that grows, or stays the ``same``."""
        if isinstance(before, (list, tuple)) and isinstance(after, (list, tuple)):
            kept = all(a is b for a, b in zip(before, after, strict=False))
            if isinstance(before, Rows) or not kept or len(after) != len(before) + 1:
                self.refuse("a list gets other than one item in each step")
            return "list"
        if after is before:
            return "same"
        known = before is None or isinstance(before, (torch.Tensor, *_NUMBERS))
        if not isinstance(after, torch.Tensor) or not known:
            self.refuse("a step changes a value that is no tensor")
        return "state"

    def _start(self, before: Any, after: Any) -> Any:
        """Return a state before the first step, in the shape and dtype of those after steps."""
        if not isinstance(before, torch.Tensor):
            return torch.full_like(after, 0 if before is None else before)  # None: never read
        start = before if before.dtype == after.dtype else before.to(after.dtype)
        return start if start.dim() == after.dim() else start.expand(after.shape)

    def _last(self, start: Any, rows: Any, reverse: bool) -> Any:
        """Return a state after the loop; without steps it is the one before it."""
        if type(self._steps) is int and self._steps > 0:
            return rows.select(0, 0 if reverse else self._steps - 1)
        if reverse:
            return torch.cat([rows, start.unsqueeze(0)]).select(0, 0)
        return torch.cat([start.unsqueeze(0), rows]).select(0, self._steps)

    def _slices(self, source: _Source, reverse: bool) -> Any:
        """Return the slices of all steps along a first axis."""
        first = source.first if source.forward else source.first - self._steps + 1
        tensor = source.tensor
        if not always_equal(first, 0) or not always_equal(self._steps, tensor.shape[source.axis]):
            tensor = tensor.narrow(source.axis, first, self._steps)
        tensor = tensor.movedim(source.axis, 0) if source.axis else tensor
        return tensor if source.forward is not reverse else tensor.flip(0)


class SizeLoops:
    """The loops of one trace.

    Args:
        env: its symbols.
        loop: makes the calls of a loop, as ``opgen.loop``.

    Attributes:
        counted: whether loops over numbers are loops of the graph, too.
    """

    def __init__(self, env: Any, loop: Any, *, counted: bool = False) -> None:
        self._env, self._loop, self.counted = env, loop, counted

    def is_counted(self, *ends: Any) -> bool:
        """Whether a loop over numbers is recorded by its step."""
        numbers = all(type(end) is int for end in ends)
        return self.counted and numbers and len(range(*ends)) > 1

    def is_open(self, *ends: Any) -> bool:
        """Whether a loop has as many steps as an axis, or too many to be written out."""
        if any(isinstance(end, torch.SymInt) for end in ends):
            return not any(
                self._env.attrs_in(end.node.expr) for end in ends if isinstance(end, torch.SymInt)
            )
        return len(range(*ends)) > MAX_STEPS

    def run(self, body: Callable[..., Any], carried: tuple[Any, ...], *ends: Any) -> Any:
        """Return what the steps hand on, after the last one."""
        return SizeLoop(ends, body, self._loop).run(carried)


def sliced(tensor: Any, index: tuple[Any, ...]) -> Any:
    """Return ``tensor[index]`` where items are counters of loops: ``x[:, t]``, ``x[t : t + 1]``."""
    items = list(index)
    around = next((i for i, item in enumerate(items) if item is Ellipsis), len(items))
    axis = 0
    for place, item in enumerate(items):
        if place == around:
            axis = tensor.dim() - sum(1 for i in items[around + 1 :] if i is not None)
            continue
        counter = _counter(item)
        if counter is not None:
            row = counter.loop.take(tensor, axis, counter)
            items[place : place + 1] = [] if isinstance(item, Counter) else [None]
            if any(_counter(i) is not None for i in items):
                counter.loop.refuse("two axes are indexed by the counter")
            return row[tuple(items)] if items else row
        axis += item is not None
    return tensor[index]


def _counter(item: Any) -> Counter | None:
    """Return the counter that an item of an index has: itself, or ``t : t + 1``."""
    if isinstance(item, Counter):
        return item
    if not isinstance(item, slice):
        return None
    start, stop = ends = (item.start, item.stop)
    if not any(isinstance(end, Counter) for end in ends):
        return None
    loop = next(end.loop for end in ends if isinstance(end, Counter))
    if item.step is not None or not isinstance(start, Counter) or not isinstance(stop, Counter):
        loop.refuse("a slice of several elements moves with the counter")
    if start.factor != stop.factor or not always_equal(stop.offset - start.offset, 1):
        loop.refuse("a slice of several elements moves with the counter")
    return start


def has_counter(index: Any) -> bool:
    """Whether an index has a counter of a loop in it."""
    items = index if isinstance(index, tuple) else (index,)
    return any(
        isinstance(end, Counter)
        for item in items
        for end in ((item.start, item.stop) if isinstance(item, slice) else (item,))
    )


def _copies(values: Any) -> list[Any]:
    return [list(v) if type(v) is list else v for v in values]

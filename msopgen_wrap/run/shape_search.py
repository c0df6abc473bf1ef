"""Find input shapes that an op accepts, as close as possible to a given one."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Any

from msopgen_wrap.run.layouts import SEVERAL, Shape, of_rank
from msopgen_wrap.spec.model import (
    DimAttr,
    DimScaled,
    DimSlice,
    OpSpec,
    ParamKind,
    ShapeList,
    TensorParam,
)
from msopgen_wrap.spec.shapes import ShapeError, evaluate, holds_number

MAX_OUTPUT = 2**23  # elements of an output that is larger than every input
MOST_OUTPUT = 2**27  # elements of an output, whatever its inputs are
MAX_INPUT = 2**23  # elements of an input
MAX_GROWTH = 2**22  # elements of an input that is made larger for several tiles

Shapes = dict[str, Any]
Attrs = dict[str, Any]
Accepts = Callable[[Shapes, Attrs], bool]

_MULTIPLES = (2, 4, 8, 16, 32, 64, 128, 3, 12)


class ShapeSearch:
    """Looks for shapes under the rules of one spec.

    Args:
        accepts: says whether ``compute`` takes input shapes with attrs; it is asked last.
        answers: what fitted in an earlier search of the same spec; new answers are added.

    Attributes:
        most: elements that an input may have.
    """

    def __init__(self, spec: OpSpec, accepts: Accepts, answers: dict[str, bool] | None = None):
        self.spec = spec
        self.most = MAX_INPUT
        self._accepts = accepts
        self._answers = {} if answers is None else answers
        self._helped: list[Callable[[Shape], Shape]] = []  # adjustments that worked before
        closed = {a.name for a in spec.attrs if a.allowed is not None}
        self._symbols = {
            item.name: (param.name, axis - len(rule.items))
            for param in reversed(spec.inputs)
            if isinstance(rule := param.shape, ShapeList)
            for axis, item in enumerate(rule.items)
            if isinstance(item, DimAttr) and item.index is None and item.name not in closed
        }

    def ranks(self) -> list[int]:
        """Return the ranks of the input that decides about the others."""
        free = [p for p in self.spec.inputs if p.shape is None] or [*self.spec.inputs]
        if not free:
            return list(range(9))
        if self._symbols and all(p.shape is not None for p in free):
            return sorted({len(p.shape.items) for p in free if isinstance(p.shape, ShapeList)})
        lead = max(free, key=lambda p: p.max_rank - p.min_rank)
        return list(range(lead.min_rank, lead.max_rank + 1))

    def near(self, base: Shape, attrs: Attrs) -> tuple[Shapes, Attrs] | None:
        """Return shapes for every input, and attrs, as close to ``base`` as the op allows."""
        for change in self._changes(base):
            changed = change(base)
            found = self.at(changed, attrs)
            if found is not None:
                if change in self._helped:
                    self._helped.remove(change)
                self._helped.insert(0, change)
                return found
        return None

    def several(self, base: Shape, attrs: Attrs) -> tuple[Shapes, Attrs] | None:
        """As ``near``, but with SEVERAL elements where rules of the op made fewer of it."""
        best = self.near(base, attrs)
        if not base or 0 in base:
            return best
        for axes in (1, len(base)):
            for factor in (1, 4, 16, 64, 256):
                if best is not None and self._work(*best) >= SEVERAL:
                    return best
                grown = tuple(d * factor if i < axes else d for i, d in enumerate(base))
                found = self.near(grown, attrs)
                if found is not None and self._work(*found) <= MAX_GROWTH:
                    best = max((best or found, found), key=lambda f: self._work(*f))
        return best

    def _work(self, shapes: Shapes, attrs: Attrs) -> int:
        """Return the elements of the largest input or output."""
        sizes = [largest(shapes)]
        for output in self.spec.outputs:
            if output.shape is not None:
                sizes.append(math.prod(first_shape(evaluate(output.shape, plain(shapes), attrs))))
        return max(sizes)

    def at(self, base: Shape, attrs: Attrs) -> tuple[Shapes, Attrs] | None:
        """Return what ``base`` itself gives; None when the op cannot take it."""
        attrs = self._bound(base, attrs)
        shapes: Shapes = {}
        for param in self.spec.inputs:
            shape = one_input(param, base, shapes, attrs)
            if shape is None:
                return None
            if param.shape is None:
                shape = of_rank(shape, param.min_rank, param.max_rank)
            if not param.min_rank <= len(shape) <= param.max_rank:
                return None
            shapes[param.name] = as_list(param, shape) if _is_list(param) else shape
        return (shapes, attrs) if self.fits(shapes, attrs) else None

    def fits(self, shapes: Shapes, attrs: Attrs) -> bool:
        """Say whether outputs exist, none is huge, and ``compute`` takes the shapes."""
        key = repr((shapes, sorted(attrs.items())))
        if key not in self._answers:
            self._answers[key] = (
                largest(shapes) <= self.most
                and outputs_fit(self.spec, shapes, attrs)
                and self._accepts(shapes, attrs)
            )
        return self._answers[key]

    def _bound(self, base: Shape, attrs: Attrs) -> Attrs:
        """Give attrs that are sizes of an input the sizes of ``base``, within their limits."""
        values = dict(attrs)
        for name, (_, axis) in self._symbols.items():
            attr = self.spec.attr(name)
            if attr.type != "int" or not base:
                continue
            size = base[max(axis, -len(base))]
            low = 0 if attr.minimum is None else math.ceil(attr.minimum)
            high = size if attr.maximum is None else math.floor(attr.maximum)
            values[name] = max(low, min(size, high))
        return values

    def _changes(self, base: Shape) -> Iterator[Callable[[Shape], Shape]]:
        yield _same
        yield from [c for c in self._helped if c is not _same]
        if not base or 0 in base:
            return
        for rule in _ADJUSTMENTS:
            if rule not in self._helped:
                yield rule
        for case in self.spec.cases:
            for shape in case.shapes.values():
                if isinstance(shape, tuple) and shape:
                    for kept in range(1, len(shape) + 1):
                        yield _Ending(shape[-kept:])


def _same(shape: Shape) -> Shape:
    return shape


class _Multiple:
    """Rounds some axes up to a multiple; equal ones are interchangeable."""

    def __init__(self, number: int, axes: slice):
        self.number, self.axes = number, axes

    def __call__(self, shape: Shape) -> Shape:
        changed = list(shape)
        changed[self.axes] = [-(-d // self.number) * self.number for d in changed[self.axes]]
        return tuple(changed)


class _Ending:
    """Replaces the last axes, by those of a case of the spec."""

    def __init__(self, ending: Shape):
        self.ending = ending

    def __call__(self, shape: Shape) -> Shape:
        count = min(len(self.ending), len(shape))
        return (*shape[: len(shape) - count], *self.ending[len(self.ending) - count :])


def _square(shape: Shape) -> Shape:
    return shape if len(shape) < 2 else (*shape[:-2], shape[-1], shape[-1])


def _even(shape: Shape) -> Shape:
    return (shape[-1],) * len(shape)


_ADJUSTMENTS: tuple[Callable[[Shape], Shape], ...] = (
    *(
        _Multiple(number, axes)
        for number in _MULTIPLES
        for axes in (slice(-1, None), slice(1, 2), slice(0, 1), slice(-2, None), slice(0, None))
    ),
    _square,
    _even,
)


def _is_list(param: TensorParam) -> bool:
    return param.kind is ParamKind.DYNAMIC


def as_list(param: TensorParam, shape: Shape) -> tuple[Shape, ...]:
    """Return a tensor list of mixed sizes whose first element has the shape asked for."""
    if holds_number(param):
        return (shape, shape, shape)
    others = [of_rank(s, param.min_rank, param.max_rank) for s in ((17,), (3, 9))]
    return (shape, *others)


def one_input(param: TensorParam, base: Shape, known: Shapes, attrs: Attrs) -> Shape | None:
    """Return the shape of one input: ``base``, or what its rule makes of those before it."""
    if param.shape is None:
        return base
    try:
        return first_shape(evaluate(param.shape, plain(known), attrs))
    except (ShapeError, KeyError, TypeError):
        return None


def first_shape(shape: Any) -> Shape:
    """Return a rule's result; the first tensor stands for a list."""
    return tuple(shape[0]) if shape and isinstance(shape[0], (tuple, list)) else tuple(shape)


def plain(shapes: Shapes) -> Shapes:
    """Return shapes as shape rules see them: the first tensor stands for a list."""
    return {
        name: (shape[0] if shape and isinstance(shape[0], tuple) else shape)
        for name, shape in shapes.items()
    }


def largest(shapes: Shapes) -> int:
    """Return the elements of the largest input."""
    return max(map(_size, plain(shapes).values()), default=0)


def outputs_fit(spec: OpSpec, shapes: Shapes, attrs: Attrs) -> bool:
    """Say whether every output rule has a result, none far larger than the inputs."""
    try:
        for output in spec.outputs:
            if output.shape is not None:
                dims = first_shape(evaluate(output.shape, plain(shapes), attrs))
                if any(d < 0 for d in dims) or len(dims) > 8:
                    return False
                # A gather multiplies its inputs: one base shape for both would ask for gigabytes.
                if math.prod(dims) > MAX_OUTPUT > largest(shapes):
                    return False
                if math.prod(dims) > MOST_OUTPUT:
                    return False
    except (ShapeError, KeyError, TypeError):
        return False
    return True


def _size(shape: Any) -> int:
    return -1 if shape is None else math.prod(shape)


def fixed_inputs(spec: OpSpec) -> bool:
    """Say whether the spec bounds the size of every input: nothing larger can ever be passed."""
    bounded: set[str] = set()
    attrs = {
        a.name
        for a in spec.attrs
        if a.allowed is not None or (a.type == "int" and a.maximum is not None)
    }
    for param in spec.inputs:
        rule = param.shape
        if rule is None:
            fixed = param.max_rank == 0 and not _is_list(param)
        elif isinstance(rule, ShapeList):
            fixed = all(_bounded(item, bounded, attrs) for item in rule.items)
        else:
            names = getattr(rule, "tensors", None) or (getattr(rule, "tensor", ""),)
            fixed = all(name in bounded for name in names)
        if not fixed:
            return False
        bounded.add(param.name)
    return bool(spec.inputs)


def _bounded(item: Any, tensors: set[str], attrs: set[str]) -> bool:
    if isinstance(item, DimAttr):
        return item.name in attrs
    if isinstance(item, DimSlice) or hasattr(item, "tensor"):
        return item.tensor in tensors
    if isinstance(item, DimScaled):
        return False  # floats have no bound
    if hasattr(item, "left"):
        return _bounded(item.left, tensors, attrs) and _bounded(item.right, tensors, attrs)
    return True

"""Views at concrete shapes: sizes, strides and first element of what an operand reads.

The proof that a plan holds at every rank replays views at other ranks (``ranks``). What TilingFunc
decides is not here: it is C++, and ``run.tiling_decisions`` asks it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.graph.scalars import evaluate as evaluate_scalar
from msopgen_wrap.schedule.views import Span, Step, View


@dataclass
class Strided:
    """Sizes, strides and first element of an operand, in elements."""

    dim: list[int]
    stride: list[int]
    offset: int = 0

    @staticmethod
    def dense(shape: tuple[int, ...]) -> Strided:
        """A contiguous tensor."""
        stride = [1] * len(shape)
        for i in range(len(shape) - 2, -1, -1):
            stride[i] = stride[i + 1] * shape[i + 1]
        return Strided(list(shape), stride)


def apply_steps(view: View, shapes: dict[str, tuple[int, ...]], attrs: dict[str, Any]) -> Strided:
    """Replay the steps of a view on a concrete shape."""
    if view.counted is not None:
        numbers = view.counted
        ends = (numbers.length, numbers.start, numbers.step)
        length, start, every = (int(evaluate_scalar(e, attrs, shapes)) for e in ends)
        result = Strided([length], [every], start)
    else:
        result = Strided.dense(tuple(shapes[view.tensor]))
    for step in view.steps:
        rank = len(result.dim)
        if step.op == "slice":
            start = int(evaluate_scalar(step.start, attrs, shapes))
            length = int(evaluate_scalar(step.length, attrs, shapes))
            axis = _axis(step.axis, rank)
            result.offset += start * result.stride[axis] if length else 0
            result.dim[axis] = length
        elif step.op == "every":
            axis, every = _axis(step.axis, rank), int(evaluate_scalar(step.length, attrs, shapes))
            result.dim[axis] = -(-result.dim[axis] // every)
            result.stride[axis] *= every
        elif step.op == "diagonal":
            _take_diagonal(result, step, int(evaluate_scalar(step.start, attrs, shapes)))
        elif step.op == "unfold":
            size = int(evaluate_scalar(step.length, attrs, shapes))
            every = int(evaluate_scalar(step.start, attrs, shapes))
            axis = _axis(step.axis, rank)
            result.dim[axis] = (result.dim[axis] - size) // every + 1
            result.dim.append(size)
            result.stride.append(result.stride[axis])
            result.stride[axis] *= every
        elif step.op == "select":
            axis = _axis(step.axis, rank)
            index = int(evaluate_scalar(step.start, attrs, shapes)) % result.dim[axis]
            result.offset += index * result.stride[axis]
            del result.dim[axis], result.stride[axis]
        elif step.op == "flip":
            axis = _axis(step.axis, rank)
            result.offset += max(0, result.dim[axis] - 1) * result.stride[axis]
            result.stride[axis] *= -1
        elif step.op == "place":
            axis = _axis(step.axis, rank)
            size = int(evaluate_scalar(step.shape[0], attrs, shapes))
            if result.dim[axis] == size:  # else broadcast along the axis
                result.offset -= (
                    int(evaluate_scalar(step.start, attrs, shapes)) * (result.stride[axis])
                )
                result.dim[axis] = int(evaluate_scalar(step.length, attrs, shapes))
        elif step.op == "unsqueeze":
            axis = _axis(step.axis, rank + 1)
            result.dim.insert(axis, 1)
            result.stride.insert(axis, 0)
        elif step.op == "squeeze":
            axis = _axis(step.axis, rank)
            if result.dim[axis] == 1:
                del result.dim[axis], result.stride[axis]
        elif step.op == "permute":
            order = [*range(rank - len(step.axes)), *(_axis(a, rank) for a in step.axes)]
            result.dim = [result.dim[a] for a in order]
            result.stride = [result.stride[a] for a in order]
        elif step.op == "reshape":
            sizes = [int(evaluate_scalar(s, attrs, shapes)) for s in step.shape]
            total = math.prod(result.dim)
            known = math.prod([s for s in sizes if s >= 0])
            sizes = [s if s >= 0 else (total // known if known else 0) for s in sizes]
            result = Strided.dense(tuple(sizes))
    return result


def span_dims(span: Span, shapes: dict[str, tuple[int, ...]], attrs: dict[str, Any]) -> list[int]:
    """Return the sizes of a span for concrete shapes."""
    if span.tensor:
        return list(shapes[span.tensor])
    return [int(evaluate_scalar(size, attrs, shapes)) for size in span.sizes]


def _axis(axis: int, rank: int) -> int:
    if not -rank <= axis < rank:
        raise IndexError(f"no axis {axis} at rank {rank}")
    return axis % rank


def _take_diagonal(view: Strided, step: Step, shift: int) -> None:
    rank = len(view.dim)
    i, j = (_axis(a, rank) for a in step.axes)
    down, right = max(0, -shift), max(0, shift)
    length = max(0, min(view.dim[i] - down, view.dim[j] - right))
    if length:
        view.offset += down * view.stride[i] + right * view.stride[j]
    stride = view.stride[i] + view.stride[j]
    for axis in sorted((i, j), reverse=True):
        del view.dim[axis], view.stride[axis]
    view.dim.append(length)
    view.stride.append(stride)

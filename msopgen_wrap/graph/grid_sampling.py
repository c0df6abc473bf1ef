"""``F.grid_sample`` and its gradients as gathers and scatters.

Positions are computed from the grid: whole parts of them are the indices of gathers, and fractions
the weights of what was gathered. All elements that a sample is made of lie along one axis in front
of the samples'. Positions are float32, as in PyTorch's own kernels for float32.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.cubic import far_slope, far_weight, near_slope, near_weight
from msopgen_wrap.torch_import import torch

_aten = torch.ops.aten

# Values of ``interpolation_mode`` and ``padding_mode`` in ATen.
_BILINEAR, _NEAREST, _BICUBIC = 0, 1, 2
_ZEROS, _BORDER = 0, 1


def _unnormalised(grid: Any, sizes: list[Any], axis: int, corners: bool) -> Any:
    """Return where along an axis of the input samples lie, of which ``grid`` has shares.

    The largest numbers become infinite where they do in PyTorch, which has one form for images and
    one for volumes.
    """
    at, size = grid.select(-1, len(sizes) - 1 - axis), sizes[axis]
    if corners:
        return (at + 1) * ((size - 1) / 2)
    return (at + 1) * (size / 2) - 0.5 if len(sizes) == 2 else ((at + 1) * size - 1) / 2


def _turned(at: Any, size: Any, corners: bool) -> tuple[Any, Any]:
    """Turn positions back at the borders until they lie within an axis.

    Returns:
        The positions, and whether a step along the axis is one backwards there.
    """
    low = 0.0 if corners else -0.5
    span = size - 1 if corners else size
    if corners:
        # an axis of one element has nothing to turn back in
        span = torch.sym_max(span, 1)
    off = torch.abs(at - low)
    extra, flips = torch.fmod(off, span), torch.floor(off / span)
    odd = torch.remainder(flips, 2) > 0
    return torch.where(odd, span - extra, extra) + low, odd != (at < low)


def _drawn_positions(grid: Any, sizes: list[Any], padding: int, corners: bool) -> list[Any]:
    """Return where samples lie in each axis of the input, also outside of it with other padding."""
    drawn = [_unnormalised(grid, sizes, axis, corners) for axis in range(len(sizes))]
    if padding in (_ZEROS, _BORDER):
        return drawn
    return [_turned(at, size, corners)[0] for at, size in zip(drawn, sizes, strict=True)]


def _sample_positions(grid: Any, sizes: list[Any], padding: int, corners: bool) -> list[Any]:
    """Return where in each axis of the input (the last one first in ``grid``) samples lie."""
    return _held(_drawn_positions(grid, sizes, padding, corners), sizes, padding)


def _held(drawn: list[Any], sizes: list[Any], padding: int) -> list[Any]:
    """Keep positions inside of the input, where padding does."""
    if padding == _ZEROS:
        return drawn
    # What is no number, as a reflected infinity, becomes the first element of an image and the last
    # one of a volume.
    end = torch.inf if len(sizes) == 3 else 0.0
    held = [torch.where(torch.isnan(at), end, at) for at in drawn]
    return [
        torch.clamp(torch.clamp(at, min=0), max=size - 1)
        for at, size in zip(held, sizes, strict=True)
    ]


def _flat_places(sizes: list[Any], at: list[Any]) -> tuple[Any, Any]:
    """Return the elements of planes at whole positions, and which positions lie inside of them.

    Args:
        sizes: of the axes of a plane.
        at: float positions [N, ...] along each of its axes.

    Returns:
        Indices [N, 1, elements] along a plane whose axes are joined, and a mask [N, ...].
    """
    inside = [(p >= 0) & (p <= size - 1) for p, size in zip(at, sizes, strict=True)]
    index: Any = None
    for p, size in zip(at, sizes, strict=True):
        whole = torch.clamp(torch.clamp(p, min=0), max=size - 1).to(torch.int32)
        # of 64 bits, so that the tiling function checks that 32 hold all of them
        whole = torch.clamp(whole.to(torch.int64), 0, size - 1)
        index = whole if index is None else index * size + whole
    lined = index.reshape(index.shape[0], math.prod(index.shape[1:])).unsqueeze(1)
    return lined, functools.reduce(torch.logical_and, inside)


def _taken(x: Any, at: list[Any], weight: Any = 1) -> Any:
    """Return the elements of ``x`` at whole positions times weights, 0 for those outside of it."""
    sizes = list(x.shape[2:])
    lined, inside = _flat_places(sizes, at)
    flat = x.reshape(x.shape[0], x.shape[1], math.prod(sizes))
    lined = lined.expand(x.shape[0], x.shape[1], lined.shape[2])
    values = torch.gather(flat, 2, lined).reshape(*x.shape[:2], *inside.shape[1:])
    values = values if isinstance(weight, int) else values * weight
    return torch.where(inside.unsqueeze(1), values, 0)


def _corners(at: list[Any]) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the corners of the cells that positions lie in, along an axis in front of theirs.

    Returns:
        Positions of the corners, their weights, and how far each lies behind the first one, all
        along each axis of the image.
    """
    at = [p.unsqueeze(1) for p in at]
    low = [torch.floor(p) for p in at]
    steps = _corner_steps(at)
    weights = [
        torch.where(s > 0, p - f, (f + 1) - p) for p, f, s in zip(at, low, steps, strict=True)
    ]
    return [f + s for f, s in zip(low, steps, strict=True)], weights, steps


def _cubic_taps(
    grid: Any, sizes: list[Any], padding: int, corners: bool
) -> tuple[list[Any], list[Any], list[Any]]:
    """Return the elements that a cubic sample is made of, along an axis in front of the samples'.

    Padding moves each of them, not the sample.

    Returns:
        Their positions, their weights, and by how much a weight grows with the position of the
        sample, all along each axis of the image.
    """
    at = [_unnormalised(grid, sizes, axis, corners).unsqueeze(1) for axis in range(len(sizes))]
    low = [torch.floor(p) for p in at]
    steps = [step - 1 for step in _corner_steps(at, 4)]
    places = [f + s for f, s in zip(low, steps, strict=True)]
    if padding not in (_ZEROS, _BORDER):
        places = [_turned(p, size, corners)[0] for p, size in zip(places, sizes, strict=True)]
    weights, slopes = [], []
    for p, f, step in zip(at, low, steps, strict=True):
        ahead = (p - f) - step
        d = torch.abs(ahead)
        near = d <= 1
        weights.append(torch.where(near, near_weight(d), far_weight(d)))
        slope = torch.where(near, near_slope(d), far_slope(d))
        slopes.append(torch.where(ahead < 0, -slope, slope))
    return _held(places, sizes, padding), weights, slopes


def _grid_sampler(x: Any, grid: Any, mode: int, padding: int, corners: bool) -> Any:
    sizes = list(x.shape[2:])
    if mode == _BICUBIC:
        places, weights, _ = _cubic_taps(grid, sizes, padding, corners)
    else:
        at = _sample_positions(grid, sizes, padding, corners)
        if mode == _NEAREST:
            return _taken(x, [torch.round(p) for p in at])
        places, weights, _ = _corners(at)
    weight = functools.reduce(torch.mul, weights).unsqueeze(1)
    # A position that is no number has no weight: PyTorch leaves it out of a volume, where it
    # makes a sample of an image NaN.
    of_volume = len(sizes) == 3
    values = _taken(x, places, weight) if of_volume else _taken(x, places) * weight
    return values.sum(2)


def _position_slopes(grid: Any, sizes: list[Any], padding: int, corners: bool) -> list[Any]:
    """Return how far a sample moves along each axis of the input per unit of ``grid``.

    0 at the borders that padding keeps it from crossing, as in PyTorch.
    """
    found = []
    for axis, size in enumerate(sizes):
        slope = (size - 1) / 2 if corners else size / 2
        if padding != _ZEROS:
            at = _unnormalised(grid, sizes, axis, corners)
            if padding != _BORDER:
                at, back = _turned(at, size, corners)
                slope = torch.where(back, -1.0, 1.0) * slope
            slope = torch.where((at > 0) & (at < size - 1), slope, 0.0)
        found.append(slope)
    return found


def _added(x: Any, at: list[Any], values: Any) -> Any:
    """Return the sum of the values [N, C, ...] at each place of an image of the shape of ``x``."""
    sizes = list(x.shape[2:])
    lined, inside = _flat_places(sizes, at)
    kept = torch.where(inside.unsqueeze(1), values, 0).reshape(*x.shape[:2], lined.shape[2])
    below = x.new_zeros([*x.shape[:2], math.prod(sizes)])
    return torch.scatter_add(below, 2, lined.expand(kept.shape), kept).reshape(x.shape)


def _grid_sampler_backward(
    grad: Any, x: Any, grid: Any, mode: int, padding: int, corners: bool, asked: list[bool]
) -> Any:
    """Return the gradients of the image and of the grid; those not asked for are not used."""
    sizes = list(x.shape[2:])
    if mode == _BICUBIC:
        taps = _cubic_taps(grid, sizes, padding, corners)
        # it moves on beyond a border: padding holds the elements, not the sample
        return _gradients(grad, x, taps, _position_slopes(grid, sizes, _ZEROS, corners), asked)
    at = _sample_positions(grid, sizes, padding, corners)
    if len(sizes) == 3:
        # what is no number is the last element of a volume, and has no gradient
        drawn = _drawn_positions(grid, sizes, padding, corners)
        at = [torch.where(torch.isnan(d), torch.nan, p) for d, p in zip(drawn, at, strict=True)]
    if mode == _NEAREST:
        return _added(x, [torch.round(p) for p in at], grad), torch.zeros_like(grid)
    places, weights, steps = _corners(at)
    taps = places, weights, [2 * step - 1 for step in steps]
    return _gradients(grad, x, taps, _position_slopes(grid, sizes, padding, corners), asked)


def _gradients(
    grad: Any,
    x: Any,
    taps: tuple[list[Any], list[Any], list[Any]],
    moves: list[Any],
    asked: list[bool],
) -> Any:
    """Return the gradients of an image and of the grid of its samples, as far as asked for.

    Args:
        grad: of the samples.
        x: the image.
        taps: the elements of each sample, as ``_cubic_taps`` returns them.
        moves: how far a sample moves along each axis of the image per unit of the grid.
        asked: whether that of the image and that of the grid are wanted.
    """
    places, weights, slopes = taps
    grad = grad.unsqueeze(2)
    of_image = of_grid = None
    if asked[0]:
        of_image = _added(x, places, grad * functools.reduce(torch.mul, weights).unsqueeze(1))
    if asked[1]:
        taken = (_taken(x, places) * grad).sum(1)
        terms = []
        for axis, move in reversed(list(enumerate(moves))):
            others = [w for other, w in enumerate(weights) if other != axis]
            slope = functools.reduce(torch.mul, [slopes[axis], *others])
            terms.append((taken * slope).sum(1) * move)
        of_grid = torch.stack(terms, -1)
    return of_image, of_grid


def _corner_steps(at: list[Any], edge: int = 2) -> list[Any]:
    """Return how far each element of a cell lies behind the first one, along each axis.

    Args:
        at: positions, one tensor for each axis.
        edge: how many elements a cell has along an axis: 2 for its corners.
    """
    axes = len(at)
    number = torch.arange(edge**axes, dtype=torch.float32, device=at[0].device)
    number = number.reshape([edge**axes, *[1] * axes])
    parts = [torch.floor(number / edge ** (axes - 1 - axis)) for axis in range(axes)]
    return [parts[0], *(b - edge * a for a, b in itertools.pairwise(parts))]


def grid_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries of samples by a grid, and of their gradients."""
    return {
        _aten.grid_sampler_2d.default: _grid_sampler,
        _aten.grid_sampler_3d.default: _grid_sampler,
        _aten.grid_sampler_2d_backward.default: _grid_sampler_backward,
        _aten.grid_sampler_3d_backward.default: _grid_sampler_backward,
    }

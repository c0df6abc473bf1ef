"""Images resampled: ``F.interpolate``, ``F.grid_sample`` and max-unpooling as gathers and scatters.

What is read for an element follows from its index, or from a grid: positions are computed, whole
parts of them are the indices of gathers, and fractions the weights of what was gathered. Axes are
resampled one after the other, the last one last, so that whole rows move before single elements.
Positions are float32, as in PyTorch's own kernels for float32.
"""

from __future__ import annotations

import functools
import itertools
import math
from collections.abc import Callable, Mapping
from typing import Any

from msopgen_wrap.graph.placement import lined_up
from msopgen_wrap.graph.symbols import declare_sizes, empty_of
from msopgen_wrap.torch_import import torch

functional = torch.nn.functional
_aten = torch.ops.aten

# Of the cubic convolution, as PyTorch has it.
_CUBIC = -0.75
_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}
# Values of ``interpolation_mode`` and ``padding_mode`` in ATen.
_BILINEAR, _NEAREST = 0, 1
_ZEROS, _BORDER = 0, 1


def _numbers(length: Any, x: Any) -> Any:
    declare_sizes([length])
    return torch.arange(length, dtype=torch.float32, device=x.device)


# ---- interpolate ---------------------------------------------------------------------------------


def _ratio(size: Any, length: Any, scale: Any, corners: bool = False) -> Any:
    """Return how many elements of the input lie under one of the output."""
    if corners:
        return (size - 1) / torch.sym_max(length - 1, 1)
    return size / length if scale is None else 1.0 / scale


def _positions(x: Any, length: Any, ratio: Any, corners: bool) -> Any:
    """Return where in an axis of ``x`` the elements of the output lie."""
    numbers = _numbers(length, x)
    return numbers * ratio if corners else (numbers + 0.5) * ratio - 0.5


def _linear(x: Any, axis: int, length: Any, ratio: Any, corners: bool) -> Any:
    last = x.shape[axis] - 1
    at = torch.clamp(_positions(x, length, ratio, corners), min=0)
    low = torch.clamp(at.to(torch.int32), max=last)
    high = torch.clamp(low + 1, max=last)
    share = lined_up(x, axis, torch.clamp(at - low, 0, 1))
    before, behind = (torch.index_select(x, axis, i) for i in (low, high))
    return before * (1 - share) + behind * share


def _cubic_weights(t: Any) -> list[Any]:
    def near(d: Any) -> Any:
        return ((_CUBIC + 2) * d - (_CUBIC + 3)) * d * d + 1

    def far(d: Any) -> Any:
        return ((_CUBIC * d - 5 * _CUBIC) * d + 8 * _CUBIC) * d - 4 * _CUBIC

    return [far(t + 1), near(t), near(1 - t), far(2 - t)]


def _cubic(x: Any, axis: int, length: Any, ratio: Any, corners: bool) -> Any:
    last = x.shape[axis] - 1
    at = _positions(x, length, ratio, corners)
    low = torch.floor(at)
    weights = _cubic_weights(torch.clamp(at - low, 0, 1))
    whole = low.to(torch.int32)
    terms = []
    for step, weight in zip(range(-1, 3), weights, strict=True):
        taken = torch.clamp(torch.clamp(whole + step, min=0), max=last)
        terms.append(torch.index_select(x, axis, taken) * lined_up(x, axis, weight))
    return functools.reduce(torch.add, terms)


def _nearest(shift: float) -> Callable[..., Any]:
    def nearest(x: Any, axis: int, length: Any, ratio: Any, corners: bool) -> Any:
        at = (_numbers(length, x) + shift) * ratio
        return torch.index_select(x, axis, torch.clamp(at.to(torch.int32), max=x.shape[axis] - 1))

    return nearest


# Mode of an axis -> what resamples it.
_OF_AXIS: dict[str, Callable[..., Any]] = {
    "nearest": _nearest(0.0),
    "nearest-exact": _nearest(0.5),
    "linear": _linear,
    "cubic": _cubic,
}


def _by_axes(x: Any, mode: str, lengths: Any, scales: Any, corners: bool) -> Any:
    """Resample the last axes, the last one last, so that whole rows move before elements.

    Args:
        scales: that were given, one of each axis; empty: results and tensor have the same ends.
    """
    first = x.dim() - len(lengths)
    for i, length in enumerate(lengths):
        axis = first + i
        ratio = _ratio(x.shape[axis], length, scales[i] if scales else None, corners)
        x = _OF_AXIS[mode](x, axis, length, ratio, corners)
    return x


_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define(
    "resize(Tensor x, str mode, SymInt[] lengths, Scalar[] scales, bool corners) -> Tensor"
)


def _resize(x: Any, mode: str, lengths: Any, scales: Any, corners: bool) -> Any:
    return _by_axes(x, mode, lengths, scales, corners).to(x.dtype)


def _resize_meta(x: Any, mode: str, lengths: Any, scales: Any, corners: bool) -> Any:
    return empty_of(x, [*x.shape[: x.dim() - len(lengths)], *lengths])


_LIBRARY.impl("resize", _resize, "CPU")
_LIBRARY.impl("resize", _resize_meta, "Meta")


def _lengths(x: Any, size: Any, scale_factor: Any) -> tuple[list[Any], list[Any]]:
    """Return the sizes of the output, and the scales of each axis where they were given."""
    axes = x.dim() - 2
    if size is not None:
        listed = list(size) if isinstance(size, (list, tuple)) else [size] * axes
        return listed, []
    several = isinstance(scale_factor, (list, tuple))
    scales = list(scale_factor) if several else [scale_factor] * axes
    return [_whole(n * s) for n, s in zip(x.shape[2:], scales, strict=True)], scales


def _whole(number: Any) -> Any:
    return torch.sym_int(number)


def interpolate_functions(
    pools: Mapping[Any, Callable[..., Any]], differentiated: bool
) -> dict[Any, Any]:
    """Return PyTorch's functions that resize images, each with what tracing calls in its place.

    Args:
        pools: what tracing calls in place of pools; ``area`` is an average of them.
        differentiated: whether PyTorch differentiates the formula: the gradient is one of gathers.
    """

    def interpolate(
        input: Any,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
        recompute_scale_factor: bool | None = None,
        antialias: bool = False,
    ) -> Any:
        x, axes = input, input.dim() - 2
        given = (size is None) != (scale_factor is None)
        listed = size if size is not None else scale_factor
        fits = not isinstance(listed, (list, tuple)) or len(listed) == axes
        if antialias or not given or not fits or axes not in (1, 2, 3):
            return NotImplemented
        lengths, scales = _lengths(x, size, scale_factor)
        if recompute_scale_factor:
            scales = []
        if mode == "area":
            pool = getattr(functional, f"adaptive_avg_pool{axes}d")
            return pools.get(pool, pool)(x, lengths)
        nearest = mode in ("nearest", "nearest-exact") and align_corners is None
        cubic = mode == "bicubic" and axes == 2
        floats = x.is_floating_point()
        if not nearest and not (floats and (cubic or _LINEAR.get(mode) == axes)):
            return NotImplemented
        corners = bool(align_corners)
        kind = mode if nearest else "cubic" if cubic else "linear"
        if differentiated or not floats:
            return _by_axes(x, kind, lengths, scales, corners)
        return torch.ops.opgen.resize(x, kind, lengths, scales, corners)

    def upsample(
        input: Any,
        size: Any = None,
        scale_factor: Any = None,
        mode: str = "nearest",
        align_corners: bool | None = None,
    ) -> Any:
        return interpolate(input, size, scale_factor, mode, align_corners)

    def upsample_nearest(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
        return interpolate(input, size, scale_factor)

    def upsample_bilinear(input: Any, size: Any = None, scale_factor: Any = None) -> Any:
        return interpolate(input, size, scale_factor, "bilinear", True)

    return {
        functional.interpolate: interpolate,
        functional.upsample: upsample,
        functional.upsample_nearest: upsample_nearest,
        functional.upsample_bilinear: upsample_bilinear,
    }


# ---- grid_sample ---------------------------------------------------------------------------------


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
    drawn = _drawn_positions(grid, sizes, padding, corners)
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


def _grid_sampler(x: Any, grid: Any, mode: int, padding: int, corners: bool) -> Any:
    if mode not in (_BILINEAR, _NEAREST):
        return NotImplemented
    at = _sample_positions(grid, list(x.shape[2:]), padding, corners)
    if mode == _NEAREST:
        return _taken(x, [torch.round(p) for p in at])
    places, weights, _ = _corners(at)
    weight = functools.reduce(torch.mul, weights).unsqueeze(1)
    # A position that is no number has no weight: PyTorch leaves it out of a volume, where it
    # makes a sample of an image NaN.
    of_volume = len(at) == 3
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
    if mode not in (_BILINEAR, _NEAREST):
        return NotImplemented
    sizes = list(x.shape[2:])
    at = _sample_positions(grid, sizes, padding, corners)
    if len(sizes) == 3:
        # what is no number is the last element of a volume, and has no gradient
        drawn = _drawn_positions(grid, sizes, padding, corners)
        at = [torch.where(torch.isnan(d), torch.nan, p) for d, p in zip(drawn, at, strict=True)]
    if mode == _NEAREST:
        return _added(x, [torch.round(p) for p in at], grad), torch.zeros_like(grid)
    places, weights, steps = _corners(at)
    grad = grad.unsqueeze(2)
    of_image = of_grid = None
    if asked[0]:
        of_image = _added(x, places, grad * functools.reduce(torch.mul, weights).unsqueeze(1))
    if asked[1]:
        corner = (_taken(x, places) * grad).sum(1)
        slopes = _position_slopes(grid, sizes, padding, corners)
        terms = []
        for axis, slope in reversed(list(enumerate(slopes))):
            others = [w for other, w in enumerate(weights) if other != axis]
            weight = functools.reduce(torch.mul, [2 * steps[axis] - 1, *others])
            terms.append((corner * weight).sum(1) * slope)
        of_grid = torch.stack(terms, -1)
    return of_image, of_grid


def _corner_steps(at: list[Any]) -> list[Any]:
    """Return how far each corner of a cell lies behind the first one, 0 or 1, along each axis."""
    axes = len(at)
    number = torch.arange(2**axes, dtype=torch.float32, device=at[0].device)
    number = number.reshape([2**axes, *[1] * axes])
    halves = [torch.floor(number / 2 ** (axes - 1 - axis)) for axis in range(axes)]
    return [halves[0], *(b - 2 * a for a, b in itertools.pairwise(halves))]


# ---- max_unpool ----------------------------------------------------------------------------------


def _unpool(axes: int) -> Callable[..., Any]:
    def decomposition(x: Any, indices: Any, output_size: Any, *_: Any) -> Any:
        planes = list(x.shape[:-axes])
        flat = [*planes, math.prod(x.shape[-axes:])]
        below = x.new_zeros([*planes, math.prod(output_size)])
        placed = torch.scatter(below, -1, indices.reshape(flat), x.reshape(flat))
        return placed.reshape([*planes, *output_size])

    return decomposition


def _samplers() -> dict[Any, Callable[..., Any]]:
    return {
        _aten.grid_sampler_2d.default: _grid_sampler,
        _aten.grid_sampler_3d.default: _grid_sampler,
        _aten.grid_sampler_2d_backward.default: _grid_sampler_backward,
        _aten.grid_sampler_3d_backward.default: _grid_sampler_backward,
    }


def resampling_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries of samples by a grid, and of max-unpooling."""
    return {
        **_samplers(),
        _aten.max_unpool2d.default: _unpool(2),
        _aten.max_unpool3d.default: _unpool(3),
    }


def _upsampled(axis_mode: str) -> Callable[..., Any]:
    def upsample(x: Any, size: Any, corners: bool, *scales: Any) -> Any:
        given = list(scales) if any(scale is not None for scale in scales) else []
        return _by_axes(x, axis_mode, list(size), given, corners)

    return upsample


def upsampling_steps() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's operators that resize, with positions in float32 whatever the dtype is."""
    linear = (_aten.upsample_linear1d, _aten.upsample_bilinear2d, _aten.upsample_trilinear3d)
    steps = {operator.default: _upsampled("linear") for operator in linear}
    return {**steps, _aten.upsample_bicubic2d.default: _upsampled("cubic")}


def kernel_steps() -> dict[Any, Callable[..., Any]]:
    """Return operators in the steps that kernels take, which overflow for other numbers."""
    bicubic = _aten.upsample_bicubic2d.default
    return {**_samplers(), bicubic: upsampling_steps()[bicubic]}

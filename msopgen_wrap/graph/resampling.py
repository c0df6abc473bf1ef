"""Images resampled: ``F.interpolate`` and max-unpooling as gathers and scatters.

What is read for an element follows from its index: positions are computed, whole parts of them are
the indices of gathers, and fractions the weights of what was gathered. Axes are resampled one after
the other, the last one last, so that whole rows move before single elements.
Positions are float32, as in PyTorch's own kernels for float32.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Mapping
from typing import Any

from msopgen_wrap.graph.cubic import far_weight, near_weight
from msopgen_wrap.graph.grid_sampling import grid_decompositions
from msopgen_wrap.graph.placement import lined_up
from msopgen_wrap.graph.symbols import declare_sizes, empty_of
from msopgen_wrap.torch_import import torch

functional = torch.nn.functional
_aten = torch.ops.aten

_LINEAR = {"linear": 1, "bilinear": 2, "trilinear": 3}


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
    return [far_weight(t + 1), near_weight(t), near_weight(1 - t), far_weight(2 - t)]


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


# ---- max_unpool ----------------------------------------------------------------------------------


def _unpool(axes: int) -> Callable[..., Any]:
    def decomposition(x: Any, indices: Any, output_size: Any, *_: Any) -> Any:
        planes = list(x.shape[:-axes])
        flat = [*planes, math.prod(x.shape[-axes:])]
        below = x.new_zeros([*planes, math.prod(output_size)])
        placed = torch.scatter(below, -1, indices.reshape(flat), x.reshape(flat))
        return placed.reshape([*planes, *output_size])

    return decomposition


def resampling_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries of samples by a grid, and of max-unpooling."""
    return {
        **grid_decompositions(),
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
    return {**grid_decompositions(), bicubic: upsampling_steps()[bicubic]}

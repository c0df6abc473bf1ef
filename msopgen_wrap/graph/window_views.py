"""Decompositions of windows that lie inside their tensor: views with axes of their own.

``unfold`` is a view, so the average over windows is a reduction over the axes that it adds. A
window that reaches over an edge is none, and stays what it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

_aten = torch.ops.aten


def _each(value: Any, count: int) -> list[Any]:
    """Return one number per axis, as torch takes one for all."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    return listed * count if len(listed) == 1 else listed


def _windows(x: Any, sizes: list[Any], steps: list[Any]) -> Any:
    """Return ``x`` with the last axes as positions of windows, and the axes of a window behind."""
    first = x.dim() - len(sizes)
    for i, (size, step) in enumerate(zip(sizes, steps, strict=True)):
        x = x.unfold(first + i, size, step)
    return x


def _average(axes: int) -> Callable[..., Any]:
    def decomposition(
        x: Any,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        sizes = _each(kernel_size, axes)
        steps = _each(stride, axes) if stride else sizes
        if ceil_mode or any(type(p) is not int or p != 0 for p in _each(padding, axes)):
            return NotImplemented
        windows = _windows(x, sizes, steps)
        dims = list(range(-axes, 0))
        if divisor_override is None:
            return windows.mean(dims)
        return windows.sum(dims) / divisor_override

    return decomposition


def _im2col(x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    plain = (*((d, 1) for d in dilation), *((p, 0) for p in padding))
    if any(type(given) is not int or given != usual for given, usual in plain) or x.dim() != 4:
        return NotImplemented
    windows = _windows(x, list(kernel_size), list(stride)).permute(0, 1, 4, 5, 2, 3)
    count, channels, high, wide, rows, columns = windows.shape
    return windows.reshape(count, channels * high * wide, rows * columns)


def window_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries of averages over windows, and of windows as columns."""
    return {
        _aten.avg_pool2d.default: _average(2),
        _aten.im2col.default: _im2col,
    }

"""How elements lie in device memory where that is not one after the other: int4, FRACTAL_NZ.

Users see plain arrays of the tensor's shape; only the memory a kernel gets is rearranged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# ge::Format. All but FRACTAL_NZ name the dimensions of a plain array.
FORMATS = {"ND": 2, "NCHW": 0, "NHWC": 1, "HWCN": 16, "NDHWC": 27, "NCDHW": 30, "FRACTAL_NZ": 29}
PLAIN_FORMATS = tuple(name for name in FORMATS if name != "FRACTAL_NZ")

_FRACTAL_ROWS = 16
_FRACTAL_BYTES = 32


def is_plain(dtype: str, layout: str) -> bool:
    """Whether memory holds the array as it is."""
    return dtype != "int4" and layout in PLAIN_FORMATS


def to_memory(values: Array, dtype: str, layout: str) -> Array:
    """Return what device memory holds for an array of values.

    FRACTAL_NZ: the last two dimensions (m, n) become (n/c0, m/16, 16, c0), padded with zeros; c0
    elements are 32 bytes. int4: two elements per byte, the first one in the low half.
    """
    if layout == "FRACTAL_NZ":
        values = _to_fractals(values, _columns(values.dtype, dtype))
    return _pack(values) if dtype == "int4" else np.ascontiguousarray(values)


def from_memory(memory: Array, shape: tuple[int, ...], dtype: str, layout: str) -> Array:
    """Return the array of a shape that :func:`to_memory` made this memory of."""
    columns = _columns(memory.dtype, dtype)
    stored = fractal_shape(shape, columns) if layout == "FRACTAL_NZ" else shape
    values = _unpack(memory, math.prod(stored)) if dtype == "int4" else memory
    values = values.reshape(stored)
    return _from_fractals(values, shape) if layout == "FRACTAL_NZ" else values


def fractal_shape(shape: tuple[int, ...], columns: int) -> tuple[int, ...]:
    """Return the dimensions of FRACTAL_NZ memory; ``columns`` is c0.

    Raises:
        ValueError: fewer than two dimensions.
    """
    if len(shape) < 2:
        raise ValueError(f"FRACTAL_NZ needs a matrix, the shape is {list(shape)}")
    m, n = shape[-2:]
    return (*shape[:-2], -(-n // columns), -(-m // _FRACTAL_ROWS), _FRACTAL_ROWS, columns)


def _columns(stored: np.dtype[Any], dtype: str) -> int:
    return 2 * _FRACTAL_BYTES if dtype == "int4" else _FRACTAL_BYTES // stored.itemsize


def _to_fractals(values: Array, columns: int) -> Array:
    stored = fractal_shape(values.shape, columns)
    outer, inner, rows, _ = stored[-4:]
    padded = np.zeros((*stored[:-4], inner * rows, outer * columns), values.dtype)
    padded[..., : values.shape[-2], : values.shape[-1]] = values
    split = padded.reshape(*stored[:-4], inner, rows, outer, columns)
    return np.ascontiguousarray(np.moveaxis(split, -2, -4))


def _from_fractals(values: Array, shape: tuple[int, ...]) -> Array:
    outer, inner, rows, columns = values.shape[-4:]
    rows_first = np.moveaxis(values, -4, -2)
    whole = rows_first.reshape(*values.shape[:-4], inner * rows, outer * columns)
    return np.ascontiguousarray(whole[..., : shape[-2], : shape[-1]])


def _pack(values: Array) -> Array:
    flat = values.reshape(-1).astype(np.uint8) & 0xF
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return (flat[::2] | flat[1::2] << 4).view(np.int8)


def _unpack(memory: Array, count: int) -> Array:
    both = memory.reshape(-1).view(np.uint8)
    halves = np.stack((both & 0xF, both >> 4), -1).reshape(-1)[:count].astype(np.int8)
    return np.where(halves > 7, halves - 16, halves).astype(np.int8)

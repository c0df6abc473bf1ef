"""How elements lie in device memory where that is not one after the other: int4, fractals, blocks.

Users see plain arrays of the tensor's shape; only the memory a kernel gets is rearranged.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]

# ge::Format. The first ones name the dimensions of a plain array.
PLAIN_FORMATS = ("ND", "NCHW", "NHWC", "HWCN", "NDHWC", "NCDHW")
FORMATS = {
    **dict(zip(PLAIN_FORMATS, (2, 0, 1, 16, 27, 30), strict=True)),
    "FRACTAL_NZ": 29,
    "NC1HWC0": 3,
    "FRACTAL_Z": 4,
    "NDC1HWC0": 32,
    "FRACTAL_Z_3D": 33,
}
# Of an array in the order NCHW or NCDHW.
_BLOCKED_RANKS = {"NC1HWC0": 4, "FRACTAL_Z": 4, "NDC1HWC0": 5, "FRACTAL_Z_3D": 5}

_FRACTAL_ROWS = 16
_FRACTAL_BYTES = 32


def is_plain(dtype: str, layout: str) -> bool:
    """Whether memory holds the array as it is."""
    return dtype != "int4" and layout in PLAIN_FORMATS


def fits(layout: str, rank: int) -> bool:
    """Whether an array with so many dimensions can be laid out in a format."""
    return rank >= 2 if layout == "FRACTAL_NZ" else rank == _BLOCKED_RANKS.get(layout, rank)


def to_memory(values: Array, dtype: str, layout: str) -> Array:
    """Return what device memory holds for an array of values.

    c0 elements are 32 bytes; padding is zero. int4: two elements per byte, the first one in the low
    half. What the dimensions become:

    - FRACTAL_NZ: the last two (m, n): (n/c0, m/16, 16, c0)
    - NC1HWC0: (n, c/c0, h, w, c0)
    - NDC1HWC0: (n, d, c/c0, h, w, c0)
    - FRACTAL_Z: (c/c0 h w, n/16, 16, c0)
    - FRACTAL_Z_3D: (d c/c0 h w, n/16, 16, c0)
    """
    if layout == "FRACTAL_NZ":
        values = _to_fractals(values, _columns(values.dtype, dtype))
    elif layout in _BLOCKED_RANKS:
        values = _to_blocks(values, layout, _columns(values.dtype, dtype))
    return _pack(values) if dtype == "int4" else np.asarray(values, order="C")


def from_memory(memory: Array, shape: tuple[int, ...], dtype: str, layout: str) -> Array:
    """Return the array of a shape that :func:`to_memory` made this memory of."""
    columns = _columns(memory.dtype, dtype)
    if layout in _BLOCKED_RANKS:
        return _from_blocks(memory, shape, layout, columns)
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


def _to_blocks(values: Array, layout: str, columns: int) -> Array:
    """(n, c, [d,] h, w) to (n, [d,] c1, h, w, c0), or from there to fractals of 16 n by c0."""
    if values.ndim == 4:
        values = values[:, :, None]
    n, c = values.shape[:2]
    rows = n if layout[0] == "N" else -(-n // _FRACTAL_ROWS) * _FRACTAL_ROWS
    padded = np.zeros((rows, -(-c // columns) * columns, *values.shape[2:]), values.dtype)
    padded[:n, :c] = values
    split = padded.reshape(rows, -1, columns, *values.shape[2:])  # n c1 c0 d h w
    if layout[0] == "N":
        blocks = split.transpose(0, 3, 1, 4, 5, 2)
        return blocks if layout == "NDC1HWC0" else blocks[:, 0]
    blocks = split.transpose(3, 1, 4, 5, 0, 2)  # d c1 h w n c0
    return blocks.reshape(-1, rows // _FRACTAL_ROWS, _FRACTAL_ROWS, columns)


def _from_blocks(memory: Array, shape: tuple[int, ...], layout: str, columns: int) -> Array:
    n, c, d, h, w = (*shape[:2], 1, *shape[2:]) if len(shape) == 4 else shape
    if layout[0] == "N":
        split = memory.reshape(n, d, -1, h, w, columns).transpose(0, 2, 5, 1, 3, 4)
    else:
        rows = -(-n // _FRACTAL_ROWS) * _FRACTAL_ROWS
        outer = -(-c // columns)
        split = memory.reshape(d, outer, h, w, rows, columns).transpose(4, 1, 5, 0, 2, 3)
    whole = split.reshape(split.shape[0], -1, d, h, w)[:n, :c]
    return np.ascontiguousarray(whole.reshape(shape))


def _pack(values: Array) -> Array:
    flat = values.reshape(-1).astype(np.uint8) & 0xF
    if flat.size % 2:
        flat = np.append(flat, np.uint8(0))
    return (flat[::2] | flat[1::2] << 4).view(np.int8)


def _unpack(memory: Array, count: int) -> Array:
    both = memory.reshape(-1).view(np.uint8)
    halves = np.stack((both & 0xF, both >> 4), -1).reshape(-1)[:count].astype(np.int8)
    return np.where(halves > 7, halves - 16, halves).astype(np.int8)

"""The benchmark's ops as Triton programs, run by Triton's interpreter on CPU tensors.

Import after setting ``TRITON_INTERPRET=1``. Each function returns a call without arguments that
computes the op once into a tensor of its own, for one block size.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
import triton
import triton.language as tl

# Elements of a program's block. The interpreter pays per program, so the largest is often best.
ELEMENT_BLOCKS = (16384, 65536, 262144, 1048576)
# Rows of a program's block, for ops along rows.
ROW_BLOCKS = (1, 4, 16, 64)
# Rows, columns and depth of a program's block of the product.
MATMUL_BLOCKS = ((128, 128, 64), (256, 256, 256), (512, 512, 512))


@triton.jit
def _add(x_ptr, y_ptr, z_ptr, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    on = at < n
    tl.store(z_ptr + at, tl.load(x_ptr + at, on) + tl.load(y_ptr + at, on), on)


@triton.jit
def _gelu(x_ptr, z_ptr, n, block: tl.constexpr):
    at = tl.program_id(0) * block + tl.arange(0, block)
    on = at < n
    x = tl.load(x_ptr + at, on)
    tl.store(z_ptr + at, x / (1 + tl.exp(-1.595769121605731 * (x + 0.044715 * x * x * x))), on)


@triton.jit
def _softmax(x_ptr, z_ptr, rows: tl.constexpr, columns: tl.constexpr):
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    at = row[:, None] * columns + tl.arange(0, columns)[None, :]
    x = tl.load(x_ptr + at)
    e = tl.exp(x - tl.max(x, 1)[:, None])
    tl.store(z_ptr + at, e / tl.sum(e, 1)[:, None])


@triton.jit
def _layer_norm(x_ptr, z_ptr, rows: tl.constexpr, columns: tl.constexpr):
    row = tl.program_id(0) * rows + tl.arange(0, rows)
    at = row[:, None] * columns + tl.arange(0, columns)[None, :]
    x = tl.load(x_ptr + at)
    x = x - (tl.sum(x, 1) / columns)[:, None]
    tl.store(z_ptr + at, x / tl.sqrt(tl.sum(x * x, 1) / columns + 1e-5)[:, None])


@triton.jit
def _matmul(a_ptr, b_ptr, c_ptr, m, n, k, bm: tl.constexpr, bn: tl.constexpr, bk: tl.constexpr):
    row = tl.program_id(0) * bm + tl.arange(0, bm)
    column = tl.program_id(1) * bn + tl.arange(0, bn)
    total = tl.zeros((bm, bn), tl.float32)
    for start in range(0, k, bk):
        depth = start + tl.arange(0, bk)
        a = tl.load(a_ptr + row[:, None] * k + depth[None, :])
        b = tl.load(b_ptr + depth[:, None] * n + column[None, :])
        total += tl.dot(a, b)
    tl.store(c_ptr + row[:, None] * n + column[None, :], total.to(tl.float16))


def add(x: torch.Tensor, y: torch.Tensor, z: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Return x + y per block size; n elements, float32."""
    n = x.numel()
    return {
        str(b): lambda b=b: _add[(triton.cdiv(n, b),)](x, y, z, n, block=b) for b in ELEMENT_BLOCKS
    }


def gelu(x: torch.Tensor, z: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Return gelu(x) by tanh per block size; n elements, float32."""
    n = x.numel()
    return {
        str(b): lambda b=b: _gelu[(triton.cdiv(n, b),)](x, z, n, block=b) for b in ELEMENT_BLOCKS
    }


def softmax(x: torch.Tensor, z: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Return softmax over the last axis per block size; (rows, a power of two), float32."""
    return _by_rows(_softmax, x, z)


def layer_norm(x: torch.Tensor, z: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Return layer_norm over the last axis per block size; (rows, a power of two), float32."""
    return _by_rows(_layer_norm, x, z)


def _by_rows(program, x, z):
    rows, columns = x.shape
    return {
        f"{r} rows": lambda r=r: program[(rows // r,)](x, z, rows=r, columns=columns)
        for r in ROW_BLOCKS
        if rows % r == 0
    }


def matmul(a: torch.Tensor, b: torch.Tensor, c: torch.Tensor) -> dict[str, Callable[[], object]]:
    """Return a @ b per block size; (m, k) and (k, n), float16, sizes multiples of 512."""
    (m, k), n = a.shape, b.shape[1]
    return {
        "x".join(map(str, s)): lambda s=s: _matmul[(m // s[0], n // s[1])](
            a, b, c, m, n, k, bm=s[0], bn=s[1], bk=s[2]
        )
        for s in MATMUL_BLOCKS
    }

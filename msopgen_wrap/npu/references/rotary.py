"""Rotary position embedding operators of torch_npu."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from . import refuse


def rotate(op: str, x: Tensor, mode: str) -> Tensor:
    """Return the rotated companion of x: half (-x2, x1) or interleave (-x1, x0, -x3, x2, ...)."""
    if mode == "half":
        left, right = x.chunk(2, -1)
        return torch.cat((-right, left), -1)
    if mode == "interleave":
        return torch.stack((-x[..., 1::2], x[..., ::2]), -1).flatten(-2)
    refuse(op, "rotary_mode", mode)
    return x


def npu_rotary_mul(
    input: Tensor, r1: Tensor, r2: Tensor, rotary_mode: str = "half", rotate_: Tensor | None = None
) -> Tensor:
    """input * r1 + rotated(input) * r2; rotate_ is a matrix that replaces the mode."""
    wide = input.float()
    if rotate_ is not None:
        turned = wide @ rotate_.float()
    else:
        turned = rotate("npu_rotary_mul", wide, rotary_mode)
    return (wide * r1.float() + turned * r2.float()).to(input.dtype)


def npu_apply_rotary_pos_emb(
    query: Tensor,
    key: Tensor,
    cos: Tensor,
    sin: Tensor,
    layout: str = "BSND",
    rotary_mode: str = "half",
) -> tuple[Tensor, Tensor]:
    """Rotate query and key; the hardware also overwrites its inputs, and so does this.

    cos and sin broadcast over the heads in every layout.
    """
    name = "npu_apply_rotary_pos_emb"
    if layout not in ("BSND", "SBND", "BNSD", "TND", "BSH"):
        refuse(name, "layout", layout)
    if cos.shape[-1] != query.shape[-1]:
        refuse(name, "cos of another head size", cos)

    def turn(x: Tensor) -> Tensor:
        wide = x.float()
        return (wide * cos.float() + rotate(name, wide, rotary_mode) * sin.float()).to(x.dtype)

    outputs = turn(query), turn(key)
    if not torch.is_grad_enabled() or not (query.requires_grad or key.requires_grad):
        query.copy_(outputs[0])
        key.copy_(outputs[1])
    return outputs


def npu_interleave_rope(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """De-interleave the last dimension, then rotate by halves."""
    wide = x.float()
    wide = wide.unflatten(-1, (-1, 2)).transpose(-1, -2).flatten(-2)
    turned = rotate("npu_interleave_rope", wide, "half")
    return (wide * cos.float() + turned * sin.float()).to(x.dtype)


def _npu_rotary_mul(
    input: Tensor,
    r1: Tensor,
    r2: Tensor,
    rotary_mode: str = "half",
    rotate: Tensor | None = None,
) -> Tensor:
    return npu_rotary_mul(input, r1, r2, rotary_mode, rotate)


OPS: dict[str, Callable] = {
    "npu_rotary_mul": _npu_rotary_mul,
    "npu_apply_rotary_pos_emb": npu_apply_rotary_pos_emb,
    "npu_interleave_rope": npu_interleave_rope,
}

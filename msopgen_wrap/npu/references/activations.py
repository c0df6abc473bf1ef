"""Activation, softmax and loss operators of torch_npu."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from . import refuse


def npu_swiglu(input: Tensor, dim: int = -1) -> Tensor:
    """silu(first half) * second half along dim."""
    gate, value = input.float().chunk(2, dim)
    return (F.silu(gate) * value).to(input.dtype)


def npu_swiglu_backward(grad_output: Tensor, input: Tensor, dim: int = -1) -> Tensor:
    """Gradient of npu_swiglu."""
    gate, value = input.float().chunk(2, dim)
    grad = grad_output.float()
    sigmoid = torch.sigmoid(gate)
    dgate = grad * value * sigmoid * (1 + gate * (1 - sigmoid))
    return torch.cat((dgate, grad * gate * sigmoid), dim).to(input.dtype)


def npu_silu(input: Tensor) -> Tensor:
    """x * sigmoid(x)."""
    return F.silu(input)


def npu_silu_(input: Tensor) -> Tensor:
    """npu_silu in place."""
    return F.silu(input, inplace=True)


def npu_gelu(input: Tensor, *, approximate: str = "none") -> Tensor:
    """GELU; approximate is none or tanh."""
    return F.gelu(input, approximate=approximate)


def npu_gelu_backward(grad_output: Tensor, input: Tensor, *, approximate: str = "none") -> Tensor:
    """Gradient of npu_gelu."""
    return torch.ops.aten.gelu_backward(grad_output, input, approximate=approximate)


def npu_gelu_mul(input: Tensor, *, approximate: str = "none") -> Tensor:
    """gelu(first half) * second half of the last dimension."""
    left, right = input.chunk(2, -1)
    return F.gelu(left, approximate=approximate) * right


def npu_fast_gelu(input: Tensor) -> Tensor:
    """x * sigmoid(1.702 x), the closed form of the hardware's formula."""
    wide = input.float()
    return (wide * torch.sigmoid(1.702 * wide)).to(input.dtype)


def npu_fast_gelu_backward(grad: Tensor, input: Tensor) -> Tensor:
    """Gradient of npu_fast_gelu."""
    wide = input.float()
    sigmoid = torch.sigmoid(1.702 * wide)
    return (grad.float() * sigmoid * (1 + 1.702 * wide * (1 - sigmoid))).to(input.dtype)


def npu_geglu(
    input: Tensor, dim: int = -1, approximate: int = 1, activate_left: bool = False
) -> tuple[Tensor, Tensor]:
    """Return half * gelu(other half) and the gelu; approximate 0 is erf, 1 is tanh."""
    if approximate not in (0, 1):
        refuse("npu_geglu", "approximate", approximate)
    left, right = input.float().chunk(2, dim)
    active, linear = (left, right) if activate_left else (right, left)
    gelu = F.gelu(active, approximate="tanh" if approximate else "none")
    return (linear * gelu).to(input.dtype), gelu.to(input.dtype)


def npu_mish(input: Tensor) -> Tensor:
    """x * tanh(softplus(x))."""
    return F.mish(input)


def npu_scaled_masked_softmax(
    x: Tensor, mask: Tensor, scale: float = 1, fixed_triu_mask: bool = False
) -> Tensor:
    """Softmax of scale * x over the last dimension, masked places (True) taking -10000."""
    if fixed_triu_mask:
        mask = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(1)
    wide = (x.float() * scale).masked_fill(mask, -10000.0)
    return torch.softmax(wide, -1).to(x.dtype)


def npu_attn_softmax_(input: Tensor) -> Tensor:
    """Softmax over the last dimension, in place."""
    return input.copy_(torch.softmax(input.float(), -1))


def npu_one_hot(
    input: Tensor,
    num_classes: int = -1,
    depth: int = 1,
    on_value: float = 1,
    off_value: float = 0,
) -> Tensor:
    """One-hot rows of float32 with the given values; num_classes -1 means depth."""
    classes = depth if num_classes == -1 else num_classes
    hit = input.unsqueeze(-1) == torch.arange(classes, device=input.device)
    return torch.where(hit, float(on_value), float(off_value))


OPS: dict[str, Callable] = {
    "npu_swiglu": npu_swiglu,
    "npu_swiglu_backward": npu_swiglu_backward,
    "npu_silu": npu_silu,
    "npu_silu_": npu_silu_,
    "npu_gelu": npu_gelu,
    "npu_gelu_backward": npu_gelu_backward,
    "npu_gelu_mul": npu_gelu_mul,
    "npu_fast_gelu": npu_fast_gelu,
    "fast_gelu": npu_fast_gelu,
    "npu_fast_gelu_backward": npu_fast_gelu_backward,
    "npu_geglu": npu_geglu,
    "npu_mish": npu_mish,
    "npu_scaled_masked_softmax": npu_scaled_masked_softmax,
    "npu_attn_softmax_": npu_attn_softmax_,
    "npu_one_hot": npu_one_hot,
}

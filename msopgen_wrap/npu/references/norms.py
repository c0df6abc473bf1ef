"""Normalisation operators of torch_npu."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor


def _rms(x: Tensor, gamma: Tensor, epsilon: float) -> tuple[Tensor, Tensor]:
    """Return x / rms(x) in float32 and 1 / rms, both over gamma's dimensions."""
    wide = x.float()
    dims = tuple(range(x.dim() - gamma.dim(), x.dim()))
    rstd = torch.rsqrt(wide.pow(2).mean(dims, keepdim=True) + epsilon)
    return wide * rstd, rstd


def npu_rms_norm(input: Tensor, gamma: Tensor, epsilon: float = 1e-6) -> tuple[Tensor, Tensor]:
    """Return x / sqrt(mean(x^2) + epsilon) * gamma and the float32 reciprocal root."""
    normed, rstd = _rms(input, gamma, epsilon)
    return (normed * gamma.float()).to(input.dtype), rstd


def npu_gemma_rms_norm(
    input: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor]:
    """Like npu_rms_norm with (1 + gamma)."""
    normed, rstd = _rms(input, gamma, epsilon)
    return (normed * (1 + gamma.float())).to(input.dtype), rstd


def npu_rms_norm_backward(
    dy: Tensor, input: Tensor, gamma: Tensor, rstd: Tensor
) -> tuple[Tensor, Tensor]:
    """Return the gradients of input and (float32) gamma."""
    dims = tuple(range(input.dim() - gamma.dim(), input.dim()))
    outer = tuple(range(input.dim() - gamma.dim()))
    normed = input.float() * rstd
    scaled = dy.float() * gamma.float()
    dx = rstd * (scaled - normed * (scaled * normed).mean(dims, keepdim=True))
    dgamma = dy.float() * normed
    return dx.to(input.dtype), dgamma.sum(outer) if outer else dgamma


def npu_add_rms_norm(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor]:
    """Return npu_rms_norm(x1 + x2), its rstd, and x1 + x2."""
    # The sum is taken in float32 and kept there for the norm, as the fused kernel does.
    total = x1.float() + x2.float()
    normed, rstd = _rms(total, gamma, epsilon)
    return (normed * gamma.float()).to(x1.dtype), rstd, total.to(x1.dtype)


def npu_add_rms_norm_cast(
    x1: Tensor, x2: Tensor, gamma: Tensor, epsilon: float = 1e-6
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Like npu_add_rms_norm, with the result in float32 and in the input's dtype."""
    total = x1.float() + x2.float()
    normed, rstd = _rms(total, gamma, epsilon)
    wide = normed * gamma.float()
    return wide, wide.to(x1.dtype), rstd, total.to(x1.dtype)


def npu_layer_norm_eval(
    input: Tensor,
    normalized_shape: list[int],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Layer norm without the statistics."""
    return torch.nn.functional.layer_norm(input, normalized_shape, weight, bias, eps)


def npu_add_layer_norm(
    x1: Tensor,
    x2: Tensor,
    gamma: Tensor,
    beta: Tensor,
    epsilon: float = 1e-5,
    additional_output: bool = False,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return layer_norm(x1 + x2), mean, rstd, and x1 + x2 (empty unless asked for)."""
    total = x1.float() + x2.float()
    dims = tuple(range(total.dim() - gamma.dim(), total.dim()))
    mean = total.mean(dims, keepdim=True)
    rstd = torch.rsqrt((total - mean).pow(2).mean(dims, keepdim=True) + epsilon)
    y = (total - mean) * rstd * gamma.float() + beta.float()
    extra = total.to(x1.dtype) if additional_output else total.new_empty(0).to(x1.dtype)
    return y.to(x1.dtype), mean, rstd, extra


def npu_deep_norm(
    x: Tensor,
    gx: Tensor,
    beta: Tensor,
    gamma: Tensor,
    alpha: float = 0.3,
    epsilon: float = 1e-6,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return mean, rstd and layer_norm(alpha * x + gx)."""
    total = alpha * x.float() + gx.float()
    dims = tuple(range(total.dim() - gamma.dim(), total.dim()))
    mean = total.mean(dims, keepdim=True)
    rstd = torch.rsqrt((total - mean).pow(2).mean(dims, keepdim=True) + epsilon)
    y = (total - mean) * rstd * gamma.float() + beta.float()
    return mean, rstd, y.to(x.dtype)


def npu_group_norm_silu(
    input: Tensor, weight: Tensor | None, bias: Tensor | None, group: int, eps: float = 1e-5
) -> tuple[Tensor, Tensor, Tensor]:
    """Return silu(group_norm(input)), mean and rstd of shape (N, group)."""
    n = input.shape[0]
    wide = input.float().reshape(n, group, -1)
    mean = wide.mean(-1)
    rstd = torch.rsqrt(wide.var(-1, unbiased=False) + eps)
    y = torch.nn.functional.group_norm(
        input.float(),
        group,
        weight.float() if weight is not None else None,
        bias.float() if bias is not None else None,
        eps,
    )
    y = torch.nn.functional.silu(y).to(input.dtype)
    return y, mean.to(input.dtype), rstd.to(input.dtype)


def npu_group_norm_swish(
    input: Tensor,
    num_groups: int,
    weight: Tensor,
    bias: Tensor,
    eps: float | None = 1e-5,
    swish_scale: float | None = 1.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Return x * sigmoid(scale * x) of group_norm(input), mean and rstd of shape (N, groups)."""
    eps = 1e-5 if eps is None else eps
    scale = 1.0 if swish_scale is None else swish_scale
    wide = input.float().reshape(input.shape[0], num_groups, -1)
    mean = wide.mean(-1)
    rstd = torch.rsqrt(wide.var(-1, unbiased=False) + eps)
    y = torch.nn.functional.group_norm(input.float(), num_groups, weight.float(), bias.float(), eps)
    y = (y * torch.sigmoid(scale * y)).to(input.dtype)
    return y, mean.to(input.dtype), rstd.to(input.dtype)


OPS: dict[str, Callable] = {
    "npu_rms_norm": npu_rms_norm,
    "npu_gemma_rms_norm": npu_gemma_rms_norm,
    "npu_rms_norm_backward": npu_rms_norm_backward,
    "npu_add_rms_norm": npu_add_rms_norm,
    "npu_add_rms_norm_cast": npu_add_rms_norm_cast,
    "npu_layer_norm_eval": npu_layer_norm_eval,
    "npu_add_layer_norm": npu_add_layer_norm,
    "npu_deep_norm": npu_deep_norm,
    "npu_group_norm_silu": npu_group_norm_silu,
    "npu_group_norm_swish": npu_group_norm_swish,
}

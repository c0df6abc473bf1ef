"""Blocks of models, as people write them in plain PyTorch."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

nn, F = torch.nn, torch.nn.functional


class Lambda(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any], **parameters: Any) -> None:
        super().__init__()
        self.function = function
        for name, value in parameters.items():
            self.register_parameter(name, nn.Parameter(value))

    def forward(self, *inputs: Any) -> Any:
        return self.function(*inputs, *self._parameters.values())


class TransformerBlock(nn.Module):
    """Pre-norm attention and a two-layer network with tanh GELU."""

    def __init__(self, width: int = 32, heads: int = 4, dropout: float = 0.0) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        size = width // self.heads
        parts = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        q, k, v = (p.view(batch, length, self.heads, size).transpose(1, 2) for p in parts)
        scores = torch.softmax(q @ k.transpose(-1, -2) / math.sqrt(size), dim=-1)
        y = (scores @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.dropout(self.out(y))
        return x + self.down(F.gelu(self.up(self.norm2(x)), approximate="tanh"))


class RmsNorm(nn.Module):
    """Root-mean-square norm as in LLaMA: in float32, weighted in the dtype of the input."""

    def __init__(self, width: int, eps: float = 1e-5) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))
        self.eps = eps

    def forward(self, x: Any) -> Any:
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean(-1, keepdim=True) + self.eps)
        return self.weight * h.to(x.dtype)


class LlamaBlock(nn.Module):
    """Attention with rotated halves, and a gated network."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = RmsNorm(width), RmsNorm(width)
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.gate, self.up = (nn.Linear(width, 2 * width, bias=False) for _ in range(2))
        self.down = nn.Linear(2 * width, width, bias=False)

    def _rotated(self, x: Any) -> Any:
        half = x.shape[-1] // 2
        position = torch.arange(x.shape[-2], dtype=torch.float32, device=x.device)
        angle = torch.outer(position, 10000 ** (-torch.arange(half, device=x.device) / half))
        angle = torch.cat((angle, angle), -1).to(x.dtype)
        turned = torch.cat((-x[..., half:], x[..., :half]), -1)
        return x * angle.cos() + turned * angle.sin()

    def forward(self, x: Any) -> Any:
        batch, length, width = x.shape
        h = self.norm1(x)
        q, k, v = (
            f(h).view(batch, length, self.heads, -1).transpose(1, 2)
            for f in (self.q, self.k, self.v)
        )
        y = F.scaled_dot_product_attention(self._rotated(q), self._rotated(k), v, is_causal=True)
        x = x + self.o(y.transpose(1, 2).reshape(batch, length, width))
        h = self.norm2(x)
        return x + self.down(F.silu(self.gate(h)) * self.up(h))


class ResNetBlock(nn.Module):
    """Two convolutions with batch norm; ReLU after the sum."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1, self.bn2 = nn.BatchNorm2d(channels), nn.BatchNorm2d(channels)

    def forward(self, x: Any) -> Any:
        y = torch.relu(self.bn1(self.conv1(x)))
        return torch.relu(self.bn2(self.conv2(y)) + x)


class UNetBlock(nn.Module):
    """A residual block of a diffusion model: group norm, SiLU, time embedding."""

    def __init__(self, channels: int = 16, time: int = 24) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.GroupNorm(4, channels), nn.GroupNorm(4, channels)
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1)
        self.time = nn.Linear(time, channels)

    def forward(self, x: Any, t: Any) -> Any:
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(F.silu(t))[:, :, None, None]
        return x + self.conv2(F.silu(self.norm2(h)))

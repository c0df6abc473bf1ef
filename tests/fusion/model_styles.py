"""Small models of many styles, each written as its own community writes it."""

from __future__ import annotations

import math
from typing import Any

from msopgen_wrap.torch_import import torch

nn, F = torch.nn, torch.nn.functional


class VitBlock(nn.Module):
    """Patches by a convolution, a class token, and one block of ``nn.MultiheadAttention``."""

    def __init__(self, width: int = 32) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 4, 4)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.position = nn.Parameter(torch.randn(1, 17, width) * 0.02)
        self.norm1, self.norm2 = nn.LayerNorm(width, eps=1e-6), nn.LayerNorm(width, eps=1e-6)
        self.attention = nn.MultiheadAttention(width, 4, batch_first=True)
        self.mlp = nn.Sequential(nn.Linear(width, 64), nn.GELU(), nn.Linear(64, width))

    def forward(self, image: Any) -> Any:
        x = self.patches(image).flatten(2).transpose(1, 2)
        x = torch.cat((self.token.expand(x.shape[0], -1, -1), x), dim=1) + self.position
        h = self.norm1(x)
        x = x + self.attention(h, h, h, need_weights=False)[0]
        return (x + self.mlp(self.norm2(x)))[:, 0]


class Gpt2Block(nn.Module):
    """A mask kept as a buffer, tanh GELU by its formula, dropouts."""

    def __init__(self, width: int = 32, heads: int = 4, context: int = 16) -> None:
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.c_out = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.drop = nn.Dropout(0.1)
        mask = torch.tril(torch.ones(context, context, dtype=torch.bool))
        self.register_buffer("mask", mask[None, None], persistent=False)

    def forward(self, x: Any) -> Any:
        b, t, c = x.shape
        q, k, v = self.c_attn(self.ln_1(x)).split(c, dim=2)
        q, k, v = (z.view(b, t, self.heads, -1).transpose(1, 2) for z in (q, k, v))
        scores = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        scores = scores.masked_fill(~self.mask[:, :, :t, :t], float("-inf"))
        y = self.drop(F.softmax(scores, dim=-1)) @ v
        x = x + self.drop(self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c)))
        h = self.c_fc(self.ln_2(x))
        h = 0.5 * h * (1 + torch.tanh(math.sqrt(2 / math.pi) * (h + 0.044715 * torch.pow(h, 3))))
        return x + self.drop(self.c_out(h))


class RoutedExperts(nn.Module):
    """Every token goes through the two experts that its router prefers."""

    def __init__(self, width: int = 32, experts: int = 4) -> None:
        super().__init__()
        self.gate = nn.Linear(width, experts, bias=False)
        self.w1 = nn.Parameter(torch.randn(experts, width, 48) * 0.1)
        self.w2 = nn.Parameter(torch.randn(experts, 48, width) * 0.1)
        self.w3 = nn.Parameter(torch.randn(experts, width, 48) * 0.1)

    def forward(self, x: Any) -> Any:
        tokens = x.view(-1, x.shape[-1])
        shares = F.softmax(self.gate(tokens), dim=1, dtype=torch.float)
        shares, chosen = torch.topk(shares, 2, dim=-1)
        shares = shares / shares.sum(dim=-1, keepdim=True)
        h = F.silu(torch.einsum("tc,ecf->tef", tokens, self.w1))
        h = h * torch.einsum("tc,ecf->tef", tokens, self.w3)
        y = torch.einsum("tef,efc->tec", h, self.w2)
        mask = torch.zeros(y.shape[:2], dtype=x.dtype, device=x.device)
        mask = mask.scatter(1, chosen, shares.to(x.dtype))
        return (y * mask.unsqueeze(-1)).sum(1).view_as(x)


class T5Block(nn.Module):
    """Scores without a scale, with a bias per bucket of distances; norm without a mean."""

    def __init__(self, width: int = 32, heads: int = 4, buckets: int = 8) -> None:
        super().__init__()
        self.heads, self.buckets = heads, buckets
        self.weight = nn.Parameter(torch.ones(width))
        self.q, self.k, self.v, self.o = (nn.Linear(width, width, bias=False) for _ in range(4))
        self.relative = nn.Embedding(buckets, heads)

    def _norm(self, x: Any) -> Any:
        variance = x.to(torch.float32).pow(2).mean(-1, keepdim=True)
        x = x * torch.rsqrt(variance + 1e-6)
        if self.weight.dtype in (torch.float16, torch.bfloat16):
            x = x.to(self.weight.dtype)
        return self.weight * x

    def _bias(self, length: int, device: Any) -> Any:
        context = torch.arange(length, dtype=torch.long, device=device)[:, None]
        memory = torch.arange(length, dtype=torch.long, device=device)[None, :]
        distance = -torch.min(memory - context, torch.zeros_like(memory - context))
        near = self.buckets // 2
        far = near + (
            torch.log(distance.float().clamp(min=1) / near) / math.log(32 / near) * near
        ).to(torch.long)
        far = torch.min(far, torch.full_like(far, self.buckets - 1))
        bucket = torch.where(distance < near, distance, far)
        return self.relative(bucket).permute(2, 0, 1).unsqueeze(0)

    def forward(self, x: Any) -> Any:
        b, t, c = x.shape
        h = self._norm(x)
        q, k, v = (
            f(h).view(b, t, self.heads, -1).transpose(1, 2) for f in (self.q, self.k, self.v)
        )
        scores = torch.matmul(q, k.transpose(3, 2))
        scores += self._bias(t, x.device)
        shares = F.softmax(scores.float(), dim=-1).type_as(scores)
        return x + self.o((shares @ v).transpose(1, 2).contiguous().view(b, t, c))


class ConvNextBlock(nn.Module):
    """Depthwise convolution, norm over channels in the last place, layer scale."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.depthwise = nn.Conv2d(channels, channels, 7, padding=3, groups=channels)
        self.norm = nn.LayerNorm(channels, eps=1e-6)
        self.up, self.down = nn.Linear(channels, 4 * channels), nn.Linear(4 * channels, channels)
        self.gamma = nn.Parameter(1e-6 * torch.ones(channels))

    def forward(self, x: Any) -> Any:
        y = self.depthwise(x).permute(0, 2, 3, 1)
        y = self.gamma * self.down(F.gelu(self.up(self.norm(y))))
        return x + y.permute(0, 3, 1, 2)


class InvertedResidual(nn.Module):
    """MobileNet: widened, depthwise, squeezed and excited, narrowed; activations in place."""

    def __init__(self, channels: int = 8) -> None:
        super().__init__()
        wide = 4 * channels
        self.body = nn.Sequential(
            nn.Conv2d(channels, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
            nn.ReLU6(inplace=True),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False),
            nn.BatchNorm2d(wide),
            nn.Hardswish(inplace=True),
        )
        self.squeeze, self.excite = nn.Conv2d(wide, 8, 1), nn.Conv2d(8, wide, 1)
        self.narrow = nn.Sequential(
            nn.Conv2d(wide, channels, 1, bias=False), nn.BatchNorm2d(channels)
        )

    def forward(self, x: Any) -> Any:
        y = self.body(x)
        share = self.excite(F.relu(self.squeeze(F.adaptive_avg_pool2d(y, 1))))
        return x + self.narrow(y * F.hardsigmoid(share))


class WaveNetLayers(nn.Module):
    """Gated causal convolutions with growing dilations and a sum of what is skipped."""

    def __init__(self, channels: int = 8, layers: int = 3) -> None:
        super().__init__()
        self.gates = nn.ModuleList(
            nn.Conv1d(channels, 2 * channels, 2, dilation=2**i) for i in range(layers)
        )
        self.mixes = nn.ModuleList(nn.Conv1d(channels, channels, 1) for _ in range(layers))

    def forward(self, x: Any) -> Any:
        skipped: Any = 0
        for i, (gate, mix) in enumerate(zip(self.gates, self.mixes, strict=True)):
            a, b = gate(F.pad(x, (2**i, 0))).chunk(2, dim=1)
            y = mix(torch.tanh(a) * torch.sigmoid(b))
            x = (x + y) * math.sqrt(0.5)
            skipped = skipped + y
        return torch.relu(skipped)


class UNetAttention(nn.Module):
    """Attention over pixels between a group norm and a residual sum."""

    def __init__(self, channels: int = 16) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(4, channels)
        self.qkv, self.out = nn.Conv2d(channels, 3 * channels, 1), nn.Conv2d(channels, channels, 1)

    def forward(self, x: Any) -> Any:
        b, c, height, width = x.shape
        q, k, v = self.qkv(self.norm(x)).reshape(b, 3, c, height * width).unbind(1)
        shares = torch.einsum("bct,bcs->bts", q * c**-0.25, k * c**-0.25).softmax(-1)
        y = torch.einsum("bts,bcs->bct", shares, v).reshape(b, c, height, width)
        return (x + self.out(y)) / math.sqrt(2)


class RotaryAttention(nn.Module):
    """Rotary positions as products of complex numbers, grouped keys, a cache of tables."""

    def __init__(self, width: int = 32, heads: int = 4, groups: int = 2, length: int = 16) -> None:
        super().__init__()
        self.heads, self.groups, size = heads, groups, width // heads
        self.q, self.o = nn.Linear(width, width, bias=False), nn.Linear(width, width, bias=False)
        self.k, self.v = (nn.Linear(width, groups * size, bias=False) for _ in range(2))
        rates = 1.0 / (10000 ** (torch.arange(0, size, 2).float() / size))
        angles = torch.outer(torch.arange(length).float(), rates)
        self.register_buffer("turns", torch.polar(torch.ones_like(angles), angles))

    def _turned(self, x: Any) -> Any:
        pairs = torch.view_as_complex(x.float().reshape(*x.shape[:-1], -1, 2))
        turns = self.turns[: x.shape[1]].view(1, x.shape[1], 1, -1)
        return torch.view_as_real(pairs * turns).flatten(3).type_as(x)

    def forward(self, x: Any) -> Any:
        b, t, c = x.shape
        q = self._turned(self.q(x).view(b, t, self.heads, -1)).transpose(1, 2)
        k = self._turned(self.k(x).view(b, t, self.groups, -1)).transpose(1, 2)
        v = self.v(x).view(b, t, self.groups, -1).transpose(1, 2)
        k, v = (z.repeat_interleave(self.heads // self.groups, dim=1) for z in (k, v))
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1])
        scores = scores + torch.full((t, t), float("-inf"), device=x.device).triu(1)
        y = scores.float().softmax(-1).type_as(q) @ v
        return self.o(y.transpose(1, 2).reshape(b, t, c))


class BertLayer(nn.Module):
    """Norms behind the sums, an additive mask from zeros and ones, dropout everywhere."""

    def __init__(self, width: int = 32, heads: int = 4) -> None:
        super().__init__()
        self.heads = heads
        self.words, self.kinds = nn.Embedding(50, width, padding_idx=0), nn.Embedding(2, width)
        self.norms = nn.ModuleList(nn.LayerNorm(width, eps=1e-12) for _ in range(3))
        self.query, self.key, self.value = (nn.Linear(width, width) for _ in range(3))
        self.dense, self.up = nn.Linear(width, width), nn.Linear(width, 64)
        self.down, self.dropout = nn.Linear(64, width), nn.Dropout(0.1)

    def forward(self, words: Any, mask: Any) -> Any:
        b, t = words.shape
        x = self.words(words) + self.kinds(torch.zeros_like(words))
        x = self.dropout(self.norms[0](x))
        bias = (1.0 - mask[:, None, None, :].to(x.dtype)) * torch.finfo(x.dtype).min
        q, k, v = (
            f(x).view(b, t, self.heads, -1).permute(0, 2, 1, 3)
            for f in (self.query, self.key, self.value)
        )
        scores = q @ k.transpose(-1, -2) / math.sqrt(q.shape[-1]) + bias
        y = self.dropout(scores.softmax(-1)) @ v
        y = self.dense(y.permute(0, 2, 1, 3).contiguous().view(b, t, -1))
        x = self.norms[1](self.dropout(y) + x)
        y = self.down(F.gelu(self.up(x)))
        return self.norms[2](self.dropout(y) + x)


def styles() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """Return name -> model and example inputs; the models are in training."""
    torch.manual_seed(0)
    tokens = torch.randn(2, 6, 32)
    words = torch.randint(1, 50, (2, 6))
    mask = torch.ones(2, 6, dtype=torch.long)
    mask[1, 4:] = 0
    return {
        "vit": (VitBlock(), (torch.randn(2, 3, 16, 16),)),
        "gpt2": (Gpt2Block(), (tokens,)),
        "experts": (RoutedExperts(), (tokens,)),
        "t5": (T5Block(), (tokens,)),
        "convnext": (ConvNextBlock(), (torch.randn(2, 16, 8, 8),)),
        "mobilenet": (InvertedResidual(), (torch.randn(2, 8, 6, 6),)),
        "wavenet": (WaveNetLayers(), (torch.randn(2, 8, 20),)),
        "unet_attention": (UNetAttention(), (torch.randn(2, 16, 4, 4),)),
        "rotary": (RotaryAttention(), (tokens,)),
        "bert": (BertLayer(), (words, mask)),
    }

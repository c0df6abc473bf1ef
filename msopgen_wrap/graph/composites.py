"""Functions that PyTorch makes of others where no decomposition table reaches them.

``F.pad`` in circular mode writes into views of an empty tensor; ``F.gaussian_nll_loss`` looks at
the values of a tensor first. Tracing takes what stands here instead.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.placement import join
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.overrides import TorchFunctionMode

functional = torch.nn.functional


def _pad(x: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:
    if mode != "circular" or len(pad) != 2 * (x.dim() - 2):
        return NotImplemented
    if not all(type(n) is int and n >= 0 for n in pad):
        return NotImplemented
    for position in range(len(pad) // 2):
        dim = x.dim() - 1 - position
        before, after = pad[2 * position], pad[2 * position + 1]
        size = x.shape[dim]
        torch._check(size >= max(before, after), lambda: "padding wraps around more than once")
        pieces = [x]
        if before:
            pieces.insert(0, x.narrow(dim, size - before, before))
        if after:
            pieces.append(x.narrow(dim, 0, after))
        x = join(pieces, dim)
    return x


def _gaussian_nll_loss(
    x: Any, target: Any, var: Any, full: bool = False, eps: float = 1e-6, reduction: str = "mean"
) -> Any:
    # PyTorch raises for negative variances, which a kernel cannot
    if not isinstance(var, torch.Tensor):
        var = var * torch.ones_like(x)
    elif var.dim() == x.dim() - 1:
        var = var.unsqueeze(-1)
    var = var.clamp(min=eps)
    loss = 0.5 * (torch.log(var) + (x - target) ** 2 / var)
    loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
    return {"mean": loss.mean, "sum": loss.sum}.get(reduction, lambda: loss)()


_REPLACED: dict[Any, Callable[..., Any]] = {
    functional.pad: _pad,
    functional.gaussian_nll_loss: _gaussian_nll_loss,
}


class Composites(TorchFunctionMode):
    """Run ``compute`` with the functions of this module in place of PyTorch's."""

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        """Call a function, or what replaces it for such arguments."""
        replaced = _REPLACED.get(func)
        result = replaced(*args, **(kwargs or {})) if replaced is not None else NotImplemented
        return func(*args, **(kwargs or {})) if result is NotImplemented else result

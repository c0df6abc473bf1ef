"""Losses that stand in a trace instead of those that PyTorch differentiates by calls of its own.

The formulas have the same values and the same derivatives.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.index_decompositions import multi_margins
from msopgen_wrap.torch_import import torch

functional = torch.nn.functional


def _reduced(loss: Any, size_average: Any, reduce: Any, reduction: str) -> Any:
    """Return the mean or the sum of a loss; the arguments are those of PyTorch's functions."""
    if size_average is not None or reduce is not None:
        return NotImplemented
    return {"mean": loss.mean, "sum": loss.sum}.get(reduction, lambda: loss)()


def _cosine_embedding_loss(
    x1: Any,
    x2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    squares = ((x1 * x1).sum(-1) + _COSINE_EPSILON) * ((x2 * x2).sum(-1) + _COSINE_EPSILON)
    cosine = (x1 * x2).sum(-1) / squares.sqrt()
    unlike = torch.where(target == -1, (cosine - margin).clamp_min(0), 0.0)
    loss = torch.where(target == 1, 1 - cosine, unlike)
    return _reduced(loss, size_average, reduce, reduction)


# As PyTorch adds it to the squares of lengths.
_COSINE_EPSILON = 1e-12


def _hinge_embedding_loss(
    x: Any,
    target: Any,
    margin: float = 1.0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    unlike = torch.where(target == 1, 0.0, (margin - x).clamp_min(0))
    loss = unlike + torch.where(target == -1, 0.0, x)
    return _reduced(loss, size_average, reduce, reduction)


def _margin_ranking_loss(
    x1: Any,
    x2: Any,
    target: Any,
    margin: float = 0,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    loss = (-target * (x1 - x2) + margin).clamp_min(0)
    return _reduced(loss, size_average, reduce, reduction)


def gaussian_nll_loss(raised: Callable[[Any, float], Any]) -> Callable[..., Any]:
    """Return the loss as a function that tracing calls in place of PyTorch's.

    PyTorch raises for negative variances, which a kernel cannot.

    Args:
        raised: gives variances, those below a number raised to it.
    """

    def loss_of(
        x: Any,
        target: Any,
        var: Any,
        full: bool = False,
        eps: float = 1e-6,
        reduction: str = "mean",
    ) -> Any:
        if not isinstance(var, torch.Tensor):
            var = var * torch.ones_like(x)
        elif var.dim() == x.dim() - 1:
            var = var.unsqueeze(-1)
        var = raised(var, eps)
        loss = 0.5 * (torch.log(var) + (x - target) ** 2 / var)
        loss = loss + 0.5 * math.log(2 * math.pi) if full else loss
        return _reduced(loss, None, None, reduction)

    return loss_of


def _raised_unseen(var: Any, least: float) -> Any:
    """Raise what is below a number to it, which no gradient sees."""
    return torch.where(var < least, var + (least - var).detach(), var)


def _cosine_similarity(x1: Any, x2: Any, dim: int = 1, eps: float = 1e-8) -> Any:
    """Return the cosine; lengths below ``eps`` are raised to it, which no gradient sees."""
    directions = []
    for x in (x1, x2):
        length = torch.linalg.vector_norm(x, 2, dim, keepdim=True)
        raised = length + (length.clamp_min(eps) - length).detach()
        directions.append(x / raised)
    return (directions[0] * directions[1]).sum(dim)


def _multi_margin_loss(
    x: Any,
    target: Any,
    p: Any = 1,
    margin: Any = 1.0,
    weight: Any = None,
    size_average: Any = None,
    reduce: Any = None,
    reduction: str = "mean",
) -> Any:
    """Compare the labels with the numbers of the classes: a gather and a scatter less."""
    if p not in (1, 2) or x.dim() not in (1, 2):
        return NotImplemented
    losses = multi_margins(x, target, p, margin, weight)
    return _reduced(losses, size_average, reduce, reduction)


# Function -> what a trace that is differentiated calls; NotImplemented leaves it to PyTorch.
LOSSES: dict[Any, Callable[..., Any]] = {
    functional.cosine_embedding_loss: _cosine_embedding_loss,
    functional.hinge_embedding_loss: _hinge_embedding_loss,
    functional.margin_ranking_loss: _margin_ranking_loss,
    functional.cosine_similarity: _cosine_similarity,
    functional.gaussian_nll_loss: gaussian_nll_loss(_raised_unseen),
    functional.multi_margin_loss: _multi_margin_loss,
}

"""Decompositions of labels and indices: comparisons with counted numbers, or scatters.

A loss of labels needs one element of each row. Compared with the numbers of the classes, a label
is a mask of the row, so that what follows is a sum in the pass that computes the row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

_aten = torch.ops.aten
# Values of ``reduction`` in ATen.
_NONE, _MEAN = 0, 1


def _by_class(x: Any, values: Any) -> Any:
    """Line up one number per class with the axis of the classes of ``x``."""
    for _ in range(x.dim() - 2):
        values = values.unsqueeze(-1)
    return values


def _class_axis(x: Any) -> int:
    return 1 if x.dim() > 1 else 0


def _hits(x: Any, target: Any) -> Any:
    """Return where the class of an element of ``x`` is the label of its row."""
    classes = torch.arange(x.shape[_class_axis(x)], dtype=target.dtype, device=x.device)
    return target.unsqueeze(_class_axis(x)) == _by_class(x, classes)


def _chosen(x: Any, hits: Any, values: Any) -> Any:
    return torch.where(hits, values, 0).sum(_class_axis(x))


def _nll_loss_forward(
    x: Any, target: Any, weight: Any, reduction: int, ignore_index: int
) -> tuple[Any, Any]:
    """Return the loss, and the sum of the weights; a label that is no class gives NaN."""
    hits = _hits(x, target)
    used = target != ignore_index
    inside = (target >= 0) & (target < x.shape[_class_axis(x)])
    if weight is None:
        losses, weights = -_chosen(x, hits, x), used.to(x.dtype)
    else:
        scaled = _by_class(x, weight)
        losses = -_chosen(x, hits, x * scaled)
        weights = _chosen(x, hits, scaled + torch.zeros_like(x))
        weights = torch.where(used, weights, 0)
    losses = torch.where(inside, losses, float("nan"))
    losses = torch.where(used, losses, 0)
    if reduction == _NONE and x.dim() > 1:
        return losses, x.new_full((), 0.0)
    total = weights.sum()
    if reduction == _NONE:
        return losses, total
    loss = losses.sum()
    return (loss / total if reduction == _MEAN else loss), total


def _nll_loss_backward(
    grad: Any,
    x: Any,
    target: Any,
    weight: Any,
    reduction: int,
    ignore_index: int,
    total_weight: Any,
) -> Any:
    if reduction == _MEAN:
        grad = grad / total_weight
    if grad.dim():
        grad = grad.unsqueeze(_class_axis(x))
    used = (target != ignore_index).unsqueeze(_class_axis(x))
    scaled = -grad if weight is None else -grad * _by_class(x, weight)
    return torch.where(_hits(x, target) & used, scaled, torch.zeros_like(x))


def _embedding_backward(
    grad: Any, indices: Any, num_weights: Any, padding_idx: Any, scale_grad_by_freq: bool
) -> Any:
    if scale_grad_by_freq:
        return NotImplemented
    if type(padding_idx) is not int or padding_idx >= 0:
        grad = torch.where((indices == padding_idx).unsqueeze(-1), 0, grad)
    sums = grad.new_zeros((num_weights, *grad.shape[indices.dim() :]))
    return _aten.index_put(sums, [indices], grad, True)


def index_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries of losses with labels, and of the gradient of an embedding."""
    return {
        _aten.nll_loss_forward.default: _nll_loss_forward,
        _aten.nll_loss2d_forward.default: _nll_loss_forward,
        _aten.nll_loss_backward.default: _nll_loss_backward,
        _aten.nll_loss2d_backward.default: _nll_loss_backward,
        _aten.embedding_dense_backward.default: _embedding_backward,
    }

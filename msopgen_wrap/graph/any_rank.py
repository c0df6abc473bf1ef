"""What stands in formulas of any rank, where PyTorch does other things at other ranks.

*Products* in what is differentiated: PyTorch joins the axes of more than two, so that at rank 2 the
values that go through the workspace would be others. Their rows are joined at all ranks.

*Losses of classes*, which lie along the second axis: the axes behind it are joined.

*Norms and slopes of channels*, which PyTorch makes of tensors whose first axes it joins.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.differentiated import standardized
from msopgen_wrap.graph.placement import lined_up
from msopgen_wrap.torch_import import torch

functional = torch.nn.functional


def _joined_rows(x: Any, matrix: Any) -> Any:
    """Return a product of which the rows of ``x`` are joined, also at rank 2.

    PyTorch differentiates a product with a transposed view otherwise than other products.
    """
    if x.dim() < 2 or matrix.dim() != 2:
        return NotImplemented
    rows = x.reshape(math.prod(x.shape[:-1]), x.shape[-1])
    return torch.mm(rows, matrix.contiguous()).reshape(*x.shape[:-1], matrix.shape[1])


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    product = _joined_rows(x, weight.t()) if weight.dim() == 2 else NotImplemented
    if product is NotImplemented:
        return product
    return product if bias is None else product + bias


def _of_classes(loss: Callable[..., Any]) -> Callable[..., Any]:
    """Return a loss of classes along the second axis, all axes behind which are joined."""

    def joined(input: Any, target: Any, *args: Any, **kwargs: Any) -> Any:
        if input.dim() < 2:
            return NotImplemented
        batch, classes = input.shape[:2]
        count: Any = math.prod(input.shape[2:])
        shares = target.dim() == input.dim()
        among = (batch, classes, count) if shares else (batch, count)
        rows, labels = input.reshape(batch, classes, count), target.reshape(among)
        found = loss(rows, labels, *args, **kwargs)
        return found if not found.dim() else found.reshape(batch, *input.shape[2:])

    return joined


def _stack(tensors: Any, dim: Any = 0) -> Any:
    # PyTorch joins an axis and cuts it again, but for the last one: at another rank that is another
    if type(dim) is not int or dim < 0:
        return NotImplemented
    return torch.cat([t.unsqueeze(dim) for t in tensors], dim)


def _instance_norm(
    x: Any,
    running_mean: Any = None,
    running_var: Any = None,
    weight: Any = None,
    bias: Any = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Any:
    if not use_input_stats or running_mean is not None or running_var is not None or x.dim() < 3:
        return NotImplemented
    dims = list(range(2, x.dim()))
    x = standardized(x, dims, eps)
    x = x if weight is None else x * lined_up(x, 1, weight)
    return x if bias is None else x + lined_up(x, 1, bias)


def _prelu(x: Any, weight: Any) -> Any:
    if x.dim() < 2 or weight.dim() != 1:
        return NotImplemented
    return torch.where(x > 0, x, lined_up(x, 1, weight) * x)


# Function -> what a trace with inputs of any rank calls; NotImplemented leaves it to PyTorch.
_OF_CHANNELS: dict[Any, Callable[..., Any]] = {
    functional.instance_norm: _instance_norm,
    functional.prelu: _prelu,
}
_PRODUCTS: dict[Any, Callable[..., Any]] = {
    torch.matmul: _joined_rows,
    torch.Tensor.matmul: _joined_rows,
    torch.Tensor.__matmul__: _joined_rows,
    functional.linear: _linear,
}
_LOSSES: dict[Any, Callable[..., Any]] = {
    loss: _of_classes(loss) for loss in (functional.cross_entropy, functional.nll_loss)
}
# What may reshape a tensor in a formula.
_RESHAPES = ("reshape", "view", "flatten")


def functions_of_any_rank(differentiated: bool, compute: str) -> dict[Any, Callable[..., Any]]:
    """Return functions, each with what a trace with inputs of any rank calls in its place.

    Args:
        differentiated: whether PyTorch differentiates the formula.
        compute: the formula. One that reshapes may join the axes of a loss itself.
    """
    losses = {} if any(word in compute for word in _RESHAPES) else _LOSSES
    return {**(_PRODUCTS if differentiated else _OF_CHANNELS), **losses, torch.stack: _stack}

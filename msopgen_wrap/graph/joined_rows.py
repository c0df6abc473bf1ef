"""Products in formulas of any rank that PyTorch differentiates: their rows are joined at all ranks.

PyTorch joins the axes of more than two: at rank 2 the values that go through the workspace would be
others.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

functional = torch.nn.functional


def _joined_rows(x: Any, matrix: Any) -> Any:
    """Return a product of which the rows of ``x`` are joined, also at rank 2."""
    if x.dim() != 2 or matrix.dim() != 2:
        return NotImplemented
    rows = x.reshape(x.shape[0], x.shape[1])
    return torch.mm(rows, matrix).reshape(x.shape[0], matrix.shape[1])


def _linear(x: Any, weight: Any, bias: Any = None) -> Any:
    product = _joined_rows(x, weight.t()) if weight.dim() == 2 else NotImplemented
    if product is NotImplemented:
        return product
    return product if bias is None else product + bias


# Function -> what a trace with inputs of any rank calls; NotImplemented leaves it to PyTorch.
OF_ANY_RANK: dict[Any, Callable[..., Any]] = {
    torch.matmul: _joined_rows,
    torch.Tensor.matmul: _joined_rows,
    torch.Tensor.__matmul__: _joined_rows,
    functional.linear: _linear,
}

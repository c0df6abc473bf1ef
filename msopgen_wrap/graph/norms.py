"""The p-norm whose order is an attr: one graph for every order, the infinite ones and 0 too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch


def norm_decomposition(whole: Callable[..., Any]) -> Callable[..., Any]:
    """Return a table entry that decomposes ``linalg_vector_norm`` of an order that is a symbol.

    PyTorch's own chooses among formulas by the value of the order.

    Args:
        whole: PyTorch's decomposition, for orders that are numbers.
    """

    def decomposed(
        x: Any, order: Any = 2, dim: Any = None, keepdim: bool = False, *, dtype: Any = None
    ) -> Any:
        if not isinstance(order, (torch.SymFloat, torch.SymInt)):
            return whole(x, order, dim, keepdim, dtype=dtype)
        return norm_of_any_order(x, order, dim, keepdim, x.dtype if dtype is None else dtype)

    return decomposed


def norm_of_any_order(x: Any, order: Any, dim: Any, keepdim: bool, result: Any) -> Any:
    """Return ``(sum |x|^p)^(1/p)``, or the largest or smallest size for an infinite p.

    Both reductions share one pass over x. The smallest size is the largest of the sizes to the
    power of -1, so that one reduction serves orders of both signs.
    """
    dims = [dim] if isinstance(dim, int) else list(dim or range(x.dim()))
    size = x.to(torch.promote_types(result, torch.float32)).abs()
    # 1 for the order 0, which counts what is not 0, and 0 for others
    counts = 1 - torch.sym_min(torch.sym_max(order, -order), 1.0).__ceil__()
    powers = torch.pow(size, order) - torch.where(size == 0, counts, 0.0)
    sign = torch.sym_max(torch.sym_min(order, 1.0), -1.0) + counts
    turned = torch.pow(size, sign)
    if dims:
        powers, turned = powers.sum(dims, keepdim=True), turned.amax(dims, keepdim=True)
    norm = torch.pow(powers, 1 / (order + counts))
    # of an infinite order the norm is here 1, whatever the elements are
    infinite = norm * 0.0 + 1 / (order + counts) == 0
    norm = torch.where(infinite, torch.pow(turned, 1 / sign), norm)
    norm = norm if keepdim or not dims else torch.ops.aten.squeeze.dims(norm, dims)
    return norm.to(result)

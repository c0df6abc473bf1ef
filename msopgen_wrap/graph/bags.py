"""``F.embedding_bag`` as rows by index that are summed, averaged or compared.

PyTorch's own operator has four results and no decomposition. Bags of one length, an index with two
axes, are a gather and a reduction along the second axis; bags that begin at offsets are a gather
and a scatter to the numbers of their bags.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch


# The signature is PyTorch's.
def _embedding_bag(
    input: Any,
    weight: Any,
    offsets: Any = None,
    max_norm: Any = None,
    norm_type: Any = 2.0,
    scale_grad_by_freq: Any = False,
    mode: Any = "mean",
    sparse: Any = False,
    per_sample_weights: Any = None,
    include_last_offset: Any = False,
    padding_idx: Any = None,
) -> Any:
    if input.is_floating_point() and not weight.is_floating_point():
        input, weight = weight, input  # the order of PyTorch's first versions
    known = mode == "sum" or (mode in ("mean", "max") and per_sample_weights is None)
    # a norm is written to the table, a scale by frequency is one of the gradient alone
    if not known or max_norm is not None or scale_grad_by_freq or sparse:
        return NotImplemented
    if padding_idx is not None and type(padding_idx) is not int:
        return NotImplemented
    rows = torch.nn.functional.embedding(input, weight)
    kept = None
    if padding_idx is not None:
        kept = input != (padding_idx if padding_idx >= 0 else weight.shape[0] + padding_idx)
    if input.dim() == 2 and offsets is None:
        bags: _Bags = _EvenBags()
    elif input.dim() == 1 and offsets is not None and offsets.dim() == 1:
        bags = _OffsetBags(input, offsets, bool(include_last_offset))
    else:
        return NotImplemented
    return _joined(bags, rows, kept, mode, per_sample_weights)


class _EvenBags:
    """Bags of one length: the second axis from the end of the rows."""

    def total(self, rows: Any) -> Any:
        """Return the sums over the bags."""
        return rows.sum(-2)

    def average(self, rows: Any) -> Any:
        """Return the averages of the bags."""
        return rows.sum(-2) / torch.sym_max(rows.shape[-2], 1)

    def largest(self, rows: Any) -> Any:
        """Return the largest elements of the bags."""
        return rows.amax(-2)


class _OffsetBags:
    """Bags that begin at offsets, of which the first is 0."""

    def __init__(self, index: Any, offsets: Any, has_end: bool) -> None:
        self.count = offsets.shape[0] - 1 if has_end else offsets.shape[0]
        starts = offsets.narrow(0, 0, self.count) if has_end else offsets
        places = torch.arange(index.shape[0], device=index.device)
        # an empty bag begins where the next one does: what lies there is the next one's
        self.number = (places.unsqueeze(-1) >= starts).sum(-1) - 1

    def total(self, rows: Any) -> Any:
        """Return the sums over the bags, 0 for an empty one."""
        zeros = rows.new_zeros([self.count, *rows.shape[1:]])
        return zeros.index_add(0, self.number, rows)

    def average(self, rows: Any) -> Any:
        """Return the averages of the bags, 0 for an empty one."""
        return self.total(rows) / self.total(torch.ones_like(rows[..., :1])).clamp(min=1)

    def largest(self, rows: Any) -> Any:
        """Return the largest elements of the bags, 0 for an empty one."""
        zeros = rows.new_zeros([self.count, *rows.shape[1:]])
        index = self.number.unsqueeze(-1).expand(rows.shape)
        return zeros.scatter_reduce(0, index, rows, "amax", include_self=False)


_Bags = _EvenBags | _OffsetBags


def _joined(bags: _Bags, rows: Any, kept: Any, mode: str, weights: Any) -> Any:
    """Return one row per bag; rows that are not kept count as absent."""
    if weights is not None:
        rows = rows * weights.unsqueeze(-1)
    if mode == "max":
        if kept is None:
            return bags.largest(rows)
        rows = torch.where(kept.unsqueeze(-1), rows, -math.inf)
        there = bags.total(kept.unsqueeze(-1).to(rows.dtype)) > 0
        return torch.where(there, bags.largest(rows), 0.0)
    if kept is None:
        return bags.total(rows) if mode == "sum" else bags.average(rows)
    total = bags.total(torch.where(kept.unsqueeze(-1), rows, 0.0))
    if mode == "sum":
        return total
    return total / bags.total(kept.unsqueeze(-1).to(rows.dtype)).clamp(min=1)


def bag_functions() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's functions, each with what tracing calls in its place."""
    return {torch.nn.functional.embedding_bag: _embedding_bag}

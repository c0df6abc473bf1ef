"""Sorts and what is made of them as calls of one kind: a range of the elements in order.

``opgen::ordered(x, pick, dim, descending, first, count)`` gives the elements ``first`` to ``first +
count`` of each row along ``dim`` in a stable order, and where they are; NaN counts as the largest
number. With ``pick`` "median" it gives the element in the middle of each row, or its first NaN,
with "nanmedian" that in the middle of what is no NaN.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

_aten = torch.ops.aten
_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define(
    "ordered(Tensor x, str pick, int dim, bool descending, SymInt first, SymInt count) "
    "-> (Tensor, Tensor)"
)
RANGE, MEDIAN, NANMEDIAN = "range", "median", "nanmedian"


def _ordered(x: Any, pick: str, dim: int, descending: bool, first: Any, count: Any) -> Any:
    values, places = torch.sort(x, dim=dim, descending=descending, stable=True)
    if pick == RANGE:
        if first < 0 or count < 0 or first + count > (x.shape[dim] if x.dim() else 1):
            raise ValueError(f"elements {first} to {first + count} of {x.shape[dim]} in order")
        if not x.dim():
            return values.clone(), places.clone()
        return values.narrow(dim, first, count).clone(), places.narrow(dim, first, count).clone()
    numbers = torch.isnan(values).logical_not().sum(dim, keepdim=True)
    middle = (numbers - 1).clamp(min=0) // 2
    if pick == MEDIAN:
        length = x.shape[dim] if x.dim() else 1
        middle = torch.where(numbers < length, numbers, middle)
    return values.gather(dim, middle), places.gather(dim, middle)


def _shape(x: Any, dim: int, count: Any) -> list[Any]:
    sizes = list(x.shape)
    if sizes:
        sizes[dim] = count
    return sizes


def _ordered_meta(x: Any, pick: str, dim: int, descending: bool, first: Any, count: Any) -> Any:
    sizes = _shape(x, dim, count)
    return x.new_empty(sizes), x.new_empty(sizes, dtype=torch.int64)


_LIBRARY.impl("ordered", _ordered, "CPU")
_LIBRARY.impl("ordered", _ordered_meta, "Meta")


# ---- decompositions ------------------------------------------------------------------------------


def _call(x: Any, pick: str, dim: int, descending: bool, first: Any, count: Any) -> Any:
    return torch.ops.opgen.ordered(x, pick, dim, descending, first, count)


def _length(x: Any, dim: int) -> Any:
    return x.shape[dim] if x.dim() else 1


def _sort(x: Any, dim: int = -1, descending: bool = False) -> Any:
    return _call(x, RANGE, dim, descending, 0, _length(x, dim))


def _sort_stable(x: Any, *, stable: Any = None, dim: int = -1, descending: bool = False) -> Any:
    return _sort(x, dim, descending)


def _topk(x: Any, k: Any, dim: int = -1, largest: bool = True, sorted: bool = True) -> Any:
    return _call(x, RANGE, dim, largest, 0, k)


def _without_axis(results: Any, dim: int, keepdim: bool) -> Any:
    values, places = results
    if keepdim or not values.dim():
        return values, places
    return _aten.squeeze.dim(values, dim), _aten.squeeze.dim(places, dim)


def _kthvalue(x: Any, k: Any, dim: int = -1, keepdim: bool = False) -> Any:
    return _without_axis(_call(x, RANGE, dim, False, k - 1, 1), dim, keepdim)


def _middle(pick: str) -> Callable[..., Any]:
    def decomposition(x: Any, dim: int, keepdim: bool = False) -> Any:
        return _without_axis(_call(x, pick, dim, False, 0, 1), dim, keepdim)

    return decomposition


def _middle_of_all(pick: str) -> Callable[..., Any]:
    def decomposition(x: Any) -> Any:
        flat = x.reshape(-1)
        return _call(flat, pick, 0, False, 0, 1)[0].reshape([])

    return decomposition


def _mode(x: Any, dim: int = -1, keepdim: bool = False) -> Any:
    """Return the value that is most often in a row, the smallest of several, and a place of it.

    Every element is compared with all of its row: no sort. NaN equals none, itself included, so a
    row with NaN has the mode of its numbers; PyTorch's depends on where the NaN is.
    """
    if not x.dim():
        return NotImplemented
    rows = x.movedim(dim, -1)
    count = (rows.unsqueeze(-1) == rows.unsqueeze(-2)).to(torch.float32).sum(-1)
    often = count == count.amax(-1, keepdim=True)
    nothing = _greatest(x.dtype)
    value = torch.where(often, rows, nothing).amin(-1, keepdim=True)
    place = (often & (rows == value)).to(torch.float32).argmax(-1, keepdim=True)
    value, place = value.movedim(-1, dim), place.movedim(-1, dim)
    return _without_axis((value, place), dim, keepdim)


def _greatest(dtype: Any) -> Any:
    return math.inf if dtype.is_floating_point else torch.iinfo(dtype).max


def order_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries of sorts, and of what is an element of a sorted row."""
    return {
        _aten.sort.default: _sort,
        _aten.sort.stable: _sort_stable,
        _aten.topk.default: _topk,
        _aten.kthvalue.default: _kthvalue,
        _aten.mode.default: _mode,
        _aten.median.dim: _middle(MEDIAN),
        _aten.nanmedian.dim: _middle(NANMEDIAN),
        _aten.median.default: _middle_of_all(MEDIAN),
        _aten.nanmedian.default: _middle_of_all(NANMEDIAN),
    }

"""Places in sorted rows, histograms, classes, distances, covariances: comparisons and sums.

A place in a sorted row is how many of its elements come before; a bin of a histogram counts the
elements that are in it; a distance is the norm of a difference. Each is a reduction of pointwise
work on tensors that broadcast, in one pass that keeps no tensor of all pairs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

_aten = torch.ops.aten


def _searchsorted(
    sorted_: Any,
    values: Any,
    *,
    out_int32: bool = False,
    right: bool = False,
    side: str | None = None,
    sorter: Any = None,
) -> Any:
    """Count the elements that come before a value; NaN comes behind all others.

    All elements come before a value that is NaN, as in PyTorch.
    """
    if sorter is not None:
        sorted_ = torch.gather(sorted_, -1, sorter)
    right = right or side == "right"
    # one row for all values, or a row for each row of them
    rows = sorted_.unsqueeze(-2) if sorted_.dim() > 1 else sorted_
    each = values.unsqueeze(-1)
    before = rows <= each if right else rows < each
    count = before.to(torch.int32).sum(-1, dtype=torch.int32)
    if values.is_floating_point():
        count = torch.where(torch.isnan(values), sorted_.shape[-1], count)
    return count if out_int32 else count.to(torch.int64)


def _bucketize(
    values: Any, boundaries: Any, *, out_int32: bool = False, right: bool = False
) -> Any:
    return _searchsorted(boundaries, values, out_int32=out_int32, right=right)


def _histc(x: Any, bins: int = 100, min: Any = 0, max: Any = 0) -> Any:
    if type(bins) is not int or not all(type(n) in (int, float) for n in (min, max)):
        return NotImplemented
    flat = x.reshape(-1)
    if min == max:
        return NotImplemented  # the limits are those of the data
    at = torch.floor((flat - min) * bins / (max - min))
    at = torch.where(flat == max, bins - 1, at)
    inside = (flat >= min) & (flat <= max)
    numbers = torch.arange(bins, dtype=at.dtype, device=x.device).unsqueeze(-1)
    hits = (at == numbers) & inside
    return hits.to(torch.int32).sum(-1, dtype=torch.int32).to(x.dtype)


def _histogram(
    input: Any, bins: Any, *, range: Any = None, weight: Any = None, density: bool = False
) -> Any:
    """Sum the weights of the elements between two edges; the last bin holds its upper edge, too."""
    if not isinstance(bins, torch.Tensor) or bins.dim() != 1 or range is not None:
        return NotImplemented
    flat = input.reshape(-1)
    low, high = bins[:-1].unsqueeze(-1), bins[1:].unsqueeze(-1)
    inside = ((flat >= low) & (flat < high)) | ((flat == bins[-1:]) & (high == bins[-1:]))
    weights = torch.ones_like(flat) if weight is None else weight.reshape(-1)
    found = torch.where(inside, weights, 0).sum(-1)
    if density:
        found = found / found.sum() / (bins[1:] - bins[:-1])
    return found, bins.clone()


def _one_hot(tensor: Any, num_classes: Any = -1) -> Any:
    """Compare with the numbers of the classes, of which a size or an attr may be the count.

    PyTorch's own takes the count as a plain number, and reads the tensor in a derivative.
    """
    if tensor.dtype != torch.int64 or (isinstance(num_classes, int) and num_classes < 1):
        return NotImplemented
    classes = torch.arange(num_classes, device=tensor.device)
    return (tensor.unsqueeze(-1) == classes).to(torch.int64)


# ---- distances -----------------------------------------------------------------------------------


def distances(x: Any, y: Any, p: Any, compute_mode: Any = None) -> Any:
    """Return the distances of all rows of ``x`` from all rows of ``y``, as ``torch.cdist``."""
    off = x.unsqueeze(-2) - y.unsqueeze(-3)
    if type(p) in (int, float) and p == 0:
        # NaN does not count as one, but makes the distance NaN
        return torch.clamp(torch.ceil(torch.abs(off)), max=1).sum(-1)
    return torch.linalg.vector_norm(off, p, dim=-1)


def _pdist(x: Any, p: Any = 2.0) -> Any:
    """Take the distances of rows i < j out of those of all pairs, in the order of i, then j."""
    n = x.shape[0]
    count = n * (n - 1) // 2
    place = torch.arange(count, dtype=torch.int64, device=x.device)
    # row i begins at i (2n - 1 - i) / 2, which is solved for i
    twice = 2 * n - 1
    root = torch.sqrt((twice * twice - 8 * place).to(torch.float32))
    row = torch.floor((twice - root) * 0.5).to(torch.int32).to(torch.int64)
    row = torch.clamp(row, 0, n)

    def begin(i: Any) -> Any:
        return torch.div(i * (twice - i), 2, rounding_mode="floor")

    # a rounded root may be off by one row
    row = torch.where(begin(row) > place, row - 1, row)
    row = torch.where(begin(row + 1) <= place, row + 1, row)
    row = torch.clamp(row, 0, n)
    column = torch.clamp(place - begin(row) + row + 1, 0, n)
    index = torch.clamp(row * n + column, 0, n * n)
    return torch.index_select(distances(x, x, p).reshape(n * n), 0, index)


# ---- covariances ---------------------------------------------------------------------------------


def _cov(input: Any, *, correction: Any = 1, fweights: Any = None, aweights: Any = None) -> Any:
    """Return what PyTorch's own gives, which looks at the data first."""
    if input.dim() > 2:
        return NotImplemented
    x = input if input.is_floating_point() else input.to(torch.float32)
    if fweights is not None or aweights is not None:
        return _weighted_cov(x, correction, fweights, aweights)
    freedom = torch.sym_max(x.shape[-1] if x.dim() else 1, correction) - correction
    if x.dim() < 2:
        x = x.reshape(1, -1) if not x.dim() else x.unsqueeze(0)
        centred = x - x.mean(1, keepdim=True)
        return ((centred * centred).sum(1) / freedom).squeeze(0)
    centred = x - x.mean(1, keepdim=True)
    return torch.matmul(centred, centred.t()) / freedom


def _weighted_cov(x: Any, correction: Any, counts: Any, shares: Any) -> Any:
    """Return a covariance whose observations have a count, a weight or both."""
    weights = counts if shares is None else shares if counts is None else counts * shares
    total = weights.sum()
    rows = x.reshape(1, -1) if x.dim() < 2 else x
    centred = rows - (rows * weights).sum(1, keepdim=True) / total
    lost = correction if shares is None else correction * (weights * shares).sum() / total
    freedom = torch.clamp(total - lost, min=0)
    if x.dim() < 2:
        return ((centred * centred * weights).sum(1) / freedom).squeeze(0)
    return torch.matmul(centred, (centred * weights).t()) / freedom


def _corrcoef(input: Any) -> Any:
    if input.dim() > 2:
        return NotImplemented
    if input.dim() < 2:
        covariance = _cov(input)
        return covariance / covariance
    # rows of length 1 before the product: no pass reads the diagonal of its own result
    x = input if input.is_floating_point() else input.to(torch.float32)
    centred = x - x.mean(1, keepdim=True)
    unit = centred / torch.sqrt((centred * centred).sum(1, keepdim=True))
    return torch.clamp(torch.matmul(unit, unit.t()), -1, 1)


def _bilinear(input1: Any, input2: Any, weight: Any, bias: Any = None) -> Any:
    product = torch.tensordot(input1, weight, dims=([-1], [1]))
    result = (product * input2.unsqueeze(-2)).sum(-1)
    return result if bias is None else result + bias


def _nonzero_static(x: Any, *, size: Any, fill_value: int = -1) -> Any:
    """Return where the first elements are that are not zero: how many before each are not."""
    if not x.dim() or type(size) is not int or type(fill_value) is not int:
        return NotImplemented
    flat = (x != 0).reshape(-1).to(torch.int32)
    found = torch.cumsum(flat, 0, dtype=torch.int32)
    number = torch.arange(size, dtype=torch.int32, device=x.device)
    # as many elements lie before number n as have at most n found up to them
    before = (found <= number.unsqueeze(-1)).to(torch.int32).sum(-1, dtype=torch.int32)
    there = before < flat.shape[0]
    columns: list[Any] = []
    rest = before
    for length in reversed(x.shape):
        above = torch.div(rest, torch.sym_max(length, 1), rounding_mode="floor")
        columns.insert(0, torch.where(there, rest - above * length, fill_value))
        rest = above
    return torch.stack(columns, -1).to(torch.int64)


def _masked_scatter(x: Any, mask: Any, source: Any) -> Any:
    """Take the elements of ``source`` in their order: an element's place is a count of the mask."""
    x, mask = torch.broadcast_tensors(x, mask)
    flat = mask.reshape(-1)
    place = torch.cumsum(flat.to(torch.int32), 0, dtype=torch.int32) - 1
    taken = torch.index_select(source.reshape(-1), 0, torch.clamp(place, min=0))
    return torch.where(mask, taken.reshape(mask.shape), x)


def counting_functions() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's functions, each with what tracing calls in its place."""
    return {
        torch.histogram: _histogram,
        torch.Tensor.histogram: _histogram,
        torch.cov: _cov,
        torch.Tensor.cov: _cov,
        torch.corrcoef: _corrcoef,
        torch.Tensor.corrcoef: _corrcoef,
        torch.nn.functional.bilinear: _bilinear,
        torch.nn.functional.one_hot: _one_hot,
    }


def counting_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries."""
    return {
        _aten.bucketize.Tensor: _bucketize,
        _aten.searchsorted.Tensor: _searchsorted,
        _aten.histc.default: _histc,
        _aten._cdist_forward.default: distances,
        _aten._pdist_forward.default: _pdist,
        _aten.masked_scatter.default: _masked_scatter,
        _aten.nonzero_static.default: _nonzero_static,
    }

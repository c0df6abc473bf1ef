"""Quantiles: two neighbours of each sorted row, and what lies between them.

The place of a quantile in its row depends on the data where a row has NaN. So the neighbours are
sums of one element of the sorted row, in one pass for all quantiles, and no index is read.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.placement import lined_up
from msopgen_wrap.torch_import import torch

# Interpolations -> the share of the upper neighbour, None where the place has it.
_SHARES = {"linear": None, "midpoint": 0.5}
# Interpolations that choose one neighbour -> how they round the place.
_ROUNDED: dict[str, Callable[[Any], Any]] = {
    "lower": torch.floor,
    "higher": torch.ceil,
    "nearest": torch.round,
}


def _rows(x: Any, dim: Any) -> tuple[Any, int]:
    """Return ``x`` with the axis of the quantiles, and that axis."""
    if dim is None:
        return x.reshape(-1), 0
    return (x, dim) if x.dim() else (x.unsqueeze(0), 0)


def _places(rows: Any, axis: int, q: Any, ignores_nan: bool) -> Any:
    """Return where in a sorted row the quantiles lie; the axis of the rows is kept as one of 1."""
    if ignores_nan:
        numbers = torch.isnan(rows).logical_not().to(rows.dtype).sum(axis, keepdim=True)
        return torch.clamp((numbers - 1) * q, min=0)
    # NaN is sorted to the end: it is the quantile of its row
    last = rows.shape[axis] - 1
    return torch.where(torch.isnan(rows.narrow(axis, last, 1)), last, q * last).to(rows.dtype)


def _quantile(ignores_nan: bool) -> Callable[..., Any]:
    def quantile(
        input: Any, q: Any, dim: Any = None, keepdim: bool = False, *, interpolation: str = "linear"
    ) -> Any:
        several = isinstance(q, torch.Tensor) and q.dim() == 1
        plain = type(q) in (int, float) and 0 <= q <= 1
        symbolic = isinstance(q, torch.SymFloat)
        if not (several or plain or symbolic or (isinstance(q, torch.Tensor) and not q.dim())):
            return NotImplemented  # PyTorch says what is wrong
        if interpolation not in {*_SHARES, *_ROUNDED} or not input.is_floating_point():
            return NotImplemented
        rows, axis = _rows(input, dim)
        rows = torch.sort(rows, dim=axis, stable=True)[0]
        if several:
            rows = rows.unsqueeze(0)
            axis += axis >= 0
            q = q.reshape([-1, *[1] * (rows.dim() - 1)])
        place = _places(rows, axis, q, ignores_nan)
        count = torch.arange(rows.shape[axis], dtype=rows.dtype, device=rows.device)
        number = lined_up(rows, axis % rows.dim(), count)

        def at(position: Any) -> Any:
            return torch.where(number == position, rows, 0).sum(axis)

        if interpolation in _ROUNDED:
            found = at(_ROUNDED[interpolation](place))
        else:
            below = torch.floor(place)
            share = _SHARES[interpolation]
            share = (place - below).squeeze(axis) if share is None else share
            found = torch.lerp(at(below), at(torch.ceil(place)), share)
        if symbolic:  # PyTorch refuses others
            given = torch.full((), q, dtype=found.dtype, device=found.device)
            found = torch.where((given >= 0) & (given <= 1), found, torch.nan)
        return _kept(found, input, dim, several) if keepdim else found

    return quantile


def _kept(found: Any, x: Any, dim: Any, several: bool) -> Any:
    """Return results with the axis of the quantiles as one element."""
    if dim is not None:
        return found.unsqueeze(dim % max(1, x.dim()) + several) if x.dim() else found
    for _ in range(x.dim()):
        found = found.unsqueeze(-1)
    return found


def quantile_functions() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's functions, each with what tracing calls in its place."""
    plain, of_numbers = _quantile(False), _quantile(True)
    return {
        torch.quantile: plain,
        torch.Tensor.quantile: plain,
        torch.nanquantile: of_numbers,
        torch.Tensor.nanquantile: of_numbers,
    }

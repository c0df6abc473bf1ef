"""The worst element of an output and what lies around it, for people who look for the pattern."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

from msopgen_wrap.run.accuracy_rules import THRESHOLDS
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from torch import Tensor

# Finding it reads the output once more; the largest cases are left out.
MOST_ELEMENTS = 1 << 18
_ROWS, _COLUMNS = 1, 3  # on each side


def worst_index(actual: Tensor, golden: Tensor) -> tuple[tuple[int, ...], int]:
    """Return the index of the worst element, and how many are over the bound of one element.

    Args:
        actual: an output with at least one element.
        golden: of the same shape, floats in float64.
    """
    error = _errors(actual, golden)
    bound = THRESHOLDS[_name(actual)].maximum if actual.dtype.is_floating_point else 0.0
    flat = int(error.reshape(-1).argmax())
    index = tuple(int(i) for i in torch.unravel_index(torch.tensor(flat), error.shape))
    return index, int((error > bound).sum())


def neighbourhood(name: str, actual: Tensor, golden: Tensor) -> dict[str, Any]:
    """Return the worst element of an output and those around it on the last two axes, as text.

    Returns:
        ``output``, ``index``, ``error``, ``differing`` and ``total`` (elements), and ``rows``: each
        has the index of its row and ``cells`` with ``index`` (of the column), ``got``,
        ``expected``, ``error`` (relative; of integers the difference), ``over`` (the bound) and
        ``worst``.
    """
    index, differing = worst_index(actual, golden)
    error = _errors(actual, golden)
    bound = THRESHOLDS[_name(actual)].maximum if actual.dtype.is_floating_point else 0.0
    want = golden.to(actual.dtype)
    columns = _around(index, actual.shape, -1, _COLUMNS)
    rows = []
    for row in _around(index, actual.shape, -2, _ROWS):
        cells = []
        for column in columns:
            place = _place(index, row, column)
            cells.append(
                {
                    "index": column,
                    "got": _text(actual[place].item()),
                    "expected": _text(want[place].item()),
                    "error": f"{float(error[place]):.2g}",
                    "over": bool(error[place] > bound),
                    "worst": place == index,
                }
            )
        rows.append({"index": row, "cells": cells})
    return {
        "output": name,
        "index": list(index),
        "error": f"{float(error[index]):.2g}",
        "differing": differing,
        "total": actual.numel(),
        "rows": rows,
    }


def _name(tensor: Tensor) -> str:
    return str(tensor.dtype).removeprefix("torch.")


def _errors(actual: Tensor, golden: Tensor) -> Tensor:
    """Return relative errors of floats, differences of integers; infinite for a lost inf or NaN."""
    got, want = actual.double(), golden.to(actual.dtype).double()
    error = (got - want).abs()
    if actual.dtype.is_floating_point:
        error = error / want.abs().clamp(min=THRESHOLDS[_name(actual)].small)
        error = torch.where((got == want) | (got.isnan() & want.isnan()), 0.0, error)
        error = error.nan_to_num(nan=float("inf"))
    return error


def _around(index: tuple[int, ...], shape: Any, axis: int, reach: int) -> list[int]:
    if len(index) < -axis:
        return [0]
    middle = index[axis]
    return list(range(max(0, middle - reach), min(int(shape[axis]), middle + reach + 1)))


def _place(index: tuple[int, ...], row: int, column: int) -> tuple[int, ...]:
    last = (row, column)[2 - min(2, len(index)) :]
    return tuple(itertools.chain(index[: len(index) - len(last)], last))


def _text(value: Any) -> str:
    return f"{value:.6g}" if isinstance(value, float) else str(value)

"""The formula of a p-norm that serves every order: PyTorch's results for orders of every kind."""

from __future__ import annotations

import math

import pytest

from msopgen_wrap.graph.norms import norm_of_any_order
from msopgen_wrap.torch_import import torch

ORDERS = [0.0, 0.5, 1.0, 1.5, 2.0, 3.0, -0.5, -1.0, -2.0, math.inf, -math.inf]
VALUES = {
    "plain": [0.5, -3.0, 2.0],
    "with zero": [0.0, -3.0, 2.0],
    "zeros": [0.0, -0.0],
    "infinite": [math.inf, 1.0, -2.0],
    "nan": [math.nan, 1.0],
}


@pytest.mark.parametrize("values", VALUES.values(), ids=VALUES)
def test_a_formula_for_all_orders(values: list[float]) -> None:
    """Nothing in the formula depends on the value of the order."""
    x = torch.tensor(values, dtype=torch.float64)
    for order in ORDERS:
        found = norm_of_any_order(x, order, None, False, x.dtype)
        torch.testing.assert_close(found, torch.linalg.vector_norm(x, order), equal_nan=True)


def test_axes_are_kept_or_not() -> None:
    """An axis of several is reduced, and stays as one of size 1 where that is asked."""
    x = torch.arange(6.0).reshape(2, 3)
    for keepdim in (False, True):
        found = norm_of_any_order(x, 3.0, [1], keepdim, x.dtype)
        torch.testing.assert_close(found, torch.linalg.vector_norm(x, 3.0, 1, keepdim))

"""Orthogonal polynomials of NaN have one reference, whatever PyTorch's memory held."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.run.golden import KeepDouble

NAMES = [n for n in dir(torch.special) if "_polynomial_" in n]


@pytest.mark.parametrize("name", NAMES)
def test_a_polynomial_of_nan_is_nan_from_degree_2_on(name: str) -> None:
    nan, inf = torch.nan, torch.inf
    call = getattr(torch.special, name)
    degree = torch.tensor([-1.0, 0.9, 1.0, 2.0, 2.9, 7.0, 300.0, inf, nan, 1e30])
    with KeepDouble():
        found = call(torch.full((10,), nan, dtype=torch.float64), degree.double())
        of_numbers = [call(torch.tensor([nan, 0.5]), n) for n in (1, 3)]
        of_a_number = call(nan, degree.double())
    wanted = torch.tensor([0, 1, nan, nan, nan, nan, nan, 0, 0, 0], dtype=torch.float64)
    torch.testing.assert_close(found, wanted, equal_nan=True)
    torch.testing.assert_close(of_a_number, wanted, equal_nan=True)
    assert [torch.isnan(n).tolist() for n in of_numbers] == [[True, False]] * 2

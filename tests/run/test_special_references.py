"""The golden reference where PyTorch gives no result of use."""

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


def test_the_trigamma_function_is_infinite_at_its_poles() -> None:
    inf, nan = torch.inf, torch.nan
    x = torch.tensor([0.0, -0.0, -1.0, -120.0, -1e20, 1.0, -0.5, -inf, nan], dtype=torch.float64)
    with KeepDouble():
        found = torch.polygamma(1, x)
        second = torch.polygamma(2, x)
    assert found.tolist()[:5] == [inf] * 5
    torch.testing.assert_close(found[5:], torch.polygamma(1, x[5:]), equal_nan=True)
    torch.testing.assert_close(second, torch.polygamma(2, x), equal_nan=True)


@pytest.mark.parametrize("right", [False, True])
def test_nan_comes_behind_the_numbers_of_a_sequence(right: bool) -> None:
    inf, nan = torch.inf, torch.nan
    # so many NaN that PyTorch's binary search meets one at its first step
    sequence = torch.tensor([-1.0, 0.0, 2.0, 2.0, inf, *[nan] * 20], dtype=torch.float64)
    values = torch.tensor([-2.0, 0.0, 2.0, 3.0, inf, nan], dtype=torch.float64)
    with KeepDouble():
        places = torch.searchsorted(sequence, values, right=right)
        narrow = torch.bucketize(values, sequence, out_int32=True, right=right)
        rows = torch.searchsorted(sequence.repeat(2, 1), values.repeat(2, 1), right=right)
    wanted = [0, 2, 4, 4, 5, 25] if right else [0, 1, 2, 4, 4, 25]
    assert places.tolist() == wanted
    assert narrow.dtype == torch.int32 and narrow.tolist() == wanted
    assert rows.tolist() == [wanted] * 2

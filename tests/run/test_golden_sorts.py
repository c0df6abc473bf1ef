"""The golden reference of a sort gives equal elements in their order, as kernels do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from msopgen_wrap.run.golden import KeepDouble
from msopgen_wrap.torch_import import torch

# Rows that PyTorch's own sort, when not asked to be stable, is free to mix up.
ROWS = torch.arange(3 * 8000).reshape(3, 8000).remainder(7).double()

SORTS: dict[str, tuple[Callable[[Any], Any], int, bool]] = {
    "sort": (lambda x: torch.sort(x)[1], -1, False),
    "sort of columns": (lambda x: torch.sort(x, 0)[1], 0, False),
    "largest first": (lambda x: torch.sort(x, -1, True)[1], -1, True),
    "argsort": (lambda x: torch.argsort(x, dim=1, descending=True), 1, True),
    "stable=False": (lambda x: torch.sort(x, stable=False, dim=0)[1], 0, False),
}


@pytest.mark.parametrize("name", SORTS)
def test_the_golden_reference_of_a_sort_is_stable(name: str) -> None:
    sort, dim, descending = SORTS[name]
    with KeepDouble():
        places = sort(ROWS)
    stable = torch.sort(ROWS, dim=dim, descending=descending, stable=True)[1]
    assert torch.equal(places, stable)


@pytest.mark.parametrize("largest", [False, True])
@pytest.mark.parametrize("dim", [0, -1])
def test_the_golden_topk_is_the_beginning_of_a_stable_sort(dim: int, largest: bool) -> None:
    rows = ROWS if dim else ROWS.T.contiguous()
    with KeepDouble() as origins:
        values, places = torch.topk(rows, 2000, dim, largest)
        named = torch.topk(rows, k=2000, dim=dim, largest=largest)[1]
    ordered = torch.sort(rows, dim=dim, descending=largest, stable=True)
    assert torch.equal(values, ordered[0].narrow(dim, 0, 2000))
    assert torch.equal(places, ordered[1].narrow(dim, 0, 2000))
    assert torch.equal(named, places)
    assert origins.places(places) is not None


@pytest.mark.parametrize("keepdim", [False, True])
def test_the_golden_mode_of_a_row_with_nan_is_that_of_its_numbers(keepdim: bool) -> None:
    nan = torch.nan
    rows = torch.tensor([[nan, 2.0, 1.0, 1.0], [nan] * 4, [3.0, 3.0, 1.0, 2.0], [nan, 5, 4, 6]])
    with KeepDouble() as origins:
        values, places = torch.mode(rows.double(), -1, keepdim)
    wanted = torch.tensor([1.0, nan, 3.0, 4.0], dtype=torch.float64)
    torch.testing.assert_close(values.reshape(-1), wanted, equal_nan=True)
    assert values.dim() == 1 + keepdim
    assert origins.places(places) is not None

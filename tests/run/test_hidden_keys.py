"""The golden reference of an attention has no part of the values that a causal mask hides."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from msopgen_wrap.run.golden import KeepDouble
from msopgen_wrap.run.reference_modes import KernelSteps
from msopgen_wrap.torch_import import torch

functional = torch.nn.functional


def _spelled(q: Any, k: Any, v: Any) -> Any:
    ahead = torch.arange(k.shape[-2]) > torch.arange(q.shape[-2])[:, None]
    scores = (q @ k.mT / q.shape[-1] ** 0.5).masked_fill(ahead, -torch.inf)
    return torch.softmax(scores, -1) @ v


def _added(q: Any, k: Any, v: Any) -> Any:
    shape = (q.shape[-2], k.shape[-2])
    bias = torch.where(torch.ones(shape, dtype=torch.bool).tril(), 0.0, -torch.inf)
    return torch.softmax(q @ k.mT / q.shape[-1] ** 0.5 + bias, -1) @ v


FORMULAS: dict[str, Callable[..., Any]] = {
    "is_causal": lambda q, k, v: functional.scaled_dot_product_attention(q, k, v, is_causal=True),
    "masked_fill": _spelled,
    "added": _added,
}


@pytest.mark.parametrize("axes", [(2,), (1, 2)], ids=["3 axes", "4 axes"])
@pytest.mark.parametrize("name", FORMULAS)
def test_hidden_keys_have_no_part(name: str, axes: tuple[int, ...]) -> None:
    torch.manual_seed(0)
    q, k, v = (torch.randn(*axes, n, 8, dtype=torch.float64) for n in (3, 5, 5))
    clean = _spelled(q, k, v)
    v[..., 1, 2], v[..., 4, 5], v[..., 0, 7] = torch.inf, torch.nan, -torch.inf
    k[..., 2, 0] = torch.nan
    with torch.no_grad(), KeepDouble():
        golden = FORMULAS[name](q, k, v)
    with torch.no_grad(), KernelSteps():
        steps = FORMULAS[name](q.float(), k.float(), v.float())
    row = golden[..., 0, :]
    torch.testing.assert_close(row[..., :7], clean[..., 0, :7])  # the first query sees one key
    assert torch.isneginf(golden[..., :2, 7]).all()
    assert torch.isposinf(golden[..., 1, 2]).all()  # a seen value counts
    assert golden[..., 2, :].isnan().all()  # as the key of the last query
    # Where a hidden value would have a part, the steps of a kernel say that nothing is compared.
    assert steps[..., 0, [2, 5]].isnan().all()


def test_a_row_of_scores_with_nan_is_nan() -> None:
    """PyTorch's fused attention gives 0 for some of these rows."""
    x = torch.randn(1, 1, 4, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    x[0, 0, 1, 2] = torch.nan
    with torch.no_grad(), KeepDouble():
        golden = functional.scaled_dot_product_attention(x, x, x)
    assert golden.isnan().all()


def test_a_mask_of_an_input_hides_nothing() -> None:
    scores, v = torch.randn(2, 3, dtype=torch.float64), torch.randn(3, 4, dtype=torch.float64)
    v[2, 0] = torch.inf
    with KeepDouble():
        golden = torch.softmax(scores.masked_fill(scores < torch.inf, -torch.inf), -1) @ v
        seen = torch.softmax(torch.where(scores > scores[:, 2:], scores, -torch.inf), -1) @ v
    assert golden.isnan().all()
    assert seen[:, 0].isnan().all()

"""What replaces functions of PyTorch is the same, and why others cannot be traced."""

from __future__ import annotations

import pytest
import torch
import torch.nn.functional as F
from harness import make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.composites import Composites
from msopgen_wrap.spec.model import ShapeLike

CALLS = {
    "pad after": lambda x: F.pad(x[:, 0], (0, 3), "circular"),
    "pad two axes": lambda x: F.pad(x, (1, 2, 3, 0), mode="circular"),
    "pad with zeros": lambda x: F.pad(x, (1, 2)),
    "loss": lambda x: F.gaussian_nll_loss(x, x * 2, x.square()),
    "loss with a number": lambda x: F.gaussian_nll_loss(x, x * 2, 0.5, True, reduction="sum"),
    "loss with a variance per row": lambda x: F.gaussian_nll_loss(
        x, x * 2, x[..., 0].abs(), eps=0.1, reduction="none"
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_replacement_is_the_same(name: str) -> None:
    x = torch.randn(2, 3, 4, 5, generator=torch.Generator().manual_seed(1))
    with Composites():
        replaced = CALLS[name](x)
    torch.testing.assert_close(replaced, CALLS[name](x))


def test_a_check_of_values_does_not_keep_a_loss_from_a_kernel() -> None:
    compute = "F.gaussian_nll_loss(x, torch.relu(x), y, reduction='none')"
    plan_op(make_spec(compute, "x y", shapes={"z": ShapeLike("x"), "y": ShapeLike("x")}))


@pytest.mark.parametrize(
    ("compute", "text"),
    [
        ("F.one_hot(x.to(torch.int64)).to(torch.float32)", "values of a tensor"),
        ("torch.linalg.pinv(x)", "takes no sizes that are symbols"),
        ("torch.geqrf(x)[0]", "does not know the shapes"),
    ],
)
def test_a_failure_of_tracing_says_what_is_missing(compute: str, text: str) -> None:
    with pytest.raises(OpgenError) as raised:
        plan_op(make_spec(compute))
    assert text in raised.value.diagnostics[0].what

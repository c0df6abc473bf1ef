"""Outputs in place that are made of other elements than those they overwrite are refused."""

from __future__ import annotations

from dataclasses import replace

import pytest
from harness import make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.model import ShapeLike

MOVED = (
    "x.flip(0)",
    "torch.roll(x, 1, 1)",
    "x + x[:, :1]",
    "torch.softmax(x, -1) * x[:1]",
    "torch.cat([x[1:], x[:1]], 0)",
)
IN_ORDER = (
    "x * 2 + x.abs()",
    "torch.softmax(x, 0)",
    "(x.reshape(-1) * 3).reshape(x.shape)",
    "x - x.mean(0, keepdim=True) - x.mean(1, keepdim=True)",
)


def planned(compute: str) -> str:
    """Return the code of the refusal, or the family."""
    spec = make_spec(
        f"x = {compute}", outputs="x", inplace={"x": "x"}, shapes={"x": ShapeLike("x")}
    )
    x = replace(spec.inputs[0], min_rank=2, max_rank=2)
    try:
        return plan_op(replace(spec, inputs=(x,))).family.name
    except OpgenError as error:
        return error.diagnostics[0].code


@pytest.mark.parametrize("compute", MOVED)
def test_moved_elements_are_refused(compute):
    assert planned(compute) == "OPG339"


@pytest.mark.parametrize("compute", IN_ORDER)
def test_elements_at_their_place_are_not(compute):
    assert not planned(compute).startswith("OPG")

"""Decompositions of our own: what they are there for."""

from __future__ import annotations

import pytest
from harness import make_spec

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.model import ShapeLike

UNLIKE = {
    "a row value": "torch.lerp(x * 2, x.sum(-1, keepdim=True), 0.25)",
    "a weight per row": "torch.lerp(x, x * 2, torch.sigmoid(x.amax(-1, keepdim=True)))",
    "a number": "torch.lerp(x.sum(), x * x, 0.75)",
}


@pytest.mark.parametrize("name", UNLIKE)
def test_lerp_of_unlike_shapes_is_planned(name):
    plan_op(make_spec(UNLIKE[name], shapes={"z": ShapeLike("x")}))

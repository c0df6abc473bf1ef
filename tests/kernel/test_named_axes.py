"""Reductions along an axis that an attr names, of operands that lack some axes of the others."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.spec.loader import parse_spec

SPEC = """
op: NamedAxis{name}
inputs:
  x: {{dtype: float32, rank: 3}}
  y: {{dtype: float32, shape: "[x[1], 1]"}}
outputs: {{z: {{dtype: float32, shape: "reduce(x, dim, keepdim)"}}}}
attrs: {{dim: -1, keepdim: false}}
backward: none
compute: |
  z = ({value}).var(dim, keepdim=keepdim)
"""
# The numbers lie along the second axis, which the sample's value of the attr does not reduce.
VALUES = {
    "Operand": "x + y",
    "Counted": "x * y + torch.arange(x.shape[-2]).unsqueeze(-1) * 0.01",
    "Rows": "x / (y * y + 1)",
}


@pytest.mark.parametrize(
    "name", ["Operand", *(pytest.param(n, marks=pytest.mark.slow) for n in ("Counted", "Rows"))]
)
def test_an_axis_of_an_operand_may_be_the_one_that_is_reduced(name: str, tmp_path: Path) -> None:
    spec = parse_spec(SPEC.format(name=name, value=VALUES[name])).spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    generator = torch.Generator().manual_seed(0)
    for shape in ((2, 31, 70), (3, 5, 1), (1, 300, 20)):
        x = torch.rand(shape, generator=generator)
        y = torch.arange(shape[1], dtype=torch.float32)[:, None] % 7
        for dim in range(-3, 3):
            attrs = {"dim": dim, "keepdim": dim % 2 == 0}
            if shape[dim] == 1:
                continue  # the variance of one element is NaN
            outputs, golden, result = op.run({"x": x, "y": y}, attrs, mode="check", block_dim=3)
            check(outputs["z"], golden["z"])
            assert result.findings == []

"""Operands that lack an axis of the rows they are joined with: read by stride, not expanded."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from harness import BuiltOp, check

from msopgen_wrap.families import plan_op
from msopgen_wrap.families.row.kernel import render_kernel
from msopgen_wrap.families.row.tiling import render_tiling
from msopgen_wrap.spec.loader import load_specs
from msopgen_wrap.spec.model import OpSpec

SPEC = """op: SpreadOperands
inputs:
  x: {{dtype: [float16, float32], rank: [3, 5]}}
  s: {{dtype: x, shape: "[x[1]]"}}
outputs: {{y: like x}}
attrs: {{groups: {{type: int, default: 1, min: 1}}}}
compute: |
  n = F.group_norm(x, groups, s, None, 1e-5)
  {last}
cases:
  - {{x: [2, 4, 3], s: [4], groups: 2}}
"""


def spec_of(tmp_path: Path, last: str = "y = n") -> OpSpec:
    path = tmp_path / "spread_operands.yaml"
    path.write_text(SPEC.format(last=last))
    return load_specs((path,))[0]


def test_what_lacks_an_axis_is_joined_by_stride(tmp_path: Path) -> None:
    plan = plan_op(spec_of(tmp_path))
    (body,) = plan.bodies
    (name,) = body.spread
    (kernel,) = render_kernel(plan, "8.1")
    assert kernel.text.count("ApplyKept<opgen::kMul>") == 2  # resident and streamed
    assert f"opgen::Spread<float, TS> {name}Kept;" in kernel.text
    assert "ExpandKept" not in kernel.text
    # what it takes of UB follows from the shapes: 2 bytes in each of two copies and 4 once widened,
    # or a block in each and two
    half = render_tiling(plan, "8.1").functions.split("kBudgets[]")[1].splitlines()
    assert "{{1, {6, 8, 8}, {96, 128, 128}}}" in "".join(half)


# Rows that stay in UB, that stream through, and the last axis of size 1: the channels are columns.
SHAPES = [((2, 4, 3, 5), 2), ((1, 4, 200, 120), 2), ((3, 200, 1), 4)]


@pytest.mark.slow
def test_numbers(tmp_path: Path) -> None:
    op = BuiltOp(spec_of(tmp_path), tmp_path)
    for dtype in (torch.float16, torch.float32):
        for shape, groups in SHAPES:
            inputs = {"x": torch.randn(shape).to(dtype), "s": torch.rand(shape[1]).to(dtype)}
            outputs, golden, result = op.run(inputs, {"groups": groups}, mode="check")
            check(outputs["y"], golden["y"])
            assert result.findings == []


@pytest.mark.slow
def test_chunks_of_different_means(tmp_path: Path) -> None:
    """The means of chunks lie far apart beside what is left in each of them."""
    op = BuiltOp(spec_of(tmp_path), tmp_path)
    x = torch.randn(1, 4, 200, 120) + torch.tensor([0.0, 40.0, -70.0, 500.0]).view(1, 4, 1, 1)
    inputs = {"x": x, "s": torch.ones(4)}
    outputs, golden, result = op.run(inputs, {"groups": 1}, mode="check")
    check(outputs["y"], golden["y"])
    assert result.findings == []

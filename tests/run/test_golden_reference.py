"""References of cases with special values."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch

from msopgen_wrap.run.accuracy import Comparison
from msopgen_wrap.run.golden import reference
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.loader import load_spec

SPEC = """\
op: RowStatistic
inputs:
  x: {dtype: [float32], rank: 1}
outputs:
  y: {dtype: [float32], shape: "[]"}
backward: none
compute: COMPUTE
"""
# (compute, elements, whether the true value says what kernels have to give)
ROWS = {
    "squares that float32 has no room for": ("x.std()", [3e38, 1.0, 2.0], False),
    "an infinity": ("x.std()", [math.inf, 1.0, 2.0], True),
    "plain numbers": ("x.std()", [3.0, 1.0, 2.0], True),
    "a rest of large numbers": ("x.sum()", [3e38, -3e38, 2.0], False),
    "a large number": ("x.mean()", [3e38, 1.0, 2.0], True),
    "a product in another order": ("x.prod()", [3e38, 1e-30, 1e20], False),
    "a large angle": ("torch.sin(x).amax()", [1e20, 1.0, 2.0], False),
    "angles": ("torch.sin(x).amax()", [1e4, 1.0, 2.0], True),
}


@pytest.mark.parametrize("name", ROWS)
def test_special_values_are_judged_as_kernels_calculate(name: str, tmp_path: Path) -> None:
    compute, elements, known = ROWS[name]
    path = tmp_path / "row_statistic.yaml"
    path.write_text(SPEC.replace("COMPUTE", compute))
    spec = load_spec(path)
    x = torch.tensor(elements)
    for values in ("normal", "special"):
        want = reference(spec, TestCase(0, {"x": tuple(x.shape)}, values=values), {"x": x})
        golden, native = want.golden["y"], want.native["y"]
        true = golden.float() if torch.isfinite(golden) else native
        wrong = torch.tensor(0.25)
        steps = want.steps["y"] if want.steps else None
        judge = Comparison(golden, torch.float32, native, steps=steps)
        assert judge.accuracy(true).passed
        assert judge.accuracy(wrong).passed is (not known and values == "special")

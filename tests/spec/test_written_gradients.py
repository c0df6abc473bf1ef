"""Gradients that a spec writes out, as kernels: ``backward: {kernel: true, x: ...}``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch

from msopgen_wrap.cli import app
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import gradient_spec, parse_spec, with_gradients
from msopgen_wrap.spec.model import OpSpec

ROUNDED = """\
op: Rounded
inputs:
  x: float16
  w: {dtype: x, optional: true}
outputs:
  y: broadcast(x, w)
compute: torch.round(x) if w is None else torch.round(x) * w
backward:
  kernel: true
  x: grad_y if w is None else grad_y * w
  w: |
    whole = torch.round(x)
    grad_w = grad_y * whole
"""
# One formula reads the output, which is computed again.
SQUASHED = """\
op: Squashed
inputs:
  x: float32
outputs:
  y: like x
compute: torch.tanh(x)
backward: {kernel: true, x: (1 - y * y) * grad_y}
"""


def spec_of(text: str) -> OpSpec:
    result = parse_spec(text, "op.yaml")
    assert result.spec is not None, [str(d) for d in result.diagnostics]
    return result.spec


def test_the_formulas_are_the_compute_of_the_op_of_the_gradients() -> None:
    spec = spec_of(ROUNDED)
    assert spec.backward == "kernel" and list(spec.written) == ["x", "w"]
    text = gradient_spec(spec).source
    assert (
        """\
compute: |
  if asked == 'all' or asked == 'x':
      grad_x = grad_y if w is None else grad_y * w
      grad_x = grad_x.to(x.dtype)
  else:
      grad_x = grad_y.new_zeros([0])
"""
        in text
    )
    assert "      if w is None:\n          grad_w = grad_y.new_zeros([])\n" in text
    assert "torch.round(x) * w" not in text  # no formula reads y
    assert "  y = torch.tanh(x)\n" in gradient_spec(spec_of(SQUASHED)).source


@pytest.mark.parametrize("asked", ["all", "x", "w"])
@pytest.mark.parametrize("present", [True, False])
def test_they_are_computed_as_they_are_written(asked: str, present: bool) -> None:
    x, w, weights = (torch.randn(3, 4) * 4 for _ in range(3))
    run = compile_compute(gradient_spec(spec_of(ROUNDED)))
    inputs = {"x": x, "w": w if present else None, "grad_y": weights}
    found: dict[str, Any] = run(inputs, {"asked": asked})
    empty = torch.zeros(0)
    of_x = weights * w if present else weights
    of_w = weights * torch.round(x) if present else torch.zeros(())
    torch.testing.assert_close(found["grad_x"], of_x if asked != "w" else empty)
    torch.testing.assert_close(found["grad_w"], of_w if asked != "x" else empty)


def test_without_kernel_they_stay_code_for_pytorch() -> None:
    for text in (ROUNDED.replace("  kernel: true\n", ""), ROUNDED.replace("true\n", "false\n")):
        backward = spec_of(text.replace("optional: true", "shape: like x")).backward
        assert isinstance(backward, dict) and list(backward) == ["x", "w"]


def test_a_change_of_a_formula_reaches_the_derived_file() -> None:
    spec = spec_of(SQUASHED)
    old = spec_of(gradient_spec(spec).source)
    assert with_gradients([spec, old])[1] is old
    changed = spec_of(SQUASHED.replace("1 - y * y", "2 - y * y"))
    assert "(2 - y * y)" in with_gradients([changed, old])[1].source


@pytest.mark.parametrize(
    ("old", "new", "code"),
    [
        ("grad_y if w", "gard_y if w", "OPG044"),
        ("  x: grad_y if w", "  v: grad_y if w", "OPG050"),
        ("  w: {dtype: x, optional: true}", "  w: {dtype: x, rank: 2}", "OPG050"),
    ],
)
def test_mistakes_are_told(old: str, new: str, code: str) -> None:
    text = ROUNDED.replace(old, new)
    if code == "OPG050" and "rank" in new:
        text = text.replace("broadcast(x, w)", "like x")
    result = parse_spec(text, "op.yaml")
    assert result.spec is None
    assert [d.code for d in result.diagnostics if d.severity == "error"][:1] == [code]


def test_plan_says_that_the_spec_writes_them(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "op.yaml"
    path.write_text(SQUASHED)
    assert app.run(["plan", str(path), "--json"]) == 0
    plans = {p["op"]: p for p in json.loads(capfd.readouterr().out)["plans"]}
    assert plans["Squashed"]["gradient"]["by"] == "kernel"
    assert "the spec writes those of x" in plans["Squashed"]["gradient"]["why"]
    assert "SquashedGrad" in plans

"""Numbers of the host in kernels of gradients: drawn formulas had wrong ones."""

from __future__ import annotations

import math
from pathlib import Path

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.families import plan_op
from msopgen_wrap.families.parts.plan import PartsPlan
from msopgen_wrap.schedule.report import as_text
from msopgen_wrap.spec.loader import gradient_spec, parse_spec

LOSS = """\
op: Loss
inputs:
  x: {dtype: float32, rank: [1, 8]}
  t: {dtype: x, shape: like x}
outputs:
  z: {dtype: x, shape: "SHAPE"}
ATTRS
backward: kernel
compute: F.mse_loss(torch.sigmoid(x), t, reduction=HOW)
"""
ATTRS = "attrs:\n  how: {type: str, default: mean, allowed: [none, mean, sum]}"
# The largest element of all beside means of rows.
TWO = """\
op: Two
inputs:
  x: {dtype: float32, rank: 2}
  y: {dtype: float32, shape: "[1, x[1]]"}
outputs:
  a: {dtype: float32, shape: "[]"}
  b: {dtype: float32, shape: "reduce(x, dim, keepdim)"}
attrs:
  dim: -1
  keepdim: false
backward: kernel
compute: |
  a = (y * x).amax()
  b = x.mean(dim, keepdim=keepdim)
"""


CLOSE = {"rtol": 1e-3, "atol": 1e-4}


def gradient_plan(text: str):
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    return plan_op(gradient_spec(spec))


def test_the_number_of_elements_of_a_computed_tensor_holds_for_every_rank() -> None:
    text = LOSS.replace("SHAPE", "[]").replace("ATTRS\n", "").replace("HOW", "'mean'")
    report = as_text(gradient_plan(text))
    assert "2 / float(x.numel())" in report and "2 / float(t.numel())" in report
    assert "shape[0]" not in report


@pytest.mark.slow
def test_a_number_of_reduced_elements_is_that_of_its_own_axes() -> None:
    found = next(
        p for p in gradient_plan(TWO).parts if "grad_x" in {o.name for o in p.spec.outputs}
    )
    report = as_text(found)
    assert "grad_b" in report and "1 / n)" not in report


@pytest.mark.slow
def test_the_gradient_of_a_loss_has_the_shape_that_an_attr_says() -> None:
    rule = "like x if how == 'none' else []"
    plan = gradient_plan(LOSS.replace("SHAPE", rule).replace("ATTRS", ATTRS).replace("HOW", "how"))
    assert isinstance(plan, PartsPlan)
    together = [p.part for p in plan.parts if p.part.startswith("GradXGradT")]
    assert together == ["GradXGradTNoneAll", "GradXGradTMeanSumAll"]


def test_a_number_that_is_repeated_is_not_flipped() -> None:
    text = """\
op: Mirror
inputs:
  a: {dtype: float32, rank: 3}
outputs:
  y: {dtype: a, shape: "[]"}
compute: a.softmax(-2).flip(-1).var()
backward: kernel
"""
    plan = gradient_plan(text)
    numbers = {
        output.name
        for part in plan.parts
        for output in part.spec.outputs
        if {view.tensor for view in part.operands().values()} == {"grad_y"}
    }
    flipped = {
        view.tensor
        for part in plan.parts
        for view in part.operands().values()
        if any(step.op == "flip" for step in view.steps)
    }
    assert flipped and not numbers & flipped


def test_a_number_that_is_repeated_is_selected_as_one() -> None:
    """Of the gradient of a sum of stacked tensors each of them gets the number."""
    text = """\
op: StackSum
inputs:
  x: {dtype: float32, rank: 2}
outputs:
  y: "[]"
  z: "[2, x[0], x[1]]"
backward: kernel
compute: |
  z = torch.stack((x.tanh(), x.exp()))
  y = z.sum()
"""
    assert gradient_plan(text).family.name == "elementwise"


def test_an_attr_says_which_rows_have_a_gradient() -> None:
    text = """\
op: EveryStep
inputs:
  x: {dtype: float32, rank: 3}
outputs:
  y: {dtype: float32, shape: "[x[0], (x[1] + step - 1) // step, x[2]]"}
attrs:
  step: {type: int, default: 2, min: 1}
backward: kernel
compute: "x[:, ::step, :]"
"""
    assert "step" in as_text(gradient_plan(text))


# What a gradient takes through the workspace: sizes of axes that no operand has, and of none.
WORKSPACE = {
    # the axis of two that a slice with a step leaves is that of numbers alone
    "stepped slices": (
        "  x: {dtype: float32, rank: 3}\n",
        '"[x[0], x[1] // 2, 2 * x[2]]"',
        "torch.cat([x[:, 0::2], x[:, 1::2]], -1)",
        {"x": (2, 6, 5), "grad_z": (2, 3, 10)},
    ),
    # two transposes are none, and a diagonal is picked by numbers of both axes
    "a diagonal of a product": (
        "  x: {dtype: float32, rank: 2}\n  y: like x\n",
        '{dtype: float32, shape: "[]"}',
        "-torch.diagonal(F.log_softmax(F.normalize(x, dim=-1) @ y.t(), -1)).mean()",
        {"x": (5, 7), "y": (5, 7), "grad_z": ()},
    ),
    # the number of rows where the rows of another input have no elements
    "rows of none": (
        '  x: {dtype: int32, rank: [1, 3]}\n  w: {dtype: float32, shape: "[*x[:-1], 1]"}\n',
        '{dtype: float32, shape: "[]"}',
        "F.mse_loss(w * w, torch.sigmoid(w))",
        {"x": (4, 0), "w": (4, 1), "grad_z": ()},
    ),
    # PyTorch's own formula of the gradient gives 0 for NaN
    "a loss of no number": (
        "  x: {dtype: float32, rank: 1}\n  t: like x\n",
        '{dtype: float32, shape: "[]"}',
        "F.smooth_l1_loss(F.elu(x), t, beta=0.5)",
        {"x": (40,), "t": (40,), "grad_z": ()},
    ),
}


@pytest.mark.parametrize("name", default_part(WORKSPACE, ["stepped slices", "a loss of no number"]))
def test_kernels_of_gradients_give_what_pytorch_gives(name: str, tmp_path: Path) -> None:
    inputs, shape, formula, shapes = WORKSPACE[name]
    text = f"op: Workspace\ninputs:\n{inputs}outputs:\n  z: {shape}\nbackward: kernel\n"
    spec = parse_spec(f"{text}compute: {formula}\n", "op.yaml").spec
    assert spec is not None
    gradient = gradient_spec(spec)
    op = BuiltOp(gradient, tmp_path)
    given = {
        p.name: torch.randn(shapes[p.name]).to(getattr(torch, p.dtypes[0])) for p in gradient.inputs
    }
    if name == "a loss of no number":
        given["x"][3], given["t"][5] = math.nan, math.inf
    outputs, golden, result = op.run(given, mode="check")
    for output, value in outputs.items():
        torch.testing.assert_close(value.double(), golden[output], equal_nan=True, **CLOSE)
    assert result.findings == []

"""Errors that roundings in a sum explain, and errors that they do not."""

from __future__ import annotations

from functools import partial
from typing import Any

import pytest
import torch

from msopgen_wrap.run.accuracy import Comparison
from msopgen_wrap.run.accuracy_rules import Accuracy
from msopgen_wrap.run.golden import Reference, make_inputs, reference
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec

PRODUCT = """
op: TiledProduct
doc: A product.
inputs:
  a: {dtype: [float32, float16], rank: 2}
  b: {dtype: a, shape: "[a[1], 64]"}
outputs:
  y: {dtype: a, shape: "[a[0], 64]"}
compute: a @ b
backward: none
"""
POINTWISE = """
op: PlainDifference
doc: A difference.
inputs:
  a: {dtype: float32, rank: 2}
  b: {dtype: a, shape: like a}
outputs:
  y: like a
compute: a - b
backward: none
"""


def the_spec(text: str) -> OpSpec:
    spec = parse_spec(text).spec
    assert spec is not None
    return spec


def judged(actual: torch.Tensor, want: Reference) -> Accuracy:
    """Judge an output against a reference whose CPU result is exact, which excuses nothing."""
    allowance = None
    if want.conditioning is not None:
        allowance = partial(want.conditioning.allowance, "y", 0)
    golden = want.golden["y"]
    native = golden.to(actual.dtype)
    return Comparison(golden, actual.dtype, native, allowance=allowance).accuracy(actual)


def a_product(combo: int = 0) -> tuple[dict[str, Any], Reference]:
    spec = the_spec(PRODUCT)
    case = TestCase(combo, {"a": (64, 8192), "b": (8192, 64)})
    inputs = make_inputs(spec, case)
    return inputs, reference(spec, case, inputs)


def in_another_order(inputs: dict[str, Any]) -> torch.Tensor:
    """Add up the products of each element one after another in float32, as a kernel could."""
    a, b = inputs["a"].float(), inputs["b"].float()
    total = torch.zeros(a.shape[0], b.shape[1])
    for k in range(a.shape[1]):
        total += a[:, k : k + 1] * b[k]
    return total


@pytest.fixture(scope="module")
def product() -> tuple[dict[str, Any], Reference]:
    return a_product()


def test_another_order_of_a_sum_passes(product) -> None:
    inputs, want = product
    result = in_another_order(inputs)
    plain = Comparison(want.golden["y"], torch.float32, want.golden["y"].float())
    assert not plain.accuracy(result).passed  # what is judged is there
    accuracy = judged(result, want)
    assert accuracy.passed and "cancels" in accuracy.note


def test_a_running_sum_has_the_roundings_of_those_before() -> None:
    spec = the_spec(POINTWISE.replace("compute: a - b", "compute: torch.cumsum(a - b, -1)"))
    case = TestCase(0, {"a": (64, 4096), "b": (64, 4096)})
    inputs = make_inputs(spec, case)
    want = reference(spec, case, inputs)
    steps = (inputs["a"] - inputs["b"]).unbind(-1)
    total, sums = torch.zeros(64), []
    for step in steps:
        total = total + step
        sums.append(total)
    result = torch.stack(sums, -1)
    plain = Comparison(want.golden["y"], torch.float32, want.golden["y"].float())
    assert not plain.accuracy(result).passed  # what is judged is there
    assert judged(result, want).passed
    # A term that is left out is seen in all sums behind it.
    result[3, 2000:] -= steps[2000][3]
    assert not judged(result, want).passed


def test_a_wrong_element_that_cancelled_is_refused(product) -> None:
    _, want = product
    golden = want.golden["y"]
    result = golden.float()
    where = golden.abs().argmin()
    # Of 8192 products of up to 16 an element loses 1e-3: far more than roundings make.
    result.view(-1)[where] += 0.05
    assert not judged(result, want).passed


def test_a_wrong_scale_is_refused(product) -> None:
    _, want = product
    assert not judged(want.golden["y"].float() * 1.01, want).passed


def test_products_of_rounded_operands_are_refused(product) -> None:
    # what a kernel gives that converts float32 to float16 on the way
    inputs, want = product
    result = inputs["a"].half().float() @ inputs["b"].half().float()
    assert not judged(result, want).passed


def test_zeros_are_refused(product) -> None:
    _, want = product
    assert not judged(torch.zeros(64, 64), want).passed


def test_16_bit_outputs() -> None:
    inputs, want = a_product(combo=1)
    assert judged(in_another_order(inputs).half(), want).passed
    assert not judged((want.golden["y"] * 1.01).half(), want).passed


def test_what_adds_nothing_up_has_no_excuse() -> None:
    spec = the_spec(POINTWISE)
    case = TestCase(0, {"a": (8, 8), "b": (8, 8)})
    assert reference(spec, case, make_inputs(spec, case)).conditioning is None


SLOPE = """
op: SlopeOfNorm
doc: The derivative of x / sqrt(sum(x * x) + 1e-6), of which two terms nearly cancel in short rows.
inputs:
  x: {dtype: float32, rank: 2}
outputs:
  y: like x
compute: |
  r = torch.sqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6)
  y = 1 / r - x * x / r ** 3
backward: none
"""


def test_results_that_nearly_cancel_whatever_the_inputs_are() -> None:
    spec = the_spec(SLOPE)
    case = TestCase(0, {"x": (256, 1)})
    inputs = make_inputs(spec, case)
    want = reference(spec, case, inputs)
    x = inputs["x"]
    r = torch.sqrt(x.pow(2).sum(-1, keepdim=True) + 1e-6)
    result = 1 / r - x * x / r**3
    error = (result - want.golden["y"]).abs() / want.golden["y"].abs()
    assert float(error.median()) > 1e-3  # nothing of it is exact, as on any device
    assert judged(result, want).passed
    assert not judged(1 / r - 0.999 * x * x / r**3, want).passed


ZERO_POINT = """
op: RowsWithZeroPoint
doc: Rows of int8 whose zero point is rounded, too.
inputs:
  x: {dtype: float32, rank: 2}
outputs:
  q: {dtype: int8, shape: like x}
compute: |
  low = x.amin(-1, keepdim=True)
  s = (x.amax(-1, keepdim=True) - low) / 255
  q = (torch.round(x / s) + torch.round(-low / s) - 128).clamp(-128, 127).to(torch.int8)
backward: none
"""


def quantised(x: torch.Tensor, nudge: float = 1.0) -> torch.Tensor:
    """Return the rows of ``ZERO_POINT`` in float32; ``nudge`` is a factor of what is rounded."""
    low = x.amin(-1, keepdim=True)
    s = (x.amax(-1, keepdim=True) - low) / 255
    zero = torch.round(-low / s * nudge) - 128
    return (torch.round(x / s) + zero).clamp(-128, 127).to(torch.int8)


def judged_integers(q: torch.Tensor, want: Reference) -> Accuracy:
    assert want.ties is not None
    assert want.quantised == {"q"}
    golden, steps = want.golden["q"], want.steps.get("q")
    reached = partial(want.ties.reached, "q", 0)
    compared = Comparison(golden, torch.int8, golden, None, True, steps, reached=reached)
    assert compared.refuses_zeros(q)
    return compared.accuracy(q)


def test_a_zero_point_next_to_a_tie_moves_its_row() -> None:
    spec = the_spec(ZERO_POINT)
    # 255 * 4.5 / 9 is 127.5, so that roundings decide about the zero point of the first row
    x = torch.rand(8, 64, generator=torch.Generator().manual_seed(3)) * 8 - 4
    x[0, 0], x[0, 1] = -4.5, 4.5
    want = reference(spec, TestCase(0, {"x": (8, 64)}), {"x": x})
    up, down = quantised(x, 1 + 1e-6), quantised(x, 1 - 1e-6)
    assert int((up[0] != down[0]).sum()) > 60
    assert judged_integers(up, want).passed
    assert judged_integers(down, want).passed
    assert "tie" in judged_integers(up, want).note + judged_integers(down, want).note
    other_row = up.clone()
    other_row[1] -= 1
    assert not judged_integers(other_row, want).passed


def test_integers_of_floats_beyond_float32() -> None:
    spec = the_spec(ZERO_POINT)
    x = torch.rand(8, 64, generator=torch.Generator().manual_seed(3)) * 8 - 4
    x[0, 0], x[0, 1] = -3e38, 3e38  # their difference is infinite in float32
    want = reference(spec, TestCase(0, {"x": (8, 64)}, values="special"), {"x": x})
    assert judged_integers(quantised(x), want).passed
    wrong = quantised(x)
    wrong[0] += 1
    assert not judged_integers(wrong, want).passed

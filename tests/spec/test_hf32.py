"""``hf32``: whether products round float32 operands."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from msopgen_wrap.families import plan_op
from msopgen_wrap.run.hf32_products import Hf32Products, to_hf32
from msopgen_wrap.schedule.report import as_text
from msopgen_wrap.spec.loader import gradient_spec, load_spec, parse_spec

PRODUCT = """\
op: Hf32Product
inputs:
  x: {dtype: float32, rank: 2}
  w: {dtype: x, rank: 2}
outputs:
  y: {dtype: x, shape: "[x[0], w[1]]"}
compute: x @ w
backward: kernel
cases:
  - {x: [3, 4], w: [4, 5]}
"""


@pytest.mark.parametrize(
    ("line", "value"), [("", False), ("hf32: false\n", False), ("hf32: true\n", True)]
)
def test_the_gradient_has_the_key_of_its_op(line: str, value: bool) -> None:
    spec = parse_spec(PRODUCT + line).spec
    assert spec is not None
    gradient = gradient_spec(spec)
    assert (spec.hf32, gradient.hf32) == (value, value)
    assert ("hf32: true" in gradient.source) is value


def test_a_function_says_it_in_python(tmp_path: Path) -> None:
    path = tmp_path / "ops.py"
    path.write_text(
        "from typing import Annotated\n"
        "import torch\nfrom torch import Tensor\nfrom msopgen_wrap import op\n\n\n"
        "@op(hf32=True)\n"
        "def squash(x: Annotated[Tensor, 'float32']) -> Annotated[Tensor, 'y: like x']:\n"
        "    return torch.sigmoid(x)\n"
    )
    assert load_spec(f"{path}:squash").hf32


@pytest.mark.parametrize(
    ("compute", "text"),
    [("x @ w", "11 bits of mantissa"), ("x[:, :1] + w[:1]", "changes nothing")],
)
def test_the_plan_says_what_it_changes(compute: str, text: str) -> None:
    spec = parse_spec(PRODUCT.replace("x @ w", compute) + "hf32: true\n").spec
    assert spec is not None
    assert text in as_text(plan_op(spec))


def test_numbers_are_rounded_to_eleven_bits() -> None:
    unit = 2.0**-11
    given = [1.0, 1 + unit, 1 + unit / 2, 1 + 1.5 * unit, -(1 + 0.75 * unit), 0.0, -0.0]
    wanted = [1.0, 1 + unit, 1.0, 1 + 2 * unit, -(1 + unit), 0.0, -0.0]
    assert torch.equal(to_hf32(torch.tensor(given)), torch.tensor(wanted))
    extreme = torch.tensor([float("inf"), float("-inf"), float("nan"), 3.4028e38, 1e-45])
    rounded = to_hf32(extreme)
    assert rounded[:2].equal(extreme[:2]) and rounded[2].isnan() and rounded[4] == 0
    assert to_hf32(extreme.half()).dtype is torch.float16


def test_products_round_their_operands_and_nothing_else() -> None:
    x, w, bias = torch.randn(3, 4, 4).unbind(0)
    with Hf32Products():
        found = torch.addmm(bias, x, w)
        mapped = torch.nn.functional.conv1d(x[None], w[..., None], bias[0])
    assert torch.equal(found, torch.addmm(bias, to_hf32(x), to_hf32(w)))
    exact = torch.nn.functional.conv1d(to_hf32(x)[None], to_hf32(w)[..., None], bias[0])
    assert torch.equal(mapped, exact)
    assert not torch.equal(found, torch.addmm(bias, x, w))


def test_an_attention_rounds_the_operands_of_both_products() -> None:
    q, k, v = torch.randn(3, 1, 2, 5, 4).unbind(0)
    with Hf32Products():
        found = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    exact = torch.nn.functional.scaled_dot_product_attention(q, k, v)
    error = (found - exact).abs().max()
    assert 1e-6 < error < 2e-3

"""Tensors without elements or axes, sequences with NaN, and zeros next to which terms cancel."""

from __future__ import annotations

import math
from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from harness import built, check

from msopgen_wrap.run.op_runtime import OpRuntimeError

NAN, INF = math.nan, math.inf


class Case(NamedTuple):
    """A formula, its inputs as YAML, the shape rule of the result, and the tensors of each call."""

    compute: str
    inputs: str
    rule: str
    calls: tuple[dict[str, torch.Tensor], ...]
    dtype: str = "x"


ANY = "x: {dtype: [float32]}"
INDEX = "i: {dtype: int64, shape: '[]', range: [0, 0]}, t: {dtype: x, shape: like x}"
NOTHING = ({"x": torch.empty(0)}, {"x": torch.empty(3, 0, 2)}, {"x": torch.tensor(2.0)})
SCALARS = (
    {"x": torch.tensor(2.0), "i": torch.tensor(0), "t": torch.tensor(-3.0)},
    {"x": torch.tensor([2.0]), "i": torch.tensor(0), "t": torch.tensor([-3.0])},
)
NUMBERS = ({"x": torch.tensor([3.0, NAN, -INF, 0.5, NAN, INF, 0.5, NAN, -2.0])},)
# float32 numbers around the zeros of the logarithm of the gamma function, and of its slope
NEXT_TO_ZEROS = (-2.4570248, -2.7476826, -3.1435809, -3.9552943, -0.504083, -1.5734985, -2.6107209)
AROUND = tuple(
    {"x": torch.tensor(NEXT_TO_ZEROS).unsqueeze(1) + step * torch.arange(-30, 31)}
    for step in (2.4e-7, 1e-5, 1e-4)
)

# down to where PyTorch's difference has digits in double precision
SMALL = ({"x": torch.cat([torch.linspace(1e-4, 0.5, 500), -torch.linspace(0.2, 9.0, 300)])},)

CASES = {
    "a median of nothing": Case("y = x.median()", ANY, "[]", NOTHING),
    "a median of no numbers": Case("y = x.nanmedian()", ANY, "[]", NOTHING),
    "a sum at an index": Case("y = x.index_add(0, i, t)", f"{ANY}, {INDEX}", "like x", SCALARS),
    "a copy to an index": Case("y = x.index_copy(0, i, t)", f"{ANY}, {INDEX}", "like x", SCALARS),
    "members": Case("y = torch.isin(x, x.abs())", ANY, "like x", NUMBERS, dtype="bool"),
    "tanhshrink": Case("y = F.tanhshrink(x)", ANY, "like x", SMALL),
    "lgamma": Case("y = torch.lgamma(x)", ANY, "like x", AROUND),
    "digamma": Case("y = torch.digamma(x)", ANY, "like x", AROUND),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_results_and_sanitizer(name: str, tmp_path: Path) -> None:
    case = CASES[name]
    text = (
        f"op: EdgeShapes{list(CASES).index(name)}\ninputs: {{{case.inputs}}}\n"
        f"outputs:\n  y: {{dtype: {case.dtype}, shape: '{case.rule}'}}\nbackward: none\n"
        f"compute: {case.compute}\n"
    )
    op = built(text, tmp_path)
    for inputs in case.calls:
        outputs, golden, result = op.run(inputs, {}, mode="check")
        check(outputs["y"], golden["y"], 64)
        assert [f for f in result.findings if f.severity == "error"] == []


@pytest.mark.slow
def test_nan_comes_behind_the_numbers_of_a_sequence(tmp_path: Path) -> None:
    op = built(
        "op: EdgePlaces\ninputs: {x: {dtype: [float32]}}\n"
        "outputs: {y: {dtype: int64, shape: like x}}\nbackward: none\n"
        "compute: y = torch.searchsorted(x.sort().values, x)\n",
        tmp_path,
    )
    outputs, _, _ = op.run(NUMBERS[0], {}, mode="check")
    assert outputs["y"].tolist() == [4, 9, 0, 2, 9, 5, 2, 9, 1]  # all come before NaN


@pytest.mark.slow
def test_an_integer_median_of_nothing_is_that_of_pytorch(tmp_path: Path) -> None:
    op = built(
        "op: EdgeIntegers\ninputs: {x: {dtype: [int64, int32, int16, uint8]}}\n"
        "outputs: {y: {dtype: x, shape: '[]'}}\nbackward: none\ncompute: y = x.median()\n",
        tmp_path,
    )
    for dtype in (torch.int64, torch.int32, torch.int16, torch.uint8):
        x = torch.empty(0, dtype=dtype)
        outputs, _, _ = op.run({"x": x}, {}, mode="check")
        assert torch.equal(outputs["y"], x.median())


@pytest.mark.slow
@pytest.mark.parametrize("compute", ["x * y.softmax(-1)", "x.cumsum(-1) + y.cumsum(-1)"])
def test_a_tensor_that_another_one_stretches_is_not_reduced(compute: str, tmp_path: Path) -> None:
    """The sum of one element is not that of the elements which it is read as."""
    op = built(
        "op: EdgeStretched\ninputs: {x: {dtype: [float32], rank: 2}, y: {dtype: x, rank: 2}}\n"
        "outputs: {z: {dtype: x, shape: 'broadcast(x, y)'}}\nbackward: none\n"
        f"compute: z = {compute}\n",
        tmp_path,
    )
    x, y = torch.randn(4, 5), torch.randn(4, 5)
    for rows in (y, y[:1]):
        outputs, golden, _ = op.run({"x": x, "y": rows}, {}, mode="check")
        check(outputs["z"], golden["z"], 4)
    with pytest.raises(OpRuntimeError, match="fewer elements along its ax"):
        op.run({"x": x, "y": y[:, :1].contiguous()}, {}, mode="check")

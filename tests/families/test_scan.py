"""Scans: prefix sums and the like, along any axis, alone and beside other work."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from harness import BuiltOp

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

OPEN = "x: {dtype: DTYPES, rank: [2, 4]}"
PAIR = f"{OPEN}\n  w: {{dtype: x, shape: like x}}"


class Case(NamedTuple):
    """A formula, and the families of the passes that it is expected to be made in."""

    compute: str
    passes: list[str]
    inputs: str = OPEN
    shape: str = "like x"
    attrs: str = ""


CASES = {
    "along the last axis": Case("z = torch.cumsum(x, -1)", ["scan"]),
    "along an attr": Case(
        "z = torch.cumsum(x, dim)", ["scan"], attrs="attrs:\n  dim: {type: int, default: -1}\n"
    ),
    "with work before and behind": Case(
        "z = torch.cumsum(x.sigmoid() * w, 0) * 0.5 + x", ["scan"], PAIR
    ),
    "two of one axis": Case("z = torch.cumsum(x, -1) - torch.cumsum(w, -1).tanh()", ["scan"], PAIR),
    "a scan of a scan": Case("z = torch.cumsum(torch.cumsum(x, -1), -1)", ["scan"]),
    "divided by a sum": Case(
        "z = torch.cumsum(x.exp(), -1) / x.exp().sum(-1, keepdim=True)", ["scan", "row"]
    ),
    "of a softmax": Case(
        "z = torch.cumsum(torch.softmax(x, -1), -1).clamp(max=0.9) * x", ["row", "scan"]
    ),
    "along both axes": Case(
        "z = torch.cumsum(torch.cumsum(x * x, -1), -2).amax(-1, keepdim=True) - x",
        ["scan", "scan", "row"],
    ),
    "transposed": Case(
        "z = torch.cumsum(x, -1).mT + 1",
        ["scan", "elementwise"],
        shape="[*x[:-2], x[-1], x[-2]]",
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("two of one axis",)
SHAPES = [(5, 9), (1, 300), (0, 7), (3, 0), (130, 999), (2, 20001), (700, 33), (3, 40, 8)]


def spec_of(case: Case, folder: Path, dtypes: str = "[float32]", name: str = "ScanCase") -> OpSpec:
    text = (
        f"op: {name}\ninputs:\n  {case.inputs.replace('DTYPES', dtypes)}\n"
        f'outputs:\n  z: {{dtype: {dtypes}, shape: "{case.shape}"}}\n'
        f"{case.attrs}compute: {case.compute}\nbackward: none\n"
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


def check(got: torch.Tensor, golden: torch.Tensor, tolerance: float = 2e-5) -> None:
    """Compare with the largest number of the result: sums of many numbers cancel."""
    assert got.shape == golden.shape
    if golden.numel():
        scale = golden.double().abs().max().clamp(min=1.0)
        assert float((got.double() - golden.double()).abs().max() / scale) < tolerance


@pytest.mark.parametrize("name", CASES)
def test_formulas_are_made_in_passes(name, tmp_path):
    plan = plan_op(spec_of(CASES[name], tmp_path))
    assert [part.family.name for part in plan.parts] == CASES[name].passes


@pytest.fixture(
    scope="module",
    params=[n if n in DEFAULT else pytest.param(n, marks=pytest.mark.slow) for n in CASES],
)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("scan")
    number = list(CASES).index(request.param)
    spec = spec_of(CASES[request.param], folder, name=f"ScanCase{number}")
    return BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1")


def inputs_of(spec: OpSpec, shape: tuple[int, ...], dtype: Any = torch.float32) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(0)
    return {p.name: torch.randn(shape, generator=generator).to(dtype) for p in spec.inputs}


@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_results_and_sanitizer(built, shape):
    if 0 in shape and ("softmax" in built.spec.compute.text or "amax" in built.spec.compute.text):
        pytest.skip("torch has no maximum of nothing")
    outputs, golden, result = built.run(inputs_of(built.spec, shape), mode="check")
    check(outputs["z"], golden["z"])
    assert result.findings == []


def test_without_the_synchronisation_of_the_compiler(built):
    inputs = inputs_of(built.spec, (130, 999))
    outputs, golden, result = built.run(inputs, mode="check", auto_sync=False)
    check(outputs["z"], golden["z"])
    assert result.findings == []


@pytest.mark.slow
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16], ids=str)
def test_half_precision_is_summed_in_float(dtype, tmp_path):
    name = str(dtype).removeprefix("torch.")
    op = BuiltOp(spec_of(CASES["along the last axis"], tmp_path, f"[{name}]", "HalfScan"), tmp_path)
    x = torch.full((2, 9000), 0.5).to(dtype)
    outputs, _, result = op.run({"x": x}, mode="check")
    assert torch.equal(outputs["z"], x.float().cumsum(-1).to(dtype))
    assert result.findings == []


def test_an_attr_may_be_the_axis_and_a_number(tmp_path):
    case = Case(
        "z = torch.cumsum(x, dim) * dim",
        [],
        attrs="attrs:\n  dim: {type: int, default: -1}\n",
    )
    assert [p.family.name for p in plan_op(spec_of(case, tmp_path)).parts] == ["scan"]
    other = Case("z = torch.cumsum(x, dim) + x.sum(dim, keepdim=True)", [], attrs=case.attrs)
    assert [p.family.name for p in plan_op(spec_of(other, tmp_path)).parts] == ["scan", "row"]

"""Scans: prefix sums and the like, along any axis, alone and beside other work."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import gradient_spec, load_spec, parse_spec
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
    dtype: str = ""  # of the output, where it is not that of the input


CASES = {
    "along the last axis": Case("z = torch.cumsum(x, -1)", ["scan"]),
    "along an attr": Case(
        "z = torch.cumsum(x, dim)", ["scan"], attrs="attrs:\n  dim: {type: int, default: -1}\n"
    ),
    "with work before and behind": Case(
        "z = torch.cumsum(x.sigmoid() * w, 0) * 0.5 + x", ["scan"], PAIR
    ),
    "products": Case("z = torch.cumprod(x, 0)", ["scan"]),
    "largest elements": Case("z = torch.cummax(x.round(), 1).values", ["scan"]),
    "positions of the smallest": Case(
        "z = torch.cummin(x.round(), -1).indices.to(torch.int32)", ["scan"], dtype="int32"
    ),
    "logarithms of sums": Case("z = torch.logcumsumexp(x * 3, -1)", ["scan"]),
    "from the last": Case("z = x.flip(-1).cumsum(-1).flip(-1) - x", ["scan"]),
    "from the last row": Case("z = torch.logcumsumexp(x.flip(0), 0).flip(0)", ["scan"]),
    "both ways": Case("z = torch.cumsum(x, -1) + x.flip(-1).cumsum(-1).flip(-1)", ["scan", "scan"]),
    "integers": Case(
        "z = torch.cumsum((x > 0).to(torch.int8), -1).to(torch.int32)", ["scan"], dtype="int32"
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
    # no axis lies together in the input and in the result
    "along what a transposed tensor has together": Case(
        "z = torch.cumsum(x.mT, -2) + 1", ["scan"], shape="[*x[:-2], x[-1], x[-2]]"
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("two of one axis", "along what a transposed tensor has together")
SHAPES = [(5, 9), (1, 300), (0, 7), (3, 0), (130, 999), (2, 20001), (700, 33), (3, 40, 8)]


def spec_of(case: Case, folder: Path, dtypes: str = "[float32]", name: str = "ScanCase") -> OpSpec:
    out = case.dtype or dtypes
    text = (
        f"op: {name}\ninputs:\n  {case.inputs.replace('DTYPES', dtypes)}\n"
        f'outputs:\n  z: {{dtype: {out}, shape: "{case.shape}"}}\n'
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
    params=default_part(CASES, DEFAULT),
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


EXPANDED = """op: ScanExpanded
inputs:
  x: {dtype: float32, rank: 2}
  w: {dtype: x, shape: "[x[0], 1]"}
outputs:
  y: like x
  z: {dtype: x, shape: "[count, x[0], 1]"}
attrs:
  count: {type: int, default: 3, min: 1}
compute: |
  y = w.expand(-1, x.shape[1]).cumsum(-1) * x
  z = w.unsqueeze(0).expand(count, -1, -1).cumprod(0) + 1
backward: none
"""


def test_expanded_tensors_are_scanned_as_long_as_they_are(tmp_path):
    """Beside an output whose size is given, and one that is computed with another operand."""
    spec = parse_spec(EXPANDED, "op.yaml").spec
    op = BuiltOp(spec, tmp_path)
    for shape, count in (((5, 9), 3), ((1, 1), 1), ((33, 70), 40)):
        inputs = {"x": torch.randn(shape), "w": torch.randn(shape[0], 1)}
        outputs, golden, result = op.run(inputs, {"count": count}, mode="check")
        check(outputs["y"], golden["y"])
        check(outputs["z"], golden["z"])
        assert result.findings == []


BESIDE = """op: ScanBeside
inputs:
  x: {dtype: float32, rank: 2}
outputs:
  y: {dtype: x, shape: like x}
  m: {dtype: x, shape: "[x[0]]"}
backward: none
compute: |
  y = torch.cumsum(x.flip(-1), -1).flip(-1)
  m = y.amax(-1)
"""


@pytest.mark.slow
def test_an_output_beside_the_value_that_a_later_pass_reads(tmp_path: Path) -> None:
    """Tiling named the view of the output and had none: the host code did not compile."""
    path = tmp_path / "case.yaml"
    path.write_text(BESIDE, encoding="utf-8")
    op = BuiltOp(load_spec(path), tmp_path)
    for shape in ((3, 300), (130, 999)):
        outputs, golden, result = op.run(inputs_of(op.spec, shape), mode="check")
        check(outputs["y"], golden["y"])
        check(outputs["m"], golden["m"])
        assert result.findings == []


SPECIAL = [0.0, -0.0, 1.0, 1.0, float("inf"), -1.0, float("-inf"), 3.0, float("nan"), 5.0, 5.0]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("which", "dtype"), [("cummax", "float32"), ("cummin", "float32"), ("cummin", "int32")]
)
def test_positions_are_those_of_torch(which, dtype, tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(
        f"op: ScanPositions\ninputs:\n  x: {{dtype: {dtype}, rank: 2}}\noutputs:\n"
        "  v: {dtype: x, shape: like x}\n  i: {dtype: int64, shape: like x}\n"
        "attrs:\n  dim: {type: int, default: -1}\n"
        f"compute: v, i = torch.{which}(x, dim)\nbackward: none\n",
        encoding="utf-8",
    )
    op = BuiltOp(load_spec(path), tmp_path)
    generator = torch.Generator().manual_seed(0)
    for shape, dim in (((5, 40), -1), ((3, 700), 1), ((90, 33), 0)):
        x = torch.tensor(SPECIAL)[torch.randint(0, len(SPECIAL), shape, generator=generator)]
        x[0] = x[0].clamp(-3, 3).nan_to_num(0.0)
        if dtype == "int32":  # the ends of the range, and numbers that float32 does not hold
            x = x.nan_to_num(2.0).double().clamp(-(2**31), 2**31 - 1).to(torch.int32)
            x = torch.where(x == 5, torch.tensor(2**24 + 1, dtype=torch.int32), x)
        outputs, _, result = op.run({"x": x}, {"dim": dim}, mode="check")
        value, index = getattr(torch, which)(x, dim)
        assert torch.equal(outputs["i"], index)
        assert torch.equal(outputs["v"].nan_to_num(9.0), value.nan_to_num(9.0))
        assert outputs["v"].dtype is x.dtype
        assert result.findings == []


@pytest.mark.slow
def test_infinities_and_nan_in_logarithms_of_sums(tmp_path):
    op = BuiltOp(spec_of(CASES["logarithms of sums"], tmp_path, name="ScanLogs"), tmp_path)
    x = torch.tensor([[float("-inf")] * 3, [0.0, float("inf"), 1.0], [1.0, float("nan"), 2.0]])
    outputs, _, result = op.run({"x": x}, mode="check")
    torch.testing.assert_close(outputs["z"], torch.logcumsumexp(x * 3, -1), equal_nan=True)
    assert result.findings == []


@pytest.mark.parametrize("compute", ["torch.cumsum(x, dim)", "torch.logcumsumexp(x, dim)"])
def test_the_gradient_is_a_scan_from_the_last_element(compute, tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(
        "op: ScanForward\ninputs:\n  x: {dtype: float32, rank: [1, 8]}\n"
        "outputs:\n  y: {dtype: x, shape: like x}\nattrs:\n  dim: {type: int, default: -1}\n"
        f"compute: {compute}\n",
        encoding="utf-8",
    )
    plan = plan_op(gradient_spec(load_spec(path)))
    assert {part.family.name for part in plan.parts} <= {"scan", "elementwise"}
    assert any(getattr(part, "backwards", False) for part in plan.parts)


@pytest.mark.parametrize("compute", ["torch.cumsum(x, -1)", "torch.cummax(x, -1).values"])
def test_wide_integers_are_refused(compute, tmp_path):
    path = tmp_path / "case.yaml"
    path.write_text(
        "op: WideScan\ninputs:\n  x: {dtype: int64, rank: 2}\n"
        f"outputs:\n  y: {{dtype: int64, shape: like x}}\ncompute: {compute}\nbackward: none\n",
        encoding="utf-8",
    )
    with pytest.raises(OpgenError) as caught:
        plan_op(load_spec(path))
    assert [d.code for d in caught.value.diagnostics] == ["OPG332"]


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

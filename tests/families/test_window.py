"""Pools: windows of one to three axes, alone and beside other work."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.spec.model import OpSpec

HALVED = "[*x[:-2], x[-2] // 2, x[-1] // 2]"


class Case(NamedTuple):
    """A formula, the shape of its result, the ranks and shapes of its input, and its passes."""

    compute: str
    shape: str
    rank: str
    shapes: list[tuple[int, ...]]
    passes: tuple[str, ...] = ("window",)
    positions: bool = False
    attrs: str = ""


CASES = {
    "maximum": Case(
        "z = F.max_pool2d(x, 3, 2, 1)",
        "[*x[:-2], (x[-2] - 1) // 2 + 1, (x[-1] - 1) // 2 + 1]",
        "[3, 4]",
        [(2, 3, 17, 19), (3, 1, 1), (200, 7, 7), (0, 3, 4, 4), (1, 2, 150, 170)],
    ),
    "average": Case(
        "z = F.avg_pool2d(x, (3, 2), (2, 1), (1, 0), count_include_pad=False)",
        "[*x[:-2], (x[-2] - 1) // 2 + 1, x[-1] - 1]",
        "[3, 4]",
        [(2, 3, 17, 19), (3, 1, 2), (1, 2, 150, 170), (300, 5, 6)],
    ),
    "numbers of the call": Case(
        "z = F.avg_pool2d(x, size, every, pad)",
        "[*x[:-2], (x[-2] + 2 * pad - size) // every + 1, (x[-1] + 2 * pad - size) // every + 1]",
        "4",
        [(2, 3, 17, 19), (1, 90, 12, 5)],
        attrs="attrs:\n  size: {type: int, default: 3, min: 1}\n"
        "  every: {type: int, default: 2, min: 1}\n  pad: {type: int, default: 1, min: 0}\n",
    ),
    "rounded up": Case(
        "z = F.avg_pool2d(x, 3, 2, 1, ceil_mode=True)",
        "[*x[:-2], x[-2] // 2 + 1, x[-1] // 2 + 1]",
        "4",
        [(2, 3, 17, 20), (2, 3, 8, 8)],
    ),
    "an empty stride": Case("z = F.avg_pool2d(x, (2, 2), (), (0,))", HALVED, "4", [(2, 3, 17, 20)]),
    "a divisor": Case("z = F.avg_pool2d(x, 2, divisor_override=3)", HALVED, "4", [(2, 3, 17, 20)]),
    "positions": Case(
        "z, p = F.max_pool2d(x, 3, 2, 1, return_indices=True)",
        "[*x[:-2], (x[-2] - 1) // 2 + 1, (x[-1] - 1) // 2 + 1]",
        "[3, 4]",
        [(2, 3, 17, 19), (3, 1, 1), (40, 7, 7), (1, 1, 150, 170)],
        positions=True,
    ),
    "positions apart": Case(
        "z, p = F.max_pool2d(x, 2, 1, 0, dilation=(2, 3), return_indices=True)",
        "[*x[:-2], x[-2] - 2, x[-1] - 3]",
        "4",
        [(2, 3, 17, 19)],
        positions=True,
    ),
    "one axis": Case(
        "z = F.max_pool1d(x, 4, 3, 2, dilation=2)",
        "[*x[:-1], (x[-1] + 4 - 7) // 3 + 1]",
        "[2, 3]",
        [(2, 3, 50), (70, 9), (2, 40001)],
    ),
    "one axis, averages": Case(
        "z = F.avg_pool1d(x, 5, 1, 2)", "like x", "[2, 3]", [(2, 3, 50), (70, 9), (1, 30001)]
    ),
    "three axes": Case(
        "z = F.avg_pool3d(x, (2, 3, 3), (1, 2, 2), (1, 1, 1), count_include_pad=False)",
        "[*x[:-3], x[-3] + 1, (x[-2] - 1) // 2 + 1, (x[-1] - 1) // 2 + 1]",
        "[4, 5]",
        [(2, 3, 5, 17, 19), (90, 2, 3, 3), (1, 9, 70, 90)],
    ),
    "three axes, positions": Case(
        "z, p = F.max_pool3d(x, 2, return_indices=True)",
        "[*x[:-3], x[-3] // 2, x[-2] // 2, x[-1] // 2]",
        "5",
        [(2, 3, 5, 17, 19), (1, 1, 20, 40, 60)],
        positions=True,
    ),
    "even shares": Case(
        "z = F.adaptive_avg_pool2d(x, (5, 7))",
        "[*x[:-2], 5, 7]",
        "[3, 4]",
        [(2, 3, 17, 19), (4, 10, 14), (2, 3, 3)],
    ),
    "even shares, positions": Case(
        "z, p = F.adaptive_max_pool2d(x, (5, 7), return_indices=True)",
        "[*x[:-2], 5, 7]",
        "[3, 4]",
        [(2, 3, 17, 19), (4, 10, 14)],
        positions=True,
    ),
    "even shares of three axes": Case(
        "z = F.adaptive_max_pool3d(x, 3)", "[*x[:-3], 3, 3, 3]", "5", [(2, 3, 5, 7, 9)]
    ),
    # Rows of a window that is alone along an axis are joined by halves, also where windows along
    # another axis have them in common.
    "one window of a plane, several along the depth": Case(
        "z = F.avg_pool3d(x, (2, 5, 7), 1)",
        "[*x[:-3], x[-3] - 1, x[-2] - 4, x[-1] - 6]",
        "5",
        [(2, 3, 6, 5, 7), (1, 2, 9, 6, 9), (3, 1, 2, 5, 8)],
    ),
    "shares of the depth, whole planes": Case(
        "z = F.adaptive_avg_pool3d(x, (3, 1, 1))",
        "[*x[:-3], 3, 1, 1]",
        "[4, 5]",
        [(2, 3, 7, 17, 19), (5, 4, 3, 3), (1, 1, 10, 150, 170)],
    ),
    "the largest of whole planes": Case(
        "z = F.max_pool3d(x, (3, 4, 4), (2, 4, 4))",
        "[*x[:-3], (x[-3] - 1) // 2, x[-2] // 4, x[-1] // 4]",
        "5",
        [(2, 3, 9, 4, 4), (1, 2, 7, 5, 9)],
    ),
    "windows larger than UB": Case(
        "z = F.max_pool2d(x, (1, 60000), (1, 1))",
        "[*x[:-2], x[-2], x[-1] - 59999]",
        "3",
        [(1, 2, 60003)],
    ),
    "rows one after another": Case(
        "z = F.avg_pool2d(x, (400, 3), (1, 1))",
        "[*x[:-2], x[-2] - 399, x[-1] - 2]",
        "3",
        [(1, 403, 250)],
    ),
    "norms": Case(
        "z = F.lp_pool2d(x, 2.0, 2)",
        HALVED,
        "4",
        [(2, 3, 9, 10)],
        ("elementwise", "window", "elementwise"),
    ),
    "between other work": Case(
        "z = F.max_pool2d(x.sigmoid(), 2) / F.avg_pool2d(x, 2).sum(-1, keepdim=True)",
        HALVED,
        "4",
        [(2, 3, 9, 10)],
        ("elementwise", "window", "window", "row"),
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("maximum", "one window of a plane, several along the depth")


def spec_of(case: Case, folder: Path, name: str = "WindowCase") -> OpSpec:
    found = f'\n  p: {{dtype: int64, shape: "{case.shape}"}}' if case.positions else ""
    text = (
        f"op: {name}\ninputs:\n  x: {{dtype: [float32, float16], rank: {case.rank}}}\n"
        f'outputs:\n  z: {{dtype: x, shape: "{case.shape}"}}{found}\n'
        f"{case.attrs}compute: {case.compute}\nbackward: none\n"
        + "".join(f"cases:\n  - {{x: {list(shape)}}}\n" for shape in case.shapes[:1])
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_formulas_are_made_in_passes(name, tmp_path):
    plan = plan_op(spec_of(CASES[name], tmp_path))
    assert tuple(part.family.name for part in plan.parts) == CASES[name].passes


@pytest.fixture(
    scope="module",
    params=default_part(CASES, DEFAULT),
)
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("window")
    number = list(CASES).index(request.param)
    spec = spec_of(CASES[request.param], folder, name=f"WindowCase{number}")
    op = BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1")
    return op, CASES[request.param]


def tensor_of(shape: tuple[int, ...]) -> torch.Tensor:
    """Draw a tensor with equal elements, so that the first of them is to be found."""
    generator = torch.Generator().manual_seed(0)
    return torch.randint(-8, 8, shape, generator=generator) / 4 + 0.125


@pytest.mark.parametrize("auto_sync", [True, False], ids=["compiler's sync", "own sync"])
def test_results_and_sanitizer(built, auto_sync):
    op, case = built
    for shape in case.shapes:
        outputs, golden, result = op.run({"x": tensor_of(shape)}, mode="check", auto_sync=auto_sync)
        torch.testing.assert_close(outputs["z"].double(), golden["z"], rtol=1e-5, atol=1e-5)
        if case.positions:
            assert torch.equal(outputs["p"], golden["p"])
        assert result.findings == []


def test_special_values(built):
    op, case = built
    shape = case.shapes[0]
    x = tensor_of(shape)
    flat = x.view(-1)
    for value, every in ((float("nan"), 11), (float("-inf"), 7), (float("inf"), 13)):
        flat[::every] = value
    outputs, golden, result = op.run({"x": x}, mode="check")
    torch.testing.assert_close(
        outputs["z"].double(), golden["z"], rtol=1e-5, atol=1e-5, equal_nan=True
    )
    if case.positions:
        assert torch.equal(outputs["p"], golden["p"])
    assert result.findings == []
    x = torch.full(shape, float("-inf"))
    outputs, golden, result = op.run({"x": x}, mode="check")
    if case.positions:
        assert torch.equal(outputs["p"], golden["p"])


def test_results_do_not_depend_on_the_number_of_cores(built):
    op, case = built
    inputs = {"x": tensor_of(case.shapes[-1])}
    one, _, _ = op.run(inputs, mode="fast", block_dim=1)
    all_cores, _, _ = op.run(inputs, mode="fast")
    assert torch.equal(one["z"], all_cores["z"])


@pytest.mark.parametrize(
    ("call", "words"),
    [
        ("F.max_pool2d(x, 3, 1, 2)", "padding 2 is more than half"),
        ("F.max_pool2d(x, 0)", "1 at least"),
        ("F.max_pool3d(x, 2)", "rank 4 or 5"),
    ],
)
def test_windows_that_pytorch_refuses_are_refused(call, words, tmp_path):
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of(Case(f"z = {call}", "like x", "3", []), tmp_path))
    diagnostic = caught.value.diagnostics[0]
    assert diagnostic.code == "OPG201"
    assert words in f"{diagnostic.what} {diagnostic.why}"


def test_numbers_of_an_axis_may_be_computed_before_a_window(tmp_path):
    call = "F.avg_pool1d(x * (torch.arange(x.shape[-1]) * 2 - 1), 3, 1, 1)"
    plan = plan_op(spec_of(Case(f"z = {call}", "like x", "3", []), tmp_path))
    assert [part.family.name for part in plan.parts] == ["elementwise", "window"]


def test_what_tiling_refuses_says_why(built):
    op, case = built
    if "every" not in case.attrs:
        pytest.skip("the numbers of the windows are literals")
    op.golden = lambda inputs, attrs: {"z": torch.empty(1, 1, 7, 7)}
    with pytest.raises(Exception, match="padding 2 is more than half of a window, 2"):
        op.run({"x": tensor_of((1, 1, 4, 4))}, {"size": 2, "every": 1, "pad": 2})

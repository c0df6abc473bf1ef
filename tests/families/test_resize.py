"""Planes resampled along one to three axes, alone and beside other work."""

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


class Case(NamedTuple):
    """A formula, the shape of its result, the rank and shapes of its input, and its passes."""

    compute: str
    shape: str
    rank: str
    shapes: list[tuple[int, ...]]
    passes: tuple[str, ...] = ("resize",)
    attrs: str = ""


TWICE = "[x[0], x[1], 2 * x[2], 2 * x[3]]"
CASES = {
    "larger images": Case(
        "z = F.interpolate(x, scale_factor=2, mode='bilinear')",
        TWICE,
        "4",
        [(2, 3, 17, 19), (3, 1, 1, 1), (40, 2, 7, 7), (1, 1, 130, 300), (0, 3, 4, 4)],
    ),
    "smaller images": Case(
        "z = F.interpolate(x, size=(x.shape[2] // 3, x.shape[3] // 3), mode='bilinear')",
        "[x[0], x[1], x[2] // 3, x[3] // 3]",
        "4",
        [(2, 3, 17, 19), (3, 1, 3, 3), (40, 2, 30, 31), (1, 1, 12, 70000)],
    ),
    "images by their corners": Case(
        "z = F.interpolate(x, size=(9, 33), mode='bilinear', align_corners=True)",
        "[x[0], x[1], 9, 33]",
        "4",
        [(2, 3, 17, 19), (3, 1, 1, 1), (2, 1, 4, 200), (5, 7, 9, 33)],
    ),
    "cubic images": Case(
        "z = F.interpolate(x, size=(11, x.shape[3] + 5), mode='bicubic')",
        "[x[0], x[1], 11, x[3] + 5]",
        "4",
        [(2, 3, 17, 19), (3, 1, 1, 1), (2, 1, 5, 30000), (1, 2, 300, 7)],
    ),
    "cubic images by their corners": Case(
        "z = F.interpolate(x, size=(11, 12), mode='bicubic', align_corners=True)",
        "[x[0], x[1], 11, 12]",
        "4",
        [(2, 3, 17, 19), (3, 1, 1, 2), (2, 1, 5, 300)],
    ),
    "rows": Case(
        "z = F.interpolate(x, size=x.shape[2] * 3 // 2, mode='linear')",
        "[x[0], x[1], x[2] * 3 // 2]",
        "3",
        [(2, 3, 50), (70, 9, 4), (1, 1, 40001)],
    ),
    # UB holds the elements between a few of the results, not between those of a whole block
    "a few of long rows": Case(
        "z = F.interpolate(x, size=5, mode='linear')",
        "[x[0], x[1], 5]",
        "3",
        [(2, 3, 50), (1, 2, 70000), (3, 1, 30001)],
    ),
    "volumes": Case(
        "z = F.interpolate(x, size=(5, 2 * x.shape[3], 7), mode='trilinear')",
        "[x[0], x[1], 5, 2 * x[3], 7]",
        "5",
        [(2, 3, 4, 5, 6), (1, 2, 9, 3, 20), (3, 1, 1, 1, 1)],
    ),
    "volumes by their corners": Case(
        "z = F.interpolate(x, size=(3, 4, 50), mode='trilinear', align_corners=True)",
        "[x[0], x[1], 3, 4, 50]",
        "5",
        [(2, 3, 4, 5, 6), (1, 2, 9, 3, 20)],
    ),
    "nearest": Case(
        "z = F.interpolate(x, size=(7, x.shape[3] * 2))",
        "[x[0], x[1], 7, x[3] * 2]",
        "4",
        [(2, 3, 17, 19), (3, 1, 1, 1), (1, 1, 3, 30000), (50, 2, 7, 7)],
    ),
    "exactly nearest": Case(
        "z = F.interpolate(x, size=x.shape[2] * 2 // 3, mode='nearest-exact')",
        "[x[0], x[1], x[2] * 2 // 3]",
        "3",
        [(2, 3, 17), (4, 1, 2), (1, 2, 4000)],
    ),
    "nearest in volumes": Case(
        "z = F.interpolate(x, scale_factor=2)",
        "[x[0], x[1], 2 * x[2], 2 * x[3], 2 * x[4]]",
        "5",
        [(2, 3, 4, 5, 6), (1, 1, 1, 1, 200)],
    ),
    "scales that are given": Case(
        "z = F.interpolate(x, scale_factor=[scale[0], scale[1]], mode='bilinear')",
        "[x[0], x[1], floor(x[2] * scale[0]), floor(x[3] * scale[1])]",
        "4",
        [(2, 3, 17, 19), (3, 1, 2, 1)],
        attrs="attrs: {scale: [0.6, 1.7]}\n",
    ),
    "sizes that are attrs": Case(
        "z = F.interpolate(x, size=[high, wide], mode='bilinear')",
        "[x[0], x[1], high, wide]",
        "4",
        [(2, 3, 17, 19), (3, 1, 2, 1)],
        attrs="attrs:\n  high: {type: int, default: 3, min: 1}\n"
        "  wide: {type: int, default: 40, min: 1}\n",
    ),
    "between other work": Case(
        "z = F.interpolate(x.sigmoid(), scale_factor=2, mode='bilinear').softmax(-1)",
        TWICE,
        "4",
        [(2, 3, 9, 10)],
        ("elementwise", "resize", "row"),
    ),
}
# Compiled and run by the default suite; the others are planned there and run in CI's slow part.
DEFAULT = ("larger images", "smaller images")


def spec_of(case: Case, folder: Path, name: str = "ResizeCase") -> OpSpec:
    text = (
        f"op: {name}\ninputs:\n  x: {{dtype: [float32, float16], rank: {case.rank}}}\n"
        f'outputs:\n  z: {{dtype: x, shape: "{case.shape}"}}\n'
        f'{case.attrs}compute: "{case.compute}"\nbackward: none\n'
        f"cases:\n  - {{x: {list(case.shapes[0])}}}\n"
    )
    path = folder / "case.yaml"
    path.write_text(text, encoding="utf-8")
    return load_spec(path)


@pytest.mark.parametrize("name", CASES)
def test_formulas_are_made_in_passes(name, tmp_path):
    plan = plan_op(spec_of(CASES[name], tmp_path))
    assert tuple(part.family.name for part in plan.parts) == CASES[name].passes


@pytest.fixture(scope="module", params=default_part(CASES, DEFAULT))
def built(request, tmp_path_factory):
    folder = tmp_path_factory.mktemp("resize")
    number = list(CASES).index(request.param)
    spec = spec_of(CASES[request.param], folder, name=f"ResizeCase{number}")
    op = BuiltOp(spec, folder, style="9.x" if number % 2 else "8.1")
    return op, CASES[request.param]


def tensor_of(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(0))


@pytest.mark.parametrize("auto_sync", [True, False], ids=["compiler's sync", "own sync"])
def test_results_and_sanitizer(built, auto_sync):
    op, case = built
    for shape in case.shapes:
        outputs, golden, result = op.run({"x": tensor_of(shape)}, mode="check", auto_sync=auto_sync)
        # far out on an axis the weights lose digits, as PyTorch's do for float32
        near = {"rtol": 1e-4, "atol": 1e-4} if max(shape) < 1000 else {"rtol": 1e-2, "atol": 2e-2}
        torch.testing.assert_close(outputs["z"].double(), golden["z"], **near)
        assert result.findings == []


def test_half(built):
    op, case = built
    for shape in case.shapes[:2]:
        x = tensor_of(shape).half()
        outputs, golden, result = op.run({"x": x}, mode="check")
        torch.testing.assert_close(outputs["z"].double(), golden["z"], rtol=2e-3, atol=2e-3)
        assert result.findings == []


def test_special_values(built):
    op, case = built
    x = tensor_of(case.shapes[0])
    flat = x.view(-1)
    for value, every in ((float("nan"), 11), (float("-inf"), 17), (float("inf"), 13)):
        flat[::every] = value
    outputs, golden, result = op.run({"x": x}, mode="check")
    torch.testing.assert_close(
        outputs["z"].double(), golden["z"], rtol=1e-4, atol=1e-4, equal_nan=True
    )
    assert result.findings == []


def test_results_do_not_depend_on_the_number_of_cores(built):
    op, case = built
    inputs = {"x": tensor_of(case.shapes[-1])}
    one, _, _ = op.run(inputs, mode="fast", block_dim=1)
    all_cores, _, _ = op.run(inputs, mode="fast")
    assert torch.equal(one["z"], all_cores["z"])


def test_integers_are_gathered(tmp_path):
    """The vector unit sums floats; the nearest element of others is moved."""
    text = (
        "op: Nearest\ninputs:\n  x: {dtype: int32, rank: 4}\noutputs:\n"
        f'  z: {{dtype: x, shape: "{TWICE}"}}\ncompute: "F.interpolate(x, scale_factor=2)"\n'
        "backward: none\n"
    )
    path = tmp_path / "nearest.yaml"
    path.write_text(text, encoding="utf-8")
    names = [part.family.name for part in plan_op(load_spec(path)).parts]
    assert "resize" not in names
    assert names.count("index") == 2


def test_what_pytorch_refuses_is_refused(tmp_path):
    with pytest.raises(OpgenError) as caught:
        plan_op(
            spec_of(
                Case("z = F.interpolate(x, scale_factor=-1.0)", TWICE, "4", [(1, 1, 4, 4)]),
                tmp_path,
            )
        )
    assert [d.code for d in caught.value.diagnostics] == ["OPG201"]


def test_tiling_says_what_it_refuses(tmp_path):
    op = BuiltOp(spec_of(CASES["sizes that are attrs"], tmp_path), tmp_path)
    op.golden = lambda inputs, attrs: {"z": torch.empty(1, 1, 2, 2)}
    with pytest.raises(Exception, match="an axis of 0 elements cannot be resized to 2"):
        op.run({"x": torch.empty(1, 1, 0, 4)}, {"high": 2, "wide": 2})

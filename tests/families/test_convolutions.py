"""Convolutions on cube and vector cores: windows, tails, groups, what stands around, refusals."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp
from operand_specs import operands_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.model import OpSpec


class Case(NamedTuple):
    """A formula over x and w, their rank, the shape of z, and shapes to try."""

    compute: str
    rank: int
    z: str
    shapes: list[tuple[tuple[int, ...], tuple[int, ...]]]


CASES = {
    "padded": Case(
        "F.conv2d(x, w, padding=1)",
        4,
        "[x[0], w[0], x[2] + 3 - w[2], x[3] + 3 - w[3]]",
        [
            ((2, 3, 9, 11), (5, 3, 3, 2)),
            ((1, 20, 17, 19), (33, 20, 3, 3)),
            ((1, 1, 1, 1), (1, 1, 3, 3)),  # a window that meets one element
            ((2, 2, 3, 700), (3, 2, 2, 3)),  # parts of a line
            ((0, 3, 9, 11), (5, 3, 3, 2)),
        ],
    ),
    "strided": Case(
        "F.conv2d(x, w, None, (2, 3))",
        4,
        "[x[0], w[0], (x[2] - w[2]) // 2 + 1, (x[3] - w[3]) // 3 + 1]",
        [((2, 3, 9, 11), (5, 3, 3, 2)), ((2, 40, 8, 8), (20, 40, 1, 1))],
    ),
    "dilated": Case(
        "F.conv2d(x, w, None, 1, (4, 2), (3, 2))",
        4,
        "[x[0], w[0], x[2] + 8 - 3 * (w[2] - 1), x[3] + 4 - 2 * (w[3] - 1)]",
        [((2, 3, 9, 11), (5, 3, 3, 4)), ((1, 17, 20, 300), (18, 17, 2, 5))],
    ),
    "window of one element": Case(
        "F.conv2d(x, w)",
        4,
        "[x[0], w[0], x[2] - w[2] + 1, x[3] - w[3] + 1]",
        [((2, 40, 13, 10), (20, 40, 1, 1)), ((1, 300, 7, 7), (260, 300, 1, 1))],
    ),
    "long windows": Case(
        "F.conv1d(x, w, padding=7)",
        3,
        "[x[0], w[0], x[2] + 15 - w[2]]",
        [((1, 1, 60000), (1, 1, 60010)), ((2, 3, 40), (4, 3, 31))],
    ),
    "volumes": Case(
        "F.conv3d(x, w, None, (1, 2, 1), (2, 1, 0))",
        5,
        "[x[0], w[0], x[2] + 5 - w[2], (x[3] + 2 - w[3]) // 2 + 1, x[4] + 1 - w[4]]",
        [((2, 3, 5, 9, 11), (7, 3, 3, 2, 3)), ((1, 2, 1, 3, 3), (4, 2, 1, 1, 1))],
    ),
    "groups": Case(
        "F.conv2d(x, w, padding=1, groups=3)",
        4,
        "[x[0], w[0], x[2] + 3 - w[2], x[3] + 3 - w[3]]",
        [((2, 6, 9, 11), (12, 2, 3, 3)), ((2, 3, 16, 16), (3, 1, 3, 3))],
    ),
    "a part of the images": Case(
        "F.conv2d(x[1:, :3], w)",
        4,
        "[x[0] - 1, w[0], x[2] - w[2] + 1, x[3] - w[3] + 1]",
        [((3, 5, 9, 11), (5, 3, 3, 2)), ((3, 5, 9, 11), (5, 3, 1, 1))],
    ),
}
# Transposed ones: their filters are rearranged in a pass before them.
TRANSPOSED = {
    "spread": Case(
        "F.conv_transpose2d(x, w, None, (2, 3), (1, 2), (1, 0))",
        4,
        "[x[0], w[1], x[2] * 2 - 3 + w[2], x[3] * 3 - 7 + w[3]]",
        [
            ((2, 3, 9, 11), (3, 5, 3, 4)),
            ((1, 20, 7, 5), (20, 33, 2, 3)),
            ((2, 2, 3, 300), (2, 3, 1, 5)),  # parts of a line
            ((0, 3, 9, 11), (3, 5, 3, 3)),
            ((1, 1, 2, 2), (1, 1, 1, 2)),  # more is cut off than the window adds
        ],
    ),
    "dense": Case(
        "F.conv_transpose2d(x, w)",
        4,
        "[x[0], w[1], x[2] + w[2] - 1, x[3] + w[3] - 1]",
        [((2, 3, 9, 11), (3, 5, 3, 4)), ((2, 40, 7, 7), (40, 20, 1, 1))],
    ),
    "grouped and dilated": Case(
        "F.conv_transpose2d(x, w, None, 3, 1, 1, 2, (2, 3))",
        4,
        "[x[0], w[1] * 2, x[2] * 3 - 4 + 2 * (w[2] - 1) + 1, x[3] * 3 - 4 + 3 * (w[3] - 1) + 1]",
        [((2, 6, 5, 7), (6, 4, 3, 3)), ((1, 34, 9, 8), (34, 3, 2, 5))],
    ),
    "lines": Case(
        "F.conv_transpose1d(x, w, None, 4, 3, 0, 1, 2)",
        3,
        "[x[0], w[1], x[2] * 4 - 10 + 2 * (w[2] - 1) + 1]",
        [((2, 3, 2000), (3, 4, 5)), ((1, 5, 6), (5, 7, 40))],
    ),
    "volumes": Case(
        "F.conv_transpose3d(x, w, w[0, :, 0, 0, 0], (2, 1, 3), (1, 0, 2), (0, 0, 2), 1, (1, 2, 1))",
        5,
        "[x[0], w[1], x[2] * 2 - 4 + w[2], x[3] - 1 + 2 * w[3] - 1, x[4] * 3 - 5 + w[4]]",
        [((2, 3, 4, 5, 6), (3, 6, 3, 2, 4)), ((1, 2, 2, 3, 3), (2, 4, 2, 1, 5))],
    ),
}
DEFAULT = ("padded",)
# What stands around a convolution is a pass of its own in the same launch.
PASSES = {
    "bias and activation": Case(
        "F.relu(F.conv2d(x, w, w[:, 0, 0, 0], 2, 1))",
        4,
        "[x[0], w[0], (x[2] + 2 - w[2]) // 2 + 1, (x[3] + 2 - w[3]) // 2 + 1]",
        [((2, 3, 9, 11), (5, 3, 3, 2))],
    ),
    "residual and prologue": Case(
        "F.conv2d(torch.tanh(x), w, padding=1) * 2 + x",
        4,
        "like x",
        [((2, 4, 9, 11), (4, 4, 3, 3))],
    ),
    "two convolutions": Case(
        "F.conv2d(F.relu(F.conv2d(x, w, padding=1)), w, padding=1)",
        4,
        "like x",
        [((2, 4, 9, 11), (4, 4, 3, 3))],
    ),
    "channels last": Case(
        "F.conv2d(x.permute(0, 3, 1, 2), w)",
        4,
        "[x[0], w[0], x[1] - w[2] + 1, x[2] - w[3] + 1]",
        [((2, 9, 11, 4), (5, 4, 3, 3))],
    ),
}
REFUSED = {
    "integers": ("F.conv2d(x, w)", "int32", "OPG412"),
}


def spec_of(
    case: Case, dtypes: str = "[float16, float32]", name: str = "ConvolutionCase"
) -> OpSpec:
    ranks = {"x": case.rank, "w": case.rank}
    return operands_spec(name, case.compute, ranks, case.shapes[0], case.z, (dtypes, "x"))


@pytest.mark.parametrize("name", default_part(CASES, ["padded", "groups"]))
def test_a_convolution_of_views_is_one_pass(name):
    plan = plan_op(spec_of(CASES[name]))
    assert plan.family.name == "convolution"
    assert [b.class_name for b in plan.bodies] == ["Kernel"]


@pytest.mark.parametrize("name", default_part(PASSES, ["bias and activation"]))
def test_what_stands_around_is_a_pass_of_its_own(name):
    plan = plan_op(spec_of(PASSES[name]))
    made = [p.family.name for p in plan.parts]
    assert len(made) > 1 and made.count("convolution") == (2 if name == "two convolutions" else 1)


@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name):
    compute, dtype, code = REFUSED[name]
    shape = "[x[0], w[0], x[2] - w[2] + 1, x[3] - w[3] + 1]"
    case = Case(compute, 4, shape, [((2, 3, 9, 11), (3, 3, 3, 2))])
    with pytest.raises(OpgenError) as error:
        plan_op(spec_of(case, dtype))
    assert error.value.diagnostics[0].code == code


def check(op: BuiltOp, case: Case) -> None:
    """Compare results in check mode, with the compiler's synchronisation and without."""
    for dtype in (torch.float16, torch.float32):
        for shapes in case.shapes:
            generator = torch.Generator().manual_seed(math.prod(shapes[0]))
            inputs: dict[str, Any] = {
                name: torch.randn(shape, generator=generator).to(dtype)
                for name, shape in zip("xw", shapes, strict=True)
            }
            for sync in (True, False):
                outputs, golden, result = op.run(inputs, mode="check", auto_sync=sync)
                got, want = outputs["z"].double(), golden["z"].double()
                assert got.shape == want.shape
                bound = 2.0**-8 if dtype is torch.float16 else 2.0**-17
                scale = max(1.0, float(want.abs().max())) if want.numel() else 1.0
                assert bool(((got - want).abs() <= bound * scale).all())
                assert result.findings == []


@pytest.mark.parametrize("name", default_part(CASES, DEFAULT))
def test_results_and_sanitizer(name, tmp_path):
    number = list(CASES).index(name)
    spec = spec_of(CASES[name], name=f"ConvolutionCase{number}")
    check(BuiltOp(spec, tmp_path, style="9.x" if number % 2 else "8.1"), CASES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", PASSES)
def test_several_passes_in_one_launch(name, tmp_path):
    number = list(PASSES).index(name)
    spec = spec_of(PASSES[name], name=f"ConvolutionPasses{number}")
    check(BuiltOp(spec, tmp_path, style="9.x" if number % 2 else "8.1"), PASSES[name])


@pytest.mark.slow
@pytest.mark.parametrize("name", TRANSPOSED)
def test_transposed_convolutions(name, tmp_path):
    number = list(TRANSPOSED).index(name)
    spec = spec_of(TRANSPOSED[name], name=f"TransposedCase{number}")
    assert [p.family.name for p in plan_op(spec).parts][:2] == ["elementwise", "convolution"]
    check(BuiltOp(spec, tmp_path, style="9.x" if number % 2 else "8.1"), TRANSPOSED[name])

"""Depthwise convolutions on vector cores: windows, strides, several filters, gradients, plans."""

from __future__ import annotations

from typing import Any, NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.shapes import evaluate


class Case(NamedTuple):
    """A formula over x, w and b, the rank of x, the shape of z, and shapes to try."""

    compute: str
    rank: int
    z: str
    shapes: list[tuple[tuple[int, ...], ...]]


CASES = {
    "padded": Case(
        "F.conv2d(x, w, b, padding=1, groups=x.shape[1])",
        4,
        "[x[0], w[0], x[2] + 3 - w[2], x[3] + 3 - w[3]]",
        [
            ((2, 6, 9, 11), (6, 1, 3, 3)),
            ((1, 9, 33, 31), (9, 1, 3, 2)),  # planes that do not fill a group of eight
            ((3, 20, 1, 1), (20, 1, 3, 3)),  # a window that meets one element
            ((1, 2, 3, 700), (4, 1, 2, 3)),  # two filters for each channel, parts of lines
            ((0, 3, 9, 11), (3, 1, 3, 3)),
            ((1, 3, 130, 140), (3, 1, 5, 5)),  # several tiles
        ],
    ),
    "strided and dilated": Case(
        "F.conv2d(x, w, b, (2, 3), (4, 2), (3, 2), x.shape[1])",
        4,
        "[x[0], w[0], (x[2] + 10 - 3 * w[2]) // 2 + 1, (x[3] + 5 - 2 * w[3]) // 3 + 1]",
        [
            ((2, 3, 19, 21), (6, 1, 3, 4)),
            ((1, 17, 20, 300), (17, 1, 2, 5)),
            ((1, 8, 90, 9), (8, 1, 3, 3)),
        ],
    ),
    "sequences": Case(
        "F.conv1d(x, w, b, padding=w.shape[2] - 1, groups=x.shape[1])",
        3,
        "[x[0], w[0], x[2] + w[2] - 1]",
        [((2, 5, 100), (5, 1, 4)), ((1, 3, 9000), (3, 1, 3))],
    ),
    # Filters longer than UB holds at once, and positions too far apart for one instruction.
    "long filters": Case(
        "F.conv1d(x, w, b, 40, 30, groups=x.shape[1])",
        3,
        "[x[0], w[0], (x[2] + 60 - w[2]) // 40 + 1]",
        [((1, 3, 9000), (3, 1, 7000)), ((2, 3, 500), (6, 1, 81))],
    ),
    "volumes": Case(
        "F.conv3d(x, w, b, (1, 2, 1), (2, 1, 0), groups=x.shape[1])",
        5,
        "[x[0], w[0], x[2] + 5 - w[2], (x[3] + 2 - w[3]) // 2 + 1, x[4] + 1 - w[4]]",
        [((2, 3, 5, 9, 11), (6, 1, 3, 3, 2)), ((1, 8, 20, 17, 19), (8, 1, 4, 2, 5))],
    ),
    # One channel per group by the shape of the filters, a part of the channels, no bias.
    "a part of the channels": Case(
        "F.conv2d(x[1:, :3], w, padding=1, groups=3) + 0 * b.sum()",
        4,
        "[x[0] - 1, 3, x[2], x[3]]",
        [((3, 5, 9, 11), (3, 1, 3, 3))],
    ),
}
DEFAULT = ("padded", "long filters")


def spec_of(
    case: Case,
    name: str = "DepthwiseCase",
    dtypes: str = "[float16, float32]",
    backward: str = "kernel",
) -> OpSpec:
    x, w = case.shapes[0]
    text = (
        f"op: {name}\n"
        f"inputs:\n  x: {{dtype: {dtypes}, rank: {case.rank}}}\n"
        f"  w: {{dtype: x, rank: {case.rank}}}\n"
        f'  b: {{dtype: x, shape: "[w[0]]"}}\n'
        f'outputs:\n  z: {{dtype: x, shape: "{case.z}"}}\n'
        f'compute: "{case.compute}"\nbackward: {backward}\n'
        f"cases:\n  - {{x: {list(x)}, w: {list(w)}, b: [{w[0]}]}}\n"
    )
    result = parse_spec(text, "case.yaml")
    assert result.spec is not None, result.diagnostics
    return result.spec


def check(op: BuiltOp, shapes: dict[str, tuple[int, ...]], dtype: torch.dtype) -> None:
    """Compare results in check mode, with the compiler's synchronisation and without."""
    generator = torch.Generator().manual_seed(sum(map(sum, shapes.values())))
    inputs: dict[str, Any] = {
        name: torch.randn(shape, generator=generator).to(dtype) for name, shape in shapes.items()
    }
    for sync in (True, False):
        outputs, golden, result = op.run(inputs, mode="check", auto_sync=sync)
        for name, made in outputs.items():
            got, want = made.double(), golden[name].double()
            assert got.shape == want.shape
            bound = 2.0**-9 if dtype is torch.float16 else 2.0**-17
            scale = max(1.0, float(want.abs().max())) if want.numel() else 1.0
            assert bool(((got - want).abs() <= bound * scale).all()), name
        assert result.findings == []


@pytest.mark.parametrize("name", default_part(CASES, DEFAULT))
def test_results_and_sanitizer(name, tmp_path):
    number = list(CASES).index(name)
    op = BuiltOp(
        spec_of(CASES[name], f"DepthwiseCase{number}"), tmp_path, style=("8.1", "9.x")[number % 2]
    )
    for x, w in CASES[name].shapes:
        for dtype in (torch.float16, torch.float32):
            check(op, {"x": x, "w": w, "b": w[:1]}, dtype)


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_gradients(name, tmp_path):
    number = list(CASES).index(name)
    case = CASES[name]
    forward = spec_of(case, f"DepthwiseGradient{number}", "float32")
    gradient = gradient_spec(forward)
    op = BuiltOp(gradient, tmp_path, style=("9.x", "8.1")[number % 2])
    for x, w in case.shapes:
        if 0 in x or w[-1] > 1000:
            continue
        given: dict[str, tuple[int, ...]] = {"x": x, "w": w, "b": w[:1]}
        given["grad_z"] = evaluate(forward.param("z").shape, given, {})
        check(op, {p.name: given[p.name] for p in gradient.inputs}, torch.float32)


def test_a_group_for_each_channel_is_one_pass_with_its_bias():
    for name in ("padded", "sequences", "volumes"):
        plan = plan_op(spec_of(CASES[name]))
        assert plan.family.name == "depthwise"
    plan = plan_op(spec_of(CASES["a part of the channels"]))
    assert "depthwise" in [p.family.name for p in plan.parts]


def test_numbers_in_lists_of_one_element():
    """Another length of such a list adds elements that nothing reads, and changes no pass."""
    size = "(x[2] + 2 * padding[0] - dilation[0] * (w[2] - 1) - 1) // stride[0] + 1"
    text = (
        "op: Lists\ninputs: {x: {dtype: float32, rank: 3}, w: {dtype: x, rank: 3}}\n"
        f'outputs: {{z: {{dtype: x, shape: "[x[0], w[0], {size}]"}}}}\n'
        "attrs: {stride: [1], padding: [1], dilation: [1]}\n"
        "compute: F.conv1d(x, w, None, [stride[0]], [padding[0]], [dilation[0]], x.shape[1])\n"
        "backward: kernel\ncases: [{x: [2, 6, 9], w: [6, 1, 3]}]\n"
    )
    spec = parse_spec(text, "case.yaml").spec
    assert spec is not None
    plan = plan_op(gradient_spec(spec))
    assert {p.family.name for p in plan.parts} == {"depthwise", "row"}


def test_groups_that_may_have_several_channels_are_products():
    text = (
        "op: Grouped\ninputs: {x: {dtype: float32, rank: 4}, w: {dtype: x, rank: 4}}\n"
        'outputs: {z: {dtype: x, shape: "[x[0], w[0], x[2], x[3]]"}}\n'
        "compute: F.conv2d(x, w, padding=1, groups=3)\nbackward: none\n"
        "cases: [{x: [2, 6, 9, 11], w: [6, 2, 3, 3]}]\n"
    )
    spec = parse_spec(text, "case.yaml").spec
    assert spec is not None and plan_op(spec).family.name == "convolution"


def test_infinite_filters_meet_the_zeros_around_a_plane(tmp_path):
    """As PyTorch multiplies them: NaN beside the padding, and nowhere else."""
    op = BuiltOp(spec_of(CASES["padded"], "DepthwiseInfinite"), tmp_path)
    x, w, b = torch.randn(1, 9, 8, 7), torch.randn(9, 1, 3, 3), torch.randn(9)
    w[4, 0, 0, 1] = float("inf")
    outputs, _, result = op.run({"x": x, "w": w, "b": b}, mode="check")
    nan = torch.isnan(outputs["z"])
    assert bool(nan[0, 4, 0].all()) and int(nan.sum()) == 7
    assert result.findings == []


def test_infinite_gradients_meet_the_zeros_around_a_plane(tmp_path):
    """The gradients of elements of the filters that lie outside there are NaN."""
    gradient = gradient_spec(spec_of(CASES["padded"], "DepthwiseInfiniteGradient"))
    op = BuiltOp(gradient, tmp_path)
    inputs = {"x": torch.randn(1, 9, 8, 7), "w": torch.randn(9, 1, 3, 3), "b": torch.randn(9)}
    inputs["grad_z"] = torch.randn(1, 9, 8, 7)
    inputs["grad_z"][0, 4, 0, 3] = float("inf")
    given = {name: inputs[name] for name in (p.name for p in gradient.inputs)}
    outputs, golden, result = op.run(given, mode="check")
    made = outputs["grad_w"]
    assert bool(torch.isnan(made[4, 0, 0]).all()) and int(torch.isnan(made).sum()) == 3
    torch.testing.assert_close(
        made.double(), golden["grad_w"], equal_nan=True, rtol=1e-4, atol=1e-4
    )
    assert result.findings == []


def test_tiling_refuses_what_is_no_convolution(tmp_path):
    op = BuiltOp(spec_of(CASES["padded"], "DepthwiseRefused"), tmp_path)
    given = [torch.zeros(1, 4, 2, 2), torch.zeros(6, 1, 3, 3), torch.zeros(6)]
    with pytest.raises(RuntimeError, match="do not make a group of each channel"):
        op.runtime.run(op.spec.op, given, [torch.zeros(1, 6, 2, 2)], {}, mode="check")


def test_refuses_integers():
    with pytest.raises(OpgenError) as error:
        plan_op(spec_of(CASES["padded"], dtypes="int32", backward="none"))
    assert error.value.diagnostics[0].code in ("OPG412", "OPG410")

"""Gradients of pools by kernel: averages, largest elements, even shares, of one to three axes."""

from __future__ import annotations

from typing import NamedTuple

import pytest
import torch
from default_part import default_part
from harness import BuiltOp

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.shapes import evaluate

HALVED = "[*x[:-2], x[-2] // 2, x[-1] // 2]"
AVERAGE, MAXIMUM = ("window",), ("window", "window")


class Case(NamedTuple):
    """A formula, the shape of its result, the ranks and shapes of its input, and its passes."""

    compute: str
    shape: str
    rank: str
    shapes: list[tuple[int, ...]]
    passes: tuple[str, ...] = AVERAGE
    positions: bool = False
    attrs: str = ""


BY_ATTRS = (
    "attrs:\n  size: {type: int, default: 3, min: 1}\n"
    "  every: {type: int, default: 2, min: 1}\n  pad: {type: int, default: 1, min: 0}\n"
)
OF_ATTRS = "[*x[:-2], (x[-2] + 2 * pad - size) // every + 1, (x[-1] + 2 * pad - size) // every + 1]"
CASES = {
    "average": Case(
        "z = F.avg_pool2d(x, size, every, pad, count_include_pad=False)",
        OF_ATTRS,
        "[3, 4]",
        [(2, 3, 17, 19), (3, 1, 2), (1, 2, 150, 170), (300, 5, 6), (0, 3, 4, 4)],
        attrs=BY_ATTRS,
    ),
    "maximum": Case(
        "z = F.max_pool2d(x, size, every, pad)",
        OF_ATTRS,
        "[3, 4]",
        [(2, 3, 17, 19), (3, 1, 1), (40, 7, 7), (0, 3, 4, 4), (1, 1, 70, 90)],
        MAXIMUM,
        attrs=BY_ATTRS,
    ),
    "rounded up, with gaps": Case(
        "z = F.avg_pool2d(x, (2, 3), (3, 5), (1, 0), ceil_mode=True, divisor_override=7)",
        "[*x[:-2], x[-2] // 3 + 1, (x[-1] - 1) // 5 + 1]",
        "4",
        [(2, 3, 17, 20), (2, 3, 8, 8)],
    ),
    "positions apart": Case(
        "z, p = F.max_pool2d(x, 2, 1, 0, dilation=(2, 3), return_indices=True)",
        "[*x[:-2], x[-2] - 2, x[-1] - 3]",
        "4",
        [(2, 3, 17, 19)],
        MAXIMUM,
        positions=True,
    ),
    "one axis": Case(
        "z = F.max_pool1d(x, 4, 3, 2, dilation=2)",
        "[*x[:-1], (x[-1] + 4 - 7) // 3 + 1]",
        "[2, 3]",
        [(2, 3, 50), (70, 9), (2, 20001)],
        MAXIMUM,
    ),
    "one axis, averages": Case(
        "z = F.avg_pool1d(x, 5, 1, 2)", "like x", "[2, 3]", [(2, 3, 50), (70, 9), (1, 30001)]
    ),
    "three axes": Case(
        "z = F.avg_pool3d(x, (2, 3, 3), (1, 2, 2), (1, 1, 1), count_include_pad=False)",
        "[*x[:-3], x[-3] + 1, (x[-2] - 1) // 2 + 1, (x[-1] - 1) // 2 + 1]",
        "[4, 5]",
        [(2, 3, 5, 17, 19), (90, 2, 3, 3)],
    ),
    "three axes, positions": Case(
        "z = F.max_pool3d(x, 3, 2, 1)",
        "[*x[:-3], (x[-3] - 1) // 2 + 1, (x[-2] - 1) // 2 + 1, (x[-1] - 1) // 2 + 1]",
        "5",
        [(2, 3, 5, 17, 19)],
        MAXIMUM,
    ),
    "even shares": Case(
        "z = F.adaptive_avg_pool2d(x, (5, 7))",
        "[*x[:-2], 5, 7]",
        "[3, 4]",
        [(2, 3, 17, 19), (4, 10, 14), (2, 3, 3)],
    ),
    "even shares, positions": Case(
        "z = F.adaptive_max_pool2d(x, (5, 7))",
        "[*x[:-2], 5, 7]",
        "[3, 4]",
        [(2, 3, 17, 19), (4, 10, 14)],
        MAXIMUM,
    ),
    "between other work": Case(
        "z = F.max_pool2d(F.relu(x), 2) * 3 + F.avg_pool2d(x, 2).sigmoid()",
        HALVED,
        "4",
        [(2, 3, 9, 10)],
        (),
    ),
}
# Compiled and run by the default suite; CI's slow part takes some, the others are tried where they
# are changed: compiling all of them takes minutes.
DEFAULT = ("average",)
SLOW = (
    "maximum",
    "positions apart",
    "three axes",
    "even shares",
    "even shares, positions",
)


def forward_of(case: Case, name: str) -> OpSpec:
    found = f'\n  p: {{dtype: int64, shape: "{case.shape}"}}' if case.positions else ""
    result = parse_spec(
        f"op: {name}\ninputs:\n  x: {{dtype: [float32, float16], rank: {case.rank}}}\n"
        f'outputs:\n  z: {{dtype: x, shape: "{case.shape}"}}{found}\n'
        f"{case.attrs}compute: {case.compute}\nbackward: kernel\n"
        f"cases:\n  - {{x: {list(case.shapes[0])}}}\n",
        "case.yaml",
    )
    assert result.spec is not None, result.diagnostics
    return result.spec


@pytest.mark.parametrize("name", ["maximum"])
def test_a_gradient_is_a_pass_over_windows(name):
    """The positions of the largest elements are a pass of their own."""
    plan = plan_op(gradient_spec(forward_of(CASES[name], "WindowGradient")))
    assert tuple(part.family.name for part in plan.parts) == CASES[name].passes


@pytest.fixture(
    scope="module",
    params=default_part([*DEFAULT, *SLOW], DEFAULT),
)
def built(request, tmp_path_factory):
    number = list(CASES).index(request.param)
    forward = forward_of(CASES[request.param], f"WindowGradient{number}")
    folder = tmp_path_factory.mktemp("window_gradient")
    style = "9.x" if number % 2 else "8.1"
    combos = None if request.param in (*DEFAULT, "maximum") else [0]
    op = BuiltOp(gradient_spec(forward), folder, style=style, combos=combos)
    assert tuple(part.family.name for part in op.plan.parts) == CASES[request.param].passes
    return op, forward, CASES[request.param]


def inputs_of(forward: OpSpec, shape: tuple[int, ...], dtype: torch.dtype = torch.float32):
    """Draw a tensor with equal elements, of which the first has the gradient of a maximum."""
    generator = torch.Generator().manual_seed(0)
    attrs = {attr.name: attr.default for attr in forward.attrs}
    arriving = evaluate(forward.param("z").shape, {"x": shape}, attrs)
    return {
        "x": (torch.randint(-8, 8, shape, generator=generator) / 4 + 0.125).to(dtype),
        "grad_z": torch.randn(tuple(arriving), generator=generator).to(dtype),
    }


def test_gradients_and_sanitizer(built):
    op, forward, case = built
    both = len(list(op._combos)) > 1
    for shape in case.shapes:
        for dtype, sync in ((torch.float32, False), (torch.float16, True))[: 1 + both]:
            inputs = inputs_of(forward, shape, dtype)
            outputs, golden, result = op.run(inputs, mode="check", auto_sync=sync)
            bound = 2e-3 if dtype is torch.float16 else 1e-5
            torch.testing.assert_close(
                outputs["grad_x"].double(), golden["grad_x"], rtol=bound, atol=bound
            )
            assert result.findings == []


def test_gradients_do_not_depend_on_the_number_of_cores(built):
    op, forward, case = built
    inputs = inputs_of(forward, case.shapes[-1] if case.shapes[-1][0] else case.shapes[2])
    one, _, _ = op.run(inputs, mode="fast", block_dim=1)
    every, _, _ = op.run(inputs, mode="fast")
    assert torch.equal(one["grad_x"], every["grad_x"])


def test_gaps_between_windows_have_no_gradient(built):
    op, _, case = built
    if case.attrs == "" or len(case.passes) != 1:
        pytest.skip("the numbers of the windows are literals")
    inputs = {"x": torch.zeros(1, 1, 9, 9), "grad_z": torch.ones(1, 1, 2, 2)}
    outputs, golden, _ = op.run(inputs, {"size": 2, "every": 5, "pad": 0}, mode="check")
    assert torch.equal(outputs["grad_x"].double(), golden["grad_x"])
    assert int((outputs["grad_x"] == 0).sum()) == 81 - 4 * 4


def test_a_gradient_of_another_shape_is_refused(built):
    op, _, case = built
    if case.attrs == "" or len(case.passes) != 1:
        pytest.skip("the numbers of the windows are literals")
    op.golden = lambda inputs, attrs: {"grad_x": torch.empty(1, 1, 9, 9)}
    inputs = {"x": torch.zeros(1, 1, 9, 9), "grad_z": torch.ones(1, 1, 3, 3)}
    with pytest.raises(Exception, match=r"grad_z has shape \[1,1,3,3\], expected .* = \[1,1,2,2\]"):
        op.run(inputs, {"size": 2, "every": 5, "pad": 0})

"""Numbers counted along axes beside reductions: masks, positions and weights of rows."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.model import DimConst, OpSpec, ShapeLike, ShapeList, ShapeReduce

CAUSAL = (
    "seen = torch.ones(x.shape[-2], x.shape[-1], dtype=torch.bool).tril()\n"
    "z = torch.softmax(x.masked_fill(~seen, -math.inf), -1)"
)
POSITIONS = (
    "angle = torch.arange(x.shape[-2]).unsqueeze(-1) * 0.01\n"
    "z = F.rms_norm(x + torch.sin(angle) + torch.arange(x.shape[-1]) * 0.25, [x.shape[-1]])"
)
# compute, rule of the output, more shapes
CASES: dict[str, tuple[str, Any, list[tuple[int, ...]]]] = {
    "causal softmax": (CAUSAL, ShapeLike("x"), [(1, 1), (2, 3, 33, 33), (70, 9001), (3, 40003)]),
    "positions": (POSITIONS, ShapeLike("x"), [(70, 9001), (3, 40003)]),
    "rows": (
        "x.sum(-1) * torch.arange(x.shape[-2])",
        ShapeReduce("x", (-1,), False),
        [(3, 40003), (70, 20001), (2, 300, 8)],
    ),
    "columns": (
        "x.sum(-2, keepdim=True) * torch.arange(x.shape[-1]) * 0.01",
        ShapeReduce("x", (-2,), True),
        [(9001, 7), (40003, 3)],
    ),
    "distances from the largest": (
        "x * ((torch.arange(x.shape[-1]) - x.argmax(-1, keepdim=True)).abs() % 5)",
        ShapeLike("x"),
        [(5, 9000)],
    ),
    "steps": (
        "x * torch.arange(3, 3 + 2 * x.shape[-1], 2) / x.sum(-1, keepdim=True)",
        ShapeLike("x"),
        [(5, 9000)],
    ),
}
SHAPES: list[tuple[int, ...]] = [(3, 5), (0, 4), (200, 70), (4, 50, 50)]


def spec_of(name: str, dtype: str) -> OpSpec:
    compute, rule, _ = CASES[name]
    spec = make_spec(compute, dtypes=(dtype,), shapes={"z": rule})
    return replace(spec, inputs=(replace(spec.inputs[0], min_rank=2),))


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("causal softmax", "float32"),
        *(
            pytest.param(n, d, marks=pytest.mark.slow)
            for n in CASES
            for d in ("float16", "float32")
            if (n, d) != ("causal softmax", "float32")
        ),
    ],
)
def test_counted_numbers(name, dtype, tmp_path):
    op = BuiltOp(spec_of(name, dtype), tmp_path)
    for shape in SHAPES + CASES[name][2]:
        generator = torch.Generator().manual_seed(len(shape))
        x = (torch.rand(shape, generator=generator) + 0.5).to(getattr(torch, dtype))
        outputs, golden, result = op.run({"x": x}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], shape


def test_operands_stay_whole_beside_counted_numbers():
    """Numbers along the axes of x make the space no larger: x is worked on where it lies."""
    (body,) = plan_op(spec_of("causal softmax", "float32")).bodies
    assert body.covering == {"x"} and list(body.indices) == ["index", "index1"]


@pytest.mark.slow
def test_counted_numbers_may_make_the_space_larger(tmp_path):
    spec = make_spec(
        "(x * torch.arange(4).unsqueeze(-1)).sum(-1)", shapes={"z": ShapeList((DimConst(4),))}
    )
    spec = replace(spec, inputs=(replace(spec.inputs[0], min_rank=1, max_rank=1),))
    op = BuiltOp(spec, tmp_path)
    assert op.plan.bodies[0].covering == frozenset()
    for length in (1, 70, 50001):
        outputs, golden, result = op.run({"x": torch.rand(length)}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], length

"""Reductions of what joins and pads tensors along axes: each piece is read where it lies."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.spec.model import (
    DimBinary,
    DimConst,
    DimOf,
    DimSlice,
    OpSpec,
    ShapeLike,
    ShapeList,
    ShapeReduce,
)

KEPT = ShapeList((DimSlice("x", None, -1), DimConst(1)))
ONE_ROW = ShapeList((DimSlice("x", None, -2), DimConst(1), DimOf("x", -1)))
# compute, inputs, rule of the output, rule of y
CASES: dict[str, tuple[str, str, Any, Any]] = {
    "columns": ("torch.cat([x, y], -1).sum(-1, keepdim=True)", "x y", KEPT, None),
    "padding": (
        "torch.softmax(F.pad(x, [2, 3], value=0.25), -1).amax(-1, keepdim=True)",
        "x",
        KEPT,
        None,
    ),
    "rows": (
        "joined = torch.cat([x[..., :-1, :], y], -2)\nz = joined / joined.sum(-1, keepdim=True)",
        "x y",
        ShapeLike("x"),
        ONE_ROW,
    ),
    "down the columns": (
        "torch.cat([x[..., :-1], y], -1).sum(-2)",
        "x y",
        ShapeReduce("x", (-2,), False),
        KEPT,
    ),
}
SHAPES: list[tuple[int, ...]] = [(3, 5), (200, 70), (2, 3, 33), (70, 9001), (3, 40003), (40003, 3)]


def spec_of(name: str, dtype: str) -> OpSpec:
    compute, names, rule, other = CASES[name]
    spec = make_spec(compute, names, shapes={"z": rule}, dtypes=(dtype,))
    inputs = tuple(
        replace(p, min_rank=2, max_rank=3, shape=other if p.name == "y" else None)
        for p in spec.inputs
    )
    return replace(spec, inputs=inputs)


def shape_of_y(name: str, shape: tuple[int, ...]) -> tuple[int, ...]:
    if name == "rows":
        return (*shape[:-2], 1, shape[-1])
    return (*shape[:-1], 1 if name == "down the columns" else 7)


@pytest.mark.parametrize(
    ("name", "dtype"),
    [
        ("columns", "float32"),
        *(
            pytest.param(n, d, marks=pytest.mark.slow)
            for n in CASES
            for d in ("float16", "float32")
            if (n, d) != ("columns", "float32")
        ),
    ],
)
def test_joined_tensors_are_reduced(name, dtype, tmp_path):
    op = BuiltOp(spec_of(name, dtype), tmp_path)
    for shape in SHAPES:
        generator = torch.Generator().manual_seed(len(shape))
        shapes = {"x": shape, "y": shape_of_y(name, shape)}
        inputs = {
            p.name: (torch.rand(shapes[p.name], generator=generator) + 0.5).to(
                getattr(torch, dtype)
            )
            for p in op.spec.inputs
        }
        outputs, golden, result = op.run(inputs, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], shape


def test_edges_repeated_around_rows(tmp_path):
    """An edge is expanded along the axis in which it is placed, and only to its own length."""
    compute = "F.pad(x, [2, 1], mode='replicate').softmax(-2).amax(-2)"
    rule = ShapeList((DimOf("x", 0), DimBinary("+", DimOf("x", 2), DimConst(3))))
    spec = make_spec(compute, "x", shapes={"z": rule}, dtypes=("float32",))
    spec = replace(spec, inputs=(replace(spec.inputs[0], min_rank=3, max_rank=3),))
    op = BuiltOp(spec, tmp_path)
    for shape in [(3, 4, 5), (70, 33, 129)]:
        outputs, golden, result = op.run({"x": torch.rand(shape) + 0.5}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], shape


def test_a_reduction_over_a_new_axis_beside_one_over_rows(tmp_path):
    """No operand has the new axis, so tiling finds the others where they are."""
    compute = "x.argmin(-1).to(torch.int32).unsqueeze(-2).argmax(-2).to(torch.int32)"
    rule = ShapeList((DimOf("x", 0),))
    spec = make_spec(compute, "x", shapes={"z": rule}, dtypes=("int16",), out_dtypes=("int32",))
    spec = replace(spec, inputs=(replace(spec.inputs[0], min_rank=2, max_rank=2),))
    op = BuiltOp(spec, tmp_path)
    for shape in [(3, 5), (0, 3), (70, 129)]:
        x = torch.randint(-99, 99, shape, dtype=torch.int16)
        outputs, golden, _ = op.run({"x": x}, mode="check")
        assert torch.equal(outputs["z"], golden["z"].to(torch.int32)), shape


@pytest.mark.slow
def test_a_piece_without_elements(tmp_path):
    op = BuiltOp(spec_of("columns", "float32"), tmp_path)
    for x, y in [
        ((2, 3, 33), (2, 3, 0)),
        ((2, 3, 0), (2, 3, 5)),
        ((1, 1), (1, 1)),
        ((0, 4), (0, 2)),
    ]:
        outputs, golden, result = op.run({"x": torch.rand(x), "y": torch.rand(y)}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], (x, y)

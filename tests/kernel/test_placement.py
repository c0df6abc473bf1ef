"""Tensors that are placed in larger ones or joined along axes, pointwise and reduced."""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import load_specs
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

# --------------------------------------------------------------------------------------------------
# Kernels of tensors placed in larger ones: joined, padded, rolled, split into unequal parts.

_COUNTER = itertools.count()  # the runtime's registry is global

# One row, tails, more than a tile, a column.
SHAPES = [{"x": (5, 7)}, {"x": (33, 300)}, {"x": (3, 9000)}, {"x": (70, 2)}, {"x": (1, 1)}]
BELOW = [{"x": (5, 7), "y": (3, 7)}, {"x": (40, 300), "y": (33, 300)}, {"x": (1, 1), "y": (1, 1)}]
BESIDE = [
    {"x": (7, 5), "y": (7, 3)},
    {"x": (300, 40), "y": (300, 33)},
    {"x": (2, 4000), "y": (2, 17001)},
    {"x": (1, 1), "y": (1, 1)},
]
VECTOR = [{"x": (5, 7), "y": (5,)}, {"x": (40, 300), "y": (40,)}]

# name -> compute, shapes of the inputs, rules of the outputs, dtype
CASES: dict[str, tuple[str, list[dict[str, Any]], dict[str, str], str]] = {
    "rows": ("torch.cat([x * 2, y], 0)", BELOW, {"z": "[x[0] + y[0], x[1]]"}, "float32"),
    "columns": ("torch.cat([x, y.exp()], 1)", BESIDE, {"z": "[x[0], x[1] + y[1]]"}, "float32"),
    "bytes": ("torch.cat([x, y], 1)", BESIDE, {"z": "[x[0], x[1] + y[1]]"}, "int8"),
    "truth": ("torch.cat([x, y], 0)", BELOW, {"z": "[x[0] + y[0], x[1]]"}, "bool"),
    "half": ("torch.cat([x, y * 2], 1)", BESIDE, {"z": "[x[0], x[1] + y[1]]"}, "float16"),
    "stack": ("torch.stack([x, x * 2], -1)", SHAPES, {"z": "[x[0], x[1], 2]"}, "float32"),
    "views": (
        "torch.cat([x, x.flip(0)[:1], x[:1].expand(3, -1) * 2], 0)",
        SHAPES,
        {"z": "[x[0] + 4, x[1]]"},
        "float32",
    ),
    "flip": ("torch.flip(x + 1, [0, 1])", SHAPES, {"z": "like x"}, "float32"),
    "roll": ("torch.roll(x, 2, 1)", [*SHAPES, {"x": (3, 0)}], {"z": "like x"}, "float32"),
    "roll of joined axes": (
        "torch.roll((x.sum(1, keepdim=True) + x).flatten(), 2, 0)",
        [SHAPES[0], {"x": (3, 0)}],
        {"z": "[x[0] * x[1]]"},
        "float32",
    ),
    "turned": ("torch.roll(torch.flip(x, [1]), 3, 1)", SHAPES[:2], {"z": "like x"}, "int16"),
    "margins": (
        "F.pad(x * 2, (3, 2, 1, 2), value=7.0)",
        SHAPES,
        {"z": "[x[0] + 3, x[1] + 5]"},
        "float32",
    ),
    "cut": ("F.pad(x, (-1, 2))", SHAPES[:4], {"z": "[x[0], x[1] + 1]"}, "float32"),
    "reflected": (
        "F.pad(x.unsqueeze(0), (2, 1), mode='reflect').squeeze(0)",
        SHAPES[:3],
        {"z": "[x[0], x[1] + 3]"},
        "float32",
    ),
    "replicated": (
        "F.pad(x.unsqueeze(0), (2, 1), mode='replicate').squeeze(0)",
        SHAPES,
        {"z": "[x[0], x[1] + 3]"},
        "float32",
    ),
    "triangle": ("torch.tril(x, -1) + torch.triu(x, 1)", SHAPES, {"z": "like x"}, "float32"),
    "diagonals": (
        "torch.diag_embed(x, 1)",
        SHAPES[:2],
        {"z": "[x[0], x[1] + 1, x[1] + 1]"},
        "float32",
    ),
    "scattered diagonal": ("torch.diagonal_scatter(x, y, 0)", VECTOR, {"z": "like x"}, "float32"),
    "scattered column": (
        "torch.select_scatter(x, x[:, 0] * 2, 1, 2)",
        SHAPES[:3],
        {"z": "like x"},
        "float32",
    ),
    "scattered slice": (
        "torch.slice_scatter(x, -x[:, :2], 1, 1, 3)",
        SHAPES[:3],
        {"z": "like x"},
        "float32",
    ),
    "counted": (
        "x * torch.arange(x.shape[1]) + torch.arange(x.shape[0]).unsqueeze(1) * 3 - 1",
        SHAPES,
        {"z": "like x"},
        "float32",
    ),
    "counted remainders": (
        "i = torch.arange(x.shape[1]) + torch.arange(x.shape[0]).unsqueeze(1)\n"
        "z = torch.where(i % 2 == 0, x, (3 - i).abs() // 4 + (5 - i) % -3)",
        SHAPES,
        {"z": "like x"},
        "float32",
    ),
    "64-bit integers of floats": (
        "(x * 64).to(torch.int64).to(torch.float32)",
        SHAPES[:3],
        {"z": "like x"},
        "float32",
    ),
    "counted floats": (
        "torch.linspace(0, 1, 7) * x[:, :1]",
        SHAPES[:2],
        {"z": "[x[0], 7]"},
        "float32",
    ),
    "unequal columns": (
        "a, b, c = torch.split(x, [1, 2, x.shape[1] - 3], 1)\ny = a.exp()\nz = b * 2\nw = c + a",
        [{"x": (5, 7)}, {"x": (33, 300)}, {"x": (20, 4)}],
        {"y": "[x[0], 1]", "z": "[x[0], 2]", "w": "[x[0], x[1] - 3]"},
        "float32",
    ),
    "unequal rows": (
        "y, z = torch.split(x, [3, x.shape[0] - 3], 0)",
        [{"x": (5, 7)}, {"x": (33, 300)}, {"x": (6, 4)}],
        {"y": "[3, x[1]]", "z": "[x[0] - 3, x[1]]"},
        "int8",
    ),
}
SLOW = {"half", "truth", "views", "turned", "cut", "diagonals", "counted floats", "replicated"}


def spec_of(folder: Path, name: str) -> OpSpec:
    compute, shapes, outputs, dtype = CASES[name]
    rows = [f"op: PlacedCase{next(_COUNTER)}", "inputs:"]
    rows += [f"  {n}: {{dtype: [{dtype}], rank: {len(s)}}}" for n, s in shapes[0].items()]
    rows += ["outputs:", *(f'  {n}: {{dtype: x, shape: "{s}"}}' for n, s in outputs.items())]
    rows += ["backward: none", "compute: |", *(f"  {line}" for line in compute.split("\n"))]
    path = folder / "placed_case.yaml"
    path.write_text("\n".join(rows) + "\n")
    return load_specs((path,))[0]


def data(shape: tuple[int, ...], dtype: str) -> torch.Tensor:
    generator = torch.Generator().manual_seed(0)
    if dtype.startswith("float"):
        return torch.randn(shape, generator=generator).to(getattr(torch, dtype))
    return torch.randint(-100, 100, shape, generator=generator).to(getattr(torch, dtype))


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in CASES]
)
def test_placed_tensors(name: str, tmp_path: Path) -> None:
    _, shapes, _, dtype = CASES[name]
    op = BuiltOp(spec_of(tmp_path, name), tmp_path)
    for sizes in shapes:
        inputs = {n: data(s, dtype) for n, s in sizes.items()}
        for mode in ("check", "fast"):
            outputs, golden, result = op.run(inputs, mode=mode)
            for output, value in outputs.items():
                if value.is_floating_point():
                    check(value, golden[output])
                else:
                    assert torch.equal(value.to(golden[output].dtype), golden[output]), sizes
            assert result.findings == [], sizes


def test_the_pieces_of_a_join_are_placed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Placed operands are read where they lie: their kernels read nothing for what is outside."""
    compute = "z = torch.cat([x * 2, y], 0).sum(1)"  # a result that is joined is written in slabs
    monkeypatch.setitem(CASES, "", (compute, BELOW, {"z": "[x[0] + y[0]]"}, "float32"))
    operands = plan_op(spec_of(tmp_path, "")).operands()
    placed = [name for name, view in operands.items() if view.placed]
    assert placed == ["x", "y"]


# compute -> code: what has no place in a kernel with reductions
REFUSED = {
    "z = torch.cat([x, x], 1)[:, ::2]": "OPG331",
}


@pytest.mark.parametrize("compute", REFUSED)
def test_what_has_no_place_is_refused(
    compute: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(CASES, "", (compute, SHAPES, {"z": "like x"}, "float32"))
    with pytest.raises(OpgenError) as raised:
        plan_op(spec_of(tmp_path, ""))
    assert raised.value.diagnostics[0].code == REFUSED[compute]


def test_a_64_bit_index_is_checked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What sizes make of an index has to fit int32, which TilingFunc sees to."""
    compute = "z = x + (torch.arange(x.shape[1]) * 300000000).to(x.dtype)"
    monkeypatch.setitem(CASES, "", (compute, SHAPES, {"z": "like x"}, "float32"))
    op = BuiltOp(spec_of(tmp_path, ""), tmp_path)
    outputs, golden, _ = op.run({"x": data((2, 8), "float32")})
    check(outputs["z"], golden["z"])
    with pytest.raises(Exception, match="int32 cannot hold"):
        op.run({"x": data((2, 9), "float32")})


# ---- Reductions of what joins and pads tensors along axes: each piece is read where it lies ------

KEPT = ShapeList((DimSlice("x", None, -1), DimConst(1)))
ONE_ROW = ShapeList((DimSlice("x", None, -2), DimConst(1), DimOf("x", -1)))
# compute, inputs, rule of the output, rule of y
ROWS: dict[str, tuple[str, str, Any, Any]] = {
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
ROW_SHAPES: list[tuple[int, ...]] = [
    (3, 5),
    (200, 70),
    (2, 3, 33),
    (70, 9001),
    (3, 40003),
    (40003, 3),
]


def row_spec(name: str, dtype: str) -> OpSpec:
    compute, names, rule, other = ROWS[name]
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
            for n in ROWS
            for d in ("float16", "float32")
            if (n, d) != ("columns", "float32")
        ),
    ],
)
def test_joined_tensors_are_reduced(name, dtype, tmp_path):
    op = BuiltOp(row_spec(name, dtype), tmp_path)
    for shape in ROW_SHAPES:
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
    op = BuiltOp(row_spec("columns", "float32"), tmp_path)
    for x, y in [
        ((2, 3, 33), (2, 3, 0)),
        ((2, 3, 0), (2, 3, 5)),
        ((1, 1), (1, 1)),
        ((0, 4), (0, 2)),
    ]:
        outputs, golden, result = op.run({"x": torch.rand(x), "y": torch.rand(y)}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], (x, y)

"""Reductions of integers and bools, and products: resident, streamed and split, both ways."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.schedule.report import as_text
from msopgen_wrap.spec.model import Attr, DimSlice, OpSpec, ShapeLike, ShapeList, ShapeReduce

REDUCED = ShapeReduce("x", "dim", False)
# dtype -> statements and the dtypes of their outputs.
ALL = {
    "int8": {
        "a = x.sum(dim)": "int64",
        "b = x.amax(dim)": "int8",
        "c = x.argmax(dim)": "int64",
        "d = (x > 3).sum(dim)": "int64",
    },
    "uint8": {"a = x.sum(dim, dtype=torch.int32)": "int32", "b = x.amin(dim)": "uint8"},
    "int16": {"a = x.sum(dim)": "int64", "b = x.amin(dim)": "int16", "c = x.any(dim)": "bool"},
    "int32": {
        "a = x.sum(dim, dtype=torch.int32)": "int32",
        "b = x.prod(dim, dtype=torch.int32)": "int32",
        "c = x.amax(dim)": "int32",
        "d = x.argmin(dim)": "int64",
        "e = x.sum(dim, dtype=torch.float32)": "float32",
    },
    "bool": {"a = x.sum(dim)": "int64", "b = x.amax(dim)": "bool", "c = x.prod(dim)": "int64"},
    "float32": {"a = x.prod(dim)": "float32", "b = x.sum(dim)": "float32"},
    "bfloat16": {"a = x.prod(dim)": "bfloat16"},
}
SHAPES = [
    ((3, 5), -1),
    ((0, 4), -1),
    ((1,), 0),
    ((9, 200), -1),
    ((300, 70), -1),
    ((4, 50, 6), 1),
    ((33, 5, 7), 0),
    ((2, 40000), -1),
    ((50, 20001), -1),
    ((5000, 3), 0),
    ((3, 4000, 40), 1),
    ((3, 60001), -1),
]


def spec_of(statements: dict[str, str], dtype: str) -> OpSpec:
    """Return an op whose statements each make one output of a dtype of its own."""
    names = [s.split(" = ")[0] for s in statements]
    spec = make_spec(
        "\n".join(statements),
        outputs=" ".join(names),
        dtypes=(dtype,),
        attrs=(Attr("dim", "int", -1),),
        shapes=dict.fromkeys(names, REDUCED),
    )
    own = zip(spec.outputs, statements.values(), strict=True)
    return replace(spec, outputs=tuple(replace(p, dtypes=(d,)) for p, d in own))


def numbers(dtype: str, shape: Any) -> torch.Tensor:
    """Return numbers of the whole range; of floats such that products of them stay in it."""
    generator = torch.Generator().manual_seed(sum(shape))
    kind = getattr(torch, dtype)
    if dtype == "bool":
        return torch.rand(shape, generator=generator) > 0.1
    if kind.is_floating_point:
        # few are not 1, so that bfloat16 can hold the product
        some = torch.rand(shape, generator=generator) < 20 / max(1, shape[-1])
        return torch.where(some, torch.randn(shape, generator=generator), 1.0).to(kind)
    limits = torch.iinfo(kind)
    return torch.randint(limits.min, limits.max + 1, shape, dtype=kind, generator=generator)


@pytest.mark.parametrize(
    "dtype",
    [
        "int8",
        *(pytest.param(d, marks=pytest.mark.slow) for d in ALL if d not in ("int8", "float32")),
        "float32",
    ],
)
def test_all_ways(dtype, tmp_path):
    op = BuiltOp(spec_of(ALL[dtype], dtype), tmp_path)
    for shape, dim in SHAPES:
        outputs, golden, result = op.run({"x": numbers(dtype, shape)}, {"dim": dim}, mode="check")
        for name, actual in outputs.items():
            # a product of many float32 numbers rounds once for each
            check(actual, golden[name], factor=4.0)
        assert result.findings == [], (shape, dim)


@pytest.mark.slow
def test_integer_row_values_meet_elements(tmp_path):
    """Numbers of rows are read again for the elements, and more than one pass reduces them."""
    spec = make_spec(
        "low = x.amin(-1, keepdim=True)\n"
        "z = (x - low) * 3 + (x == x.amax(-1, keepdim=True)).sum(-1, keepdim=True, "
        "dtype=torch.int32)",
        dtypes=("int32",),
        shapes={"z": ShapeLike("x")},
    )
    op = BuiltOp(spec, tmp_path)
    for shape in [(3, 5), (70, 200), (4, 30000), (1, 70001)]:
        x = torch.randint(-5000, 5000, shape, dtype=torch.int32)
        outputs, golden, result = op.run({"x": x}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], shape


@pytest.mark.parametrize(
    ("compute", "dtype", "fix"),
    [
        ("x.sum(dim)", "int32", "dtype=torch.int32"),
        ("x.prod(dim)", "int8", "dtype=torch.int32"),
        # a value in the workspace has lost its bounds
        ("(x.sum(dim) + 1).sum(dim)", "int16", "dtype=torch.int32"),
    ],
)
def test_unbounded_sums_are_refused(compute, dtype, fix):
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of({f"z = {compute}": "int64"}, dtype))
    assert caught.value.diagnostics[0].code == "OPG332"
    assert fix in caught.value.diagnostics[0].fix


def test_sums_that_int32_may_not_hold_are_refused(tmp_path):
    """The tiling function knows how many elements there are; the plan says what it checks."""
    rows = ShapeList((DimSlice("x", None, -1),))
    spec = make_spec("x.sum(-1)", dtypes=("int16",), out_dtypes=("int64",), shapes={"z": rows})
    assert "TilingFunc refuses" in as_text(plan_op(spec))
    op = BuiltOp(spec, tmp_path)
    x = torch.full((1, 65535), -(2**15), dtype=torch.int16)
    outputs, golden, _ = op.run({"x": x})
    check(outputs["z"], golden["z"])
    with pytest.raises(RuntimeError, match="int32 cannot hold"):
        op.run({"x": torch.full((1, 65538), 1, dtype=torch.int16)})

"""int64 inputs: labels and indices are compared and converted as int32, or copied whole."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
import torch
from harness import BuiltOp, make_spec
from test_fuzz import close

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.schedule.report import as_text
from msopgen_wrap.spec.model import DimBinary, DimConst, DimOf, ShapeLike, ShapeList

ROWS = ShapeList((DimOf("x", 0),))
WIDE = 2**40
# What is computed of floats x and int64 labels y, the shape of y, the shapes of z.
FORMULAS = {
    "one element each": ("torch.where(y == -100, 0.0, x)", ShapeLike("x"), None),
    "one label a row": ("(y.unsqueeze(-1) == torch.arange(x.shape[1])) * x", ROWS, None),
    "one label a column": (
        "torch.where(y > 2, x, y.to(torch.float32))",
        ShapeList((DimOf("x", 1),)),
        None,
    ),
    "transposed labels": (
        "torch.where(y.mT < 1, x, 1.0)",
        ShapeList((DimOf("x", 1), DimOf("x", 0))),
        None,
    ),
    "reversed labels": ("torch.where(y.flip(-1) < 1, x, 1.0)", ShapeLike("x"), None),
    "one label a row, reduced": (
        "torch.where(y.unsqueeze(-1) == torch.arange(x.shape[1]), x, 0.0).sum(-1)",
        ROWS,
        ROWS,
    ),
    "clamped": ("(y.clamp(0, 3).to(torch.int32) + 1) * x", ShapeLike("x"), None),
}
SLOW = {"transposed labels", "reversed labels", "one label a column"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in FORMULAS]
)
def test_labels(name: str, tmp_path: Path) -> None:
    compute, labels, result = FORMULAS[name]
    spec = make_spec(
        compute,
        "x y",
        input_dtypes={"y": ("int64",)},
        input_shapes={"y": labels},
        shapes={"z": result or ShapeLike("x")},
    )
    op = BuiltOp(spec, tmp_path)
    assert "int64 input" in as_text(op.plan)
    for rows, cols in ((7, 77), (300, 5), (1, 20011), (65, 64), (3, 0)):
        sizes = {"ShapeLike": (rows, cols)}.get(type(labels).__name__)
        sizes = sizes or tuple((rows, cols)[i.axis] for i in labels.items)
        generator = torch.Generator().manual_seed(rows)
        y = torch.randint(-2, 6, sizes, generator=generator)
        if y.numel() and "column" not in name:
            y.view(-1)[:: max(1, y.numel() // 3)] = WIDE
        y.view(-1)[1::11] = -100
        x = torch.rand((rows, cols), generator=generator)
        for auto_sync in (True, False):
            made, golden, found = op.run({"x": x, "y": y}, {}, mode="check", auto_sync=auto_sync)
            assert found.findings == [], (rows, cols, auto_sync, found.findings[0])
            assert close(made["z"], golden["z"]), (rows, cols, auto_sync)


# Copies: of elements that int32 does not hold, and the shape of what they give.
COPIES = {
    "y.mT": ShapeList((DimOf("y", 1), DimOf("y", 0))),
    "y.clone()": ShapeLike("y"),
    "y.flip(-1)[:, ::2]": ShapeList(
        (DimOf("y", 0), DimBinary("//", DimBinary("+", DimOf("y", 1), DimConst(1)), DimConst(2)))
    ),
    "y.unsqueeze(1).expand(-1, 3, -1)": ShapeList((DimOf("y", 0), DimConst(3), DimOf("y", 1))),
    "y.unsqueeze(-1).expand(-1, -1, 3)": ShapeList((DimOf("y", 0), DimOf("y", 1), DimConst(3))),
}


@pytest.mark.parametrize(
    "compute",
    [
        pytest.param(c, marks=pytest.mark.slow if "flip" in c or "3, -1" in c else ())
        for c in COPIES
    ],
)
def test_copies_keep_all_bits(compute: str, tmp_path: Path) -> None:
    spec = make_spec(compute, "y", dtypes=("int64", "int32"), shapes={"z": COPIES[compute]})
    inputs = tuple(replace(p, min_rank=2, max_rank=2) for p in spec.inputs)
    op = BuiltOp(replace(spec, inputs=inputs), tmp_path)
    assert "int64 input" not in as_text(op.plan)
    for shape in ((7, 77), (300, 5), (1, 9001), (65, 64), (3, 0)):
        generator = torch.Generator().manual_seed(shape[0])
        y = torch.randint(-(2**62), 2**62, shape, generator=generator)
        for given, auto_sync in ((y, True), (y, False), (y.to(torch.int32), False)):
            made, _, found = op.run({"y": given}, {}, mode="check", auto_sync=auto_sync)
            expected = eval(compute, {"y": given})
            assert found.findings == [], (shape, auto_sync, found.findings[0])
            assert torch.equal(made["z"], expected), (shape, given.dtype, auto_sync)


@pytest.mark.parametrize(
    "compute",
    ["y + 1", "torch.where(y > 0, y, 0)", "y == 3000000000", "(y > 0) * y", "torch.abs(y)"],
)
def test_what_int32_may_not_hold_is_refused(compute: str) -> None:
    spec = make_spec(compute, "y", dtypes=("int64",), shapes={"z": ShapeLike("y")})
    with pytest.raises(OpgenError) as error:
        plan_op(spec)
    assert [d.code for d in error.value.diagnostics] == ["OPG332"]


def test_copies_beside_other_work_are_refused() -> None:
    """A copy moves halves of elements; a comparison, or a list, needs whole ones."""
    shapes = dict.fromkeys("zw", ShapeLike("y"))
    for compute, outputs, lists in (("z = y\nw = (y > 0) + y", "z w", False), ("y", "z", True)):
        spec = make_spec(compute, "y", outputs, dtypes=("int64",), shapes=shapes, lists=lists)
        with pytest.raises(OpgenError) as error:
            plan_op(spec)
        assert [d.code for d in error.value.diagnostics] == ["OPG332"]

"""Generated row kernels in the emulation: resident, streamed and split, along columns and rows."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

from harness import BuiltOp, check, make_spec

from msopgen_wrap.spec.model import Attr, DimOf, DimSlice, ShapeLike, ShapeList, ShapeReduce

SOFTMAX = [
    ((3, 5), -1),
    ((1,), -1),
    ((0, 4), -1),
    ((3, 1000), -1),
    ((200, 70), -1),
    ((4, 50, 6), 1),
    ((33, 5, 7), 0),
    ((2, 40000), -1),
    ((50, 20000), -1),
    ((5000, 3), 0),
    ((3, 4000, 40), 1),
]


@pytest.fixture(scope="module")
def softmax(tmp_path_factory):
    spec = make_spec(
        "torch.softmax(x, dim)",
        attrs=(Attr("dim", "int", -1),),
        shapes={"z": ShapeLike("x")},
    )
    return BuiltOp(spec, tmp_path_factory.mktemp("softmax"))


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("shape, dim", SOFTMAX, ids=str)
def test_softmax(softmax, shape, dim, mode):
    x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
    outputs, golden, result = softmax.run({"x": x}, {"dim": dim}, mode=mode)
    check(outputs["z"], golden["z"])
    assert result.findings == []


REDUCE = ShapeReduce("x", "dim", "keepdim")


@pytest.mark.slow
@pytest.mark.parametrize(
    "compute", ["torch.sum(x, dim, keepdim)", "torch.amax(x, dim, keepdim)"], ids=str
)
def test_reductions(compute, tmp_path):
    spec = make_spec(
        compute,
        attrs=(Attr("dim", "list_int", (-1,)), Attr("keepdim", "bool", False)),
        shapes={"z": REDUCE},
    )
    op = BuiltOp(spec, tmp_path)
    for shape, dim in [
        ((3, 1000), [-1]),
        ((4, 50, 6), [1]),
        ((5, 7, 11), [0, 2]),
        ((130, 70), [0]),
        ((1000003,), [0]),
        ((6, 5, 4, 3), []),
        ((50000, 8), [0]),
        ((3, 4, 5, 6, 7), [1, 3]),
    ]:
        x = torch.rand(shape) + 0.5
        for keepdim in (False, True):
            outputs, golden, result = op.run(
                {"x": x}, {"dim": dim, "keepdim": keepdim}, mode="check"
            )
            check(outputs["z"], golden["z"])
            assert result.findings == [], (shape, dim)


@pytest.mark.slow
def test_layer_norm_with_row_outputs(tmp_path):
    rows = ShapeList((DimSlice("x", None, -1),))
    spec = make_spec(
        "mean = x.mean(-1)\nz = F.layer_norm(x, [x.shape[-1]], gamma, None, 1e-5)",
        "x gamma",
        "z mean",
        shapes={"z": ShapeLike("x"), "mean": rows},
        input_shapes={"gamma": ShapeList((DimOf("x", -1),))},
    )
    op = BuiltOp(spec, tmp_path)
    for shape in [(3, 70), (500, 100), (3, 20000), (2, 3, 8)]:
        x, gamma = torch.randn(shape) * 2 + 3, torch.rand(shape[-1]) + 0.5
        outputs, golden, result = op.run({"x": x, "gamma": gamma}, {}, mode="check")
        check(outputs["mean"], golden["mean"])
        assert torch.allclose(outputs["z"].double(), golden["z"], rtol=1e-3, atol=1e-5)
        assert result.findings == [], shape

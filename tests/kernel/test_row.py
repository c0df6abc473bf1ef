"""Generated row kernels in the emulation: resident, streamed and split, along columns and rows."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from harness import BuiltOp, check, make_spec

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.run.accuracy import compare
from msopgen_wrap.spec.model import (
    Attr,
    DimConst,
    DimOf,
    DimSlice,
    OpSpec,
    ShapeLike,
    ShapeList,
    ShapeReduce,
)

LIKE_X = ShapeLike("x")
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


MASKED = {
    # the number of elements of a mean is a sum of ones
    "deviation": "torch.masked.std(x, -1, keepdim=True)",
    "deviation of a part": "torch.masked.std(x, -1, keepdim=True, mask=x > 0)",
    "softmax of a part": "torch.masked.softmax(x, -1, mask=x > 0)",
    "sum of a constant": "x / torch.full_like(x, 0.5).sum(-1, keepdim=True)",
}


@pytest.mark.parametrize("name", MASKED)
def test_masked_reductions(name, tmp_path):
    rule = ShapeList((DimSlice("x", None, -1), DimConst(1))) if "dev" in name else ShapeLike("x")
    op = BuiltOp(make_spec(MASKED[name], shapes={"z": rule}), tmp_path)
    for shape in [(3, 70), (2, 20000)]:
        x = torch.randn(shape, generator=torch.Generator().manual_seed(0))
        outputs, golden, result = op.run({"x": x}, {}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], shape


@pytest.mark.parametrize("shape", [(70, 6144), (45, 30000), (3, 40003)], ids=str)
def test_layer_norm_of_numbers_far_from_zero(shape, tmp_path):
    """Resident, streamed and split: the variance does not cancel where the mean is large."""
    spec = make_spec("F.layer_norm(x, [x.shape[-1]], None, None, 1e-5)", shapes={"z": LIKE_X})
    x = torch.randn(shape, generator=torch.Generator().manual_seed(1)) + 1e4
    outputs, golden, result = BuiltOp(spec, tmp_path).run({"x": x}, mode="check")
    assert result.findings == []
    native = torch.nn.functional.layer_norm(x, shape[-1:])
    assert compare(outputs["z"], golden["z"], native=native).passed


# Shape of x and the digit of the tiling key; the last one shares its items between the cores.
BATCHES = {
    "resident": ((1, 3, 7, 5), 0),
    "streamed": ((2, 33, 100, 90), 1),
    "split": ((2, 3, 100, 101), 1),
}


@pytest.fixture(scope="module", params=["float32", "float16"])
def batch_norm(request, tmp_path_factory):
    """Batch normalisation of images in training, with what it makes of the running statistics."""
    channels = ShapeList((DimOf("x", 1),))
    spec = make_spec(
        "mean = old_mean * 0.9 + x.mean([0, 2, 3]) * 0.1\n"
        "var = old_var * 0.9 + x.var([0, 2, 3]) * 0.1\n"
        "y = F.batch_norm(x, None, None, w, b, training=True)",
        "x w b old_mean old_var",
        "y mean var",
        dtypes=(request.param,),
        shapes={"y": ShapeLike("x"), "mean": channels, "var": channels},
        input_shapes=dict.fromkeys(["w", "b", "old_mean", "old_var"], channels),
    )
    x = replace(spec.inputs[0], min_rank=4, max_rank=4)
    folder = tmp_path_factory.mktemp("batch_norm")
    return BuiltOp(replace(spec, inputs=(x, *spec.inputs[1:])), folder)


@pytest.mark.parametrize("mode", BATCHES)
def test_statistics_of_batch_norm(batch_norm, mode):
    """The cores that do not store the rows of an item compute none of them (ErrorWrite3)."""
    shape, digit = BATCHES[mode]
    generator = torch.Generator().manual_seed(0)
    dtype = getattr(torch, batch_norm.spec.inputs[0].dtypes[0])
    inputs = {
        p.name: (torch.rand(shape if p.name == "x" else shape[1:2], generator=generator)).to(dtype)
        for p in batch_norm.spec.inputs
    }
    outputs, golden, result = batch_norm.run(inputs, mode="check")
    assert result.findings == []
    resident = batch_norm.run({**inputs, "x": inputs["x"][:1, :, :1].contiguous()})[2]
    exchanged = result.workspace_size > resident.workspace_size
    assert (result.tiling_key % 10, exchanged) == (digit, mode == "split")
    for name in ("mean", "var"):
        check(outputs[name], golden[name])
    # values near 0 are differences of larger ones
    bound = 2 ** (-10 if dtype == torch.float16 else -20)
    assert torch.allclose(outputs["y"].double(), golden["y"], rtol=bound, atol=bound)


def with_buffers(call: str, attrs: tuple[Attr, ...] = ()) -> OpSpec:
    """Return batch normalisation of images with running statistics."""
    channels = ShapeList((DimOf("x", 1),))
    spec = make_spec(
        call,
        "x mean var w",
        attrs=attrs,
        shapes={"z": ShapeLike("x")},
        input_shapes=dict.fromkeys(["mean", "var", "w"], channels),
    )
    x = replace(spec.inputs[0], min_rank=4, max_rank=4)
    return replace(spec, inputs=(x, *spec.inputs[1:]))


@pytest.mark.parametrize("before", ["", "mean = mean * 1.0\nvar = var.clone()\n"])
@pytest.mark.parametrize("momentum", ["0.1", "momentum"])
def test_batch_norm_that_updates_its_buffers_is_refused(before, momentum):
    call = f"{before}z = F.batch_norm(x, mean, var, w, None, True, {momentum})"
    attrs = (Attr("momentum", "float", 0.1),) if momentum == "momentum" else ()
    with pytest.raises(OpgenError) as caught:
        plan_op(with_buffers(call, attrs))
    (finding,) = caught.value.diagnostics
    assert finding.code == "OPG331" and "running statistics in place" in finding.what
    assert "F.batch_norm(x, None, None" in finding.fix and "new_mean =" in finding.fix


def test_batch_norm_of_given_statistics(tmp_path):
    """In evaluation the running statistics are read, and no reduction is left."""
    op = BuiltOp(
        with_buffers("z = F.batch_norm(x, mean, var, w, None, False, 0.1, 1e-3)"), tmp_path
    )
    inputs = {n: torch.rand(3) for n in ("mean", "var", "w")}
    outputs, golden, result = op.run({"x": torch.randn(2, 3, 7, 5), **inputs}, mode="check")
    assert result.findings == []
    assert torch.allclose(outputs["z"].double(), golden["z"], rtol=1e-5, atol=1e-5)

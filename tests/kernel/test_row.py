"""Generated row kernels in the emulation: resident, streamed and split, along columns and rows."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch
from harness import BuiltOp, check, make_spec, poison

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.run.accuracy import compare
from msopgen_wrap.spec.compute_runner import compile_compute
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
    "split": ((2, 3, 200, 301), 1),
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


# ---- Reductions and normalisations of rows with infinities, NaN, zeros and huge numbers ----------
# A result is right when it is PyTorch's in float64, or what PyTorch itself computes in float32 (a
# sum that overflows, for instance). What differs on purpose is declared with ``aten.sum`` and in
# ``op_specs/README.md``.

INF, NAN = math.inf, math.nan
# What stands at the first, a middle and the last place of a row of random numbers.
ROWS = [
    (None, None, None),
    (INF, None, None),
    (None, None, INF),
    (None, -INF, None),
    (INF, None, -INF),
    (None, INF, INF),
    (NAN, None, None),
    (None, None, NAN),
    (INF, NAN, None),
    (-INF, None, NAN),
    (3e38, 3e38, 3e38),
    (3e38, None, -3e38),
    (1e30, None, None),
    (None, -3e38, None),
]
FILLED = [INF, -INF, NAN, 0.0, -0.0, 3e38, -3e38, 1e-45, 1e-38, 1e20, 88.0, -104.0]

FULL = ShapeLike("x")
KEPT = ShapeList((DimSlice("x", None, -1),))
OPS = {
    "softmax": ("z = torch.softmax(x, -1)\ny = torch.log_softmax(x, -1)", {"z": FULL, "y": FULL}),
    "reductions": (
        "a = x.sum(-1)\nb = x.mean(-1)\nc = x.amax(-1)\nd = x.amin(-1)\ne = torch.logsumexp(x, -1)",
        dict.fromkeys("abcde", KEPT),
    ),
    "positions": ("a = x.argmax(-1)\nb = x.argmin(-1)", dict.fromkeys("ab", KEPT)),
    "masks": (
        "a = torch.any(x > 1, -1)\nb = torch.all(x == x, -1)\nc = torch.isnan(x).any(-1)",
        dict.fromkeys("abc", KEPT),
    ),
    "layer norm": ("z = F.layer_norm(x, [x.shape[-1]], None, None, 1e-5)", {"z": FULL}),
    "group norm": (
        "z = F.group_norm(x.unsqueeze(1), 1, None, None, 1e-5).squeeze(1)",
        {"z": FULL},
    ),
    "means beside variances": (
        "a = torch.native_layer_norm(x, [x.shape[-1]], None, None, 1e-5)[1].squeeze(-1)",
        {"a": KEPT},
    ),
    "variance": (
        "a = x.var(-1)\nb = torch.linalg.vector_norm(x, 2, -1)",
        dict.fromkeys("ab", KEPT),
    ),
}
# Outputs that hold a sum of the numbers of a row, and those that are made of the distances from the
# mean, which for equal numbers are its rounding.
SUMS = {
    "reductions": "ab",
    "means beside variances": "a",
    "variance": "a",
    "layer norm": "z",
    "group norm": "z",
}
NORMALISED = ("layer norm", "group norm", "variance")
DTYPES = {"positions": "int64", "masks": "bool"}
TOLERANCE = {torch.float32: 2**-13, torch.float16: 2**-9, torch.bfloat16: 2**-6}
# Rows that fit a tile, rows of several tiles, and one row that several cores share.
LENGTHS = (70, 9001, 40003)


def rows(length: int, dtype: str) -> torch.Tensor:
    """Return the rows of one length."""
    generator = torch.Generator().manual_seed(length)
    x = torch.randn((len(ROWS) + len(FILLED), length), generator=generator, dtype=torch.float64)
    for row, values in enumerate(ROWS):
        for place, value in zip((0, length // 2, -1), values, strict=True):
            if value is not None:
                x[row, place] = value
    for row, value in enumerate(FILLED, len(ROWS)):
        x[row] = value
    return x.to(getattr(torch, dtype))


def differs(name: str, output: str, row: torch.Tensor) -> bool:
    """Whether the result of a row is declared to differ."""
    if output not in SUMS.get(name, "") or not bool(torch.isfinite(row).all()):
        return False
    size = row.double().abs()
    equal = name in NORMALISED and bool((row == row[0]).all()) and float(size[0]) > 1e4
    return equal or float(size.sum()) > torch.finfo(torch.float32).max


def right(got: torch.Tensor, references: list[torch.Tensor]) -> torch.Tensor:
    """Return which elements of a result are right."""
    ok = torch.zeros(got.shape, dtype=torch.bool)
    for reference in references:
        rounded = reference.to(got.dtype)
        ok |= got == rounded
        if got.dtype not in TOLERANCE:
            continue
        value, expected, exact = got.double(), rounded.double(), reference.double()
        ok |= torch.isnan(value) & torch.isnan(expected)
        # an element next to a mean carries the rounding of the mean
        bound = TOLERANCE[got.dtype] * exact.abs().clamp(min=2**-10)
        ok |= torch.isfinite(value) & ((value - exact).abs() <= bound)
    return ok


@pytest.mark.slow
@pytest.mark.parametrize("name", OPS)
def test_special_rows(name, tmp_path):
    compute, shapes = OPS[name]
    dtypes = ("float32", "float16")
    out = [DTYPES.get(name, d) for d in dtypes]
    spec = make_spec(compute, "x", " ".join(shapes), dtypes, out, shapes=shapes)
    op, found = BuiltOp(spec, tmp_path), []
    for dtype, result in zip(dtypes, out, strict=True):
        for length in LENGTHS:
            every = rows(length, dtype)
            # few long rows: the cores share them
            blocks = every.split(1) if length == LENGTHS[-1] else [every]
            for block in blocks:
                golden = [
                    compile_compute(spec)({"x": block.to(kind)}, {})
                    for kind in (torch.float64, torch.float32)
                ]
                outputs = {n: poison(golden[0][n].shape, getattr(torch, result)) for n in shapes}
                op.runtime.run(spec.op, [block], list(outputs.values()), {}, mode="fast")
                for output, got in outputs.items():
                    wrong = (~right(got, [g[output] for g in golden])).nonzero()
                    wrong = [at for at in wrong.tolist() if not differs(name, output, block[at[0]])]
                    for at in wrong[:3]:
                        row = block[at[0]]
                        found.append(
                            f"{dtype} {length} {output} {at} of {row[[0, length // 2, -1]]}: "
                            f"{got[tuple(at)]}, torch {golden[0][output][tuple(at)]}"
                        )
    assert not found, "\n".join(found)

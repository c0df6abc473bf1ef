"""Tiling of tensors whose sizes, strides and offsets leave 32 bits, without their data.

The generated TilingFunc is called with shapes alone. What it decides is compared with what PyTorch
says of the same views on the meta device, in Python's integers, and followed to the last element as
the kernel walks it. A call that the kernel cannot serve is refused with a message.
"""

from __future__ import annotations

import itertools
import math
import struct
from typing import Any

import pytest
import torch
from tiled_op import TiledOp, align, ceil_div

from msopgen_wrap.spec.model import (
    Attr,
    DimAttr,
    DimBinary,
    DimConst,
    DimOf,
    DimSlice,
    ShapeLike,
    ShapeList,
)

CORES = 40
UINT32 = 2**32

# ---- what the kernel does with the fields -------------------------------------------------------

Walk = list[tuple[int, tuple[int, ...]]]


def canonical(dims: list[int], strides: list[list[int]]) -> Walk:
    """Return an iteration space as sorted (size, stride per operand), merged where it can be."""
    steps = zip(*strides, strict=True)
    space = sorted(((s, d) for d, s in zip(dims, steps, strict=True) if d != 1), reverse=True)
    merged: Walk = []
    for stride, size in space:
        if merged and all(a == b * size for a, b in zip(merged[-1][1], stride, strict=True)):
            merged[-1] = (merged[-1][0] * size, stride)
        else:
            merged.append((size, stride))
    return merged


def check_walks(fields: dict[str, Any], views: dict[str, torch.Tensor]) -> None:
    """Compare the walks of a box kernel with views that are expanded to the iteration space."""
    dims = [*fields["outerDims"], fields["rowCount"], fields["colCount"]]
    first = next(iter(views.values()))
    walks = {name: fields[f"{name}Walk"] for name in views}
    assert math.prod(dims) == first.numel()
    assert canonical(dims, [w[:8] for w in walks.values()]) == canonical(
        list(first.shape), [list(v.stride()) for v in views.values()]
    )
    for name, view in views.items():
        assert view.shape == first.shape
        assert walks[name][8] == view.storage_offset()
        # the last element, as the kernel adds it up
        kernel = [*zip(dims, walks[name][:8], strict=True)]
        torch_says = [*zip(view.shape, view.stride(), strict=True)]
        assert sum((n - 1) * s for n, s in kernel) == sum((n - 1) * s for n, s in torch_says)


def check_box(fields: dict[str, Any], bytes_per_element: int, walks: list[str]) -> int:
    """Check that a box fits and can be copied; returns the number of boxes."""
    rows, cols = fields["boxRows"], fields["boxCols"]
    pitch = align(cols, fields["pitchUnit"])
    assert 1 <= rows <= 4095
    assert cols >= 1
    assert rows * pitch <= fields["tileLength"]
    for name in walks if rows > 1 else ():
        # the gap or the stride between rows is an unsigned 32-bit number of bytes
        assert abs(fields[f"{name}Walk"][6]) * bytes_per_element < UINT32, name
    return (
        math.prod(fields["outerDims"])
        * ceil_div(fields["rowCount"], rows)
        * ceil_div(fields["colCount"], cols)
    )


def meta(shape: tuple[int, ...]) -> torch.Tensor:
    return torch.empty(shape, device="meta")


# ---- elementwise --------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def add(tmp_path_factory):
    return TiledOp(tmp_path_factory.mktemp("add"), "x + y", "x y")


@pytest.mark.parametrize("total", [2**31 - 1, 2**31 + 5, 2**32, 2**40 + 3, 2**58])
def test_flat(add, total):
    fields = add.tile([(total,)] * 2, [(total,)])
    assert (fields["key"], fields["total"], fields["cores"]) == (0, total, CORES)
    assert fields["tileLength"] % 256 == 0


BROADCASTS = [
    ((2**31 + 5, 7), (7,)),
    ((2**31 + 5, 7), (2**31 + 5, 1)),
    ((3, 2**33), (3, 1)),
    ((3, 2**33), (2**33,)),
    ((2**16 + 1, 1, 2**20), (3, 1)),
    ((2**33, 3), (1,)),
    ((2**20, 1, 5), (1, 2**35, 1)),
]


@pytest.mark.parametrize(("x", "y"), BROADCASTS)
def test_broadcast(add, x, y):
    shape = torch.broadcast_shapes(x, y)
    fields = add.tile([x, y], [shape])
    assert (fields["key"], fields["total"]) == (1, math.prod(shape))
    views = {"x": meta(x).expand(shape), "y": meta(y).expand(shape), "z": meta(shape)}
    check_walks(fields, views)
    assert fields["cores"] == min(CORES, check_box(fields, 4, ["x", "y", "z"]))


@pytest.mark.parametrize(
    ("x", "y"),
    [
        ((2**40, 2**40), (1,)),
        ((3, 2**62, 4), (1,)),
        ((2**32, 2**32), (2**32, 1)),
        ((2**63 - 1,), (2**63 - 1,)),
        ((2**32, 1), (1, 2**32)),
        ((2**59,), (2**59,)),
        ((0, 2**33, 2**33), (1,)),
    ],
)
def test_more_elements_than_offsets_reach(add, x, y):
    shape = torch.broadcast_shapes(x, y)
    assert f"64-bit offsets do not reach all elements of shape {list(shape)}" in add.refusal(
        [x, y], [shape]
    )


@pytest.fixture(scope="module")
def transposed(tmp_path_factory):
    return TiledOp(
        tmp_path_factory.mktemp("transposed"),
        "x.transpose(-1, -2) * 2",
        shapes={"z": ShapeList((DimSlice("x", None, -2), DimOf("x", -1), DimOf("x", -2)))},
    )


@pytest.mark.parametrize("x", [(2**16 + 1, 2**17), (2**31 + 1, 3), (3, 2**33), (2, 2**20, 2**20)])
def test_transposed(transposed, x):
    z = (*x[:-2], x[-1], x[-2])
    fields = transposed.tile([x], [z])
    check_walks(fields, {"x": meta(x).transpose(-1, -2), "z": meta(z)})
    assert fields["cores"] == min(CORES, check_box(fields, 4, ["x", "z"]))
    # x is read in columns, which are the rows of z: where either are too far apart for one copy,
    # each element is a row of its own, and rows are those of an axis along which they lie close
    turned = 4 * x[-1] < UINT32 and 4 * x[-2] < UINT32
    assert fields["colCount"] == (x[-2] if turned else 1)
    assert fields["boxRows"] > 1


@pytest.fixture(scope="module")
def head(tmp_path_factory):
    return TiledOp(
        tmp_path_factory.mktemp("head"),
        "y[..., :5] * 2",
        "y",
        shapes={"z": ShapeList((DimSlice("y", None, -1), DimConst(5)))},
    )


# A row as long as an unsigned 32-bit number of bytes can say, and one element longer.
@pytest.mark.parametrize(
    ("length", "several_rows"), [(2**30 - 1, True), (2**30, False), (2**33, False)]
)
def test_rows_too_far_apart_are_copied_one_by_one(head, length, several_rows):
    y, z = (100000, length), (100000, 5)
    fields = head.tile([y], [z])
    check_walks(fields, {"y": meta(y)[..., :5], "z": meta(z)})
    assert fields["cores"] <= min(CORES, check_box(fields, 4, ["y", "z"]))
    assert (fields["boxRows"] > 1) == several_rows


@pytest.mark.parametrize("y", [(8, 2**62), (2**20, 2**40), (2**59, 1)])
def test_a_small_part_of_too_large_a_tensor(head, y):
    """The part that is read is small; where it lies is past what offsets reach."""
    assert f"64-bit offsets do not reach all elements of y of shape {list(y)}" in head.refusal(
        [y], [(y[0], min(y[1], 5))]
    )


@pytest.fixture(scope="module")
def tail(tmp_path_factory):
    return TiledOp(
        tmp_path_factory.mktemp("tail"),
        "y[..., n + 1 :] * 2",
        "y",
        attrs=(Attr("n", "int", 0),),
        shapes={
            "z": ShapeList(
                (
                    DimSlice("y", None, -1),
                    DimBinary("-", DimOf("y", -1), DimBinary("+", DimAttr("n"), DimConst(1))),
                )
            )
        },
    )


@pytest.mark.parametrize("count", [1, 3, 2**20])
@pytest.mark.parametrize("length", [2**31 + 9, 2**33])
def test_offsets_past_32_bits(tail, length, count):
    y, z, n = (count, length), (count, 7), length - 8
    fields = tail.tile([y], [z], {"n": n})
    check_walks(fields, {"y": meta(y)[..., n + 1 :], "z": meta(z)})
    check_box(fields, 4, ["y", "z"])


def test_bounds_that_wrap(tail):
    assert "does not fit 64 bits" in tail.refusal([(4, 9)], [(4, 0)], {"n": 2**63 - 1})
    # far below the start, all of it is read
    assert tail.tile([(4, 9)], [(4, 9)], {"n": -(2**63)})["total"] == 36


# ---- rows ---------------------------------------------------------------------------------------


RESIDENT, STREAMED, SPLIT = (0, 0), (1, 0), (1, 1)
ROWS = [
    ((2**31 + 3, 8), -1, RESIDENT),
    ((2**33, 3, 8), -1, RESIDENT),
    ((70000, 2**20), -1, STREAMED),
    ((2**20, 2**32 + 7), -1, STREAMED),
    ((1, 2**33 + 1), -1, SPLIT),
    ((2**33 + 1,), -1, SPLIT),
    ((5, 2**30 - 1), 0, RESIDENT),
    ((5, 2**30), 0, STREAMED),
    ((2**33, 3), 0, SPLIT),
    ((2**20, 2**25), 0, STREAMED),
    ((64, 2**30), 0, STREAMED),
    ((3, 2**16, 2**33), 1, STREAMED),
    ((4, 3, 2**33), 1, STREAMED),
]


@pytest.mark.parametrize(("shape", "dim", "mode"), ROWS)
def test_rows(softmax, shape, dim, mode):
    fields = softmax.tile([shape], [shape], {"dim": dim})
    check_walks(fields, {"x": meta(shape), "z": meta(shape)})
    boxes = check_box(fields, 4, ["x", "z"])
    kept, dims = fields["keptOuter"], fields["outerDims"]
    # what is reduced lies behind keptOuter and in the columns (lanes), or in the rows
    along = "colCount" if fields["lanes"] else "rowCount"
    assert math.prod(dims[kept:]) * fields[along] == shape[dim]
    size = fields["boxCols" if fields["lanes"] else "boxRows"]
    chunks = math.prod(dims[kept:]) * ceil_div(fields[along], size)
    assert boxes % chunks == 0
    items = boxes // chunks
    assert (fields["key"], fields["split"]) == mode
    assert (chunks == 1) == (mode is RESIDENT)
    assert fields["cores"] == min(CORES, chunks if mode is SPLIT else items)


def test_rows_of_too_many_elements(softmax):
    shape = (2**31, 2**31)
    text = softmax.refusal([shape], [shape], {"dim": -1})
    assert f"64-bit offsets do not reach all elements of shape {list(shape)}" in text


@pytest.fixture(scope="module")
def positions(tmp_path_factory):
    rows = ShapeList((DimSlice("x", None, -1),))
    return TiledOp(
        tmp_path_factory.mktemp("positions"),
        "z = torch.argmax(x, -1)\nw = x.sum(-1) * k[..., 0]",
        "x k",
        "z w",
        input_dtypes={"k": ("int16",)},
        input_shapes={"k": ShapeList((DimSlice("x", None, -1), DimConst(2)))},
        first_output="int64",
        shapes={"z": rows, "w": rows},
    )


@pytest.mark.parametrize("length", [2**24, 2**24 + 1])
def test_positions_are_exact_in_float32(positions, length):
    call = ([(9, length), (9, 1)], [(9,), (9,)])
    if length <= 2**24:
        assert positions.tile(*call)["colCount"] == length
    else:
        assert f"an index over {length} elements is not exact" in positions.refusal(*call)


def test_row_operands_of_more_rows_than_the_others(positions):
    """What broadcasts against the result makes the space larger than any input is."""
    x, k = (1, 64), (2**57, 2)
    assert "do not reach all elements of shape [144115188075855872, 64]" in positions.refusal(
        [x, k], [(1,), (2**57,)]
    )


def test_row_integers_that_lie_apart(positions):
    assert "k of shape [2048, 1] is not contiguous along the rows" in positions.refusal(
        [(2048, 8), (2048, 2)], [(2048,), (2048,)]
    )


# ---- lists of tensors ---------------------------------------------------------------------------


@pytest.fixture(scope="module")
def foreach(tmp_path_factory):
    return TiledOp(
        tmp_path_factory.mktemp("foreach"),
        "[a * 2 + b for a, b in zip(x, y)]",
        "x y",
        lists=True,
        shapes={"z": ShapeLike("x")},
    )


def test_lists(foreach):
    shapes = [(2**33 + 1,), (3,), (0, 5), (2**20, 2**30), (1,)] + [(2**31, 2)] * 251
    fields = foreach.tile([shapes, shapes], [shapes])
    sizes = [math.prod(s) for s in shapes]
    assert fields["lengths"] == sizes
    assert fields["units"] == sum(ceil_div(n, 256) for n in sizes)
    assert (fields["tensors"], fields["cores"]) == (256, CORES)


def test_lists_that_no_kernel_takes(foreach):
    many = [(2,)] * 257
    assert "x has 257 tensors, at most 256 are supported" in foreach.refusal([many, many], [many])
    few = [(2,)] * 3
    assert "y has not as many tensors as x (3)" in foreach.refusal([few, few[:2]], [few])
    other = [(2,), (2**33,), (2,)]
    assert "y[1] has another shape than x[1], [2]" in foreach.refusal([few, other], [few])
    huge = [(2**31, 2**31)]
    text = foreach.refusal([huge, huge], [huge])
    assert f"64-bit offsets do not reach all elements of shape {list(huge[0])}" in text


# ---- numbers made of sizes and attrs ------------------------------------------------------------


@pytest.fixture(scope="module")
def numbers(tmp_path_factory):
    return TiledOp(
        tmp_path_factory.mktemp("numbers"),
        "x * (n * k) + x.numel() - n // k + int(a * 2.0) + rates[1]",
        attrs=(
            Attr("n", "int", 1),
            Attr("k", "int", 1),
            Attr("a", "float", 1.0),
            Attr("rates", "list_float", (1.0, 2.0)),
        ),
        shapes={"z": ShapeLike("x")},
    )


LIMITS = {"n": 3, "k": 2, "a": 1.0, "rates": [1.0, 2.0]}


def test_numbers_that_fit(numbers):
    """float32 fields hold what Python computes in whole numbers, as far as float32 can."""
    for n, k, size in itertools.product((3, 2**40, -(2**62)), (1, -1), (5, 2**33)):
        fields = numbers.tile([(size,)], [(size,)], {**LIMITS, "n": n, "k": k})
        scalars = [fields[row["name"]] for row in numbers.layout if row["type"] == "float"]
        for value in (n * k, size, n // k):
            exact = struct.unpack("f", struct.pack("f", float(value)))[0]
            assert exact in scalars, (n, k, size)


@pytest.mark.parametrize(
    "attrs",
    [
        {"n": 2**40, "k": 2**40},
        {"n": -(2**63), "k": -1},
        {"n": 5, "k": 0},
        {"a": 1e30},
        {"a": float("nan")},
    ],
)
def test_numbers_that_do_not_fit(numbers, attrs):
    assert "does not fit 64 bits, or is divided by 0" in numbers.refusal(
        [(5,)], [(5,)], {**LIMITS, **attrs}
    )


def test_lists_of_numbers_have_the_length_of_the_kernel(numbers):
    text = numbers.refusal([(5,)], [(5,)], {**LIMITS, "rates": [1.0, 2.0, 3.0]})
    assert "rates has 3 numbers, the kernel is made for 2" in text


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    return TiledOp(
        tmp_path_factory.mktemp("whole"),
        "x * n + x.numel() + x.shape[-1]",
        dtypes=("int32",),
        attrs=(Attr("n", "int", 1),),
        shapes={"z": ShapeLike("x")},
    )


def test_numbers_of_integer_kernels_fit_int32(whole):
    for n, size in itertools.product((2**31 - 1, -(2**31)), (3, 2**31 - 1)):
        fields = whole.tile([(size,)], [(size,)], {"n": n})
        assert {n, size} <= {fields[r["name"]] for r in whole.layout if r["type"] == "int32_t"}
    for n, shape, text in (
        (2**31, (3,), "n is 2147483648, which int32 cannot hold"),
        (-(2**31) - 1, (3,), "n is -2147483649, which int32 cannot hold"),
        (1, (2**16, 2**15), "x.numel() is 2147483648, which int32 cannot hold"),
    ):
        assert text in whole.refusal([shape], [shape], {"n": n})

"""Tiling: the Python model against the generated TilingFunc; properties on random shapes."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

sys.path.insert(0, str(Path(__file__).parents[1] / "kernel"))

from harness import BuiltOp, make_spec

from msopgen_wrap.schedule import plan_op
from msopgen_wrap.schedule.plan import ROW_UNIT, UNIT
from msopgen_wrap.schedule.tiling_model import align, ceil_div, tile_call
from msopgen_wrap.spec.model import Attr, ShapeLike

UB, CORES = 196352, 40
SIZES = st.integers(1, 400)


@pytest.fixture(scope="module")
def add():
    return plan_op(make_spec("x + y", "x y", dtypes=("float32", "float16")))


@pytest.fixture(scope="module")
def softmax():
    return plan_op(
        make_spec(
            "torch.softmax(x, dim)",
            attrs=(Attr("dim", "int", -1),),
            shapes={"z": ShapeLike("x")},
        )
    )


def shares(total, cores):
    """The ranges that Share gives to the cores."""
    each, extra = divmod(total, cores)
    first = 0
    for core in range(cores):
        last = first + each + (1 if core < extra else 0)
        yield first, last
        first = last


@settings(max_examples=200, deadline=None)
@given(total=st.integers(0, 3_000_000), combo=st.integers(0, 1))
def test_flat_tiles_cover_every_element_once(add, total, combo):
    body = add.bodies[0]
    tiling = tile_call(add, body, combo, {"x": (total,), "y": (total,)}, None, {}, UB, CORES)
    assert tiling.mode == "flat"
    assert tiling.tile % UNIT == 0
    assert body.budgets[combo, "flat"].used(tiling.tile) <= UB
    at = 0
    for first, last in shares(ceil_div(total, UNIT), tiling.cores):
        begin, end = first * UNIT, min(last * UNIT, total)
        assert begin == at or begin >= end
        at = max(at, end)
    assert at == total


@settings(max_examples=200, deadline=None)
@given(
    dims=st.lists(SIZES, min_size=1, max_size=4),
    ones=st.integers(0, 15),
    combo=st.integers(0, 1),
)
def test_boxes_cover_the_space_and_fit(add, dims, ones, combo):
    y = tuple(1 if ones >> i & 1 else d for i, d in enumerate(dims))
    body = add.bodies[0]
    tiling = tile_call(add, body, combo, {"x": tuple(dims), "y": y}, None, {}, UB, CORES)
    mode = tiling.mode
    budget = body.budgets[combo, mode]
    assert budget.used(tiling.tile) <= UB
    if mode == "flat":
        return
    rows, cols = tiling.details["box"]
    space = tiling.details["space"]
    pitch = 16 if combo else 8
    assert align(rows * align(cols, pitch), 128) <= tiling.tile
    assert 1 <= rows <= 4095
    outer = 1
    for size in space[:-2]:
        outer *= size
    height = space[-2] if len(space) > 1 else 1
    boxes = outer * ceil_div(height, rows) * ceil_div(space[-1], cols)
    assert boxes == tiling.details["boxes"]
    assert 1 <= tiling.cores <= min(CORES, boxes)


@settings(max_examples=300, deadline=None)
@given(
    dims=st.lists(st.integers(1, 3000), min_size=1, max_size=4),
    dim=st.integers(0, 3),
)
def test_row_boxes_fit(softmax, dims, dim):
    axis = dim % len(dims)
    body = softmax.bodies[0]
    tiling = tile_call(softmax, body, 0, {"x": tuple(dims)}, None, {"dim": axis}, UB, CORES)
    rows, cols = tiling.details["box"]
    assert tiling.tile % ROW_UNIT == 0
    assert body.budgets[0, "row"].used(tiling.tile) <= UB
    assert align(rows * align(cols, 8), 128) <= tiling.tile
    kept = rows if tiling.details["reduce along"] == "columns" else align(cols, 8)
    assert align(kept, 128) <= tiling.tile // 8
    assert 1 <= tiling.cores <= CORES
    if tiling.mode == "resident":
        assert tiling.details["chunks"] == 1


@pytest.mark.slow
def test_model_agrees_with_the_generated_tiling_function(tmp_path):
    spec = make_spec("x + y", "x y", dtypes=("float32",))
    op = BuiltOp(spec, tmp_path, combos=())
    body = op.plan.bodies[0]
    for x, y in [
        ((1000,), (1000,)),
        ((7, 300), (300,)),
        ((7, 300), (7, 1)),
        ((5, 1, 3), (1, 4, 1)),
        ((3000, 3), (3,)),
        ((4, 30000), (30000,)),
        ((2, 3, 4, 5), (3, 1, 5)),
        ((100000,), (1,)),
        ((0,), (0,)),
    ]:
        shape = torch.broadcast_shapes(x, y)
        info = op.runtime.tile(spec.op, [torch.ones(x), torch.ones(y)], [torch.ones(shape)], {})
        model = tile_call(op.plan, body, 0, {"x": x, "y": y}, None, {}, UB, CORES)
        assert info.block_dim == model.cores, (x, y)
        assert info.key == (0 if model.mode == "flat" else 1), (x, y)

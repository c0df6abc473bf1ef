"""Properties of the tiling decisions of generated TilingFuncs on random shapes."""

from __future__ import annotations

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiled_op import TiledOp, align, ceil_div

from msopgen_wrap.schedule.plan import DOUBLE, RESIDENT, STREAMED, UNIT
from msopgen_wrap.spec.model import Attr, ShapeLike

UB, CORES = 196352, 40
FLAT = 0
SIZES = st.integers(1, 400)


@pytest.fixture(scope="module")
def add(tmp_path_factory):
    folder = tmp_path_factory.mktemp("add")
    return TiledOp(folder, "x + y", "x y", dtypes=("float32", "float16"))


@pytest.fixture(scope="module")
def softmax(tmp_path_factory):
    return TiledOp(
        tmp_path_factory.mktemp("softmax"),
        "torch.softmax(x, dim)",
        attrs=(Attr("dim", "int", -1),),
        shapes={"z": ShapeLike("x")},
    )


def shares(total, cores):
    """The ranges that Share gives to the cores."""
    each, extra = divmod(total, cores)
    first = 0
    for core in range(cores):
        last = first + each + (1 if core < extra else 0)
        yield first, last
        first = last


def used(op, combo, mode, tile):
    """Bytes of UB that the plan's buffers take for a tile."""
    return op.plan.bodies[0].budgets[combo, mode].used(tile)


@settings(max_examples=200, deadline=None)
@given(total=st.integers(0, 3_000_000), combo=st.integers(0, 1), cores=st.integers(1, 48))
def test_flat_tiles_cover_every_element_once(add, total, combo, cores):
    fields = add.tile([(total,)] * 2, [(total,)], combo=combo, cores=cores)
    assert (fields["key"], fields["total"]) == (FLAT, total)
    tile = fields["tileLength"]
    assert tile > 0 and tile % UNIT == 0
    assert used(add, combo, "flat", tile) <= UB
    assert 1 <= fields["cores"] <= max(1, min(cores, ceil_div(total, UNIT)))
    at = 0
    for first, last in shares(ceil_div(total, UNIT), fields["cores"]):
        begin, end = first * UNIT, min(last * UNIT, total)
        assert begin == at or begin >= end
        at = max(at, end)
    assert at == total


@settings(max_examples=200, deadline=None)
@given(
    dims=st.lists(SIZES, min_size=1, max_size=4),
    ones=st.integers(0, 15),
    combo=st.integers(0, 1),
    cores=st.integers(1, 48),
)
def test_boxes_cover_the_space_and_fit(add, dims, ones, combo, cores):
    x = tuple(dims)
    y = tuple(1 if ones >> i & 1 else d for i, d in enumerate(dims))
    fields = add.tile([x, y], [x], combo=combo, cores=cores)
    if x == y or math.prod(x) == 1:
        assert fields["key"] == FLAT
        return
    rows, cols = fields["boxRows"], fields["boxCols"]
    assert fields["pitchUnit"] == (16 if combo else 8)
    assert used(add, combo, "broadcast", fields["tileLength"]) <= UB
    assert align(rows * align(cols, fields["pitchUnit"]), 128) <= fields["tileLength"]
    assert 1 <= rows <= 4095
    outer, height, width = fields["outerDims"], fields["rowCount"], fields["colCount"]
    assert math.prod(outer) * height * width == math.prod(x)
    boxes = math.prod(outer) * ceil_div(height, rows) * ceil_div(width, cols)
    assert 1 <= fields["cores"] <= min(cores, boxes)


@settings(max_examples=300, deadline=None)
@given(
    dims=st.lists(st.integers(1, 3000), min_size=1, max_size=4),
    dim=st.integers(0, 3),
    cores=st.integers(1, 48),
)
def test_row_boxes_fit(softmax, dims, dim, cores):
    axis = dim % len(dims)
    shape = tuple(dims)
    fields = softmax.tile([shape], [shape], {"dim": axis}, cores=cores)
    rows, cols, tile = fields["boxRows"], fields["boxCols"], fields["tileLength"]
    assert tile % UNIT == 0 and fields["rowLength"] % UNIT == 0
    resident = fields["key"] == 0
    budget = (DOUBLE if fields["buffers"] == 2 else RESIDENT) if resident else STREAMED
    sizes = (tile, fields["rowLength"], fields["blockRows"])
    assert softmax.plan.bodies[0].budgets[0, budget].used(*sizes) <= UB
    assert align(rows * align(cols, 8), 128) <= tile
    results = rows if fields["lanes"] else align(cols, 8)
    assert align(results, 128) <= fields["rowLength"]
    assert not fields["lanes"] or align(rows, 8) <= fields["blockRows"]
    assert 1 <= fields["cores"] <= cores
    outer = fields["outerDims"]
    assert math.prod(outer) * fields["rowCount"] * fields["colCount"] == math.prod(shape)
    along, box = (fields["colCount"], cols) if fields["lanes"] else (fields["rowCount"], rows)
    reduced = math.prod(outer[fields["keptOuter"] :])
    assert reduced * along == shape[axis]
    assert resident == (reduced * ceil_div(along, box) == 1)
    assert not (resident and fields["split"])


# Worked out by hand: mode and cores of an addition on 40 cores. A core more takes 280 cycles, an
# element of float32 is read in 8 bytes at 32 a cycle.
DECISIONS = [
    ((1000,), (1000,), "flat", 1),
    ((0,), (0,), "flat", 1),
    ((2**16,), (2**16,), "flat", 8),  # sqrt(65536 / 4 / 280) = 7.6
    ((2**20,), (2**20,), "flat", 31),  # sqrt(2**20 / 4 / 280) = 30.6
    ((2**22,), (2**22,), "flat", 40),
    ((7, 300), (300,), "broadcast", 2),
    ((3000, 3000), (3000,), "broadcast", 40),
]


@pytest.mark.parametrize(("x", "y", "mode", "cores"), DECISIONS)
def test_mode_and_cores(add, x, y, mode, cores):
    fields = add.tile([x, y], [torch.broadcast_shapes(x, y)])
    assert fields["key"] == add.plan.modes[mode]
    assert fields["cores"] == cores

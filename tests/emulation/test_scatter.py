"""Scatter of arch 2002 against numpy, and what check mode says of its offsets."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from .launcher import LaunchError, build

COUNT, ROOM, BASE = 256, 512, 64
TYPES = {1: np.float16, 2: np.float32, 3: np.uint32}


def _lanes(form, dtype):
    """The elements of the source that a form of the call takes."""
    lanes = 256 // np.dtype(dtype).itemsize
    index = np.arange(COUNT)
    if form == 0:
        return index < 200
    if form == 1:
        return index % lanes < lanes // 2
    lane = index % lanes
    return np.where(lane < 64, lane % 2 == 0, (lane - 64) < 2)


def _launch(key, form, x, offsets, mode="check"):
    y = np.zeros(ROOM, x.dtype)
    found = build("scatter", arch=2002).launch(
        "scatter", [x, offsets, y], tiling=struct.pack("I", form), key=key, mode=mode,
        soc="ascend310p3",
    )  # fmt: skip
    return y, [f for f in found if f["severity"] != "warning"]


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("form", [0, 1, 2])
@pytest.mark.parametrize("key", TYPES)
def test_values(key, form, mode):
    dtype = TYPES[key]
    rng = np.random.default_rng(key)
    x = rng.integers(0, 1000, COUNT).astype(dtype)
    places = rng.permutation(ROOM - BASE // x.itemsize)[:COUNT]
    y, found = _launch(key, form, x, (places * x.itemsize).astype(np.uint32), mode)
    want = np.full(ROOM, 7, dtype)
    taken = _lanes(form, dtype)
    want[places[taken] + BASE // x.itemsize] = x[taken]
    np.testing.assert_array_equal(y, want)
    assert found == []


def test_offsets_count_bytes():
    x = np.ones(COUNT, np.float32)
    _, found = _launch(2, 0, x, np.arange(COUNT, dtype=np.uint32))
    assert {f["check"] for f in found} == {"ErrorParam"}


def test_offsets_behind_the_tensor_are_found():
    offsets = np.arange(COUNT, dtype=np.uint32) * 4
    offsets[5] = ROOM * 4
    _, found = _launch(2, 0, np.ones(COUNT, np.float32), offsets)
    assert "ErrorWrite2" in {f["check"] for f in found}


def test_offsets_behind_ub_end_the_launch():
    offsets = np.arange(COUNT, dtype=np.uint32) * 4
    offsets[5] = 1 << 20
    with pytest.raises(LaunchError, match="Scatter"):
        _launch(2, 0, np.ones(COUNT, np.float32), offsets, "fast")

"""Sorting on arch 2002, in region proposals, against numpy."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from .launcher import build

COUNT = 64
TYPES = {1: np.float16, 2: np.float32}


def _launch(key, form, x, index, mode="check"):
    y, order = np.zeros(COUNT, x.dtype), np.zeros(COUNT, np.uint32)
    found = build("proposals", arch=2002).launch(
        "proposals", [x, index, y, order], tiling=struct.pack("I", form), key=key, mode=mode,
        soc="ascend310p3",
    )  # fmt: skip
    return y, order, found


def _inputs(key):
    rng = np.random.default_rng(key)
    x = rng.integers(-20, 20, COUNT).astype(TYPES[key])  # some are equal
    return x, rng.integers(0, 2**32, COUNT, dtype=np.uint32)


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("key", TYPES)
def test_sort_and_extract(key, form, mode):
    x, index = _inputs(key)
    y, order, found = _launch(key, form, x, index, mode)
    want = np.argsort(-x, kind="stable")
    np.testing.assert_array_equal(y, x[want])
    np.testing.assert_array_equal(order, index[want])
    assert found == []


@pytest.mark.parametrize("key", TYPES)
def test_instructions(key):
    x, index = _inputs(key)
    y, _, found = _launch(key, 2, x, index)
    np.testing.assert_array_equal(y[:32], -np.sort(-x[:32]))  # two groups of 16, merged
    assert found == []

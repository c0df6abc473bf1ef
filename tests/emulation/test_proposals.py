"""Sorting on arch 2002, in region proposals, against numpy."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from .launcher import KERNELS, LaunchError, build

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


@pytest.mark.parametrize("key", TYPES)
def test_one_list_is_copied_and_doubted(key):
    """Public kernels merge a list alone; the documentation has two to four."""
    x, index = _inputs(key)
    y, _, found = _launch(key, 3, x, index)
    np.testing.assert_array_equal(y[:48], x[:48])
    assert [(f["check"], f["severity"]) for f in found] == [("ErrorParam", "warning")]


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize(
    ("form", "name"), [(0, ""), (1, "ProposalConcat"), (2, "RpSort16"), (3, "VectorPadding")]
)
def test_what_another_arch_has_stops_the_kernel_when_it_is_called(form, name, mode):
    y = np.zeros(8, np.uint8)
    arguments = {"tiling": struct.pack("I", form), "mode": mode, "soc": "ascend910b3"}
    kernel = build("absent_api")
    if form == 0:
        kernel.launch("absent_api", [np.zeros(8, np.uint8), y], **arguments)
        assert y[0] == 1
        return
    with pytest.raises(LaunchError, match=f"{name} does not exist on Ascend910B3") as error:
        kernel.launch("absent_api", [np.zeros(8, np.uint8), y], **arguments)
    rows = (KERNELS / "absent_api.cpp").read_text(encoding="utf-8").split("\n")
    line = next(i for i, row in enumerate(rows, 1) if row.endswith(f"// form {form}"))
    assert f"absent_api.cpp:{line}: " in str(error.value)

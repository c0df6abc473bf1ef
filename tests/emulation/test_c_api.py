"""The C interface of vector kernels."""

import struct

import numpy as np
import pytest

from .launcher import build


@pytest.mark.parametrize("n", [64, 128, 640])
def test_pipeline_reduction_conversion(n):
    rng = np.random.default_rng(n)
    x, y = (rng.standard_normal(n).astype(np.float32) * 4 for _ in range(2))
    z = np.zeros(n + 65, np.float32)
    found = build("c_api").launch("c_api", [x, y, z], tiling=struct.pack("<I", n), mode="check")
    assert [f for f in found if f["severity"] != "warning"] == []
    np.testing.assert_array_equal(z[:n], x + y)
    np.testing.assert_allclose(z[n], x[:64].sum(), rtol=1e-5)
    want = np.floor(np.maximum(x[:64] * 2, -3)).astype(np.int32)
    np.testing.assert_array_equal(z[n + 1 :].view(np.int32), want)


def test_comparison_selection_gathering():
    rng = np.random.default_rng(5)
    x, y = (rng.standard_normal(64).astype(np.float32) for _ in range(2))
    order = (63 - np.arange(64, dtype=np.uint32)) * 4
    z = np.zeros((5, 64), np.float32)
    args = [x, y, order, z.reshape(-1)]
    found = build("c_api").launch("c_api_select", args, mode="check")
    assert [f for f in found if f["severity"] != "warning"] == []
    np.testing.assert_array_equal(z[0], np.minimum(x, y))
    np.testing.assert_array_equal(z[1], np.maximum(x, 0))
    np.testing.assert_array_equal(z[2], x[::-1])
    np.testing.assert_array_equal(z[3], x - 1)
    np.testing.assert_array_equal(z[4], np.repeat(x[:8] - 1, 8))


def test_sorting_masks_transposition_scalars_atomics():
    rng = np.random.default_rng(11)
    x = rng.standard_normal(64).astype(np.float32)
    index = np.arange(64, dtype=np.uint32)
    z = np.zeros(312, np.float32)
    z[296:304].view(np.int32)[:] = 5
    z[304:312].view(np.int32)[:] = 20
    found = build("c_api").launch("c_api_sort", [x, index, z], mode="check", inout=1)
    assert [f for f in found if f["severity"] != "warning"] == []
    order = np.argsort(-x, kind="stable")
    np.testing.assert_array_equal(z[:128:2], x[order])
    np.testing.assert_array_equal(z[1:128:2].view(np.uint32), index[order])
    np.testing.assert_array_equal(z[128:160], x[0::2])  # pattern 1 keeps every other element
    halves = [np.argsort(-x[i : i + 32], kind="stable") + i for i in (0, 32)]
    records = np.stack([x[np.concatenate(halves)].view(np.uint32), np.concatenate(halves)], 1)
    stored = records.astype(np.uint32).reshape(-1).view(np.uint16).reshape(16, 16)
    np.testing.assert_array_equal(z[160:288].view(np.uint16).reshape(16, 16), stored.T)
    counts = np.array([32, 8, 4, 4, 63, 17, 15, 56])
    np.testing.assert_array_equal(z[288:296].view(np.int32), counts)
    np.testing.assert_array_equal(z[296:304].view(np.int32), counts + 5)
    np.testing.assert_array_equal(z[304:312].view(np.int32), np.maximum(counts, 20))

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

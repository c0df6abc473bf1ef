"""SoftmaxFlashV2: parts of a row one after the other, and where the row's values are stored."""

import numpy as np
import pytest

from .launcher import build

ROWS, COLUMNS = 8, 32


@pytest.fixture(scope="module")
def kernel():
    return build("softmax_flash")


@pytest.mark.parametrize(("key", "block"), [(1, 8), (2, 1), (3, 1)])
def test_two_parts(kernel, key, block):
    x = np.random.default_rng(key).normal(size=(2, ROWS, COLUMNS)).astype(np.float32)
    y, z = np.zeros((ROWS, COLUMNS), np.float32), np.zeros((4, 64), np.float32)
    found = kernel.launch("softmax_flash", [x, y, z], key=key, mode="check", outputs=2)
    assert found == []
    first, highest = x[0].max(1), np.maximum(x[0].max(1), x[1].max(1))
    scale = np.exp(first - highest)
    total = np.exp(x[0] - first[:, None]).sum(1) * scale + np.exp(x[1] - highest[:, None]).sum(1)
    np.testing.assert_allclose(y, np.exp(x[1] - highest[:, None]), rtol=1e-5)
    want = [total, highest, scale, x[1].max(1) if key == 3 else np.zeros(ROWS)]
    for got, values in zip(z, want, strict=True):
        np.testing.assert_allclose(got[: ROWS * block], np.repeat(values, block), rtol=1e-5)
        assert not got[ROWS * block :].any()

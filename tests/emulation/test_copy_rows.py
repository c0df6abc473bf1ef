"""Copy in counter mode repeats whole rows."""

from __future__ import annotations

import numpy as np
import pytest

from .launcher import build

ROW, APART, ROWS = 100, 104, 3


def _want(key, x):
    rows = {
        1: [x[:ROW]] * ROWS,  # one row, again and again
        2: [np.resize(x[8 * r : 8 * r + 8], ROW) for r in range(ROWS)],  # a block fills a row
        3: [x[:ROW]],
    }[key]
    y = np.full((ROWS, APART), -1, np.float32)
    for number, row in enumerate(rows):
        y[number, :ROW] = row
    return y.reshape(-1)


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("key", [1, 2, 3])
def test_rows(key, mode):
    x = np.arange(ROWS * APART, dtype=np.float32)
    y = np.zeros_like(x)
    found = build("copy_rows").launch("copy_rows", [x, y], key=key, mode=mode)
    np.testing.assert_array_equal(y, _want(key, x))
    assert found == []

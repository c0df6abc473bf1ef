"""Tensors placed through LocalTensor::address_, in a 4:2 sparse product of several steps."""

import numpy as np
import pytest

from .launcher import build

M, N, K = 32, 48, 128


@pytest.mark.parametrize("entry", ["sparse", "unplaced"])
@pytest.mark.parametrize("mode", ["fast", "check"])
def test_kept_half_stands_for_the_whole(mode, entry):
    """A tensor that nobody has placed is at the start of the memory the instruction is for."""
    rng = np.random.default_rng(3)
    a = rng.integers(-128, 128, (M, K)).astype(np.int8)
    first = rng.integers(0, 3, (K // 4, N))  # of every 4 rows: where the first value stands
    second = np.array([[rng.integers(f, 3) for f in row] for row in first])  # behind it, less 1
    kept = rng.integers(-128, 128, (K // 2, N)).astype(np.int8)
    b = np.zeros((K, N), np.int64)
    index = np.zeros((K // 2, N), np.uint8)
    rows, columns = np.meshgrid(np.arange(K // 4), np.arange(N), indexing="ij")
    b[4 * rows + first, columns] = kept[0::2]
    b[4 * rows + 1 + second, columns] = kept[1::2]
    index[0::2], index[1::2] = first, second

    def fractals(matrix):  # [K1][N1][16 of N][32 of K]
        return matrix.reshape(K // 64, 32, N // 16, 16).transpose(0, 2, 3, 1)

    four = fractals(index).reshape(-1, 4)
    packed = four[:, 0] | four[:, 1] << 2 | four[:, 2] << 4 | four[:, 3] << 6
    c = np.zeros((M, N), np.int32)
    findings = build("placed_tensors").launch(
        entry,
        [a, fractals(kept).copy(), packed.astype(np.uint8), c],
        mode=mode,
    )
    assert findings == []
    assert np.array_equal(c, a.astype(np.int64) @ b)

"""Kernels on addresses: the C interface, and tensors placed through LocalTensor::address_."""

import struct

import numpy as np
import pytest

from .launcher import LaunchError, build

# ---- The C interface of vector and cube kernels --------------------------------------------------


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


CUBE = 2  # kind of a kernel for cube cores alone


def test_addresses_made_by_hand():
    x = np.arange(7, 71, dtype=np.float32)
    z = np.zeros(8, np.int32)
    found = build("c_api").launch("c_api_addresses", [x, z], mode="check")
    assert [f for f in found if f["severity"] != "warning"] == []
    np.testing.assert_array_equal(z, [256, 7, 0x1234, 0, 0, 0, 0, 0])


def launch_cube(entry, arrays, **options):
    found = build("c_api").launch(entry, arrays, mode="check", kind=CUBE, **options)
    assert [f for f in found if f["severity"] != "warning"] == []


def test_a_product_with_a_bias():
    rng = np.random.default_rng(7)
    x, y = (rng.integers(-8, 8, s).astype(np.float16) for s in ((32, 64), (64, 48)))
    bias = rng.integers(-99, 99, 48).astype(np.float32) / 8
    z = np.zeros((32, 48), np.float32)
    launch_cube("c_api_product", [x, y, bias, z])
    np.testing.assert_array_equal(z, x.astype(np.float32) @ y.astype(np.float32) + bias)


def test_a_quantised_product():
    rng = np.random.default_rng(8)
    x, y = (rng.integers(-8, 8, s).astype(np.int8) for s in ((32, 64), (64, 48)))
    scale = 2.0 ** -rng.integers(1, 5, 48).astype(np.float32)
    factors = scale.view(np.uint32).astype(np.uint64) | (1 << 46)  # signed results
    fractals = y.reshape(2, 32, 3, 16).transpose(0, 2, 3, 1)  # Zn: each holds its transpose
    z = np.zeros((32, 48), np.int8)
    launch_cube("c_api_quantised", [x, np.ascontiguousarray(fractals), factors, z])
    want = np.maximum(x.astype(np.int32) @ y.astype(np.int32), 0) * scale
    np.testing.assert_array_equal(z, np.clip(np.rint(want), -128, 127))


@pytest.mark.parametrize("place", [0, 4, 5, 8])
def test_columns_of_an_image_and_filled_memory(place):
    rng = np.random.default_rng(9)
    image = rng.integers(-8, 8, (4, 5, 16)).astype(np.float16)
    z, filled = np.zeros((20, 16), np.float32), np.zeros(64, np.float32)
    filled.view(np.int32)[0] = place
    launch_cube(
        "c_api_columns", [image, np.eye(16, dtype=np.float16), z, filled], outputs=2, inout=1
    )
    padded = np.full((6, 7, 16), 7, np.float32)
    padded[1:5, 1:6] = image
    window = padded[place // 3 :][:4, place % 3 :][:, :5]
    np.testing.assert_array_equal(z, window.reshape(20, 16))
    np.testing.assert_array_equal(filled, [1.0] * 16 + [0.0] * 16 + [1.0] * 16 + [0.0] * 16)


@pytest.mark.parametrize(
    "which, words", [(0, "padding modes"), (1, "a boundary in L1"), (2, "Relu")]
)
def test_what_is_not_emulated_stops_the_kernel(which, words):
    arrays = [np.zeros(64, np.float16) for _ in range(4)]
    with pytest.raises(LaunchError, match=f"{words}.* not emulated"):
        launch_cube("c_api_refused", arrays, tiling=struct.pack("<I", which))


# ---- Tensors placed through LocalTensor::address_, in a 4:2 sparse product of several steps ------

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
    findings = build("cube_sparse").launch(
        entry,
        [a, fractals(kept).copy(), packed.astype(np.uint8), c],
        mode=mode,
    )
    assert findings == []
    assert np.array_equal(c, a.astype(np.int64) @ b)

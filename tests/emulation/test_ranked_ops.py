"""Often used APIs that the tables of vector instructions do not hold, against numpy."""

import numpy as np
import pytest

from .launcher import build

NOTHING = np.zeros(8, np.float32)


def run(entry, x, y, z):
    sizes = np.array([x.nbytes, y.nbytes, z.nbytes], np.uint32).tobytes()
    findings = build("ranked_ops").launch(entry, [x, y, z], tiling=sizes, mode="check", inout=1)
    assert findings == []
    return z


@pytest.mark.parametrize(
    ("entry", "to", "of"),
    [
        ("axpy_float", np.float32, np.float32),
        ("axpy_half", np.float16, np.float16),
        ("axpy_mixed", np.float32, np.float16),
    ],
)
def test_axpy(entry, to, of):
    """Exact: small integers and a scalar of 1.5."""
    rng = np.random.default_rng(1)
    lanes = 256 // np.dtype(to).itemsize
    x = rng.integers(-50, 50, lanes).astype(of)
    before = rng.integers(-50, 50, 3 * lanes).astype(to)
    z = run(entry, x, NOTHING, before.copy()).reshape(3, lanes)
    want = before.reshape(3, lanes) + np.float32(1.5) * x.astype(np.float32)
    want[2, 1::2] = before.reshape(3, lanes)[2, 1::2]
    np.testing.assert_array_equal(z, want.astype(to))


@pytest.mark.parametrize(
    ("entry", "dtype"), [("grad_float", np.float32), ("grad_half", np.float16)]
)
def test_softmax_grad(entry, dtype):
    rng = np.random.default_rng(2)
    grad, y = (rng.uniform(-1, 1, (8, 64)).astype(dtype) for _ in range(2))
    block = 32 // np.dtype(dtype).itemsize
    z = run(entry, grad, y, np.zeros(512 + 8 * block, dtype))
    total = (grad.astype(np.float64) * y).sum(1, keepdims=True)
    tolerance = 1e-5 if dtype == np.float32 else 4e-3
    want = (grad - total) * y
    np.testing.assert_allclose(z[:512].reshape(8, 64), want, atol=tolerance * 4)
    front = np.repeat(total, block, 1)
    np.testing.assert_allclose(z[512:].reshape(8, block), front, atol=tolerance * 4)


def test_softmax_with_known_rows_and_its_adjustment():
    rng = np.random.default_rng(3)
    x = rng.normal(size=(8, 64)).astype(np.float32)
    peak = x.max(1)
    peak[5] = -100
    total = np.exp(x - peak[:, None].clip(-50)).sum(1)
    rows = np.stack([np.repeat(v[:, None], 8, 1) for v in (total, peak)]).astype(np.float32)
    z = run("simple_softmax", x, rows, np.zeros(520, np.float32))
    with np.errstate(over="ignore"):
        want = np.exp(x - peak[:, None]) / total[:, None]
    want[5] = 7
    np.testing.assert_allclose(z[:512].reshape(8, 64), want, rtol=1e-5)
    assert z[512] == 1


def test_concat_sort_extract():
    x = np.random.default_rng(4).normal(size=64).astype(np.float32)
    index = np.arange(100, 164, dtype=np.uint32)
    z = run("sort_extract", x, index, np.zeros(128, np.float32))
    order = np.argsort(-x, kind="stable")
    np.testing.assert_array_equal(z[:64], x[order])
    np.testing.assert_array_equal(z[64:].view(np.uint32), index[order])


def test_sums_and_comparisons_with_a_scalar():
    x = np.random.default_rng(5).integers(-9, 9, 128).astype(np.float32) / 4
    z = run("sums_and_compares", x, NOTHING, np.zeros(32, np.float32))
    np.testing.assert_array_equal(z[:2], x.reshape(2, 64).sum(1))
    assert z[8] == z[12] == x.sum()
    less = np.unpackbits(z[16:20].view(np.uint8), bitorder="little")
    more = np.unpackbits(z[24:28].view(np.uint8), bitorder="little")
    np.testing.assert_array_equal(less, x < 0.25)
    np.testing.assert_array_equal(more, x >= 0.25)


def test_transposition_and_scalar_conversions():
    x = np.arange(256, dtype=np.int16).reshape(16, 16)
    y = np.full(8, -2.3439, np.float32)
    z = run("transpose_and_scalars", x, y, np.zeros(136, np.float32))
    np.testing.assert_array_equal(z[:128].view(np.int16).reshape(16, 16), x.T)
    bits = (y[:1].view(np.uint32) + 0x7FFF + (y[:1].view(np.uint32) >> 16 & 1)) & 0xFFFF0000
    assert z[128] == bits.astype(np.uint32).view(np.float32)[0]
    assert z[129] == np.float16(y[0])
    assert z[130:136].view(np.int32).tolist() == [-3, -2, 32, 1, 64, 1]


def test_memory_fills():
    z = np.zeros(104, np.float32)
    findings = build("ranked_ops").launch("fill_memory", [NOTHING, NOTHING, z], mode="check")
    assert findings == []
    np.testing.assert_array_equal(z, np.repeat([2, 3], [64, 40]))

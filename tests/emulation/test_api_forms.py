"""Often used APIs that no table of instructions holds, and forms that few kernels use."""

from __future__ import annotations

import struct

import numpy as np
import pytest

from .launcher import build

# ---- Forms of APIs that few kernels use, against numpy -------------------------------------------


def run(entry, x, y, z, mode="check", workspace=0, key=0):
    sizes = np.array([x.nbytes, y.nbytes, z.nbytes], np.uint32).tobytes()
    findings = build("api_forms").launch(
        entry, [x, y, z], tiling=sizes, mode=mode, inout=1, workspace=workspace, key=key
    )
    assert findings == []
    return z


NOTHING = np.zeros(8, np.float32)


def test_flash_writes_one_element_per_row_and_the_own_maximum():
    rng = np.random.default_rng(1)
    x = rng.normal(size=(8, 64)).astype(np.float32)
    before = np.stack([rng.uniform(1, 5, 8), rng.normal(size=8)]).astype(np.float32)
    z = run("flash_narrow", x, before, np.zeros(544, np.float32))
    peak = np.maximum(x.max(1), before[1])
    power = np.exp(x - peak[:, None])
    keep = np.exp(before[1] - peak)
    total = power.sum(1) + keep * before[0]
    assert np.allclose(z[:512].reshape(8, 64), power, rtol=1e-6)
    assert np.array_equal(z[512:520], x.max(1))
    assert np.allclose(z[520:528], total, rtol=1e-6)
    assert np.array_equal(z[528:536], peak)
    assert np.allclose(z[536:544], keep, rtol=1e-6)


def test_softmax_without_template_arguments():
    x = np.random.default_rng(2).normal(size=(8, 64)).astype(np.float32)
    z = run("softmax_deduced", x, NOTHING, np.zeros(640, np.float32))
    power = np.exp(x - x.max(1, keepdims=True))
    assert np.allclose(z[:512].reshape(8, 64), power / power.sum(1, keepdims=True), rtol=1e-6)
    assert np.allclose(z[512:576].reshape(8, 8), power.sum(1, keepdims=True), rtol=1e-6)
    assert np.array_equal(z[576:].reshape(8, 8), np.repeat(x.max(1)[:, None], 8, 1))


def test_shift_right_names_the_scalar_type():
    x = np.random.default_rng(3).integers(-(2**15), 2**15, 64).astype(np.int16)
    z = run("shift_typed", x, NOTHING, np.zeros(192, np.int16)).reshape(3, 64)
    assert np.array_equal(z[0], x >> 3)
    assert np.array_equal(z[1], x >> 3)
    assert np.array_equal(z[2], (x >> 3) + (x >> 2 & 1))


def test_bits_of_any_type_are_counted_in_16_bit_words():
    rng = np.random.default_rng(5)
    x, y = rng.integers(0, 2**16, (2, 64)).astype(np.uint16)
    z = run("bits_of_any_type", x, y, np.full(128, 7, np.uint16))
    assert np.array_equal(z[:48], x[:48] & y[:48])
    assert np.array_equal(z[64:112], x[:48] | y[:48])
    assert np.all(z[48:64] == 7) and np.all(z[112:] == 7)


@pytest.mark.parametrize("entry", ["interpolate", "interpolate_blocks"])
def test_bilinear_interpolation(entry):
    """The numbers of the documented example, and random blocks."""
    rng = np.random.default_rng(4)
    per_block = entry == "interpolate_blocks"
    blocks = rng.permutation(32)
    x = rng.integers(-8, 8, 512).astype(np.float16)
    weights = np.zeros(32, np.float16)
    weights[:] = rng.integers(-4, 5, 32)
    y = np.concatenate([(blocks * 32).astype(np.uint32).view(np.uint16), weights.view(np.uint16)])
    z = run(entry, x, y, np.zeros(256, np.float16))
    gathered = x.reshape(32, 16)[blocks].reshape(2, 2, 8, 16)
    factor = weights.reshape(2, 2, 8, 1) if per_block else weights[:4].reshape(2, 2, 1, 1)
    assert np.array_equal(z.reshape(2, 8, 16), (gathered * factor).sum(1).astype(np.float16))


def test_spm_buffer():
    x = np.random.default_rng(5).normal(size=256).astype(np.float32)
    z = run("spm", x, NOTHING, np.zeros(256, np.float32), workspace=8192)
    assert np.array_equal(z, x)


@pytest.mark.parametrize(("key", "factor"), [(1, 2), (2, 2), (3, 3), (4, 3), (5, 0)])
def test_lists_of_keys_and_a_tensor_in_a_file(key, factor, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.arange(64, dtype=np.float32)
    z = run("key_list", x, NOTHING, np.zeros(64, np.float32), key=key)
    assert np.array_equal(z, x * factor)
    assert np.array_equal(np.fromfile("part.bin", np.float32), x[8:24])


# ---- Often used APIs that the tables of vector instructions do not hold, against numpy -----------


def run_ranked(entry, x, y, z):
    sizes = np.array([x.nbytes, y.nbytes, z.nbytes], np.uint32).tobytes()
    findings = build("api_forms").launch(entry, [x, y, z], tiling=sizes, mode="check", inout=1)
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
    z = run_ranked(entry, x, NOTHING, before.copy()).reshape(3, lanes)
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
    z = run_ranked(entry, grad, y, np.zeros(512 + 8 * block, dtype))
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
    z = run_ranked("simple_softmax", x, rows, np.zeros(520, np.float32))
    with np.errstate(over="ignore"):
        want = np.exp(x - peak[:, None]) / total[:, None]
    want[5] = 7
    np.testing.assert_allclose(z[:512].reshape(8, 64), want, rtol=1e-5)
    assert z[512] == 1


def test_concat_sort_extract():
    x = np.random.default_rng(4).normal(size=64).astype(np.float32)
    index = np.arange(100, 164, dtype=np.uint32)
    z = run_ranked("sort_extract", x, index, np.zeros(128, np.float32))
    order = np.argsort(-x, kind="stable")
    np.testing.assert_array_equal(z[:64], x[order])
    np.testing.assert_array_equal(z[64:].view(np.uint32), index[order])


def test_sums_and_comparisons_with_a_scalar():
    x = np.random.default_rng(5).integers(-9, 9, 128).astype(np.float32) / 4
    z = run_ranked("sums_and_compares", x, NOTHING, np.zeros(32, np.float32))
    np.testing.assert_array_equal(z[:2], x.reshape(2, 64).sum(1))
    assert z[8] == z[12] == x.sum()
    less = np.unpackbits(z[16:20].view(np.uint8), bitorder="little")
    more = np.unpackbits(z[24:28].view(np.uint8), bitorder="little")
    np.testing.assert_array_equal(less, x < 0.25)
    np.testing.assert_array_equal(more, x >= 0.25)


def test_transposition_and_scalar_conversions():
    x = np.arange(256, dtype=np.int16).reshape(16, 16)
    y = np.full(8, -2.3439, np.float32)
    z = run_ranked("transpose_and_scalars", x, y, np.zeros(136, np.float32))
    np.testing.assert_array_equal(z[:128].view(np.int16).reshape(16, 16), x.T)
    bits = (y[:1].view(np.uint32) + 0x7FFF + (y[:1].view(np.uint32) >> 16 & 1)) & 0xFFFF0000
    assert z[128] == bits.astype(np.uint32).view(np.float32)[0]
    assert z[129] == np.float16(y[0])
    assert z[130:136].view(np.int32).tolist() == [-3, -2, 32, 1, 64, 1]


def test_memory_fills():
    z = np.zeros(104, np.float32)
    findings = build("api_forms").launch("fill_memory", [NOTHING, NOTHING, z], mode="check")
    assert findings == []
    np.testing.assert_array_equal(z, np.repeat([2, 3], [64, 40]))


# ---- SoftmaxFlashV2: parts of a row one after the other, and where the row's values are stored ---

FLASH_ROWS, COLUMNS = 8, 32


@pytest.fixture(scope="module")
def kernel():
    return build("api_forms")


@pytest.mark.parametrize(("key", "block"), [(1, 8), (2, 1), (3, 1)])
def test_two_parts(kernel, key, block):
    x = np.random.default_rng(key).normal(size=(2, FLASH_ROWS, COLUMNS)).astype(np.float32)
    y, z = np.zeros((FLASH_ROWS, COLUMNS), np.float32), np.zeros((4, 64), np.float32)
    found = kernel.launch("softmax_flash", [x, y, z], key=key, mode="check", outputs=2)
    assert found == []
    first, highest = x[0].max(1), np.maximum(x[0].max(1), x[1].max(1))
    scale = np.exp(first - highest)
    total = np.exp(x[0] - first[:, None]).sum(1) * scale + np.exp(x[1] - highest[:, None]).sum(1)
    np.testing.assert_allclose(y, np.exp(x[1] - highest[:, None]), rtol=1e-5)
    want = [total, highest, scale, x[1].max(1) if key == 3 else np.zeros(FLASH_ROWS)]
    for got, values in zip(z, want, strict=True):
        np.testing.assert_allclose(got[: FLASH_ROWS * block], np.repeat(values, block), rtol=1e-5)
        assert not got[FLASH_ROWS * block :].any()


# ---- What DataCopyPad puts beside the rows it copies to UB ---------------------------------------

ROWS, VALUE = 3, 9.0


@pytest.mark.parametrize(
    ("length", "is_pad", "left", "right", "set_value", "filled"),
    [
        # Pads of the call, in front and behind; the rest of the block gets the value too.
        (5, True, 0, 3, 0, "value"),
        (5, True, 2, 1, 0, "value"),
        (5, True, 1, 0, 0, "value"),
        (5, True, 0, 1, 0, "value"),
        # Without pads the rest repeats the row's first element, whatever isPad and SetPadValue say.
        (5, False, 0, 0, 0, "first"),
        (5, True, 0, 0, 0, "first"),
        (5, False, 0, 0, 1, "first"),
        (8, True, 0, 0, 0, "first"),
        # isPad false: the value that was last set, by SetPadValue or a call with isPad.
        (5, False, 0, 3, 1, "value"),
        (5, False, 2, 1, 2, "value"),
    ],
)
def test_rows_are_padded(length, is_pad, left, right, set_value, filled):
    x = np.arange(1, ROWS * length + 1, dtype=np.float32).reshape(ROWS, length)
    padded = -(-(left + length + right) // 8) * 8
    fill = np.full((ROWS, padded), VALUE, np.float32) if filled == "value" else x[:, :1]
    want = np.broadcast_to(fill, (ROWS, padded)).copy()
    want[:, left : left + length] = x
    z = np.zeros_like(want)
    tiling = struct.pack("6If", ROWS, length, is_pad, left, right, set_value, VALUE)
    findings = build("api_forms").launch("pad_rows", [x, z], tiling=tiling, mode="check")
    assert not [f for f in findings if f["severity"] == "error"]
    np.testing.assert_array_equal(z, want)


# ---- Copy in counter mode repeats whole rows -----------------------------------------------------

COPIED_ROW, APART, COPIED = 100, 104, 3


def _want(key, x):
    rows = {
        1: [x[:COPIED_ROW]] * COPIED,  # one row, again and again
        2: [
            np.resize(x[8 * r : 8 * r + 8], COPIED_ROW) for r in range(COPIED)
        ],  # a block fills a row
        3: [x[:COPIED_ROW]],
    }[key]
    y = np.full((COPIED, APART), -1, np.float32)
    for number, row in enumerate(rows):
        y[number, :COPIED_ROW] = row
    return y.reshape(-1)


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("key", [1, 2, 3])
def test_rows(key, mode):
    x = np.arange(COPIED * APART, dtype=np.float32)
    y = np.zeros_like(x)
    found = build("api_forms").launch("copy_rows", [x, y], key=key, mode=mode)
    np.testing.assert_array_equal(y, _want(key, x))
    assert found == []

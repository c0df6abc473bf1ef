"""Forms of APIs that few kernels use, against numpy."""

import numpy as np
import pytest

from .launcher import build


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

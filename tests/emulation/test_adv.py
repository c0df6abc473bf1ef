"""High-level (lib) APIs against numpy and torch in float64, each checked by the sanitizer."""

import struct

import numpy as np
import pytest
import torch

from .launcher import LaunchError, build

NONE = np.zeros(0, np.uint8)
SECOND = 8192  # byte offsets of further results in z
THIRD = 12288
TYPES = {"float32": (0, np.float32, 2e-6), "float16": (1, np.float16, 2e-3)}
BOTH = tuple(TYPES)


@pytest.fixture(scope="module")
def kernel():
    return build("adv_ops")


def _run(kernel, key, x, *a, y=NONE, dtype="float32", scalar=(0.0, 0.0), size=THIRD + 4096):
    """Launch; return z as bytes. A finding of the sanitizer fails the test."""
    z = np.zeros(size, np.uint8)
    values = [TYPES[dtype][0], *a, *[0] * (7 - len(a))]
    tiling = struct.pack("<3I8I2f", x.nbytes, y.nbytes, z.nbytes, *values, *scalar)
    found = kernel.launch("adv", [x, y, z], tiling=tiling, key=key, mode="check")
    assert [f for f in found if f["severity"] != "warning"] == []
    return z


def _part(z, dtype, count, at=0):
    return z[at:].view(dtype)[:count]


def _close(got, want, tolerance):
    want = np.asarray(want, np.float64)
    scale = np.maximum(np.abs(want), 1e-2 * max(1.0, float(np.abs(want).max())))
    error = np.abs(got.astype(np.float64) - want) / scale
    assert error.max() <= tolerance, f"relative error {error.max():.3g}"


def _torch(f):
    return lambda *x: f(*(torch.from_numpy(v) for v in x)).numpy()


def _gelu(x):
    return torch.nn.functional.gelu(x, approximate="tanh")


# name -> (key, range of x, function of float64, tolerance factor)
UNARY = {
    "Acos": (1, (-0.99, 0.99), np.arccos, 1),
    "Acosh": (2, (1.01, 50), np.arccosh, 1),
    "Asin": (3, (-0.99, 0.99), np.arcsin, 1),
    "Asinh": (4, (-50, 50), np.arcsinh, 1),
    "Atan": (5, (-50, 50), np.arctan, 1),
    "Atanh": (6, (-0.98, 0.98), np.arctanh, 1),
    "Ceil": (7, (-50, 50), np.ceil, 1),
    "Cos": (8, (-6, 6), np.cos, 1),
    "Cosh": (9, (-5, 5), np.cosh, 1),
    "Digamma": (10, (0.5, 20), _torch(torch.digamma), 1),
    "Erf": (11, (-4, 4), _torch(torch.erf), 1),
    "Erfc": (12, (-4, 4), _torch(torch.erfc), 1),
    "Floor": (13, (-50, 50), np.floor, 1),
    "Frac": (14, (-50, 50), lambda x: x - np.trunc(x), 1),
    "Lgamma": (15, (0.5, 20), _torch(torch.lgamma), 1),
    "Log": (16, (0.01, 90), np.log, 1),
    "Log10": (17, (0.01, 90), np.log10, 1),
    "Log2": (18, (0.01, 90), np.log2, 1),
    "Round": (19, (-50, 50), np.rint, 1),
    "Sigmoid": (20, (-9, 9), _torch(torch.sigmoid), 1),
    "Sign": (21, (-2, 2), np.sign, 1),
    "Silu": (22, (-9, 9), _torch(torch.nn.functional.silu), 1),
    "Sin": (23, (-6, 6), np.sin, 1),
    "Sinh": (24, (-5, 5), np.sinh, 1),
    "Tan": (25, (-1.4, 1.4), np.tan, 1),
    "Tanh": (26, (-5, 5), np.tanh, 1),
    "Trunc": (27, (-50, 50), np.trunc, 1),
    "Gelu": (28, (-5, 5), _torch(_gelu), 2),
    "FasterGelu": (29, (-5, 5), lambda x: x / (1 + np.exp(-1.702 * x)), 2),
}


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("name", UNARY)
def test_unary(kernel, name, dtype):
    key, (low, high), function, factor = UNARY[name]
    _, kind, tolerance = TYPES[dtype]
    n = 203
    x = np.random.default_rng(key).uniform(low, high, 208).astype(kind)
    z = _run(kernel, key, x, n, dtype=dtype)
    _close(_part(z, kind, n), function(x[:n].astype(np.float64)), factor * tolerance)
    # Nothing behind the count is written.
    assert (_part(z, np.uint8, 32, n * x.itemsize) == 0x5A).all()


def test_faster_gelu_v2_approximates_gelu(kernel):
    x = np.linspace(-5, 5, 256, dtype=np.float32)
    z = _part(_run(kernel, 30, x, 256), np.float32, 256)
    want = torch.nn.functional.gelu(torch.from_numpy(x)).numpy()
    assert np.abs(z - want).max() < 2e-2


BINARY = {
    "Fmod": (40, np.fmod),
    "Hypot": (41, np.hypot),
    "Power": (42, lambda x, y: np.abs(x) ** y),
    "GeGLU": (43, lambda x, y: x * _torch(_gelu)(y)),
    "ReGlu": (44, lambda x, y: x * np.maximum(y, 0)),
    "SwiGLU": (45, lambda x, y: x * y / (1 + np.exp(-1.5 * y))),
}


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("name", BINARY)
def test_binary(kernel, name, dtype):
    key, function = BINARY[name]
    _, kind, tolerance = TYPES[dtype]
    rng = np.random.default_rng(key)
    x = rng.uniform(-5, 5, 256).astype(kind)
    y = rng.uniform(0.5, 3, 256).astype(kind)
    if name == "Power":
        x = np.abs(x)
    z = _run(kernel, key, x, 256, y=y, dtype=dtype, scalar=(1.5, 0))
    _close(_part(z, kind, 256), function(x.astype(np.float64), y.astype(np.float64)), 2 * tolerance)


@pytest.mark.parametrize(("key", "at"), [(46, 0), (47, 32)], ids=["function pointer", "overlap"])
def test_sigmoid_called_otherwise(kernel, key, at):
    x = np.linspace(-5, 5, 64, dtype=np.float32)
    z = _run(kernel, key, x, 64)
    _close(_part(z, np.float32, 64, 4 * at), 1 / (1 + np.exp(-x.astype(np.float64))), 2e-6)


@pytest.mark.parametrize("shapes", [((16, 1), (16, 24)), ((1, 16), (9, 16)), ((16, 1), (16, 7))])
def test_broadcast(kernel, shapes):
    source, target = shapes
    x = np.arange(np.prod(source), dtype=np.float32).reshape(source)
    z = _run(kernel, 100, x, *source, *target)
    want = np.broadcast_to(x, target)
    np.testing.assert_array_equal(_part(z, np.float32, want.size).reshape(target), want)


def test_broadcast_refuses_shapes_that_do_not_fit(kernel):
    with pytest.raises(LaunchError, match=r"cannot be broadcast"):
        _run(kernel, 100, np.zeros((4, 8), np.float32), 4, 8, 4, 12)


@pytest.mark.parametrize("dtype", BOTH)
def test_arith_progression(kernel, dtype):
    kind = TYPES[dtype][1]
    z = _run(kernel, 101, np.zeros(8, kind), 133, dtype=dtype, scalar=(3, 0.5))
    np.testing.assert_array_equal(_part(z, kind, 133), (3 + 0.5 * np.arange(133)).astype(kind))


@pytest.mark.parametrize(
    ("width", "original", "left", "right"),
    [(15, 15, 0, 1), (13, 13, 2, 1), (16, 14, 0, 2)],
    ids=["right", "both", "inside"],
)
def test_pad(kernel, width, original, left, right):
    x = np.arange(16 * width, dtype=np.float16).reshape(16, width)
    z = _run(kernel, 102, x, 16, width, original, left, right, dtype="float16")
    inside = width == 16
    want = np.pad(x[:, :original], ((0, 0), (left, right)), constant_values=7)
    assert inside or want.shape == (16, 16)
    np.testing.assert_array_equal(_part(z, np.float16, want.size).reshape(want.shape), want)


def test_unpad(kernel):
    x = np.arange(256, dtype=np.float16).reshape(16, 16)
    z = _run(kernel, 103, x, 16, 16, 16, 0, 3, dtype="float16")
    np.testing.assert_array_equal(_part(z, np.float16, 16 * 13).reshape(16, 13), x[:, :13])


@pytest.mark.parametrize("key", range(150, 154))
@pytest.mark.parametrize("shape", [(1, 32, 2, 2, 8), (2, 17, 1, 3, 5)])
def test_trans_data(kernel, key, shape):
    n, c, d, h, w = shape
    x = np.arange(1, n * c * d * h * w + 1, dtype=np.int16).view(np.float16).reshape(shape)
    plane = -(-h * w // 16) * 16
    plain = np.zeros((n, c, d, plane), np.float16)
    plain[..., : h * w] = x.reshape(n, c, d, h * w)
    padded = np.zeros((16 * -(-n // 16), 16 * -(-c // 16), d, h, w), np.float16)
    padded[:n, :c] = x
    n1, c1 = padded.shape[0] // 16, padded.shape[1] // 16
    blocked = padded.reshape(n1 * 16, c1, 16, d, h, w)
    if key < 152:
        blocked = blocked[:n].transpose(0, 3, 1, 4, 5, 2)
    else:
        blocked = blocked.reshape(n1, 16, c1, 16, d, h, w).transpose(4, 2, 5, 6, 0, 1, 3)
    blocked = np.ascontiguousarray(blocked)
    source, want = (plain, blocked) if key % 2 == 0 else (blocked, plain)
    z = _run(kernel, key, source, *shape, dtype="float16", size=max(12288 + 4096, want.nbytes))
    got = _part(z, np.float16, want.size).view(np.int16).reshape(want.shape)
    if key % 2:  # the padding of H x W is not written
        got, want = got[..., : h * w], want[..., : h * w]
    np.testing.assert_array_equal(
        got, want.view(np.int16) if key % 2 == 0 else want.copy().view(np.int16)
    )


def _nz(x):
    """[..., rows, columns] -> fractal order (columns / 16, rows, 16); sizes are multiples of 16."""
    *lead, rows, columns = x.shape
    return np.moveaxis(x.reshape(*lead, rows, columns // 16, 16), -2, -3)


@pytest.mark.parametrize("scene", range(1, 8))
def test_confusion_transpose(kernel, scene):
    b, n, s, d = 2, 16, 16, 16
    whole = np.arange(b * n * s * d, dtype=np.float16).astype(np.int16).view(np.float16)
    parts = np.arange(b * n * s * d, dtype=np.int16).reshape(b, n, s, d)  # [B, N, S, H/N]
    merged = parts.transpose(0, 2, 1, 3)  # [B, S, N, H/N]
    flat = merged.reshape(b, s, n * d)
    source, want = {
        1: (_nz(parts), merged),
        2: (_nz(parts), _nz(merged)),
        3: (_nz(flat), _nz(parts)),
        4: (_nz(flat), parts),
        5: (_nz(parts), flat),
        6: (_nz(parts), _nz(flat)),
        7: (parts.reshape(b * n, s * d), parts.reshape(b * n, s * d).T),
    }[scene]
    dims = (b * n, s * d, 1, 1) if scene == 7 else (b, n, s, d)
    x = np.ascontiguousarray(source).view(np.float16).reshape(-1)
    assert x.nbytes == whole.nbytes
    z = _run(kernel, 104, x, scene, *dims, dtype="float16", size=x.nbytes)
    np.testing.assert_array_equal(z.view(np.int16), np.ascontiguousarray(want).reshape(-1))


@pytest.mark.parametrize("scalar_first", [False, True])
def test_select_with_bytes_mask(kernel, scalar_first):
    rng = np.random.default_rng(5)
    x = rng.standard_normal((6, 16)).astype(np.float32)
    mask = rng.integers(0, 2, (6, 32)).astype(np.uint8)
    z = _run(kernel, 105, x, 6, 16, 32, int(scalar_first), y=mask, scalar=(2.5, 0))
    second = mask[:, :16] != 0
    want = np.where(second, x, 2.5) if scalar_first else np.where(second, 2.5, x)
    np.testing.assert_array_equal(_part(z, np.float32, 96).reshape(6, 16), want.astype(np.float32))


@pytest.mark.parametrize("mask_columns", [32, 64, 4], ids=["bytes", "padded bytes", "bits"])
def test_drop_out(kernel, mask_columns):
    rng = np.random.default_rng(6)
    x = rng.standard_normal((4, 32)).astype(np.float32)
    if mask_columns == 4:
        keep = rng.integers(0, 2, (4, 32))
        mask = np.packbits(keep.astype(np.uint8), axis=1, bitorder="little")
    else:
        mask = rng.integers(0, 2, (4, mask_columns)).astype(np.uint8)
        keep = mask[:, :32]
    z = _run(kernel, 106, x, 4, 32, mask_columns, y=np.ascontiguousarray(mask), scalar=(0.8, 0))
    want = np.where(keep, x.astype(np.float64) / np.float32(0.8), 0)
    _close(_part(z, np.float32, 128).reshape(4, 32), want, 1e-6)


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("along_last", [False, True])
def test_cum_sum(kernel, dtype, along_last):
    _, kind, tolerance = TYPES[dtype]
    x = np.random.default_rng(7).uniform(0, 1, (9, 32)).astype(kind)
    z = _run(kernel, 107, x, 9, 32, int(along_last), dtype=dtype)
    want = np.cumsum(x.astype(np.float64), axis=int(along_last))
    _close(_part(z, kind, x.size).reshape(x.shape), want, tolerance)
    if not along_last:
        _close(_part(z, kind, 32, SECOND), want[-1], tolerance)


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize(("key", "f"), [(110, np.sum), (111, np.mean)], ids=["Sum", "Mean"])
def test_last_axis_reduction(kernel, dtype, key, f):
    _, kind, tolerance = TYPES[dtype]
    x = np.random.default_rng(8).uniform(-1, 2, (5, 48)).astype(kind)
    z = _run(kernel, key, x, 5, 48, 41, dtype=dtype)
    _close(_part(z, kind, 5), f(x[:, :41].astype(np.float64), axis=1), 2 * tolerance)


REDUCE = {
    "ReduceSum": (300, np.sum),
    "ReduceMean": (301, np.mean),
    "ReduceMax": (302, np.max),
    "ReduceMin": (303, np.min),
    "ReduceProd": (304, np.prod),
    "ReduceAny": (305, lambda x, axis: np.any(x, axis).astype(float)),
    "ReduceAll": (306, lambda x, axis: np.all(x, axis).astype(float)),
}


@pytest.mark.parametrize("first_axis", [False, True], ids=["AR", "RA"])
@pytest.mark.parametrize("name", REDUCE)
def test_pattern_reduction(kernel, name, first_axis):
    key, f = REDUCE[name]
    rng = np.random.default_rng(key)
    x = rng.uniform(0.5, 1.5, (7, 24)).astype(np.float32)
    if name in ("ReduceAny", "ReduceAll"):
        x = (rng.uniform(size=(7, 24)) < (0.1 if name == "ReduceAny" else 0.9)).astype(np.float32)
    columns = 21  # rows are padded to 24
    z = _run(kernel, key, x, int(first_axis), 7, columns)
    want = f(x[:, :columns].astype(np.float64), axis=0 if first_axis else 1)
    _close(_part(z, np.float32, want.size), want, 1e-6)


@pytest.mark.parametrize("largest", [True, False])
@pytest.mark.parametrize("small", [False, True])
def test_top_k(kernel, largest, small):
    rng = np.random.default_rng(9)
    inner, n, k = (32, 30, 5) if small else (64, 60, 11)
    x = rng.integers(-20, 20, (4, inner)).astype(np.float32)  # with ties
    x[:, n:] = -np.inf if largest else np.inf
    index = np.tile(np.arange(100, 100 + inner, dtype=np.int32), (4, 1))
    z = _run(kernel, 121 if small else 120, x, 4, inner, n, k, int(largest), y=index)
    order = np.argsort(-x if largest else x, axis=1, kind="stable")[:, :k]
    row = k if small else 16
    values = _part(z, np.float32, 4 * row).reshape(4, row)[:, :k]
    indices = _part(z, np.int32, 4 * row, SECOND).reshape(4, row)[:, :k]
    np.testing.assert_array_equal(values, np.take_along_axis(x, order, 1))
    np.testing.assert_array_equal(indices, order + (100 if small else 0))


def test_ascend_quant(kernel):
    x = np.random.default_rng(10).uniform(-80, 80, 256).astype(np.float16)
    z = _run(kernel, 130, x, 256, dtype="float16", scalar=(2.0, 0.5))
    half = (x * np.float16(2) + np.float16(0.5)).astype(np.float64)
    np.testing.assert_array_equal(_part(z, np.int8, 256), np.clip(np.rint(half), -128, 127))


def test_ascend_quant_per_channel(kernel):
    rng = np.random.default_rng(11)
    x = rng.uniform(-40, 40, (8, 32)).astype(np.float16)
    scale = rng.uniform(0.5, 2, 32).astype(np.float16)
    z = _run(kernel, 131, x, 256, 32, y=scale, dtype="float16", scalar=(0, 1.0))
    half = ((x * scale).astype(np.float16) + np.float16(1)).astype(np.float64)
    want = np.clip(np.rint(half), -128, 127)
    np.testing.assert_array_equal(_part(z, np.int8, 256).reshape(8, 32), want)


@pytest.mark.parametrize("transposed", [False, True])
def test_ascend_anti_quant(kernel, transposed):
    rng = np.random.default_rng(12)
    k, n, groups = 32, 64, 2
    q = rng.integers(-128, 128, (k, n)).astype(np.int8)
    factors = np.zeros((2, 2048), np.float16)
    scale = rng.uniform(0.5, 2, (groups, n)).astype(np.float16)
    offset = rng.integers(-8, 8, (groups, n)).astype(np.float16)
    want = (q.reshape(groups, k // groups, n) + offset[:, None]) * scale[:, None]
    want = want.astype(np.float16).reshape(k, n)
    source, shape = q, (groups, n)
    if transposed:
        source, want, scale, offset = q.T.copy(), want.T, scale.T, offset.T
        shape = (n, groups)
    factors[0, : scale.size] = scale.ravel()
    factors[1, : offset.size] = offset.ravel()
    z = _run(kernel, 132, source, k, *shape, int(transposed), y=factors, dtype="float16")
    got = _part(z, np.float16, k * n).reshape(want.shape)
    np.testing.assert_array_equal(got, want)


def test_ascend_dequant(kernel):
    rng = np.random.default_rng(13)
    x = rng.integers(-(2**20), 2**20, (6, 24)).astype(np.int32)
    scale = rng.uniform(0.01, 0.1, 24).astype(np.float32)
    z = _run(kernel, 133, x, 6, 24, 17, y=scale)
    got = _part(z, np.float32, 6 * 24).reshape(6, 24)
    _close(got[:, :17], x[:, :17].astype(np.float64) * scale[:17], 1e-6)
    assert (got[:, 17:].copy().view(np.uint32)[0] == 0x5A5A5A5A).all()  # not written


def _gain(rng, kind, h):
    y = np.zeros(3072, kind)
    y[:h] = rng.uniform(0.5, 1.5, h)
    y[1024 : 1024 + h] = rng.uniform(-1, 1, h)
    return y, y[:h].astype(np.float64), y[1024 : 1024 + h].astype(np.float64)


@pytest.mark.parametrize("dtype", BOTH)
@pytest.mark.parametrize("original", [48, 43])
@pytest.mark.parametrize("name", ["LayerNorm", "RmsNorm", "DeepNorm"])
def test_row_norms(kernel, name, original, dtype):
    _, kind, tolerance = TYPES[dtype]
    rng = np.random.default_rng(14)
    b, s, h = 2, 4, 48
    buffer = np.zeros(8192, kind)
    buffer[: b * s * h] = rng.uniform(-2, 3, b * s * h)
    buffer[4096 : 4096 + b * s * h] = rng.uniform(-2, 3, b * s * h)
    y, gamma, beta = _gain(rng, kind, h)
    key = {"LayerNorm": 200, "RmsNorm": 201, "DeepNorm": 202}[name]
    z = _run(kernel, key, buffer, b, s, h, original, y=y, dtype=dtype, scalar=(1e-3, 0.7))
    eps = float(kind(1e-3))
    x = buffer[: b * s * h].astype(np.float64).reshape(b * s, h)[:, :original]
    if name == "DeepNorm":
        gx = buffer[4096 : 4096 + b * s * h].astype(np.float64).reshape(b * s, h)
        x = float(kind(0.7)) * x + gx[:, :original]
    mean = x.mean(1, keepdims=True) if name != "RmsNorm" else 0.0
    variance = ((x - mean) ** 2).mean(1, keepdims=True)
    want = (x - mean) / np.sqrt(variance + eps) * gamma[:original]
    if name != "RmsNorm":
        want = want + beta[:original]
    got = _part(z, kind, b * s * h).reshape(b * s, h)[:, :original]
    _close(got, want, 3 * tolerance)
    if name != "RmsNorm":
        _close(_part(z, kind, b * s, SECOND), mean[:, 0], 3 * tolerance)
        _close(_part(z, kind, b * s, THIRD), variance[:, 0], 3 * tolerance)


def test_batch_norm(kernel):
    rng = np.random.default_rng(15)
    x = rng.uniform(-2, 3, (8, 32)).astype(np.float32)
    y, gamma, beta = _gain(rng, np.float32, 8)
    z = _run(kernel, 203, x, 8, 4, 8, y=y, scalar=(1e-3, 0))
    mean, variance = x.astype(np.float64).mean(0), x.astype(np.float64).var(0)
    want = (x - mean) / np.sqrt(variance + 1e-3) * gamma[:, None] + beta[:, None]
    _close(_part(z, np.float32, 256).reshape(8, 32), want, 1e-5)
    _close(_part(z, np.float32, 32, THIRD), variance, 1e-5)


def test_group_norm(kernel):
    rng = np.random.default_rng(16)
    x = rng.uniform(-2, 3, (2, 6, 16)).astype(np.float32)
    y, gamma, beta = _gain(rng, np.float32, 6)
    z = _run(kernel, 204, x, 2, 6, 16, 3, y=y, scalar=(1e-3, 0))
    want = torch.nn.functional.group_norm(
        torch.from_numpy(x.astype(np.float64)),
        3,
        torch.from_numpy(gamma),
        torch.from_numpy(beta),
        1e-3,
    ).numpy()
    _close(_part(z, np.float32, x.size).reshape(x.shape), want, 1e-5)


def test_layer_norm_grad(kernel):
    rng = np.random.default_rng(17)
    rows, h, eps = 8, 40, 1e-3
    dy = rng.uniform(-1, 1, (rows, h)).astype(np.float32)
    x = rng.uniform(-2, 3, (rows, h)).astype(np.float32)
    gamma = rng.uniform(0.5, 1.5, h).astype(np.float32)
    inputs = torch.tensor(x, dtype=torch.float64, requires_grad=True)
    weight = torch.tensor(gamma, dtype=torch.float64, requires_grad=True)
    bias = torch.zeros(h, dtype=torch.float64, requires_grad=True)
    out = torch.nn.functional.layer_norm(inputs, (h,), weight, bias, eps)
    out.backward(torch.tensor(dy, dtype=torch.float64))
    buffer = np.zeros(4096, np.float32)
    buffer[: dy.size] = dy.ravel()
    buffer[2048 : 2048 + x.size] = x.ravel()
    y = np.zeros(3072, np.float32)
    y[:h] = gamma
    y[1024 : 1024 + rows] = x.astype(np.float64).mean(1)
    y[2048 : 2048 + rows] = x.astype(np.float64).var(1)
    z = _run(kernel, 205, buffer, 2, 4, h, h, y=y, scalar=(eps, 0))
    _close(_part(z, np.float32, x.size).reshape(x.shape), inputs.grad.numpy(), 1e-4)
    _close(_part(z, np.float32, h, THIRD), weight.grad.numpy(), 1e-4)
    _close(_part(z, np.float32, h, THIRD + 2048), bias.grad.numpy(), 1e-4)


def test_sanitizer_sees_the_operands(kernel):
    """A count beyond the buffer stops the launch and names the operand."""
    with pytest.raises(LaunchError, match=r"Sigmoid"):
        _run(kernel, 20, np.zeros(8, np.float32), 200000)

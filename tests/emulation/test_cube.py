"""Loads into L0, Mmad and Fixpipe against numpy, through every buffer of the cube."""

import struct

import numpy as np
import pytest
import torch

from .launcher import LaunchError, build

# dtype key of the kernel: input, L0C, output
KEYS = {
    ("f16", "f32"): 1,
    ("f16", "f16"): 2,
    ("f16", "i8"): 3,
    ("bf16", "bf16"): 4,
    ("f32", "f32"): 5,
    ("i8", "i32"): 6,
    ("i8", "f16"): 7,
    ("i8", "i8"): 8,
    ("i4", "i32"): 9,
}
NUMPY = {"f16": np.float16, "f32": np.float32, "i8": np.int8, "i32": np.int32, "bf16": np.uint16}
C0 = {"f16": 16, "bf16": 16, "f32": 8, "i8": 32, "i4": 64}
QUANT = {"F322F16": 1, "VREQ8": 2, "REQ8": 3, "VDEQF16": 4, "DEQF16": 5, "F322BF16": 16}
QUANT |= {"VQF322B8": 23, "QF322B8": 24}


@pytest.fixture(scope="module")
def kernel():
    return build("cube_ops")


def _bf16(values):
    """Round to bfloat16: the values and their bits."""
    rounded = torch.from_numpy(np.asarray(values, np.float32)).bfloat16()
    return rounded.float().numpy(), rounded.view(torch.int16).numpy().view(np.uint16)


def _matrix(rng, shape, dtype):
    """Values as float64 or int64, and the array that the device reads."""
    if dtype in ("i8", "i4"):
        top = 128 if dtype == "i8" else 8
        v = rng.integers(-top, top, shape)
        if dtype == "i8":
            return v, v.astype(np.int8)
        pairs = v.reshape(*shape[:-1], -1, 2) & 15
        return v, (pairs[..., 0] | pairs[..., 1] << 4).astype(np.uint8)
    v = rng.standard_normal(shape).astype(np.float32)
    if dtype == "bf16":
        return _bf16(v)
    v = v.astype(NUMPY[dtype])
    return v.astype(np.float64), v


def _scale(scale, offset=0, signed=True):
    """The 64-bit quantisation parameter: fp32 scale (10 bits of mantissa), offset, sign."""
    bits = struct.unpack("<I", struct.pack("<f", scale))[0] & 0xFFFFE000
    return bits | (offset & 0x1FF) << 37 | int(signed) << 46


def _run(kernel, types, a, b, c, m, n, k, *, bias=None, mode="check", **options):
    o = dict.fromkeys(
        ["loadA", "loadB", "splitK", "quant", "relu", "nz", "split", "atomic", "scalar"], 0
    )
    o |= dict.fromkeys(
        ["atomic", "scalar", "height", "width", "channels", "filter", "stride", "pad", "hf32"], 0
    )
    o |= {"splitK": 1} | options
    bias_kind = 0
    if bias is not None and bias.dtype != np.uint64:
        bias_kind = 2 if bias.dtype == np.float16 else 1
    tiling = struct.pack(
        "<12IQ7I4x",
        *(m, n, k, o["loadA"], o["loadB"], bias_kind),
        *(o["splitK"], o["quant"], o["relu"], o["nz"], o["split"], o["atomic"], o["scalar"]),
        *(o["height"], o["width"], o["channels"], o["filter"], o["stride"], o["pad"], o["hf32"]),
    )
    # The table is copied in whole blocks of 16 columns, of 32 where it is half.
    table = np.zeros(-(-n // 32) * 32, np.int32 if bias is None else bias.dtype)
    if bias is not None:
        table[:n] = bias
    arrays = [np.ascontiguousarray(a), np.ascontiguousarray(b), table, c]
    found = kernel.launch("cube", arrays, tiling=tiling, key=KEYS[types], mode=mode, inout=1)
    assert [f for f in found if f["severity"] != "warning"] == []
    return c


def _product(kernel, types, m, n, k, *, bias=False, loadA=0, loadB=0, seed=0, **options):
    """Run a random product; return the exact one and the device's."""
    rng = np.random.default_rng(seed)
    a, a_raw = _matrix(rng, (k, m) if loadA == 1 else (m, k), types[0])
    b, b_raw = _matrix(rng, (k, n) if loadB else (n, k), types[0])
    want = (a.T if loadA == 1 else a).astype(np.float64) @ (b if loadB else b.T).astype(np.float64)
    table = None
    if bias:
        integer = types[0] in ("i8", "i4")
        dtype = np.int32 if integer else np.float16 if bias == "f16" else np.float32
        table = rng.integers(-2048 if bias == "f16" else -9999, 2048, n).astype(dtype)
        want = want + table
    c = np.zeros((m, n), NUMPY[types[1]])
    out = _run(
        kernel, types, a_raw, b_raw, c, m, n, k, bias=table, loadA=loadA, loadB=loadB, **options
    )
    return want, out


SHAPES = [(16, 16, 64), (32, 64, 128), (48, 16, 64), (128, 96, 64), (17, 33, 64), (5, 100, 96)]


@pytest.mark.parametrize("m, n, k", SHAPES)
@pytest.mark.parametrize("types", [("f16", "f32"), ("f32", "f32"), ("i8", "i32"), ("i4", "i32")])
@pytest.mark.parametrize("bias", [False, True])
def test_product(kernel, types, m, n, k, bias):
    k = -(-k // C0[types[0]]) * C0[types[0]]
    want, got = _product(kernel, types, m, n, k, bias=bias)
    if types[1] == "i32":
        assert np.array_equal(got, want)
    else:
        # fp32 accumulation: k roundings of products of about sqrt(k)
        np.testing.assert_allclose(got, want, rtol=2e-6 * 8, atol=2e-5 if not bias else 2e-2)


@pytest.mark.parametrize("m, n, k", SHAPES)
def test_half_bias_widens_on_its_way_to_the_bias_table(kernel, m, n, k):
    want, got = _product(kernel, ("f16", "f32"), m, n, k, bias="f16")
    np.testing.assert_allclose(got, want, rtol=2e-6 * 8, atol=2e-2)


@pytest.mark.parametrize("types", [("f16", "f32"), ("f32", "f32"), ("i8", "i32")])
@pytest.mark.parametrize("k", [1, 7, 40, 63])
def test_k_tail(kernel, types, k):
    """The last fractal column of K is padded; Mmad must not read the padding."""
    want, got = _product(kernel, types, 20, 18, k)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-5)


@pytest.mark.parametrize("k", [16, 64, 256, 1024])
def test_gemv(kernel, k):
    """m = 1 reads the vector without fractals: its rows are not padded to 16."""
    rng = np.random.default_rng(k)
    a, a_raw = _matrix(rng, (1, k), "f16")
    b, b_raw = _matrix(rng, (16, k), "f16")
    packed = np.zeros((-(-k // 256), 256), np.float16)
    packed.reshape(-1)[:k] = a_raw[0]
    c = np.zeros((1, 16), np.float32)
    _run(kernel, ("f16", "f32"), packed, b_raw, c, 1, 16, k, loadA=4)
    np.testing.assert_allclose(c, a @ b.T, rtol=1e-5, atol=3e-5)


@pytest.mark.parametrize(
    "types, loads",
    [
        (("f16", "f32"), (1, 0)),
        (("f16", "f32"), (0, 1)),
        (("f16", "f32"), (1, 1)),
        (("f16", "f32"), (0, 2)),
        (("f16", "f32"), (2, 0)),
        (("f16", "f32"), (2, 2)),
        (("f16", "f32"), (5, 0)),
        (("f16", "f32"), (6, 0)),
        (("f32", "f32"), (6, 0)),
        (("f32", "f32"), (2, 0)),
        (("i8", "i32"), (0, 2)),
        (("i8", "i32"), (2, 2)),
        (("i4", "i32"), (0, 2)),
        (("i4", "i32"), (2, 2)),
    ],
)
@pytest.mark.parametrize("m, n, k", [(64, 64, 64), (16, 128, 64), (80, 64, 128)])
def test_loads(kernel, types, loads, m, n, k):
    want, got = _product(kernel, types, m, n, k, loadA=loads[0], loadB=loads[1])
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("types", [("f16", "f32"), ("f32", "f32"), ("i8", "i32")])
@pytest.mark.parametrize("parts", [2, 4])
@pytest.mark.parametrize("bias", [False, True])
def test_accumulation(kernel, types, parts, bias):
    want, got = _product(kernel, types, 16, 48, 128, splitK=parts, bias=bias)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=2e-2 if bias else 5e-5)


def test_long_sums_are_added_in_groups(kernel):
    """Their error is far below that of adding one product after another."""
    exact, got = _product(kernel, ("f32", "f32"), 16, 16, 896)
    rng = np.random.default_rng(0)
    a = rng.standard_normal((16, 896)).astype(np.float32)
    b = rng.standard_normal((896, 16)).astype(np.float32)
    serial = np.zeros((16, 16), np.float32)
    for p in range(896):
        serial += a[:, p : p + 1] * b[p]
    of_serial = np.sqrt(np.mean((serial - a.astype(np.float64) @ b) ** 2))
    assert np.sqrt(np.mean((got - exact) ** 2)) < 0.6 * of_serial


def test_hf32(kernel):
    """hf32 keeps 11 bits of mantissa of both inputs: far from fp32, near to numpy on rounded."""
    exact, got = _product(kernel, ("f32", "f32"), 32, 32, 64, hf32=1)
    error = np.abs(got - exact).max()
    assert 1e-4 < error < 64 * 8 * 2.0**-11
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((32, 64)).astype(np.float32) for _ in range(2))
    keep = [
        ((v.view(np.uint32) + 0x7FF + (v.view(np.uint32) >> 12 & 1)) & ~np.uint32(0xFFF))
        for v in (a, b)
    ]
    a, b = (v.astype(np.uint32).view(np.float32).astype(np.float64) for v in keep)
    np.testing.assert_allclose(got, a @ b.T, rtol=1e-5, atol=3e-5)


@pytest.mark.parametrize(
    "channels, size, filter_, stride, pad",
    [(16, 8, 1, 1, 0), (16, 8, 3, 1, 1), (32, 9, 3, 2, 1), (16, 8, 2, 2, 0), (32, 7, 3, 1, 0)],
)
def test_convolution(kernel, channels, size, filter_, stride, pad):
    """Image to column of an NC1HWC0 image, against torch."""
    rng = np.random.default_rng(channels + size)
    image = rng.standard_normal((channels, size, size)).astype(np.float16)
    weight = rng.standard_normal((16, channels, filter_, filter_)).astype(np.float16)
    want = torch.nn.functional.conv2d(
        torch.from_numpy(image).double()[None],
        torch.from_numpy(weight).double(),
        stride=stride,
        padding=pad,
    )[0].numpy()
    m = want.shape[1] * want.shape[2]
    k = channels * filter_ * filter_
    nc1hwc0 = image.reshape(-1, 16, size, size).transpose(0, 2, 3, 1)
    # K of the column matrix runs over C1, filter row, filter column, C0.
    columns = weight.reshape(16, -1, 16, filter_, filter_).transpose(0, 1, 3, 4, 2).reshape(16, k)
    c = np.zeros((m, 16), np.float32)
    _run(
        *(kernel, ("f16", "f32"), nc1hwc0, columns, c, m, 16, k),
        **dict(loadA=3, height=size, width=size, channels=channels),
        **dict(filter=filter_, stride=stride, pad=pad),
    )
    np.testing.assert_allclose(c.T.reshape(want.shape), want, rtol=1e-5, atol=1e-4)


# --- Fixpipe -----------------------------------------------------------------------------------


@pytest.mark.parametrize("relu", [0, 1])
@pytest.mark.parametrize("m, n", [(32, 32), (17, 50)])
def test_out_in_16_bits(kernel, relu, m, n):
    want, got = _product(kernel, ("f16", "f16"), m, n, 64, relu=relu, quant=QUANT["F322F16"])
    want = np.maximum(want, 0) if relu else want
    np.testing.assert_allclose(got, want, rtol=2.0**-10, atol=1e-5)
    want, got = _product(kernel, ("bf16", "bf16"), m, n, 64, relu=relu, quant=QUANT["F322BF16"])
    want = np.maximum(want, 0) if relu else want
    got = torch.from_numpy(got.view(np.int16)).view(torch.bfloat16).float().numpy()
    np.testing.assert_allclose(got, want, rtol=2.0**-7, atol=1e-5)


@pytest.mark.parametrize("relu", [0, 1])
@pytest.mark.parametrize("types", [("f32", "f32"), ("i8", "i32")])
def test_relu(kernel, types, relu):
    want, got = _product(kernel, types, 32, 32, 64, relu=relu)
    np.testing.assert_allclose(got, np.maximum(want, 0) if relu else want, rtol=1e-5, atol=5e-5)
    assert (got < 0).any() != bool(relu)


def _nz(c, width):
    m, n = c.shape
    return c.reshape(m, n // width, width).transpose(1, 0, 2)


@pytest.mark.parametrize(
    "types, width, options",
    [
        (("f16", "f32"), 16, {}),
        (("f16", "f32"), 8, {"split": 1}),
        (("f32", "f32"), 8, {"split": 1}),
        (("f16", "f16"), 16, {"quant": QUANT["F322F16"]}),
        (("i8", "i32"), 16, {}),
        (("i8", "i8"), 32, {"quant": QUANT["REQ8"], "scalar": _scale(2.0**-10)}),
    ],
)
@pytest.mark.parametrize("m, n", [(32, 64), (48, 32)])
def test_out_in_nz(kernel, types, width, options, m, n):
    want, got = _product(kernel, types, m, n, 64, nz=1, **options)
    if types[1] == "i8":
        want = np.clip(np.rint(want * 2.0**-10), -128, 127)
    got = got.reshape(n // width, m, width)
    np.testing.assert_allclose(got, _nz(want, width), rtol=1e-3, atol=5e-4)


@pytest.mark.parametrize("relu", [0, 1])
@pytest.mark.parametrize("scale, offset", [(2.0**-6, 0), (0.0234375, 0)])
def test_int32_to_half(kernel, relu, scale, offset):
    want, got = _product(
        *(kernel, ("i8", "f16"), 32, 48, 64),
        **dict(quant=QUANT["DEQF16"], scalar=_scale(scale, offset), relu=relu),
    )
    want = want * scale
    want = np.maximum(want, 0) if relu else want
    np.testing.assert_allclose(got, want, rtol=2.0**-10, atol=1e-4)


@pytest.mark.parametrize("mode", ["VDEQF16", "VREQ8", "VQF322B8"])
@pytest.mark.parametrize("n", [16, 50])
def test_parameters_per_column(kernel, mode, n):
    out = {"VDEQF16": ("i8", "f16"), "VREQ8": ("i8", "i8"), "VQF322B8": ("f16", "i8")}[mode]
    rng = np.random.default_rng(n)
    unit = 2.0**-10 if out[0] == "i8" else 4.0
    scales = unit * rng.integers(1, 9, n)
    a, a_raw = _matrix(rng, (32, 64), out[0])
    b, b_raw = _matrix(rng, (n, 64), out[0])
    table = np.array([_scale(s) for s in scales], np.uint64)
    c = np.zeros((32, n), NUMPY[out[1]])
    _run(kernel, out, a_raw, b_raw, c, 32, n, 64, bias=table, quant=QUANT[mode])
    want = (a.astype(np.float64) @ b.T) * scales
    if out[1] == "i8":
        # fp32 sums may fall on the other side of a half.
        near = np.abs(c - np.clip(want, -128, 127)) <= 0.5 + 1e-3
        assert near.all()
    else:
        np.testing.assert_allclose(c, want, rtol=2.0**-10, atol=1e-4)


@pytest.mark.parametrize("offset, signed", [(0, True), (-7, True), (100, True)])
def test_requantisation_offset(kernel, offset, signed):
    want, got = _product(
        *(kernel, ("i8", "i8"), 16, 32, 64),
        **dict(quant=QUANT["REQ8"], scalar=_scale(2.0**-9, offset, signed)),
    )
    want = np.clip(np.clip(np.rint(want * 2.0**-9), -256, 255) + offset, -128, 127)
    assert np.array_equal(got, want)


@pytest.mark.parametrize("atomic", [1, 2])
def test_atomic(kernel, atomic):
    rng = np.random.default_rng(3)
    a, a_raw = _matrix(rng, (32, 64), "f16")
    b, b_raw = _matrix(rng, (32, 64), "f16")
    before = rng.standard_normal((32, 32)).astype(np.float32) * 8
    c = before.copy()
    _run(kernel, ("f16", "f32"), a_raw, b_raw, c, 32, 32, 64, atomic=atomic)
    want = a @ b.T
    want = before + want if atomic == 1 else np.maximum(before, want)
    np.testing.assert_allclose(c, want, rtol=1e-5, atol=2e-5)


def _compress(b):
    """[n][k] with at most two non-zero values of four -> the values [n][k / 2] and positions."""
    n, k = b.shape
    values, index = np.zeros((n, k // 2), np.int8), np.zeros((n, k // 2), np.uint8)
    for r in range(n):
        for g in range(k // 4):
            at = np.flatnonzero(b[r, 4 * g : 4 * g + 4])
            at = list(at) + [3] * (2 - len(at)) if 3 not in at or len(at) == 2 else [0, 3]
            first, second = at[0], at[1]
            if first == second:  # two zeros: any pair
                first, second = 0, 1
            values[r, 2 * g : 2 * g + 2] = b[r, 4 * g + first], b[r, 4 * g + second]
            index[r, 2 * g : 2 * g + 2] = first, second - 1
    return values, index


@pytest.mark.parametrize("m, n, k, start", [(128, 128, 64, 0), (16, 32, 128, 3), (32, 16, 256, 1)])
def test_sparse(m, n, k, start):
    rng = np.random.default_rng(8)
    a = rng.integers(-128, 128, (m, k)).astype(np.int8)
    b = np.zeros((n, k), np.int8)
    for row in b.reshape(-1, 4):
        at = rng.choice(4, rng.integers(0, 3), replace=False)
        row[at] = rng.integers(-100, 100, len(at))
    values, index = _compress(b)
    zn = values.reshape(n // 16, 16, k // 64, 32).transpose(2, 0, 1, 3)
    two = index.reshape(n, k // 8, 4)
    packed = (two << np.array([0, 2, 4, 6], np.uint8)).sum(-1).astype(np.uint8)
    packed = packed.reshape(n // 16, 16, k // 64, 8).transpose(2, 0, 1, 3)
    nz = a.reshape(m, k // 32, 32).transpose(1, 0, 2)
    c = np.zeros((m, n), np.int32)
    arrays = [np.ascontiguousarray(v) for v in (nz, zn, packed)] + [c]
    found = build("cube_sparse").launch(
        "sparse_at", arrays, tiling=struct.pack("<4I", m, n, k, start), mode="check", kind=2
    )
    assert [f for f in found if f["severity"] != "warning"] == []
    np.testing.assert_array_equal(c, a.astype(np.int32) @ b.T.astype(np.int32))


def test_fixpipe_leaves_the_memory_behind_the_result_alone(kernel):
    rng = np.random.default_rng(3)
    a = rng.standard_normal((32, 32)).astype(np.float16)
    b = rng.standard_normal((16, 32)).astype(np.float16)
    memory = np.full((32, 16), 7, np.float32)
    got = _run(kernel, ("f16", "f32"), a, b, memory[:31], 32, 16, 32, mode="fast")
    want = a.astype(np.float64) @ b.T.astype(np.float64)
    np.testing.assert_allclose(got, want[:31], rtol=1e-5, atol=5e-5)
    assert (memory[31] == 7).all()


def test_quantisation_of_other_architectures_is_refused(kernel):
    a, c = np.zeros((16, 16), np.float16), np.zeros((16, 16), np.float16)
    with pytest.raises(LaunchError, match="mode does not exist on Ascend910B"):
        _run(kernel, ("f16", "f16"), a, a, c, 16, 16, 16, quant=64)

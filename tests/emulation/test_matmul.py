"""The Matmul object against numpy, in every way of use, and the tiling its host side computes."""

# ruff: noqa: SIM905

import ctypes
import struct

import numpy as np
import pytest
import torch

from msopgen_wrap.build.emulation import compile_shared

from .launcher import KERNELS, LaunchError, build

FIELDS = (
    "usedCoreNum M N Ka Kb singleCoreM singleCoreN singleCoreK baseM baseN baseK depthA1 "
    "depthB1 stepM stepN isBias transLength iterateOrder shareMode shareL1Size shareL0CSize "
    "shareUbSize batchM batchN singleBatchM singleBatchN stepKa stepKb depthAL1CacheUB "
    "depthBL1CacheUB dbL0A dbL0B dbL0C ALayoutInfoB ALayoutInfoS ALayoutInfoN ALayoutInfoG "
    "ALayoutInfoD BLayoutInfoB BLayoutInfoS BLayoutInfoN BLayoutInfoG BLayoutInfoD "
    "CLayoutInfoB CLayoutInfoS1 CLayoutInfoN CLayoutInfoG CLayoutInfoS2 BatchNum reserved"
).split()
HALF, HALF_OUT, BF16, FLOAT, INT8, INT8_HALF, NZ, NZ_SPLIT, NORMAL, BSNGD = range(1, 11)
COPY_A, COPY_OUT, UPPER, LOWER, MIXED, COPY_B, SPARSE, TSCM = range(11, 19)
ENTRIES = {MIXED: "matmul_mixed", SPARSE: "matmul_sparse", TSCM: "matmul_tscm"}
ALL, STEPS, ASYNC, SEQUENTIAL, BATCH, PARTIAL = range(6)


@pytest.fixture(scope="module")
def kernel():
    return build("matmul_object")


def _tiling(m, n, k, base=(16, 16, 16), single=None, cores=1, **fields):
    sm, sn, sk = single or (m, n, k)
    t = dict.fromkeys(FIELDS, 0)
    t |= dict(usedCoreNum=cores, M=m, N=n, Ka=k, Kb=k, singleCoreM=sm, singleCoreN=sn)
    t |= dict(singleCoreK=sk, baseM=base[0], baseN=base[1], baseK=base[2], stepM=1, stepN=1)
    return t | fields


def _launch(
    kernel, key, tiling, a, b, c, bias=None, trans=(0, 0), way=ALL, atomic=0, scalar=0, **o
):
    raw = struct.pack(
        "<50i4IQ", *(tiling[f] for f in FIELDS), trans[0], trans[1], way, atomic, scalar
    )
    bias = np.zeros(1, np.float32) if bias is None else bias
    arrays = [np.ascontiguousarray(v) for v in (a, b, bias)] + [c]
    o = {"blocks": tiling["usedCoreNum"], "mode": "check", "inout": 1, "workspace": 4096} | o
    entry = ENTRIES.get(key, "matmul_object")
    found = kernel.launch(entry, arrays, tiling=raw, key=key, **o)
    assert [f for f in found if f["severity"] != "warning"] == []
    return c


def _operands(rng, m, n, k, dtype, trans):
    sides = [(k, m) if trans[0] else (m, k), (n, k) if trans[1] else (k, n)]
    if dtype == np.int8:
        raw = [rng.integers(-128, 128, s).astype(np.int8) for s in sides]
        values = [v.astype(np.int64) for v in raw]
    elif dtype == "bf16":
        t = [torch.from_numpy(rng.standard_normal(s)).bfloat16() for s in sides]
        values = [v.double().numpy() for v in t]
        raw = [v.view(torch.int16).numpy() for v in t]
    else:
        raw = [rng.standard_normal(s).astype(dtype) for s in sides]
        values = [v.astype(np.float64) for v in raw]
    a, b = values
    return raw, (a.T if trans[0] else a) @ (b.T if trans[1] else b)


TRANS = pytest.mark.parametrize("trans", [(0, 0), (1, 0), (0, 1), (1, 1)])
# m, n, k, base, share of a core, cores: with and without tails
SHAPES = [
    (32, 48, 64, (16, 16, 32), None, 1),
    (37, 53, 70, (16, 32, 32), None, 1),
    (64, 96, 33, (32, 48, 16), (32, 48, 33), 4),
    (50, 70, 40, (16, 16, 16), (20, 40, 40), 6),
    (1, 130, 300, (16, 64, 64), None, 1),
    (130, 1, 20, (64, 16, 16), (70, 1, 20), 2),
    (275, 40, 30, (32, 16, 16), None, 1),  # more rows than a panel of the product has
]


@TRANS
@pytest.mark.parametrize("m, n, k, base, single, cores", SHAPES)
@pytest.mark.parametrize(
    "key, dtype, out",
    [
        (HALF, np.float16, np.float32),
        (HALF_OUT, np.float16, np.float16),
        (BF16, "bf16", np.float32),
        (FLOAT, np.float32, np.float32),
        (INT8, np.int8, np.int32),
    ],
)
def test_iterate_all(kernel, key, dtype, out, m, n, k, base, single, cores, trans):
    raw, want = _operands(np.random.default_rng(m), m, n, k, dtype, trans)
    t = _tiling(m, n, k, base, single, cores)
    got = _launch(kernel, key, t, *raw, np.zeros((m, n), out), trans=trans)
    if out == np.int32:
        assert np.array_equal(got, want)
    else:
        tolerance = 2.0**-10 if out == np.float16 else 1e-5
        np.testing.assert_allclose(got, want, rtol=tolerance, atol=5e-5)


@pytest.mark.parametrize("way", [ALL, STEPS, ASYNC])
@pytest.mark.parametrize("order", [0, 1])
@pytest.mark.parametrize("m, n, k, base, single, cores", SHAPES)
def test_ways_with_bias(kernel, way, order, m, n, k, base, single, cores):
    rng = np.random.default_rng(n)
    raw, want = _operands(rng, m, n, k, np.float16, (0, 0))
    bias = rng.standard_normal(n).astype(np.float32)
    t = _tiling(m, n, k, base, single, cores, isBias=1, iterateOrder=order)
    got = _launch(kernel, HALF, t, *raw, np.zeros((m, n), np.float32), bias=bias, way=way)
    np.testing.assert_allclose(got, want + bias, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("way", [ALL, STEPS, ASYNC])
@pytest.mark.parametrize("atomic", [1, 2, 3])
def test_atomic(kernel, way, atomic):
    rng = np.random.default_rng(atomic)
    raw, want = _operands(rng, 40, 50, 64, np.float16, (0, 0))
    before = rng.standard_normal((40, 50)).astype(np.float32) * 8
    t = _tiling(40, 50, 64, (16, 32, 32))
    got = _launch(kernel, HALF, t, *raw, before.copy(), way=way, atomic=atomic)
    want = {1: np.add, 2: np.maximum, 3: np.minimum}[atomic](before, want)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("order", [0, 1])
def test_blocks_in_sequence(kernel, order):
    """enSequentialWrite: base blocks follow each other in the order of iteration."""
    raw, want = _operands(np.random.default_rng(1), 32, 64, 32, np.float16, (0, 0))
    t = _tiling(32, 64, 32, (16, 32, 16), iterateOrder=order)
    got = _launch(kernel, HALF, t, *raw, np.zeros((4, 16, 32), np.float32), way=SEQUENTIAL)
    blocks = want.reshape(2, 16, 2, 32).transpose(0, 2, 1, 3)
    blocks = blocks if order == 1 else blocks.transpose(1, 0, 2, 3)
    np.testing.assert_allclose(got, blocks.reshape(4, 16, 32), rtol=1e-5, atol=5e-5)


def test_a_tail_in_sequence_has_the_rows_of_a_whole_block(kernel):
    raw, want = _operands(np.random.default_rng(2), 24, 48, 32, np.float16, (0, 0))
    t = _tiling(24, 48, 32, (16, 32, 16), iterateOrder=1)
    got = _launch(kernel, HALF, t, *raw, np.full((4, 16, 32), 7, np.float32), way=SEQUENTIAL)
    blocks = [want[m : m + 16, n : n + 32] for m in (0, 16) for n in (0, 32)]
    for block, values in zip(got, blocks, strict=True):
        rows, columns = values.shape
        np.testing.assert_allclose(block[:rows, :columns], values, rtol=1e-5, atol=5e-5)
        assert (block[rows:] == 7).all() and (block[:, columns:] == 7).all()


@TRANS
@pytest.mark.parametrize("part", [16, 32, 48])
def test_sums_over_parts_of_k(kernel, part, trans):
    raw, want = _operands(np.random.default_rng(part), 32, 48, 96, np.float16, trans)
    t = _tiling(32, 48, 96, (32, 48, 16), (32, 48, part))
    got = _launch(kernel, HALF, t, *raw, np.zeros((32, 48), np.float32), trans=trans, way=PARTIAL)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("scale", [2.0**-6, 0.0234375])
def test_dequantisation(kernel, scale):
    raw, want = _operands(np.random.default_rng(2), 20, 40, 64, np.int8, (0, 1))
    bits = struct.unpack("<I", struct.pack("<f", scale))[0]
    t = _tiling(20, 40, 64)
    got = _launch(
        *(kernel, INT8_HALF, t, *raw, np.zeros((20, 40), np.float16)), trans=(0, 1), scalar=bits
    )
    np.testing.assert_allclose(got, want * scale, rtol=2.0**-10, atol=1e-4)


def _to_nz(v, width=16):
    rows, columns = v.shape
    return np.ascontiguousarray(v.reshape(rows, columns // width, width).transpose(1, 0, 2))


@TRANS
def test_nz(kernel, trans):
    raw, want = _operands(np.random.default_rng(4), 48, 64, 32, np.float16, trans)
    t = _tiling(48, 64, 32)
    c = np.zeros((4, 48, 16), np.float32)
    got = _launch(kernel, NZ, t, *(_to_nz(v) for v in raw), c, trans=trans)
    np.testing.assert_allclose(got, _to_nz(want), rtol=1e-5, atol=5e-5)


def test_nz_with_channel_split(kernel):
    raw, want = _operands(np.random.default_rng(5), 48, 64, 32, np.float16, (0, 0))
    c = np.zeros((8, 48, 8), np.float32)
    got = _launch(kernel, NZ_SPLIT, _tiling(48, 64, 32), *raw, c)
    np.testing.assert_allclose(got, _to_nz(want, 8), rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("key", [NORMAL, BSNGD])
@pytest.mark.parametrize("batches", [(3, 3), (4, 1), (1, 4), (6, 2)])
def test_batches(kernel, key, batches):
    """The smaller side's matrices are shared by neighbouring ones of the other."""
    rng = np.random.default_rng(batches[0])
    m, n, k = 20, 32, 48
    a = rng.standard_normal((batches[0], m, k)).astype(np.float16)
    b = rng.standard_normal((batches[1], k, n)).astype(np.float16)
    count = max(batches)
    left, right = (np.repeat(v, count // len(v), 0).astype(np.float64) for v in (a, b))
    want = left @ right
    layout = dict(ALayoutInfoB=1, ALayoutInfoS=m, ALayoutInfoN=batches[0], ALayoutInfoG=1)
    layout |= dict(ALayoutInfoD=k, BLayoutInfoB=1, BLayoutInfoS=k, BLayoutInfoN=batches[1])
    layout |= dict(BLayoutInfoG=1, BLayoutInfoD=n, CLayoutInfoB=1, CLayoutInfoS1=m)
    layout |= dict(CLayoutInfoN=count, CLayoutInfoG=1, CLayoutInfoS2=n)
    if key == BSNGD:
        a, b, want = (v.transpose(1, 0, 2) for v in (a, b, want))
    c = np.zeros(want.shape, np.float32)
    got = _launch(kernel, key, _tiling(m, n, k, **layout), a, b, c, way=BATCH)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("m, n, k", [(32, 48, 64), (37, 50, 40)])
def test_copy_in_of_the_user(kernel, m, n, k):
    """The user's function reads rows twice as far apart as the object believes."""
    rng = np.random.default_rng(m)
    a = rng.standard_normal((m, 2 * k)).astype(np.float16)
    b = rng.standard_normal((k, n)).astype(np.float16)
    t = _tiling(m, n, k, (16, 16, 16))
    got = _launch(kernel, COPY_A, t, a, b, np.zeros((m, n), np.float32))
    want = a[:, :k].astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("m, n, k", [(32, 48, 64), (37, 50, 40)])
def test_copy_of_b_by_the_user(kernel, m, n, k):
    rng = np.random.default_rng(n)
    a = rng.standard_normal((m, k)).astype(np.float16)
    b = rng.standard_normal((k, 2 * n)).astype(np.float16)
    t = _tiling(m, n, k, (16, 32, 16))
    got = _launch(kernel, COPY_B, t, a, b, np.zeros((m, n), np.float32))
    want = a.astype(np.float64) @ b[:, :n].astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("n, k, cores", [(32, 64, 1), (64, 128, 2)])
def test_sparse_b(kernel, n, k, cores):
    """Of four values along K two are stored; the first is at `first`, the other at 1 + `second`."""
    rng = np.random.default_rng(k)
    a = rng.integers(-128, 128, (16, k)).astype(np.int8)
    first = rng.integers(0, 3, (n, k // 4))
    second = np.minimum(first + rng.integers(0, 3, first.shape), 2)
    values = rng.integers(-128, 128, (n, k // 4, 2)).astype(np.int8)
    b = np.zeros((n, k // 4, 4), np.int64)
    np.put_along_axis(b, first[..., None], values[..., :1], 2)
    np.put_along_axis(b, second[..., None] + 1, values[..., 1:], 2)
    nibble = (first | second << 2).astype(np.uint8)
    packed = nibble[:, ::2] | nibble[:, 1::2] << 4  # [n][k / 8]
    nz = packed.reshape(n, k // 64, 8).transpose(1, 0, 2)
    t = _tiling(16, n, k, (16, 16, 64), (16, n // cores, k), cores=cores)
    got = _launch(kernel, SPARSE, t, a, values.reshape(n, -1), np.zeros((16, n), np.int32), bias=nz)
    np.testing.assert_array_equal(got, a.astype(np.int64) @ b.reshape(n, k).T)


@pytest.mark.parametrize("way", [0, 1])
def test_operand_in_tscm(kernel, way):
    rng = np.random.default_rng(way)
    a = rng.standard_normal((2, 32, 64)).astype(np.float16)
    b = rng.standard_normal((64, 48)).astype(np.float16)
    nz = a.reshape(2, 32, 4, 16).transpose(0, 2, 1, 3)
    t = _tiling(64, 48, 64, (16, 16, 16), (32, 48, 64), cores=2)
    got = _launch(kernel, TSCM, t, nz, b, np.zeros((64, 48), np.float32), way=way, blocks=1)
    want = a.reshape(64, 64).astype(np.float64) @ b.astype(np.float64)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize("way", [ALL, STEPS])
@pytest.mark.parametrize("m, n, k", [(32, 48, 64), (37, 50, 40)])
def test_copy_out_of_the_user(kernel, way, m, n, k):
    """The user's function adds a ReLU."""
    raw, want = _operands(np.random.default_rng(n), m, n, k, np.float16, (0, 0))
    t = _tiling(m, n, k, (16, 16, 16))
    got = _launch(kernel, COPY_OUT, t, *raw, np.zeros((m, n), np.float32), way=way)
    np.testing.assert_allclose(got, np.maximum(want, 0), rtol=1e-5, atol=5e-5)


@pytest.mark.parametrize(
    "key, short, check, line",
    [
        ("COPY_A", 0, "ErrorRead3", "from[uint64_t(row) * uint32_t(baseM)"),
        ("COPY_B", 1, "ErrorRead3", "from[uint64_t(row) * uint32_t(base) * width"),
        ("COPY_OUT", 2, "ErrorWrite2", "Fixpipe(to, co1.ReinterpretCast<float>(), q);"),
    ],
)
def test_what_the_functions_of_the_user_touch_is_checked(kernel, key, short, check, line):
    """Each gets a matrix that lacks its last row; the report names the line in the function."""
    m, n, k = 32, 32, 32
    a = np.ones((m, 2 * k if key == "COPY_A" else k), np.float16)
    b = np.ones((k, 2 * n if key == "COPY_B" else n), np.float16)
    arrays = [a, b, np.zeros((m, n), np.float32)]
    arrays[short] = np.ascontiguousarray(arrays[short][:-1])
    raw = struct.pack("<50i4IQ", *(_tiling(m, n, k, (16, 16, 16))[f] for f in FIELDS), *[0] * 5)
    bias = np.zeros(1, np.float32)
    found = kernel.launch(
        "matmul_object",
        [arrays[0], arrays[1], bias, arrays[2]],
        tiling=raw,
        key=globals()[key],
        mode="check",
        inout=1,
        workspace=4096,
    )
    places = [(f["check"], f["line"]) for f in found if f["severity"] == "error"]
    text = (KERNELS / "matmul_object.cpp").read_text(encoding="utf-8").splitlines()
    assert any(c == check and line in "".join(text[n - 3 : n + 2]) for c, n in places), found


@pytest.mark.parametrize("key", [UPPER, LOWER])
def test_triangles(kernel, key):
    raw, want = _operands(np.random.default_rng(key), 64, 80, 32, np.float16, (0, 0))
    before = np.full((64, 80), 7.0, np.float32)
    got = _launch(kernel, key, _tiling(64, 80, 32, (16, 16, 16)), *raw, before.copy())
    rows, columns = np.indices((64, 80)) // 16
    keep = rows <= columns if key == UPPER else rows >= columns
    np.testing.assert_allclose(got, np.where(keep, want, before), rtol=1e-5, atol=5e-5)


def test_constant_tiling_without_a_pointer(kernel):
    raw, want = _operands(np.random.default_rng(19), 64, 96, 64, np.float16, (0, 0))
    c = np.zeros((64, 96), np.float32)
    kernel.launch("matmul_constant", [*raw[:2], c], mode="check", workspace=4096)
    np.testing.assert_allclose(c, want, rtol=1e-5, atol=5e-5)


def test_parts_along_k_are_not_summed(kernel):
    raw, _ = _operands(np.random.default_rng(20), 64, 96, 64, np.float16, (0, 0))
    a, b = (v.astype(np.float64) for v in raw[:2])
    c = np.full((4, 2, 32, 48), np.nan, np.float32)
    kernel.launch("matmul_parts", [*raw[:2], c], mode="check", workspace=4096)
    for part in range(2):
        k = slice(32 * part, 32 * part + 32)
        want = (a[:, k] @ b[k]).reshape(2, 32, 2, 48).swapaxes(1, 2)
        got = c[:, part].reshape(2, 2, 32, 48)  # blocks follow each other along M
        np.testing.assert_allclose(got, want.swapaxes(0, 1), rtol=1e-5, atol=5e-5)


@TRANS
def test_vector_cores_call(kernel, trans):
    """A mixed kernel: block b has vector cores 2 b and 2 b + 1; each computes a share."""
    raw, want = _operands(np.random.default_rng(9), 60, 64, 48, np.float16, trans)
    t = _tiling(60, 64, 48, (16, 16, 16), (15, 64, 48), cores=4)
    got = _launch(*(kernel, MIXED, t, *raw, np.zeros((60, 64), np.float32)), trans=trans, blocks=2)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=5e-5)


# --- tiling ------------------------------------------------------------------------------------

TYPES = {"f16": (1, 2), "bf16": (27, 2), "f32": (0, 4), "i8": (2, 1)}


@pytest.fixture(scope="module")
def host():
    return ctypes.CDLL(str(compile_shared([KERNELS / "host_tiling.cpp"])))


def _host_tiling(host, m, n, k, cores, dtype="f16", bias=0, base=(-1, -1, -1), trans=(0, 0)):
    out = (ctypes.c_int32 * 50)()
    c = 3 if dtype == "i8" else 0
    args = (ctypes.c_int32 * 12)(m, n, k, cores, TYPES[dtype][0], c, bias, *base, *trans)
    return host.matmul_tiling_of(args, out), dict(zip(FIELDS, out, strict=True))


def _ceil(a, b):
    return -(-a // b)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("cores", [1, 7, 20])
@pytest.mark.parametrize("bias", [0, 1])
@pytest.mark.parametrize(
    "m, n, k",
    [
        (16, 16, 16),
        (1024, 1024, 1024),
        (1, 4096, 7168),
        (100, 77, 33),
        (2558, 2045, 128),
        (5, 100000, 64),
        (7, 9, 100000),
    ],
)
def test_tiling_fits_and_covers(host, m, n, k, cores, dtype, bias):
    status, t = _host_tiling(host, m, n, k, cores, dtype, bias)
    assert status == 0
    size = TYPES[dtype][1]
    assert 1 <= t["usedCoreNum"] <= cores
    shares = _ceil(m, t["singleCoreM"]) * _ceil(n, t["singleCoreN"]) * _ceil(k, t["singleCoreK"])
    assert shares <= t["usedCoreNum"], "the cores must cover the matrix"
    assert (t["M"], t["N"], t["Ka"], t["Kb"]) == (m, n, k, k)
    bm, bn, bk = t["baseM"], t["baseN"], t["baseK"]
    assert bm % 16 == 0 and bn % 16 == 0 and bk * size % 32 == 0
    assert bm * bk * size * t["dbL0A"] <= 64 << 10, "L0A"
    assert bn * bk * size * t["dbL0B"] <= 64 << 10, "L0B"
    assert bm * bn * 4 * t["dbL0C"] <= 128 << 10, "L0C"
    l1 = (t["depthA1"] * bm * bk + t["depthB1"] * bn * bk) * size + bias * bn * 4
    assert l1 <= 512 << 10, "L1"
    assert t["depthA1"] % (t["stepM"] * t["stepKa"]) == 0
    assert t["depthB1"] % (t["stepN"] * t["stepKb"]) == 0
    assert t["isBias"] == bias


@pytest.mark.parametrize(
    "m, n, k, dtype, base",
    [
        (1024, 1024, 1024, "f16", (128, 256, 64)),
        (1024, 128, 512, "f16", (128, 128, 128)),
        (1024, 1024, 1024, "f32", (128, 256, 32)),
        (1024, 1024, 1024, "i8", (128, 256, 128)),
        (16, 16, 48, "f16", (16, 16, 48)),
    ],
)
def test_base_block_fills_half_of_l0(host, m, n, k, dtype, base):
    _, t = _host_tiling(host, m, n, k, 1, dtype)
    assert (t["baseM"], t["baseN"], t["baseK"]) == base


@pytest.mark.parametrize("m, n, cores", [(256, 512, 24), (2560, 128, 20), (640, 640, 24)])
def test_even_splits_come_first(host, m, n, cores):
    _, t = _host_tiling(host, m, n, 192, cores)
    assert m % t["singleCoreM"] == 0 and n % t["singleCoreN"] == 0
    assert t["usedCoreNum"] > cores // 2


@pytest.mark.parametrize(
    "m, n, k, one",
    [(64, 64, 64, True), (16, 256, 64, True), (64, 64, 1024, False), (256, 64, 64, False)],
)
def test_a_product_that_fits_into_l0_stays_on_one_core(host, m, n, k, one):
    """64 x 1024 half fills more than L0A; 256 x 64 has more fractals than there are cores."""
    _, t = _host_tiling(host, m, n, k, 20)
    assert (t["usedCoreNum"] == 1) == one
    if one:
        assert (t["singleCoreM"], t["singleCoreN"], t["singleCoreK"]) == (m, n, k)


@pytest.mark.parametrize("base", [(128, 128, 64), (64, 256, 32), (16, -1, -1)])
def test_fixed_base_is_kept(host, base):
    status, t = _host_tiling(host, 1024, 2048, 512, 20, base=base)
    assert status == 0
    for name, want in zip(("baseM", "baseN", "baseK"), base, strict=True):
        assert want in (-1, t[name])


def test_fixed_base_gives_a_core_one_column_of_blocks(host):
    _, t = _host_tiling(host, 512, 128, 128, 2, base=(128, 64, 128))
    assert (t["singleCoreM"], t["singleCoreN"]) == (512, 64)


def test_base_that_does_not_fit_is_refused(host):
    """256 x 256 fp32 sums are 256 KiB, twice L0C."""
    status, _ = _host_tiling(host, 1024, 1024, 1024, 20, base=(256, 256, 64))
    assert status == -1


@pytest.mark.parametrize("m, n, k", [(300, 200, 100), (64, 1000, 80), (1, 512, 256)])
@pytest.mark.parametrize("trans", [(0, 0), (1, 1)])
def test_kernel_with_the_tiling_of_the_host(kernel, host, m, n, k, trans):
    status, t = _host_tiling(host, m, n, k, 8, trans=trans)
    assert status == 0
    raw, want = _operands(np.random.default_rng(k), m, n, k, np.float16, trans)
    got = _launch(kernel, HALF, t, *raw, np.zeros((m, n), np.float32), trans=trans)
    np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-4)


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("way", [ALL, STEPS])
def test_rows_behind_the_result_are_not_written(kernel, way, mode):
    """The host's memory behind a tensor belongs to the host: numpy, another tensor, malloc."""
    raw, want = _operands(np.random.default_rng(5), 32, 16, 16, np.float16, (0, 0))
    memory = np.full((32, 16), 7, np.float32)
    t = _tiling(32, 16, 16)
    small = memory[:31]
    try:
        _launch(kernel, HALF, t, *raw, small, way=way, mode=mode)
    except (LaunchError, AssertionError):
        assert mode == "check"  # which reports it
    else:
        assert mode == "fast"  # a row of 64 bytes: as much as allocations are rounded up by
        np.testing.assert_allclose(small, want[:31], rtol=1e-5, atol=5e-5)
    assert (memory[31] == 7).all()


def test_far_too_small_a_result_ends_the_launch(kernel):
    raw, _ = _operands(np.random.default_rng(5), 128, 64, 16, np.float16, (0, 0))
    memory = np.full((128, 64), 7, np.float32)
    with pytest.raises(LaunchError, match="no argument of the kernel covers"):
        _launch(kernel, HALF, _tiling(128, 64, 16), *raw, memory[:32], mode="fast")
    assert (memory[32:] == 7).all()


@pytest.mark.parametrize("operand", [0, 1])
def test_what_an_operand_lacks_counts_as_zero(kernel, operand):
    raw, _ = _operands(np.random.default_rng(6), 32, 32, 32, np.float16, (0, 0))
    a, b = (v.astype(np.float64) for v in raw)
    (a, b)[operand][-1] = 0
    raw[operand] = raw[operand][:-1].copy()
    got = _launch(
        kernel, HALF, _tiling(32, 32, 32), *raw, np.zeros((32, 32), np.float32), mode="fast"
    )
    np.testing.assert_allclose(got, a @ b, rtol=1e-5, atol=5e-5)

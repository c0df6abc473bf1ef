"""Casts, comparisons, selections, reductions, gathers and sorts against numpy."""

import struct
from fractions import Fraction

import numpy as np
import pytest

from .launcher import build

MODES = {"NONE": 0, "RINT": 1, "FLOOR": 2, "CEIL": 3, "ROUND": 4, "TRUNC": 5, "ODD": 6}
NONE = np.zeros(0, np.uint8)


@pytest.fixture(scope="module")
def kernel():
    return build("structured_ops")


def _run(kernel, key, x, z, *a, y=NONE, scalar=0.0, bits=(0, 0), findings=True):
    out = z.copy()
    values = [*a, *[0] * (12 - len(a))]
    tiling = struct.pack("<3I12i4x2QfI", x.nbytes, y.nbytes, z.nbytes, *values, *bits, scalar, 0)
    found = kernel.launch("structured", [x, y, out], tiling=tiling, key=key, mode="check", inout=1)
    if findings:
        # z is loaded to be seen changing, so "overwritten unread" (a warning) is expected.
        assert [f for f in found if f["severity"] != "warning"] == []
    return out


# --- Cast --------------------------------------------------------------------------------------


def _neighbours(value, dtype):
    """The two representable values around an exact value."""
    near = dtype(float(value))
    if Fraction(float(near)) == value:
        return near, near
    if Fraction(float(near)) > value:
        return np.nextafter(near, dtype(-np.inf)), near
    return near, np.nextafter(near, dtype(np.inf))


def _round_to_float(values, dtype, mode):
    out = []
    for v in values:
        if isinstance(v, float) and not np.isfinite(v):
            out.append(dtype(v))
            continue
        exact = Fraction(v)
        low, high = _neighbours(exact, dtype)
        middle = (Fraction(float(low)) + Fraction(float(high))) / 2
        if mode in ("NONE", "RINT"):
            pick = dtype(float(v))
        elif mode == "FLOOR":
            pick = low
        elif mode == "CEIL":
            pick = high
        elif mode == "TRUNC":
            pick = low if exact > 0 else high
        elif mode == "ROUND":
            away = high if exact > 0 else low
            pick = away if exact == middle else (high if exact > middle else low)
        else:
            even = int(np.asarray(low).view(f"u{low.itemsize}")) % 2 == 0
            pick = high if even and low != high else low
        out.append(pick)
    return np.array(out, dtype)


def _round_to_int(values, dtype, mode):
    f = {"FLOOR": np.floor, "CEIL": np.ceil, "TRUNC": np.trunc}.get(mode, np.rint)
    v = np.asarray(values, np.float64)
    with np.errstate(all="ignore"):
        r = f(v) if mode != "ROUND" else np.copysign(np.floor(np.abs(v) + 0.5), v)
    info = np.iinfo(dtype)
    limits = [
        0 if np.isnan(k) else info.max if k > info.max else info.min if k < info.min else int(k)
        for k in r
    ]
    return np.array(limits, dtype)


FLOAT_TO_INT = [
    (4, np.float32, np.int32),
    (5, np.float32, np.int16),
    (6, np.float32, np.int64),
    (8, np.float16, np.int8),
    (9, np.float16, np.uint8),
    (10, np.float16, np.int16),
    (11, np.float16, np.int32),
]
INT_MODES = [m for m in MODES if m not in ("ODD", "NONE")]


def _floats(dtype):
    rng = np.random.default_rng(1)
    special = [
        0,
        -0.0,
        0.5,
        -0.5,
        1.5,
        2.5,
        -2.5,
        0.49999997,
        np.inf,
        -np.inf,
        np.nan,
        127.5,
        128,
        255.5,
        32768,
        -40000,
    ]
    wide = [*special, *(rng.standard_normal(200) * 300), *rng.standard_normal(50)]
    if dtype is np.float32:
        wide += [2147483520.0, 2147483648.0, -2147483648.0, 3e9, 9.3e18, -1e19]
    with np.errstate(all="ignore"):
        return np.array(wide, dtype)


@pytest.mark.parametrize("mode", INT_MODES)
@pytest.mark.parametrize("key, source, target", FLOAT_TO_INT)
def test_cast_float_to_int(kernel, key, source, target, mode):
    x = _floats(source)
    out = _run(kernel, key, x, np.zeros(len(x), target), len(x), MODES[mode])
    np.testing.assert_array_equal(out, _round_to_int(x, target, mode))


@pytest.mark.parametrize("mode", INT_MODES)
def test_cast_float_to_integral_float(kernel, mode):
    x = _floats(np.float32)
    x = x[np.abs(x) < 1e6]
    out = _run(kernel, 7, x, np.zeros_like(x), len(x), MODES[mode])
    np.testing.assert_array_equal(out, _round_to_int(x, np.int64, mode).astype(np.float32))


@pytest.mark.parametrize("mode", MODES)
def test_cast_float_to_half(kernel, mode):
    x = np.concatenate(
        [_floats(np.float32)[:250], np.float32([1 + 2**-11, 1 + 3 * 2**-11, 6e-8, 1e-6, -3e-7])]
    )
    x = x[~(np.abs(x) > 65000) | np.isinf(x)]
    out = _run(kernel, 1, x, np.zeros(len(x), np.float16), len(x), MODES[mode])
    np.testing.assert_array_equal(out, _round_to_float([float(v) for v in x], np.float16, mode))


@pytest.mark.parametrize("mode", [m for m in MODES if m != "ODD"])
def test_cast_float_to_bfloat16(kernel, mode):
    x = np.concatenate([_floats(np.float32), np.float32([1 + 2**-8, 1 + 3 * 2**-8, 1e-40])])
    x = x[np.isfinite(x)]
    out = _run(kernel, 2, x, np.zeros(len(x), np.uint16), len(x), MODES[mode])
    low = (x.view(np.uint32) & 0xFFFF0000).view(np.float32)
    step = (x.view(np.uint32) & 0xFFFF0000) + np.uint32(0x10000)
    away = np.where(low == x, low, step.view(np.float32))
    a, b = np.minimum(low, away).astype(np.float64), np.maximum(low, away).astype(np.float64)
    middle = (a + b) / 2
    odd = (x.view(np.uint32) >> 16) & 1
    want = {
        "FLOOR": a,
        "CEIL": b,
        "TRUNC": low.astype(np.float64),
        "ROUND": np.where(np.abs(x - low) >= np.abs(middle - low), away, low),
    }.get(
        mode,
        np.where(
            x == middle,
            np.where(odd, away, low),
            np.where(np.abs(x - low) > np.abs(middle - low), away, low),
        ),
    )
    np.testing.assert_array_equal(
        (out.astype(np.uint32) << 16).view(np.float32), want.astype(np.float32)
    )


@pytest.mark.parametrize(
    "key, source, target",
    [
        (0, np.float16, np.float32),
        (12, np.int8, np.float16),
        (13, np.uint8, np.float16),
        (15, np.int16, np.float32),
        (18, np.int32, np.int64),
    ],
)
def test_cast_exact(kernel, key, source, target):
    x = np.arange(65536, dtype=np.uint16)[:: 1 if source is not np.int32 else 7]
    x = x.view(source)[:8000] if np.dtype(source).itemsize == 2 else x.astype(source)[:8000]
    for part in np.array_split(x, 4):
        out = _run(kernel, key, part, np.zeros(len(part), target), len(part), 0)
        np.testing.assert_array_equal(out, part.astype(target))


@pytest.mark.parametrize("mode", INT_MODES)
@pytest.mark.parametrize(
    "key, source, target",
    [(16, np.int32, np.float32), (20, np.int64, np.float32), (14, np.int16, np.float16)],
)
def test_cast_int_to_float(kernel, key, source, target, mode):
    rng = np.random.default_rng(3)
    info = np.iinfo(source)
    x = rng.integers(info.min, info.max, 300, endpoint=True).astype(source)
    x = np.concatenate(
        [
            x,
            np.array(
                [0, 1, -1, 2049, 2051, -2049, 16777217 % info.max, -16777219 % info.max], source
            ),
        ]
    )
    out = _run(kernel, key, x, np.zeros(len(x), target), len(x), MODES[mode])
    np.testing.assert_array_equal(out, _round_to_float([int(v) for v in x], target, mode))


@pytest.mark.parametrize(
    "key, source, target", [(17, np.int32, np.int16), (19, np.int64, np.int32)]
)
def test_cast_int_saturates(kernel, key, source, target):
    info = np.iinfo(target)
    x = np.array(
        [
            0,
            5,
            -5,
            info.max,
            info.max + 1,
            info.min,
            info.min - 1,
            np.iinfo(source).max,
            np.iinfo(source).min,
        ],
        source,
    )
    out = _run(kernel, key, x, np.zeros(len(x), target), len(x), 0)
    np.testing.assert_array_equal(out, np.clip(x, info.min, info.max).astype(target))


def test_cast_int32_to_half_scales(kernel):
    x = np.array([0, 1, -7, 1000, 131072, 2**30], np.int32)
    out = _run(kernel, 22, x, np.zeros(len(x), np.float16), len(x), 0, scalar=0.125)
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(out, (x * 0.125).astype(np.float16))


def test_cast_int4(kernel):
    x = np.array([0, 1, -1, 7, 8, -8, -9, 3.5, 2.5, np.nan, 100, -100] * 8, np.float16)
    packed = _run(kernel, 23, x, np.zeros(len(x) // 2, np.uint8), len(x), 1)
    want = np.clip(np.nan_to_num(np.rint(x)), -8, 7).astype(np.int8)
    np.testing.assert_array_equal(
        packed, (want[::2] & 15) | ((want[1::2] & 15) << 4).astype(np.uint8)
    )
    back = _run(kernel, 24, packed, np.zeros(len(x), np.float16), len(x), 0)
    np.testing.assert_array_equal(back, want)


def _dequant(x, scale, offset, dtype):
    info = np.iinfo(dtype)
    exact = np.rint(x.astype(np.float32) * np.float32(scale) + np.float32(offset))
    return np.clip(exact, info.min, info.max).astype(dtype)


@pytest.mark.parametrize("form, upper", [(0, True), (1, False), (2, False)])
def test_cast_dequant(kernel, form, upper):
    x = np.random.default_rng(2).integers(-3000, 3000, 256).astype(np.int16)
    old = np.full((16, 32), 99, np.int8)
    bits = (0xFFFF_FFFF_FFFF_0FF0, 0x0F) if form == 2 else (0, 0)
    out = _run(kernel, 25, x, old, 256, form, -7, scalar=0.0625, bits=bits)
    want = old.copy()
    half = want[:, 16:] if upper else want[:, :16]
    half[:] = _dequant(x, 0.0625, -7, np.int8).reshape(16, 16)
    if form == 2:
        on = np.unpackbits(np.array(bits, np.uint64).view(np.uint8), bitorder="little")
        want[:, :16] = np.where(np.tile(on, 2).reshape(16, 16) == 1, want[:, :16], old[:, :16])
    np.testing.assert_array_equal(out, want)


def test_cast_dequant_by_table(kernel):
    x = np.random.default_rng(3).integers(-300, 3000, 200).astype(np.int16)
    out = _run(kernel, 26, x, np.zeros((16, 32), np.uint8), 200, 0, 30, scalar=0.03125)
    lane = np.arange(200) % 16
    want = np.zeros(256, np.uint8)
    want[:200] = _dequant(x, 0.03125 * (lane + 1), 30 - lane, np.uint8)
    np.testing.assert_array_equal(out[:, 16:], want.reshape(16, 16))


@pytest.mark.parametrize("form", [0, 1, 2])
def test_add_deq_relu(kernel, form):
    rng = np.random.default_rng(4)
    x, y = (rng.integers(-4000, 4000, 192).astype(np.int32) for _ in range(2))
    out = _run(kernel, 27, x, np.zeros(192, np.float16), 192, form, y=y, scalar=0.1)
    scale = np.float64(np.float16(0.1))
    want = x * scale if form == 2 else np.maximum((x + y) * scale, 0)
    np.testing.assert_array_equal(out, want.astype(np.float32).astype(np.float16))


@pytest.mark.parametrize("saturate", [0, 1])
def test_saturation_flag(kernel, saturate):
    x = np.array([300, -300, 2, np.nan, np.inf] + [1] * 11, np.float16)
    out = _run(kernel, 28, x, np.zeros(16, np.float16), 16, saturate)
    with np.errstate(over="ignore"):
        want = x * x
    if saturate:
        want = np.nan_to_num(want, nan=0, posinf=65504).astype(np.float16)
    np.testing.assert_array_equal(out, want)


# --- Compare, Select ---------------------------------------------------------------------------

FLOATS = [(1, np.float32), (2, np.float16)]
TYPES = pytest.mark.parametrize("type_key, dtype", FLOATS)
COMPARISONS = [np.less, np.greater, np.equal, np.less_equal, np.greater_equal, np.not_equal]


def _pair(dtype, n):
    rng = np.random.default_rng(4)
    x, y = (rng.integers(-3, 4, n).astype(dtype) for _ in range(2))
    x[3], y[5] = np.nan, np.nan
    return x, y


@TYPES
@pytest.mark.parametrize("mode", range(6))
def test_compare(kernel, type_key, dtype, mode):
    n = 3 * 256 // np.dtype(dtype).itemsize
    x, y = _pair(dtype, n)
    out = _run(kernel, 100 * type_key + 1, x, np.zeros(n // 8, np.uint8), n, mode, y=y)
    np.testing.assert_array_equal(np.unpackbits(out, bitorder="little"), COMPARISONS[mode](x, y))
    out = _run(kernel, 100 * type_key + 2, x, np.zeros(n // 8, np.uint8), n, mode, scalar=1.0)
    np.testing.assert_array_equal(
        np.unpackbits(out, bitorder="little"), COMPARISONS[mode](x, dtype(1))
    )


@TYPES
@pytest.mark.parametrize("op", [3, 4, 5])
def test_select(kernel, type_key, dtype, op):
    lanes = 256 // np.dtype(dtype).itemsize
    n = 3 * lanes
    rng = np.random.default_rng(5)
    x = rng.standard_normal(2 * n).astype(dtype)
    bits = rng.integers(0, 256, n // 8, dtype=np.uint8)
    out = _run(kernel, 100 * type_key + op, x, np.zeros(n, dtype), n, 0, n, y=bits, scalar=0.5)
    on = np.unpackbits(bits, bitorder="little").astype(bool)
    if op == 5:  # the first repeat's bits serve every repeat
        on = np.tile(on[:lanes], 3)
    other = np.full(n, 0.5, dtype) if op == 4 else x[n:]
    np.testing.assert_array_equal(out, np.where(on, x[:n], other))


# --- Reductions --------------------------------------------------------------------------------


def _tree(v):
    """Neighbours first, rounding to the element type at every level."""
    v = np.array(v)
    while len(v) > 1:
        v = (v[::2].astype(np.float32) + v[1::2].astype(np.float32)).astype(v.dtype)
    return v[0]


def _index_bits(i, dtype):
    return np.array([i], f"u{np.dtype(dtype).itemsize}").view(dtype)[0]


@TYPES
@pytest.mark.parametrize("count", [1, 50, 64, 128, 1000])
def test_reduce_sum_in_order(kernel, type_key, dtype, count):
    lanes = 256 // np.dtype(dtype).itemsize
    x = np.random.default_rng(count).standard_normal(count).astype(dtype)
    padded = np.zeros(-(-count // lanes) * lanes, dtype)
    padded[:count] = x
    total = None
    for row in padded.reshape(-1, lanes):
        s = _tree(row)
        total = s if total is None else dtype(np.float32(total) + np.float32(s))
    out = _run(kernel, 100 * type_key + 6, x, np.zeros(1, dtype), count)
    assert out[0] == total


@TYPES
@pytest.mark.parametrize("op, f", [(7, np.argmax), (8, np.argmin)])
def test_reduce_extreme_with_index(kernel, type_key, dtype, op, f):
    x = np.random.default_rng(6).integers(-50, 50, 1000).astype(dtype)
    out = _run(kernel, 100 * type_key + op, x, np.zeros(2, dtype), 1000)
    i = int(f(x))
    assert out[0] == x[i]
    assert out.view(f"u{out.itemsize}")[1] == i


@TYPES
@pytest.mark.parametrize("mask", [1, 20, 64])
def test_whole_block_pair(kernel, type_key, dtype, mask):
    size = np.dtype(dtype).itemsize
    lanes, per_block, repeats = 256 // size, 32 // size, 3
    x = np.random.default_rng(7).standard_normal((repeats, lanes)).astype(dtype)
    on = np.arange(lanes) < mask
    zeroed = np.where(on, x, dtype(0))
    low = np.where(on, x, dtype(-np.inf))
    out = _run(kernel, 100 * type_key + 9, x, np.zeros(repeats, dtype), mask, repeats)
    np.testing.assert_array_equal(out, [_tree(r) for r in zeroed])
    pairs = _run(kernel, 100 * type_key + 10, x, np.zeros(2 * repeats, dtype), mask, repeats, 0)
    np.testing.assert_array_equal(pairs[::2], low.max(1))
    np.testing.assert_array_equal(pairs.view(f"u{size}")[1::2], low.argmax(1))
    pairs = _run(kernel, 100 * type_key + 24, x, np.zeros(2 * repeats, dtype), mask, repeats)
    np.testing.assert_array_equal(pairs[1::2], low.max(1))
    index = _run(kernel, 100 * type_key + 10, x, np.zeros(repeats, np.uint32), mask, repeats, 3)
    np.testing.assert_array_equal(index, low.argmax(1))
    # A block or pair without an active lane leaves the old result.
    old = np.full(repeats * 8, 77, dtype)
    kept = np.tile(np.arange(8) * per_block >= mask, repeats)
    out = _run(kernel, 100 * type_key + 11, x, old, mask, repeats)
    sums = [_tree(b) for b in zeroed.reshape(-1, per_block)]
    np.testing.assert_array_equal(out, np.where(kept, old, np.array(sums, dtype)))
    out = _run(kernel, 100 * type_key + 12, x, old, mask, repeats)
    np.testing.assert_array_equal(out, np.where(kept, old, low.reshape(-1, per_block).max(1)))
    old = np.full(repeats * lanes // 2, 77, dtype)
    kept = np.tile(np.arange(lanes // 2) * 2 >= mask, repeats)
    out = _run(kernel, 100 * type_key + 13, x, old, mask, repeats)
    sums = [_tree(b) for b in zeroed.reshape(-1, 2)]
    np.testing.assert_array_equal(out, np.where(kept, old, np.array(sums, dtype)))


@TYPES
def test_brcb(kernel, type_key, dtype):
    per_block = 32 // np.dtype(dtype).itemsize
    x = np.arange(24).astype(dtype)
    out = _run(kernel, 100 * type_key + 15, x, np.zeros(24 * per_block, dtype), 0, 3)
    np.testing.assert_array_equal(out, np.repeat(x, per_block))


# --- Gather, sort, transpose -------------------------------------------------------------------


@TYPES
def test_gather(kernel, type_key, dtype):
    size = np.dtype(dtype).itemsize
    x = np.random.default_rng(8).standard_normal(500).astype(dtype)
    i = np.random.default_rng(9).integers(0, 490, 333)
    out = _run(
        kernel,
        100 * type_key + 16,
        x,
        np.zeros(333, dtype),
        333,
        10 * size,
        y=(i * size).astype(np.uint32),
    )
    np.testing.assert_array_equal(out, x[i + 10])


@TYPES
@pytest.mark.parametrize("form", ["count", "repeats"])
def test_gather_in_place_swaps_neighbours(kernel, type_key, dtype, form):
    size = np.dtype(dtype).itemsize
    n = 512 // size if form == "repeats" else 2 * 77
    z = np.arange(n).astype(dtype)
    i = np.arange(n) ^ 1
    args = (256 // size, 2, 2) if form == "repeats" else (n, 0, 1)
    offsets = (i * size).astype(np.uint32)
    out = _run(kernel, 100 * type_key + 16, np.zeros(8, dtype), z, *args, y=offsets)
    np.testing.assert_array_equal(out, z[i])


PATTERNS = {1: (2, 0), 2: (2, 1), 3: (4, 0), 4: (4, 1), 5: (4, 2), 6: (4, 3), 7: (1, 0)}


@TYPES
@pytest.mark.parametrize("pattern", PATTERNS)
def test_gather_mask(kernel, type_key, dtype, pattern):
    n = 200
    x = np.arange(n).astype(dtype)
    z = np.full(16384 // np.dtype(dtype).itemsize, 77, dtype)
    out = _run(kernel, 100 * type_key + 17, x, z, n, pattern, findings=False)
    step, first = PATTERNS[pattern]
    want = x[first::step]
    np.testing.assert_array_equal(out[: len(want)], want)
    assert out.view(np.int32)[4095] == len(want)


@TYPES
def test_gather_user_mask(kernel, type_key, dtype):
    n = 192
    x = np.arange(n).astype(dtype)
    bits = np.random.default_rng(10).integers(0, 256, n // 8, dtype=np.uint8)
    z = np.full(16384 // np.dtype(dtype).itemsize, 77, dtype)
    out = _run(kernel, 100 * type_key + 18, x, z, n, y=bits, findings=False)
    want = x[np.unpackbits(bits, bitorder="little").astype(bool)]
    np.testing.assert_array_equal(out[: len(want)], want)
    assert out.view(np.int32)[4095] == len(want)


def _records(out, dtype):
    raw = out.view(np.uint64)
    index = (raw >> np.uint64(32)).astype(np.int64)
    score = (raw & np.uint64(0xFFFFFFFF)).astype(np.uint32)
    score = (
        score.view(np.float32) if dtype is np.float32 else score.astype(np.uint16).view(np.float16)
    )
    return score, index


@TYPES
@pytest.mark.parametrize("op", [19, 20, 21])
def test_sort(kernel, type_key, dtype, op):
    n = 128
    x = np.random.default_rng(11).integers(-20, 20, n).astype(dtype)
    out = _run(
        kernel,
        100 * type_key + op,
        x,
        np.zeros(n * 8, np.uint8),
        4,
        y=np.arange(n, dtype=np.uint32),
    )
    score, index = _records(out, dtype)
    groups = x.reshape(-1, 32) if op == 19 else x[None]
    want = np.concatenate(
        [np.argsort(-g, kind="stable") + len(g) * k for k, g in enumerate(groups)]
    )
    np.testing.assert_array_equal(score, x[want])
    np.testing.assert_array_equal(index, want)


def test_trans_data(kernel):
    x = np.arange(256, dtype=np.float16)
    out = _run(kernel, 222, x, np.zeros(256, np.float16))
    np.testing.assert_array_equal(out.reshape(16, 16), x.reshape(16, 16).T)
    x = np.arange(128, dtype=np.float32)
    out = _run(kernel, 122, x, np.zeros(128, np.float32))
    np.testing.assert_array_equal(out.reshape(8, 16), x.reshape(16, 8).T)


@TYPES
def test_index_and_operators(kernel, type_key, dtype):
    out = _run(kernel, 100 * type_key + 23, NONE, np.zeros(100, dtype), 100, scalar=5.0)
    np.testing.assert_array_equal(out, np.arange(100).astype(dtype) + dtype(5))
    x = np.ones(32768 // np.dtype(dtype).itemsize, dtype)
    out = _run(kernel, 100 * type_key + 25, x, np.zeros_like(x), y=x * 2)
    np.testing.assert_array_equal(out, x * 3)


@TYPES
@pytest.mark.parametrize(
    "form, golden", [*enumerate([np.add, np.subtract, np.multiply, np.divide])]
)
def test_operators_work_on_the_size_of_their_result(kernel, type_key, dtype, form, golden):
    x, y = (np.arange(1, 1025) % 13 + 1).astype(dtype), (np.arange(1024) % 7 + 1).astype(dtype)
    before = np.full(1024, 99, dtype)
    out = _run(kernel, 100 * type_key + 26, x, before, 320, form, y=y)
    np.testing.assert_array_equal(out[:320], golden(x[:320], y[:320]).astype(dtype))
    np.testing.assert_array_equal(out[320:], before[320:])


@TYPES
@pytest.mark.parametrize(
    "form, golden",
    [
        *enumerate([np.less, np.greater, np.not_equal, np.equal, np.less_equal, np.greater_equal]),
    ],
)
def test_comparing_operators_work_on_the_size_of_their_source(
    kernel, type_key, dtype, form, golden
):
    x, y = (np.arange(1024) % 5).astype(dtype), (np.arange(1024) % 3).astype(dtype)
    before = np.full(128, 0xA5, np.uint8)
    out = _run(kernel, 100 * type_key + 27, x, before, 512, form, y=y)
    flags = np.packbits(golden(x[:512], y[:512]), bitorder="little")
    np.testing.assert_array_equal(out[:64], flags)
    np.testing.assert_array_equal(out[64:], before[64:])

"""What arch 2002 alone has: its cube and the ways to it, sorting in proposals, Scatter."""

from __future__ import annotations

import struct
from dataclasses import dataclass

import numpy as np
import pytest

from .launcher import KERNELS, LaunchError, build

# ---- The cube of unified cores (arch 2002): types of Mmad, the ways from L0C to UB and back ------

DEQ = {"": 0, "DEQ": 1, "VDEQ": 2, "DEQ8": 3, "VDEQ8": 4, "DEQ16": 5, "VDEQ16": 6}
TYPES = {
    1: (np.float16, np.float16, np.float16, np.float16),
    2: (np.float16, np.float16, np.float32, np.float16),
    3: (np.float16, np.float16, np.float32, np.float32),
    4: (np.int8, np.int8, np.int32, np.float16),
    5: (np.int8, np.int8, np.int32, np.int8),
    6: (np.uint8, np.int8, np.int32, np.uint8),
    7: (np.uint8, np.uint8, np.int32, np.int16),
    8: (np.int8, np.int8, np.int32, np.int32),
}
ROOM = 32 * 1024


@dataclass
class Case:
    """A product m x k x n (multiples of a fractal) and how its result leaves L0C."""

    key: int
    m: int = 32
    n: int = 48
    k: int = 64
    deq: str = ""
    relu: bool = False
    vector: bool = False
    sid: int = 0
    bias: bool = False
    blocks: int = 1
    gap: int = 0
    seed: int = 0


def _scale(factor, offset=0, signed=True, shift=0, relu=False):
    bits = struct.unpack("<I", struct.pack("<f", factor))[0] | (offset & 0x1FF) << 37
    bits |= int(signed) << 46 | int(relu) << 47
    return bits | (1 << 36 | shift - 1 << 32 if shift else 0)


def _left(a):
    """[m][k] as fractals [m/16][k/k0][16][k0] of 512 bytes."""
    k0 = 32 // a.itemsize
    m, k = a.shape
    return np.ascontiguousarray(a.reshape(m // 16, 16, k // k0, k0).transpose(0, 2, 1, 3))


def _right(b):
    """[n][k] as fractals [k/k0][n/16][16][k0]."""
    k0 = 32 // b.itemsize
    n, k = b.shape
    return np.ascontiguousarray(b.reshape(n // 16, 16, k // k0, k0).transpose(2, 0, 1, 3))


def _fractals(c):
    """[m][n] as L0C has it: [n/16][m/16][16][16]."""
    m, n = c.shape
    return c.reshape(m // 16, 16, n // 16, 16).transpose(2, 0, 1, 3).reshape(-1, 16, 16)


def _random(rng, shape, dtype):
    if dtype == np.float16:
        return rng.standard_normal(shape).astype(np.float16)
    info = np.iinfo(dtype)
    return rng.integers(info.min, info.max + 1, shape).astype(dtype)


def _run(case, scales, mode="check"):
    """Return L0C's fractals as they should be, and the bytes of UB the kernel stored."""
    rng = np.random.default_rng(case.seed)
    left, right, acc, out = TYPES[case.key]
    a, b = _random(rng, (case.m, case.k), left), _random(rng, (case.n, case.k), right)
    wide = np.float64 if acc != np.int32 else np.int64
    product = a.astype(wide) @ b.astype(wide).T
    extra = np.zeros(128, np.uint64)
    if case.bias:
        bias = _random(rng, case.n, np.float16).astype(acc)
        extra.view(acc)[: case.n] = bias
        product = product + bias.astype(wide)
    elif case.deq == "VDEQ":
        extra.view(np.float16)[: len(scales)] = scales
    elif case.deq.startswith("V"):
        extra[: len(scales)] = scales
    result = np.full(ROOM, 0xCC, np.uint8)
    first = 0
    if case.deq == "DEQ":
        first = int(np.float16(scales[0]).view(np.uint16))
    elif case.deq not in ("", "VDEQ"):
        first = scales[0]
    tiling = struct.pack(
        "<10IQ", case.m, case.n, case.k, case.vector, DEQ[case.deq], case.sid, case.relu,
        case.bias, case.blocks, case.gap, first,
    )  # fmt: skip
    found = build("arch2002", arch=2002).launch(
        "unified_cube", [_left(a), _right(b), extra, result], tiling=tiling, key=case.key,
        mode=mode, soc="ascend310p3",
    )  # fmt: skip
    assert [f for f in found if f["severity"] != "warning"] == []
    return _fractals(product), result.view(out)


def _float(c, relu):
    return np.maximum(c, 0) if relu else c


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize(
    "case",
    [
        Case(1),
        Case(2, relu=True),
        Case(3),
        Case(3, m=16, n=96, k=32, relu=True),
        Case(8),
        Case(3, bias=True),
        Case(8, bias=True),
        Case(1, m=16, n=80, vector=True),
        Case(3, m=16, n=96, vector=True, blocks=2, gap=3),
        Case(2, n=64, blocks=4, gap=1),
    ],
    ids=str,
)
def test_results_leave_by_fractals(case, mode):
    product, stored = _run(case, [], mode)
    want = _float(product, case.relu)
    rows = 1 if case.vector else 16
    want = want[:, :rows].reshape(case.blocks, -1)
    per = want.shape[1] + case.gap * 32 // stored.itemsize
    for block in range(case.blocks):
        got = stored[block * per : block * per + want.shape[1]].astype(np.float64)
        half = stored.dtype == np.float16
        close = {"rtol": 2e-3, "atol": 2e-2} if half else {"rtol": 1e-5, "atol": 1e-4}
        np.testing.assert_allclose(got, want[block], **close)
        gap = stored[block * per + want.shape[1] : (block + 1) * per]
        assert not gap.any()


@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize("relu", [False, True])
def test_integers_become_half(vector, relu):
    deq = "VDEQ16" if vector else "DEQ16"
    factors = [2.0 ** -(i % 5 + 4) for i in range(16)] if vector else [2.0**-6]
    product, stored = _run(Case(4, deq=deq, relu=relu), [_scale(f) for f in factors])
    want = (_float(product, relu) * np.resize(factors, 16)).astype(np.float16)
    np.testing.assert_array_equal(stored[: want.size], want.ravel())


@pytest.mark.parametrize("deq", ["DEQ", "VDEQ"])
def test_integers_by_a_half_factor(deq):
    factors = [0.25, 0.125, 0.5, 1.0] * 4 if deq == "VDEQ" else [0.125]
    product, stored = _run(Case(4, deq=deq), factors)
    want = np.clip(product * np.resize(factors, 16), -65504, 65504)
    got = np.clip(stored[: want.size].astype(np.float64), -65504, 65504)
    np.testing.assert_allclose(got, want.ravel(), rtol=1e-3)


def test_scales_go_on_from_block_to_block():
    factors = [2.0 ** -(4 + i // 16) for i in range(48)]
    case = Case(4, m=16, n=48, deq="VDEQ16", blocks=3)
    product, stored = _run(case, [_scale(f) for f in factors])
    want = product * np.repeat([2.0**-4, 2.0**-5, 2.0**-6], 256).reshape(3, 16, 16)
    np.testing.assert_array_equal(stored[: want.size], want.astype(np.float16).ravel())


def _bytes(values, offset, low, high):
    return np.clip(np.rint(values) + offset, low, high)


@pytest.mark.parametrize("sid", [0, 1, 2])
@pytest.mark.parametrize("key", [5, 6])
def test_integers_become_bytes(key, sid):
    signed = key == 5
    product, stored = _run(
        Case(key, deq="DEQ8", sid=sid), [_scale(2.0**-8, offset=3, signed=signed)]
    )
    low, high = (-128, 127) if signed else (0, 255)
    want = _bytes(product * 2.0**-8, 3, low, high)
    count = len(want)
    if sid == 2:  # two fractals side by side
        rows = stored[: count * 256].reshape(count // 2, 16, 2, 16).transpose(0, 2, 1, 3)
        np.testing.assert_array_equal(rows.reshape(count, 16, 16), want)
        return
    rows = stored[: count * 512].reshape(count, 16, 2, 16)
    np.testing.assert_array_equal(rows[:, :, sid], want)
    assert not rows[:, :, 1 - sid].any()


@pytest.mark.parametrize("shift", [1, 7])
def test_integers_are_shifted(shift):
    product, stored = _run(Case(7, deq="DEQ16"), [_scale(1.0, shift=shift)])
    want = np.clip(product >> shift, -32768, 32767)
    np.testing.assert_array_equal(stored[: want.size], want.ravel())


def test_split_cores_have_no_way_from_l0c_to_ub():
    source = build("arch2002", arch=2002)
    arrays = [np.zeros(4096, np.uint8) for _ in range(3)] + [np.zeros(ROOM, np.uint8)]
    tiling = struct.pack("<10IQ", 16, 16, 16, 0, 0, 0, 0, 0, 1, 0, 0)
    with pytest.raises(LaunchError, match="no way from L0C to UB"):
        source.launch("unified_cube", arrays, tiling=tiling, key=1, soc="ascend910b3", kind=2)


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("vector", [False, True])
@pytest.mark.parametrize(
    ("key", "blocks", "length", "src_gap", "dst_gap"),
    [(1, 1, 16, 0, 0), (2, 3, 2, 1, 2), (3, 2, 4, 4, 3), (4, 4, 1, 0, 3), (2, 1, 5, 0, 0)],
)
def test_a_bias_enters_from_ub(key, blocks, length, src_gap, dst_gap, vector, mode):
    """Gaps are fractals in L0C, data blocks in UB; of a vector goes a fractal's first row."""
    read, kept = {
        1: (np.float16, np.float16),
        2: (np.float16, np.float32),
        3: (np.float32, np.float32),
        4: (np.int32, np.int32),
    }[key]
    values = np.arange(1, 16 * 256 + 1).astype(read)
    result = np.full(16 * 256, -1, kept)
    tiling = struct.pack("<5I", blocks, length, src_gap, dst_gap, vector)
    found = build("arch2002", arch=2002).launch(
        "unified_way_back", [values, result], tiling=tiling, key=key, mode=mode, soc="ascend310p3"
    )
    assert [f for f in found if f["severity"] != "warning"] == []
    rows = 1 if vector else 16
    want = np.zeros((16, 16, 16), kept)
    per = length * rows * 16 + src_gap * 32 // values.itemsize
    for block in range(blocks):
        piece = values[block * per :][: length * rows * 16].reshape(length, rows, 16)
        want[block * (length + dst_gap) :][:length, :rows] = piece
    np.testing.assert_array_equal(result, want.ravel())


# ---- Sorting on arch 2002, in region proposals, against numpy ------------------------------------

COUNT = 64
PROPOSED_TYPES = {1: np.float16, 2: np.float32}


def _propose(key, form, x, index, mode="check"):
    y, order = np.zeros(COUNT, x.dtype), np.zeros(COUNT, np.uint32)
    found = build("arch2002", arch=2002).launch(
        "proposals", [x, index, y, order], tiling=struct.pack("I", form), key=key, mode=mode,
        soc="ascend310p3",
    )  # fmt: skip
    return y, order, found


def _scores(key):
    rng = np.random.default_rng(key)
    x = rng.integers(-20, 20, COUNT).astype(PROPOSED_TYPES[key])  # some are equal
    return x, rng.integers(0, 2**32, COUNT, dtype=np.uint32)


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("form", [0, 1])
@pytest.mark.parametrize("key", PROPOSED_TYPES)
def test_sort_and_extract(key, form, mode):
    x, index = _scores(key)
    y, order, found = _propose(key, form, x, index, mode)
    want = np.argsort(-x, kind="stable")
    np.testing.assert_array_equal(y, x[want])
    np.testing.assert_array_equal(order, index[want])
    assert found == []


@pytest.mark.parametrize("key", PROPOSED_TYPES)
def test_instructions(key):
    x, index = _scores(key)
    y, _, found = _propose(key, 2, x, index)
    np.testing.assert_array_equal(y[:32], -np.sort(-x[:32]))  # two groups of 16, merged
    assert found == []


@pytest.mark.parametrize("key", PROPOSED_TYPES)
def test_one_list_is_copied_and_doubted(key):
    """Public kernels merge a list alone; the documentation has two to four."""
    x, index = _scores(key)
    y, _, found = _propose(key, 3, x, index)
    np.testing.assert_array_equal(y[:48], x[:48])
    assert [(f["check"], f["severity"]) for f in found] == [("ErrorParam", "warning")]


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize(
    ("form", "name"), [(0, ""), (1, "ProposalConcat"), (2, "RpSort16"), (3, "VectorPadding")]
)
def test_what_another_arch_has_stops_the_kernel_when_it_is_called(form, name, mode):
    y = np.zeros(8, np.uint8)
    arguments = {"tiling": struct.pack("I", form), "mode": mode, "soc": "ascend910b3"}
    kernel = build("launch")
    if form == 0:
        kernel.launch("absent_api", [np.zeros(8, np.uint8), y], **arguments)
        assert y[0] == 1
        return
    with pytest.raises(LaunchError, match=f"{name} does not exist on Ascend910B3") as error:
        kernel.launch("absent_api", [np.zeros(8, np.uint8), y], **arguments)
    rows = (KERNELS / "launch.cpp").read_text(encoding="utf-8").split("\n")
    line = next(i for i, row in enumerate(rows, 1) if row.endswith(f"// form {form}"))
    assert f"launch.cpp:{line}: " in str(error.value)


# ---- Scatter of arch 2002 against numpy, and what check mode says of its offsets -----------------

SCATTERED, SCATTER_ROOM, BASE = 256, 512, 64
SCATTERED_TYPES = {1: np.float16, 2: np.float32, 3: np.uint32}


def _lanes(form, dtype):
    """The elements of the source that a form of the call takes."""
    lanes = 256 // np.dtype(dtype).itemsize
    index = np.arange(SCATTERED)
    if form == 0:
        return index < 200
    if form == 1:
        return index % lanes < lanes // 2
    lane = index % lanes
    return np.where(lane < 64, lane % 2 == 0, (lane - 64) < 2)


def _scatter(key, form, x, offsets, mode="check"):
    y = np.zeros(SCATTER_ROOM, x.dtype)
    found = build("arch2002", arch=2002).launch(
        "scatter", [x, offsets, y], tiling=struct.pack("I", form), key=key, mode=mode,
        soc="ascend310p3",
    )  # fmt: skip
    return y, [f for f in found if f["severity"] != "warning"]


@pytest.mark.parametrize("mode", ["fast", "check"])
@pytest.mark.parametrize("form", [0, 1, 2])
@pytest.mark.parametrize("key", SCATTERED_TYPES)
def test_values(key, form, mode):
    dtype = SCATTERED_TYPES[key]
    rng = np.random.default_rng(key)
    x = rng.integers(0, 1000, SCATTERED).astype(dtype)
    places = rng.permutation(SCATTER_ROOM - BASE // x.itemsize)[:SCATTERED]
    y, found = _scatter(key, form, x, (places * x.itemsize).astype(np.uint32), mode)
    want = np.full(SCATTER_ROOM, 7, dtype)
    taken = _lanes(form, dtype)
    want[places[taken] + BASE // x.itemsize] = x[taken]
    np.testing.assert_array_equal(y, want)
    assert found == []


def test_offsets_count_bytes():
    x = np.ones(SCATTERED, np.float32)
    _, found = _scatter(2, 0, x, np.arange(SCATTERED, dtype=np.uint32))
    assert {f["check"] for f in found} == {"ErrorParam"}


def test_offsets_behind_the_tensor_are_found():
    offsets = np.arange(SCATTERED, dtype=np.uint32) * 4
    offsets[5] = SCATTER_ROOM * 4
    _, found = _scatter(2, 0, np.ones(SCATTERED, np.float32), offsets)
    assert "ErrorWrite2" in {f["check"] for f in found}


def test_offsets_behind_ub_end_the_launch():
    offsets = np.arange(SCATTERED, dtype=np.uint32) * 4
    offsets[5] = 1 << 20
    with pytest.raises(LaunchError, match="Scatter"):
        _scatter(2, 0, np.ones(SCATTERED, np.float32), offsets, "fast")

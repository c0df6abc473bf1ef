"""Every lane-wise instruction against numpy, in every form.

The oracle computes in float64 and rounds once; integers wrap.
"""

import struct

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from .launcher import build

TYPES = {
    "float32": (1, np.float32),
    "float16": (2, np.float16),
    "int32": (3, np.int32),
    "int16": (4, np.int16),
    "uint16": (5, np.uint16),
    "uint32": (6, np.uint32),
}
ARITH = ("float32", "float16", "int32", "int16")
FLOATS = ("float32", "float16")


def _wide(f):
    """Compute in float64 (integers: exactly, wrapping at the store)."""

    def run(x, y, z, s):
        kind = np.float64 if x.dtype.kind == "f" else object
        args = [np.asarray(v).astype(kind) for v in (x, y, z, s)]
        with np.errstate(all="ignore"):
            out = f(*args)
        if x.dtype.kind == "f":
            return out
        bits = 8 * x.dtype.itemsize
        wrapped = np.array([int(v) & ((1 << bits) - 1) for v in out.ravel()], np.uint64)
        return wrapped.astype(f"u{x.dtype.itemsize}").view(x.dtype)

    return run


def _single(f):
    """Compute in float32 with one rounding per step, as an instruction of two steps does."""

    def run(x, y, z, s):
        return f(x.astype(np.float32), y.astype(np.float32), z.astype(np.float32), s).astype(
            x.dtype
        )

    return run


# op -> (key, element types, function of x, y, old dst, scalar)
OPS = {
    "Add": (1, ARITH, _wide(lambda x, y, z, s: x + y)),
    "Sub": (2, ARITH, _wide(lambda x, y, z, s: x - y)),
    "Mul": (3, ARITH, _wide(lambda x, y, z, s: x * y)),
    "Max": (4, ARITH, lambda x, y, z, s: np.maximum(x, y)),
    "Min": (5, ARITH, lambda x, y, z, s: np.minimum(x, y)),
    "Adds": (6, ARITH, _wide(lambda x, y, z, s: x + s)),
    "Muls": (7, ARITH, _wide(lambda x, y, z, s: x * s)),
    "Maxs": (8, ARITH, lambda x, y, z, s: np.maximum(x, s)),
    "Mins": (9, ARITH, lambda x, y, z, s: np.minimum(x, s)),
    "Div": (20, FLOATS, _wide(lambda x, y, z, s: x / y)),
    "Exp": (21, FLOATS, _wide(lambda x, y, z, s: np.exp(x))),
    "Ln": (22, FLOATS, _wide(lambda x, y, z, s: np.log(x))),
    "Abs": (23, FLOATS, lambda x, y, z, s: np.abs(x)),
    "Sqrt": (24, FLOATS, _wide(lambda x, y, z, s: np.sqrt(x))),
    "Rsqrt": (25, FLOATS, _wide(lambda x, y, z, s: 1 / np.sqrt(x))),
    "Reciprocal": (26, FLOATS, _wide(lambda x, y, z, s: 1 / x)),
    "Relu": (27, FLOATS, lambda x, y, z, s: np.maximum(x, x.dtype.type(0))),
    "LeakyRelu": (28, FLOATS, _wide(lambda x, y, z, s: np.where(x >= 0, x, x * s))),
    "AddRelu": (29, FLOATS, _wide(lambda x, y, z, s: np.maximum(x + y, 0))),
    "SubRelu": (30, FLOATS, _wide(lambda x, y, z, s: np.maximum(x - y, 0))),
    "MulAddDst": (31, FLOATS, _single(lambda x, y, z, s: x * y + z)),
    "FusedMulAdd": (32, FLOATS, _single(lambda x, y, z, s: x * z + y)),
    "FusedMulAddRelu": (33, FLOATS, _single(lambda x, y, z, s: np.maximum(x * z + y, 0))),
    "And": (40, ("int16", "uint16"), lambda x, y, z, s: x & y),
    "Or": (41, ("int16", "uint16"), lambda x, y, z, s: x | y),
    "Not": (42, ("int16", "uint16"), lambda x, y, z, s: ~x),
    "ShiftLeft": (43, ("int16", "uint16", "int32", "uint32"), lambda x, y, z, s: x << s),
    "ShiftRight": (44, ("int16", "uint16", "int32", "uint32"), lambda x, y, z, s: x >> s),
    "Duplicate": (50, tuple(TYPES), lambda x, y, z, s: np.full_like(x, s)),
}
# Has no count form and no counter mode here.
COPY = {"Copy": (51, ("float32", "float16", "int32", "int16", "uint16"), lambda x, y, z, s: x)}
# The polynomials, and the two roundings of Rsqrt.
ULPS = {"Exp": 1, "Ln": 1, "Rsqrt": 1.5}


@pytest.fixture(scope="module")
def kernel():
    return build("vector_ops")


def _data(op, dtype, n, seed=0):
    rng = np.random.default_rng(seed)
    if np.dtype(dtype).kind == "f":
        x, y, z = (rng.standard_normal(n) * 4 for _ in range(3))
        x, y, z = (np.asarray(v, dtype) for v in (x, y, z))
        if op in ("Ln", "Sqrt", "Rsqrt"):
            x = np.abs(x)
        return x, y, z, dtype(0.75)
    info = np.iinfo(dtype)
    x, y, z = (rng.integers(info.min, info.max, n, endpoint=True).astype(dtype) for _ in range(3))
    return x, y, z, dtype(3)


def _tiling(count, scalar, form=0, mask=0, repeat=1, bits=(0, 0), blk=(1, 1, 1), rep=(8, 8, 8)):
    return struct.pack("<4I2Q6IfI", count, form, mask, repeat, *bits, *blk, *rep, float(scalar), 0)


def _ulp_error(got, want):
    """Distance in units of the last place of the element type; equal non-finite values: 0."""
    want = want.astype(np.float64)
    rounded = want.astype(got.dtype)
    same = (got == rounded) | (np.isnan(got) & np.isnan(rounded))
    with np.errstate(all="ignore"):
        unit = np.spacing(np.abs(rounded)).astype(np.float64)
        error = np.abs(got.astype(np.float64) - want) / unit
    return np.where(same, 0.0, error)


def _check(op, got, want):
    if got.dtype.kind != "f":
        np.testing.assert_array_equal(got, want)
        return
    # Below one unit means correctly rounded up to a tie.
    assert _ulp_error(got, want).max() <= ULPS.get(op, 0) + 0.01


CASES = [(op, name) for op, (_, names, _) in OPS.items() for name in names]


@pytest.mark.parametrize("op, name", CASES)
def test_count_form(kernel, op, name):
    type_key, dtype = TYPES[name]
    key, _, f = OPS[op]
    n = 1000 // np.dtype(dtype).itemsize * 2 + 3
    x, y, z, s = _data(op, dtype, n)
    out = z.copy()
    found = kernel.launch(
        "vector_ops",
        [x, y, out],
        tiling=_tiling(n, s),
        key=100 * type_key + key,
        mode="check",
        inout=1,
    )
    _check(op, out, f(x, y, z, s))
    assert found == []


FORMS = {
    "mask": dict(form=1, mask=37, repeat=3),
    "mask strided": dict(form=1, mask=20, repeat=2, blk=(2, 1, 1), rep=(17, 8, 9)),
    "source block repeated": dict(form=1, mask=64, repeat=2, blk=(1, 1, 0), rep=(8, 8, 1)),
    "all lanes, a block per repeat": dict(form=1, mask=256, repeat=3, blk=(1, 1, 0), rep=(8, 8, 1)),
    "all lanes, one block": dict(form=1, mask=256, repeat=11, blk=(1, 0, 0), rep=(8, 0, 0)),
    "all lanes, one block, gaps": dict(form=1, mask=256, repeat=5, blk=(1, 1, 0), rep=(9, 8, 0)),
    "bits": dict(form=2, bits=(0xA5A5F00F12345678, 0x0F0F), repeat=3),
    "bits strided": dict(form=2, bits=(0x8001, 0), repeat=2, blk=(1, 2, 1), rep=(16, 16, 8)),
    "counter": dict(form=3, mask=301),
    "mask 0": dict(form=1, mask=0, repeat=2),
    "repeat 0": dict(form=1, mask=16, repeat=0),
}


def _indices(dtype, form):
    """Element indices (dst, src0, src1) of every active lane, in order."""
    per_block = 32 // np.dtype(dtype).itemsize
    lanes = 8 * per_block
    blk, rep = form.get("blk", (1, 1, 1)), form.get("rep", (8, 8, 8))
    out = []
    if form["form"] == 3:
        pairs = [(i // lanes, i % lanes) for i in range(form["mask"])]
    else:
        if form["form"] == 1:
            on = list(range(min(form["mask"], lanes)))
        else:
            word = form["bits"][0] | form["bits"][1] << 64
            on = [e for e in range(lanes) if word >> e & 1]
        pairs = [(r, e) for r in range(form["repeat"]) for e in on]
    for r, e in pairs:
        out.append(
            [(r * rep[k] + e // per_block * blk[k]) * per_block + e % per_block for k in range(3)]
        )
    return np.array(out, int).reshape(-1, 3)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(
    "op, name",
    [(o, t) for o in ("Add", "Exp", "Muls", "Duplicate") for t in OPS[o][1] if t in ARITH],
)
def test_other_forms(kernel, op, name, form):
    if op == "Duplicate" and FORMS[form]["form"] == 3:
        pytest.skip("Duplicate is used without a mask register here")
    _check_form(kernel, op, name, dict(FORMS[form]))


def _check_form(kernel, op, name, options):
    type_key, dtype = TYPES[name]
    key, _, f = (OPS | COPY)[op]
    if np.dtype(dtype).itemsize == 4 and options["form"] == 2:
        options["bits"] = (options["bits"][0], 0)
    n = 4096 // np.dtype(dtype).itemsize
    x, y, z, s = _data(op, dtype, n)
    want = z.copy()
    with np.errstate(all="ignore"):
        for d, a, b in _indices(dtype, options):
            one = f(x[a : a + 1], y[b : b + 1], want[d : d + 1], s)
            want[d] = one.astype(dtype)[0]
    out = z.copy()
    kernel.launch(
        "vector_ops", [x, y, out], tiling=_tiling(n, s, **options), key=100 * type_key + key
    )
    if out.dtype.kind == "f":
        np.testing.assert_allclose(out, want, rtol=2e-7 if dtype is np.float32 else 1e-3)
    else:
        np.testing.assert_array_equal(out, want)


STRIDES = st.tuples(st.integers(1, 3), st.integers(0, 3), st.integers(0, 3))
FORM = st.one_of(
    st.fixed_dictionaries(
        {"form": st.just(1), "mask": st.integers(0, 130), "repeat": st.integers(0, 5)}
        | {"blk": STRIDES, "rep": st.tuples(*[st.integers(0, 14)] * 3)}
    ),
    st.fixed_dictionaries(
        {"form": st.just(2), "repeat": st.integers(1, 5), "blk": STRIDES}
        | {"bits": st.tuples(*[st.integers(0, 2**64 - 1)] * 2)}
        | {"rep": st.tuples(*[st.integers(0, 14)] * 3)}
    ),
    st.fixed_dictionaries({"form": st.just(3), "mask": st.integers(0, 500)}),
)


@settings(max_examples=150, derandomize=True, deadline=None)
@given(case=st.sampled_from([*CASES, *(("Copy", name) for name in COPY["Copy"][1])]), form=FORM)
def test_random_masks_and_strides(kernel, case, form):
    """Every mask, repeat and stride touches the lanes that the documentation says, in its order."""
    assume(form["form"] != 3 or case[0] not in ("Copy", "Duplicate"))
    _check_form(kernel, *case, form)


@pytest.mark.parametrize("name", FLOATS)
@pytest.mark.parametrize(
    "op", ["Exp", "Ln", "Sqrt", "Rsqrt", "Reciprocal", "Add", "Mul", "Div", "Max", "Relu"]
)
def test_special_values(kernel, op, name):
    type_key, dtype = TYPES[name]
    key, _, f = OPS[op]
    info = np.finfo(dtype)
    values = [
        0.0,
        -0.0,
        1,
        -1,
        np.inf,
        -np.inf,
        np.nan,
        info.max,
        -info.max,
        info.tiny,
        info.smallest_subnormal,
    ]
    values += [*np.linspace(-104, 89, 21), 88.72, 88.73, -87.4, -103.9]
    x = np.array(values, dtype)
    y = np.roll(x, 3)
    z = np.zeros_like(x)
    out = z.copy()
    kernel.launch("vector_ops", [x, y, out], tiling=_tiling(len(x), 1), key=100 * type_key + key)
    with np.errstate(all="ignore"):
        want = f(x, y, z, dtype(1))
        assert _ulp_error(out, want).max() <= ULPS.get(op, 0) + 0.01

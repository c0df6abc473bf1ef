"""Integers in kernels: reductions of them, floats stored as small ones, labels of 64 bits."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from harness import BuiltOp, check, make_spec
from test_fuzz import close

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.run.measurement import measure_op
from msopgen_wrap.schedule.report import as_text
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import (
    Attr,
    DimBinary,
    DimConst,
    DimOf,
    DimSlice,
    OpSpec,
    ShapeLike,
    ShapeList,
    ShapeReduce,
)

# ---- Reductions of integers and bools, and products: resident, streamed and split, both ways -----

REDUCED = ShapeReduce("x", "dim", False)
# dtype -> statements and the dtypes of their outputs.
ALL = {
    "int8": {
        "a = x.sum(dim)": "int64",
        "b = x.amax(dim)": "int8",
        "c = x.argmax(dim)": "int64",
        "d = (x > 3).sum(dim)": "int64",
    },
    "uint8": {"a = x.sum(dim, dtype=torch.int32)": "int32", "b = x.amin(dim)": "uint8"},
    "int16": {"a = x.sum(dim)": "int64", "b = x.amin(dim)": "int16", "c = x.any(dim)": "bool"},
    "int32": {
        "a = x.sum(dim, dtype=torch.int32)": "int32",
        "b = x.prod(dim, dtype=torch.int32)": "int32",
        "c = x.amax(dim)": "int32",
        "d = x.argmin(dim)": "int64",
        "e = x.sum(dim, dtype=torch.float32)": "float32",
    },
    "bool": {"a = x.sum(dim)": "int64", "b = x.amax(dim)": "bool", "c = x.prod(dim)": "int64"},
    "float32": {"a = x.prod(dim)": "float32", "b = x.sum(dim)": "float32"},
    "bfloat16": {"a = x.prod(dim)": "bfloat16"},
}
SHAPES = [
    ((3, 5), -1),
    ((0, 4), -1),
    ((1,), 0),
    ((9, 200), -1),
    ((300, 70), -1),
    ((4, 50, 6), 1),
    ((33, 5, 7), 0),
    ((2, 40000), -1),
    ((50, 20001), -1),
    ((5000, 3), 0),
    ((3, 4000, 40), 1),
    ((3, 60001), -1),
]


def spec_of(statements: dict[str, str], dtype: str) -> OpSpec:
    """Return an op whose statements each make one output of a dtype of its own."""
    names = [s.split(" = ")[0] for s in statements]
    spec = make_spec(
        "\n".join(statements),
        outputs=" ".join(names),
        dtypes=(dtype,),
        attrs=(Attr("dim", "int", -1),),
        shapes=dict.fromkeys(names, REDUCED),
    )
    own = zip(spec.outputs, statements.values(), strict=True)
    return replace(spec, outputs=tuple(replace(p, dtypes=(d,)) for p, d in own))


def numbers(dtype: str, shape: Any) -> torch.Tensor:
    """Return numbers of the whole range; of floats such that products of them stay in it."""
    generator = torch.Generator().manual_seed(sum(shape))
    kind = getattr(torch, dtype)
    if dtype == "bool":
        return torch.rand(shape, generator=generator) > 0.1
    if kind.is_floating_point:
        # few are not 1, so that bfloat16 can hold the product
        some = torch.rand(shape, generator=generator) < 20 / max(1, shape[-1])
        return torch.where(some, torch.randn(shape, generator=generator), 1.0).to(kind)
    limits = torch.iinfo(kind)
    return torch.randint(limits.min, limits.max + 1, shape, dtype=kind, generator=generator)


@pytest.mark.parametrize(
    "dtype",
    [
        "int8",
        *(pytest.param(d, marks=pytest.mark.slow) for d in ALL if d not in ("int8", "float32")),
        "float32",
    ],
)
def test_all_ways(dtype, tmp_path):
    op = BuiltOp(spec_of(ALL[dtype], dtype), tmp_path)
    for shape, dim in SHAPES:
        outputs, golden, result = op.run({"x": numbers(dtype, shape)}, {"dim": dim}, mode="check")
        for name, actual in outputs.items():
            # a product of many float32 numbers rounds once for each
            check(actual, golden[name], factor=4.0)
        assert result.findings == [], (shape, dim)


@pytest.mark.slow
def test_integer_row_values_meet_elements(tmp_path):
    """Numbers of rows are read again for the elements, and more than one pass reduces them."""
    spec = make_spec(
        "low = x.amin(-1, keepdim=True)\n"
        "z = (x - low) * 3 + (x == x.amax(-1, keepdim=True)).sum(-1, keepdim=True, "
        "dtype=torch.int32)",
        dtypes=("int32",),
        shapes={"z": ShapeLike("x")},
    )
    op = BuiltOp(spec, tmp_path)
    for shape in [(3, 5), (70, 200), (4, 30000), (1, 70001)]:
        x = torch.randint(-5000, 5000, shape, dtype=torch.int32)
        outputs, golden, result = op.run({"x": x}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], shape


@pytest.mark.parametrize(
    ("compute", "dtype", "fix"),
    [
        ("x.sum(dim)", "int32", "dtype=torch.int32"),
        ("x.prod(dim)", "int8", "dtype=torch.int32"),
        ("(x.sum(dim) * x).sum(dim)", "int32", "dtype=torch.int32"),
    ],
)
def test_unbounded_sums_are_refused(compute, dtype, fix):
    with pytest.raises(OpgenError) as caught:
        plan_op(spec_of({f"z = {compute}": "int64"}, dtype))
    assert caught.value.diagnostics[0].code == "OPG332"
    assert fix in caught.value.diagnostics[0].fix


def test_bounds_of_sums_reach_the_next_pass(tmp_path):
    """The tiling function checks the sum of sums for the sizes of the call."""
    rows = ShapeList((DimSlice("x", None, -2),))
    compute = "z = (x.sum(-1) + 1).sum(-1)"
    spec = make_spec(compute, dtypes=("int8",), out_dtypes=("int64",), shapes={"z": rows})
    op = BuiltOp(spec, tmp_path)
    for shape in [(3, 5), (70, 200), (2, 40, 3000)]:
        x = numbers("int8", shape)
        outputs, golden, result = op.run({"x": x}, mode="check")
        check(outputs["z"], golden["z"])
        assert result.findings == [], shape
    with pytest.raises(RuntimeError, match="int32 cannot hold"):
        op.run({"x": torch.zeros(2, 5000, 5000, dtype=torch.int8)})


def test_sums_that_int32_may_not_hold_are_refused(tmp_path):
    """The tiling function knows how many elements there are; the plan says what it checks."""
    rows = ShapeList((DimSlice("x", None, -1),))
    spec = make_spec("x.sum(-1)", dtypes=("int16",), out_dtypes=("int64",), shapes={"z": rows})
    assert "TilingFunc refuses" in as_text(plan_op(spec))
    op = BuiltOp(spec, tmp_path)
    x = torch.full((1, 65535), -(2**15), dtype=torch.int16)
    outputs, golden, _ = op.run({"x": x})
    check(outputs["z"], golden["z"])
    with pytest.raises(RuntimeError, match="int32 cannot hold"):
        op.run({"x": torch.full((1, 65538), 1, dtype=torch.int16)})


# ---- Floats that kernels store as small integers: ties, limits and what lies beyond them ---------

# output -> dtype and what it is made of; the last is clamped to less than its type holds
FORMULAS = {
    "a": ("int8", "torch.clamp(torch.round(x), -128, 127)"),
    "b": ("uint8", "torch.clamp(torch.round(x), 0, 255)"),
    "c": ("int16", "torch.clamp(torch.floor(x), -32768, 32767)"),
    "d": ("int8", "torch.clamp(x, -128, 127)"),
    "e": ("int8", "torch.clamp(torch.round(x), -100, 100)"),
}
LIMITS = (0, 100, 127, 128, 255, 256, 32767, 32768, 2**31, 1e20, float("inf"))
OFFSETS = (-1.5, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 1.5)


@pytest.fixture(scope="module")
def op(tmp_path_factory) -> BuiltOp:
    text = {
        "op": "SmallIntegers",
        "inputs": {"x": "float32"},
        "outputs": {n: {"dtype": d, "shape": "x"} for n, (d, _) in FORMULAS.items()},
        "compute": "\n".join(f"{n} = ({f}).to(torch.{d})" for n, (d, f) in FORMULAS.items()),
    }
    spec = parse_spec(json.dumps(text), "small.yaml").spec
    assert spec is not None
    return BuiltOp(spec, tmp_path_factory.mktemp("small"))


@pytest.mark.parametrize("mode", ["fast", "check"])
def test_every_limit_and_tie(op: BuiltOp, mode: str) -> None:
    values = [s * (limit + offset) for limit in LIMITS for offset in OFFSETS for s in (1, -1)]
    x = torch.tensor([*values, float("nan")], dtype=torch.float32)
    outputs, _, result = op.run({"x": x}, mode=mode, auto_sync=False)
    assert result.findings == []
    for name, (dtype, formula) in FORMULAS.items():
        # PyTorch leaves open which integer nan becomes; ours is 0
        want = eval(formula, {"torch": torch, "x": x.nan_to_num(nan=0.0)})
        wrong = outputs[name] != want.to(getattr(torch, dtype))
        assert not wrong.any(), (name, x[wrong], outputs[name][wrong])


# ---- int64 inputs: labels and indices are compared and converted as int32, or copied whole -------

ROWS = ShapeList((DimOf("x", 0),))
WIDE = 2**40
# What is computed of floats x and int64 labels y, the shape of y, the shapes of z.
LABELS = {
    "one element each": ("torch.where(y == -100, 0.0, x)", ShapeLike("x"), None),
    "one label a row": ("(y.unsqueeze(-1) == torch.arange(x.shape[1])) * x", ROWS, None),
    "one label a column": (
        "torch.where(y > 2, x, y.to(torch.float32))",
        ShapeList((DimOf("x", 1),)),
        None,
    ),
    "transposed labels": (
        "torch.where(y.mT < 1, x, 1.0)",
        ShapeList((DimOf("x", 1), DimOf("x", 0))),
        None,
    ),
    "reversed labels": ("torch.where(y.flip(-1) < 1, x, 1.0)", ShapeLike("x"), None),
    "one label a row, reduced": (
        "torch.where(y.unsqueeze(-1) == torch.arange(x.shape[1]), x, 0.0).sum(-1)",
        ROWS,
        ROWS,
    ),
    "clamped": ("(y.clamp(0, 3).to(torch.int32) + 1) * x", ShapeLike("x"), None),
}
SLOW = {"transposed labels", "reversed labels", "one label a column"}


@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=pytest.mark.slow if n in SLOW else ()) for n in LABELS]
)
def test_labels(name: str, tmp_path: Path) -> None:
    compute, labels, result = LABELS[name]
    spec = make_spec(
        compute,
        "x y",
        input_dtypes={"y": ("int64",)},
        input_shapes={"y": labels},
        shapes={"z": result or ShapeLike("x")},
    )
    op = BuiltOp(spec, tmp_path)
    assert "int64 input" in as_text(op.plan)
    for rows, cols in ((7, 77), (300, 5), (1, 20011), (65, 64), (3, 0)):
        sizes = {"ShapeLike": (rows, cols)}.get(type(labels).__name__)
        sizes = sizes or tuple((rows, cols)[i.axis] for i in labels.items)
        generator = torch.Generator().manual_seed(rows)
        y = torch.randint(-2, 6, sizes, generator=generator)
        if y.numel() and "column" not in name:
            y.view(-1)[:: max(1, y.numel() // 3)] = WIDE
        y.view(-1)[1::11] = -100
        x = torch.rand((rows, cols), generator=generator)
        for auto_sync in (True, False):
            made, golden, found = op.run({"x": x, "y": y}, {}, mode="check", auto_sync=auto_sync)
            assert found.findings == [], (rows, cols, auto_sync, found.findings[0])
            assert close(made["z"], golden["z"]), (rows, cols, auto_sync)


@pytest.mark.parametrize("compute", ["x.sum(-1)", "x.prod(-1)", "x.cumsum(-1)"])
def test_results_that_are_converted_to_int32_wrap(compute: str, tmp_path: Path) -> None:
    shape = ShapeLike("x") if "cum" in compute else ROWS
    spec = make_spec(f"{compute}.to(torch.int32)", dtypes=("int32",), shapes={"z": shape})
    inputs = tuple(replace(p, min_rank=2, max_rank=2) for p in spec.inputs)
    op = BuiltOp(replace(spec, inputs=inputs), tmp_path)
    x = torch.randint(-(2**31), 2**31, (5, 77), generator=torch.Generator().manual_seed(3))
    made, golden, found = op.run({"x": x.to(torch.int32)}, {}, mode="check")
    assert found.findings == []
    assert torch.equal(made["z"], golden["z"].to(torch.int32))


# Counts of int64, with a bound at one end: a mean over what a mask keeps divides by them.
COUNTS = {
    "from below": "x.sum(-1) / (x > 0.5).sum(-1).clamp(min=1)",
    "from above": "x.sum(-1) * (x > 0.5).sum(-1).clamp(max=3)",
    "beyond": "x.sum(-1) * (x > 0.5).sum(-1).clamp(min=9).clamp(max=2)",
}


@pytest.mark.parametrize("name", COUNTS)
def test_counts_with_one_bound(name: str, tmp_path: Path) -> None:
    spec = make_spec(COUNTS[name], shapes={"z": ROWS})
    inputs = tuple(replace(p, min_rank=2, max_rank=2) for p in spec.inputs)
    op = BuiltOp(replace(spec, inputs=inputs), tmp_path)
    for shape in ((7, 77), (1, 1), (3, 5)):
        x = torch.rand(shape, generator=torch.Generator().manual_seed(3))
        x[0] = 0.25
        made, golden, found = op.run({"x": x}, {}, mode="check")
        assert found.findings == []
        assert close(made["z"], golden["z"]), shape


# Copies: of elements that int32 does not hold, and the shape of what they give.
COPIES = {
    "y.mT": ShapeList((DimOf("y", 1), DimOf("y", 0))),
    "y.clone()": ShapeLike("y"),
    "y.flip(-1)[:, ::2]": ShapeList(
        (DimOf("y", 0), DimBinary("//", DimBinary("+", DimOf("y", 1), DimConst(1)), DimConst(2)))
    ),
    "y.unsqueeze(1).expand(-1, 3, -1)": ShapeList((DimOf("y", 0), DimConst(3), DimOf("y", 1))),
    "y.unsqueeze(-1).expand(-1, -1, 3)": ShapeList((DimOf("y", 0), DimOf("y", 1), DimConst(3))),
}


@pytest.mark.parametrize(
    "compute",
    [
        pytest.param(c, marks=pytest.mark.slow if "flip" in c or "3, -1" in c else ())
        for c in COPIES
    ],
)
def test_copies_keep_all_bits(compute: str, tmp_path: Path) -> None:
    spec = make_spec(compute, "y", dtypes=("int64", "int32"), shapes={"z": COPIES[compute]})
    inputs = tuple(replace(p, min_rank=2, max_rank=2) for p in spec.inputs)
    op = BuiltOp(replace(spec, inputs=inputs), tmp_path)
    assert "int64 input" not in as_text(op.plan)
    for shape in ((7, 77), (300, 5), (1, 9001), (65, 64), (3, 0)):
        generator = torch.Generator().manual_seed(shape[0])
        y = torch.randint(-(2**62), 2**62, shape, generator=generator)
        for given, auto_sync in ((y, True), (y, False), (y.to(torch.int32), False)):
            made, _, found = op.run({"y": given}, {}, mode="check", auto_sync=auto_sync)
            expected = eval(compute, {"y": given})
            assert found.findings == [], (shape, auto_sync, found.findings[0])
            assert torch.equal(made["z"], expected), (shape, given.dtype, auto_sync)


@pytest.mark.parametrize(
    ("compute", "lists"),
    [
        ("y", True),  # lists have no words
        ("y << y", False),
        ("(y + 1).amax(-1, keepdim=True) + y", False),
    ],
)
def test_what_has_no_words_is_refused(compute: str, lists: bool) -> None:
    spec = make_spec(compute, "y", dtypes=("int64",), shapes={"z": ShapeLike("y")}, lists=lists)
    with pytest.raises(OpgenError) as error:
        plan_op(spec)
    assert [d.code for d in error.value.diagnostics] == ["OPG332"]


# ---- Divisors of small integers, by rests of float quotients -------------------------------------

DIVISORS = {"int8": torch.int8, "int16": torch.int16, "int32": torch.int32}


def series(step: int, largest: int) -> list[int]:
    """Return 0, 1 and what ``a(k + 1) = step a(k) + a(k - 1)`` makes of them, up to a number.

    Neighbours take the most rests: of the Fibonacci numbers (1) exact ones, of Pell's (2) nearest.
    """
    numbers = [0, 1]
    while (following := step * numbers[-1] + numbers[-2]) <= largest:
        numbers.append(following)
    return numbers


def divisor_pairs(smallest: bool) -> tuple[torch.Tensor, torch.Tensor]:
    """Return two int32 ``[n]``: long ways, large quotients, zeros, and maybe smallest integers."""
    top = 2**31 - 1
    ends = [0, 1, -1, 2, -6, 7, 2**16, 2**24 + 1, 715827883, top, 1 - top, -top]
    for step in (1, 2):
        ends += [sign * n for n in series(step, top)[-3:] for sign in (1, -1)]
    if smallest:
        ends += [-(2**31), -(2**15), -(2**7)]
    generator = torch.Generator().manual_seed(3)
    wide = torch.randint(-top, top, (2, 3000), generator=generator)
    wide >>= torch.randint(0, 31, wide.shape, generator=generator)
    # the same factor in both, so that divisors are not all small
    wide[:, :1000] = (wide[:, :1000] % 4096) * torch.randint(1, 2**18, (1000,), generator=generator)
    made = torch.tensor([(a, b) for a in ends for b in ends]).T
    x, y = torch.cat([made, wide], dim=1).to(torch.int32)
    if not smallest:
        for dtype in DIVISORS.values():
            least = torch.iinfo(dtype).min
            x, y = (torch.where(n.to(dtype) == least, 5, n) for n in (x, y))
    return x, y


def test_divisors(tmp_path: Path) -> None:
    """A tile with a smallest integer takes exact rests, another one those of float quotients."""
    text = {
        "op": "Divisors",
        "inputs": {"x": "int32", "y": "int32"},
        "outputs": {n: {"dtype": n[2:], "shape": "like x"} for n in map("z_{}".format, DIVISORS)},
        "compute": "\n".join(
            f"z_{n} = torch.gcd(x.to({t}), y.to({t}))" for n, t in DIVISORS.items()
        ),
        "backward": "none",
    }
    spec = parse_spec(json.dumps(text), "divisors.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for smallest, auto_sync in itertools.product((False, True), repeat=2):
        x, y = divisor_pairs(smallest)
        made, _, found = op.run({"x": x, "y": y}, {}, mode="check", auto_sync=auto_sync)
        assert found.findings == [], (smallest, auto_sync, found.findings[0])
        for name, dtype in DIVISORS.items():
            assert torch.equal(made[f"z_{name}"], torch.gcd(x.to(dtype), y.to(dtype))), (
                name,
                smallest,
            )


@pytest.mark.slow
def test_steps_of_divisors_follow_the_data(tmp_path: Path) -> None:
    """Numbers of few digits end early; neither takes the exact quotients of every step."""
    cycles = {}
    for largest in (3, 2**31 - 1):
        entry = {"dtype": "int32", "range": [-largest, largest]}
        text = {
            "op": "DivisorSteps",
            "inputs": {"x": entry, "y": {**entry, "shape": "like x"}},
            "outputs": {"z": "like x"},
            "compute": "torch.gcd(x, y)",
            "backward": "none",
        }
        spec = parse_spec(json.dumps(text), "steps.yaml").spec
        assert spec is not None
        (measured,) = measure_op(spec, {"x": (64, 1024), "y": (64, 1024)})
        cycles[largest] = measured.instructions_per_element
    assert cycles[3] < 60
    assert cycles[3] < cycles[2**31 - 1] / 2 < 120


# ---- Numbers of 64 bits that are computed with, as two words each --------------------------------

# output -> dtype and formula; x and y broadcast, `odd` is never 0
LONGS = {
    "sums": ("int64", "x + y - (y - x * 3) + n"),
    "products": ("int64", "torch.add(x * y, y, alpha=-7000000000)"),
    "ends": ("int64", "torch.maximum(x, y) ^ torch.minimum(x, -y)"),
    "clamped": ("int64", "x.clamp(-5000000000, 6000000000) + torch.relu(y)"),
    "chosen": ("int64", "torch.where(x < y, x.abs(), ~y & torch.sign(x)).masked_fill(x == 3, 9)"),
    "compared": ("bool", "(x >= y) ^ (x > 9223372036854775806) ^ ((x - 1) != y) ^ (x <= y + 1)"),
    "truths": ("bool", "(x - y).to(torch.bool) & torch.logical_not(x + y)"),
    "both": ("bool", "torch.logical_xor(x + y, y) | torch.logical_and(x - 3, y & 1)"),
    "beside_floats": ("bool", "(x + y < 0.25 * (y - x).to(torch.float32)) ^ (x - 1 > 0.5)"),
    "shifted": ("int64", "(x << 5) ^ (y << 33) ^ (x << 32) ^ (y << 64) ^ (x << 0)"),
    "powers": ("int64", "x ** 2 + y ** 5 - torch.square(x - y) + x ** 0"),
    "halved": ("int64", "(x >> 1) ^ (y >> 31) ^ (x >> 32) ^ (y >> 40) ^ (x >> 70)"),
    "low": ("int32", "(x + y).to(torch.int32) + (x - y).to(torch.int8)"),
    "copied": ("int64", "x + 0 * y"),
    "divisors": ("int64", "torch.gcd(x, y)"),
    "floats": ("float32", "torch.where(x < y, (x - y).to(torch.float32), 0.5 * (x + y))"),
    "floors": ("int64", "torch.div(x, odd, rounding_mode='floor') + torch.remainder(x, odd)"),
    "quotients": ("int64", "torch.div(x, odd, rounding_mode='trunc') + torch.fmod(x, odd)"),
}
LEAST = -(2**63)
ENDS = (0, 1, -1, 3, 2**31 - 1, 2**31, -(2**31), 2**32 - 1, 2**32, 2**63 - 1, LEAST, LEAST + 1)


def longs(shape: tuple[int, ...], seed: int) -> torch.Tensor:
    """Return numbers of all magnitudes, and the ends of both words."""
    generator = torch.Generator().manual_seed(seed)
    wide = torch.randint(LEAST, 2**63 - 1, shape, generator=generator)
    numbers = wide >> torch.randint(0, 63, shape, generator=generator)
    ends = torch.tensor(ENDS)[torch.randint(0, len(ENDS), shape, generator=generator)]
    return torch.where(torch.rand(shape, generator=generator) < 0.3, ends, numbers)


@pytest.mark.slow
def test_longs_of_one_tensor(tmp_path: Path) -> None:
    """Without a second tensor nothing is expanded: the words are taken of the whole tile."""
    text = {
        "op": "LongNumber",
        "inputs": {"x": "int64"},
        "outputs": {"y": "like x"},
        "compute": "torch.abs(x) * 3 + 1",
        "backward": "none",
    }
    spec = parse_spec(json.dumps(text), "long.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for shape in ((7, 77), (4001,), (0,)):
        x = longs(shape, 1)
        made, _, found = op.run({"x": x}, {}, mode="check", auto_sync=False)
        assert found.findings == [], (shape, found.findings[0])
        assert torch.equal(made["y"], torch.abs(x) * 3 + 1), shape


@pytest.mark.slow
def test_longs(tmp_path: Path) -> None:
    text = {
        "op": "LongNumbers",
        "inputs": {"x": "int64", "y": "int64"},
        "outputs": {n: {"dtype": d, "shape": "broadcast(x, y)"} for n, (d, _) in LONGS.items()},
        "attrs": {"n": 5},
        "compute": "\n".join(["odd = y | 1", *(f"{n} = {f}" for n, (_, f) in LONGS.items())]),
        "backward": "none",
    }
    spec = parse_spec(json.dumps(text), "longs.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    for first, second in (((7, 77), (7, 77)), ((9, 1), (300,)), ((1, 4001), (3, 1)), ((0,), (1,))):
        x, y = longs(first, 1), longs(second, 2)
        for auto_sync, n in ((True, 5), (False, -(2**40))):
            given = {"x": x, "y": y}
            made, _, found = op.run(given, {"n": n}, mode="check", auto_sync=auto_sync)
            assert found.findings == [], (first, auto_sync, found.findings[0])
            values = {"torch": torch, "n": n, "odd": y | 1, **given}
            for name, (dtype, formula) in LONGS.items():
                want = eval(formula, values)
                same = torch.equal(made[name], want)
                if dtype == "float32":  # rounded twice
                    same = torch.allclose(made[name], want, rtol=2.0**-22, atol=0)
                assert same, (name, first, n)


@pytest.mark.slow
def test_floats_become_longs(tmp_path: Path) -> None:
    """What int64 holds is exact; beyond its ends, and for NaN, PyTorch leaves the result open."""
    text = {
        "op": "WholeParts",
        "inputs": {"x": "float32"},
        "outputs": {"y": {"dtype": "int64", "shape": "like x"}},
        "compute": "x.to(torch.int64)",
        "backward": "none",
    }
    spec = parse_spec(json.dumps(text), "long.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    ends = [0.0, -0.0, 0.5, -0.7, 1.5, -1.0, 2.0**24 + 2]
    ends += [sign * 2.0**power * share for sign in (1, -1) for power in (31, 32, 33, 53, 62)
             for share in (1, 1 - 2.0**-24, 1 + 2.0**-23)]  # fmt: skip
    generator = torch.Generator().manual_seed(0)
    drawn = torch.randn(3000, generator=generator) * 2.0 ** torch.randint(
        0, 60, (3000,), generator=generator
    )
    x = torch.cat([torch.tensor([*ends, -(2.0**63)]), drawn])
    made, _, found = op.run({"x": x}, {}, mode="check", auto_sync=False)
    assert found.findings == [], found.findings[0]
    assert torch.equal(made["y"], x.to(torch.int64))
    beyond = torch.tensor([math.nan, math.inf, -math.inf, 2.0**63, -1e30])
    made, _, _ = op.run({"x": beyond}, {}, mode="check")
    assert made["y"].tolist() == [0, 2**63 - 1, LEAST, 2**63 - 1, LEAST]


def test_numbers_wrap_beside_narrower_tensors(tmp_path: Path) -> None:
    """PyTorch converts a tensor without axes to the type of one that has some."""
    text = {
        "op": "Promoted",
        "inputs": {"y": {"dtype": "int64", "rank": 1}, "b": {"dtype": "int8", "rank": 2}},
        "outputs": {"v": "like b", "w": "like b", "u": {"dtype": "bool", "shape": "like b"}},
        "compute": "n = y.argmax(-1)\nv = torch.maximum(b, n)\nw = b + n\nu = b < n",
        "backward": "none",
    }
    spec = parse_spec(json.dumps(text), "promoted.yaml").spec
    assert spec is not None
    op = BuiltOp(spec, tmp_path)
    y = torch.zeros(1000, dtype=torch.int64)
    y[555] = 1
    b = torch.randint(-128, 128, (5, 40), dtype=torch.int8)
    made, golden, found = op.run({"y": y, "b": b}, {}, mode="check")
    assert found.findings == []
    assert all(torch.equal(made[name], golden[name].to(made[name].dtype)) for name in made)

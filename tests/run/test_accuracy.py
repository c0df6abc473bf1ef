"""CANN's accuracy rule, on made-up outputs."""

from __future__ import annotations

import math

import pytest
import torch

from msopgen_wrap.run.accuracy import Comparison, compare
from msopgen_wrap.run.accuracy_rules import RULES
from msopgen_wrap.spec.model import Tolerance

INF, NAN = float("inf"), float("nan")
F16, BF16, F32 = torch.float16, torch.bfloat16, torch.float32


def tensor(values, dtype=F32):
    return torch.tensor(values, dtype=dtype)


@pytest.mark.parametrize(
    ("name", "actual", "golden", "passed"),
    [
        ("exact", tensor([1.0, 2.0]), [1.0, 2.0], True),
        ("within mean and max", tensor([1.0, 1.0005, 1.0] * 50), [1.0] * 150, False),
        ("max just inside, mean inside", tensor([1.0] * 99 + [1.001]), [1.0] * 100, True),
        ("max over", tensor([1.0] * 9999 + [1.01]), [1.0] * 10000, False),
        ("zeros", tensor([0.0] * 8), [0.5] * 8, False),
        ("half rounding", tensor([1.001], F16), [1.0012], True),
        ("half off by 1%", tensor([1.02], F16), [1.0], False),
        ("bfloat16 rounding", tensor([1.01], BF16), [1.0118], True),
        ("bfloat16 off by 10%", tensor([1.1], BF16), [1.0], False),
        ("same nan and inf", tensor([NAN, INF, -INF]), [NAN, INF, -INF], True),
        ("nan for number", tensor([NAN, 1.0]), [1.0, 1.0], False),
        ("number for nan", tensor([1.0]), [NAN], False),
        ("wrong infinity", tensor([-INF]), [INF], False),
        ("overflow rounds to inf", tensor([INF], F16), [1e6], True),
        ("saturated overflow", tensor([65504.0], F16), [1e6], False),
        ("empty", tensor([]), [], True),
    ],
)
def test_float(name, actual, golden, passed):
    assert compare(actual, torch.tensor(golden, dtype=torch.float64)).passed is passed, name


@pytest.mark.parametrize(
    ("actual", "golden", "passed"),
    [
        (torch.tensor([1, -2]), torch.tensor([1, -2]), True),
        (torch.tensor([1, -2]), torch.tensor([1, -3]), False),
        (torch.tensor([True, False]), torch.tensor([True, False]), True),
        (torch.tensor([True, True]), torch.tensor([True, False]), False),
    ],
)
def test_integers_are_exact(actual, golden, passed):
    assert compare(actual, golden).passed is passed


def test_shape_mismatch_fails():
    result = compare(torch.zeros(2, 3), torch.zeros(3, 2, dtype=torch.float64))
    assert not result.passed and "shape" in result.reason


def test_cancellation_counts_against_native():
    """Near zero after a cancellation, being as wrong as PyTorch in the same dtype is allowed."""
    golden = torch.full((100,), 1e-3, dtype=torch.float64)
    actual = golden.to(F32).clone()
    actual[:2] += 1e-5
    native = golden.to(F32).clone()
    assert not compare(actual + 1e-5, golden, native).passed
    native[5] -= 1e-5
    assert compare(actual, golden, native).passed


def test_overflow_that_native_shares_is_forgiven():
    golden = torch.tensor([1e30], dtype=torch.float64)
    assert not compare(tensor([INF]), golden).passed
    assert compare(tensor([INF]), golden, native=tensor([INF])).passed


def test_values_that_overflow_in_float32_are_no_measure_of_finite_ones():
    golden = torch.tensor([2.0, 1.0], dtype=torch.float64)
    actual = tensor([0.0, 1.0])
    assert not compare(actual, golden, native=tensor([2.0, 1.0])).passed
    assert compare(actual, golden, native=tensor([math.nan, 1.0])).passed
    assert not compare(actual, golden, native=tensor([2.0, math.nan])).passed
    assert not compare(actual.half(), golden, native=tensor([math.nan, 1.0], F16)).passed


def test_normal_values_get_no_free_error():
    golden = torch.ones(1000, dtype=torch.float64)
    actual = golden.to(F32).clone()
    actual[7] = 1.5
    assert not compare(actual, golden, native=golden.to(F32)).passed


def test_tolerance_override():
    golden = torch.ones(10, dtype=torch.float64)
    assert compare(tensor([1.01] * 10), golden, tolerance=Tolerance(0.02, 0.05)).passed
    assert not compare(tensor([1.01] * 10), golden, tolerance=Tolerance(1e-3, 0.05)).passed


def test_reason_names_the_first_offender():
    golden = torch.ones(2, 3, dtype=torch.float64)
    actual = golden.to(F32).clone()
    actual[1, 2] = 7
    assert "(1, 2)" in compare(actual, golden).reason


I8 = torch.int8
#: name, actual, golden, tolerance, quantised, the rule that judges, passed
JUDGED = [
    ("exact", [1, 2], [1, 2], None, False, "exact", True),
    ("off by one", [1, 3], [1, 2], None, False, "exact", False),
    ("a tie of many", [1] * 199 + [2], [1] * 200, None, True, "quantised", True),
    ("one of few", [1, 3], [1, 2], None, True, "quantised", True),
    ("truncated instead of rounded", [1] * 100 + [2] * 100, [2] * 200, None, True, "quantised",
     False),
    ("two off", [1] * 199 + [3], [1] * 200, None, True, "quantised", False),
    ("wrapped", [-128] + [1] * 199, [127] + [1] * 199, None, True, "quantised", False),
    ("allowed", [1] * 50 + [2] * 50, [2] * 100, Tolerance(absolute=1), False, "absolute", True),
    ("allowed less", [1, 4], [1, 2], Tolerance(absolute=1), True, "absolute", False),
    ("exact on request", [1] * 199 + [2], [1] * 200, Tolerance(absolute=0), True, "exact", False),
]  # fmt: skip


@pytest.mark.parametrize(
    ("actual", "golden", "tolerance", "quantised", "rule", "passed"),
    [j[1:] for j in JUDGED],
    ids=[j[0] for j in JUDGED],
)
def test_which_rule_judges_integers(actual, golden, tolerance, quantised, rule, passed):
    want = torch.tensor(golden, dtype=I8)
    result = compare(torch.tensor(actual, dtype=I8), want, want, tolerance, quantised)
    assert (result.rule, result.passed) == (rule, passed)
    assert rule in RULES
    assert bool(result.reason) is not passed


def test_ties_that_a_cpu_decides_otherwise_are_allowed_twice():
    want = torch.zeros(1000, dtype=I8)
    native, actual = want.clone(), want.clone()
    native[:15] = 1
    actual[:30] = 1
    assert compare(actual, want, native, None, True).passed
    actual[:31] = 1
    assert not compare(actual, want, native, None, True).passed


MIXED = Tolerance(rule="mixed")
#: name, dtype, actual, golden, tolerance, passed
MIXES = [
    ("near zero", F32, [1e-4, 1.0], [0.0, 1.0], MIXED, True),
    ("one per cent", F32, [1.001] + [1.0] * 99, [1.0] * 100, MIXED, True),
    ("two per cent", F32, [1.001] * 2 + [1.0] * 98, [1.0] * 100, MIXED, False),
    ("over the cap", F32, [1.02] + [1.0] * 199, [1.0] * 200, MIXED, False),
    ("within 32 ulp", F32, [2e6 + 3] + [1.0] * 199, [2e6] + [1.0] * 199, MIXED, True),
    ("cap of half", F16, [0.09] + [0.0] * 199, [0.0] * 200, MIXED, True),
    ("own numbers", F32, [1.05] * 4, [1.0] * 4, Tolerance(rule="mixed", rtol=0.1, cap=1), True),
    ("own cap", F32, [1.05] * 4, [1.0] * 4, Tolerance(rule="mixed", rtol=0.1, cap=1e-6), False),
    ("nan for number", F32, [NAN, 1.0], [1.0, 1.0], MIXED, False),
]


@pytest.mark.parametrize(
    ("dtype", "actual", "golden", "tolerance", "passed"),
    [m[1:] for m in MIXES],
    ids=[m[0] for m in MIXES],
)
def test_mixed_rule(dtype, actual, golden, tolerance, passed):
    result = compare(
        tensor(actual, dtype), torch.tensor(golden, dtype=torch.float64), tolerance=tolerance
    )
    assert (result.rule, result.passed) == ("mixed", passed), result.reason


def test_zeros_fail_under_every_rule():
    golden = torch.linspace(-9, 9, 1001, dtype=torch.float64)
    for dtype, tolerance, quantised, rule in [
        (F32, None, False, "relative"),
        (F32, MIXED, False, "mixed"),
        (I8, None, False, "exact"),
        (I8, None, True, "quantised"),
        (I8, Tolerance(absolute=1), True, "absolute"),
    ]:
        want = golden if dtype is F32 else golden.round().to(dtype)
        result = compare(torch.zeros(1001, dtype=dtype), want, want, tolerance, quantised)
        assert (result.rule, result.passed) == (rule, False)


def test_an_error_over_the_bound_is_explained():
    """A value near zero may have any relative error: the note says so, with the numbers."""
    golden = torch.tensor([*[1e-7] * 3, *[1.0] * 50], dtype=torch.float64)
    actual = golden.to(F16)
    result = compare(actual, golden, native=actual)
    assert result.passed and result.maximum > 0.01
    assert "|golden| <" in result.note
    refused = compare(tensor([*[1e-3] * 3, *[1.0] * 50], F16), golden, native=actual)
    assert not refused.passed


def test_the_other_standard_is_named():
    golden = torch.zeros(100, dtype=torch.float64)
    result = compare(torch.full((100,), 1e-5), golden, native=golden.float())
    assert not result.passed and "mixed" in result.reason


CONTROLS = {
    "ordinary": [1.0, -2.0, 3.0],
    "zero": [0.0, 0.0],
    "small": [1e-6] * 5,
    "some small": [1e-6] * 5 + [1.0],
    "cancelled": [0.003] * 3,
    "nan": [NAN, NAN],
    "infinite": [INF, 0.0],
    "scalar": 0.5,
}


@pytest.mark.parametrize("dtype", [F16, BF16, F32])
@pytest.mark.parametrize("tolerance", [None, Tolerance(rule="mixed"), Tolerance(0.5, 2.0)])
@pytest.mark.parametrize("values", CONTROLS.values(), ids=CONTROLS.keys())
def test_the_control_is_a_comparison_with_zeros(dtype, tolerance, values) -> None:
    golden = torch.tensor(values, dtype=torch.float64)
    for native in (None, golden.to(dtype), golden.to(dtype) * 1.1):
        comparison = Comparison(golden, dtype, native, tolerance)
        zeros = torch.zeros_like(golden, dtype=dtype)
        assert comparison.refuses_zeros(zeros) is not comparison.accuracy(zeros).passed

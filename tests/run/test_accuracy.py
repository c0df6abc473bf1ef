"""CANN's accuracy rule, on made-up outputs."""

from __future__ import annotations

import pytest
import torch

from msopgen_wrap.run.accuracy import compare

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


def test_normal_values_get_no_free_error():
    golden = torch.ones(1000, dtype=torch.float64)
    actual = golden.to(F32).clone()
    actual[7] = 1.5
    assert not compare(actual, golden, native=golden.to(F32)).passed


def test_tolerance_override():
    golden = torch.ones(10, dtype=torch.float64)
    assert compare(tensor([1.01] * 10), golden, tolerance=(0.02, 0.05)).passed
    assert not compare(tensor([1.01] * 10), golden, tolerance=(1e-3, 0.05)).passed


def test_reason_names_the_first_offender():
    golden = torch.ones(2, 3, dtype=torch.float64)
    actual = golden.to(F32).clone()
    actual[1, 2] = 7
    assert "(1, 2)" in compare(actual, golden).reason

"""Integers that PyTorch leaves to the processor are no part of a comparison; all others are."""

from __future__ import annotations

from typing import Any

import pytest
import torch

from msopgen_wrap.run.case_runner import judge
from msopgen_wrap.run.golden import reference
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.results import FAILED, CaseResult
from msopgen_wrap.spec.loader import parse_spec

SPEC = """\
op: Converted
inputs:
  x: {{dtype: float32, rank: 1}}
outputs:
  y: {{dtype: {dtype}, shape: like x}}
compute: {code}
"""
GIVEN = (0.0, torch.nan, torch.inf, -torch.inf, 3e9, 3e19, -2.7)
INT32, INT64 = torch.iinfo(torch.int32), torch.iinfo(torch.int64)

#: dtype of the output, formula, places that follow from no specified integer, what a kernel makes
ROWS = [
    ("int32", "x.int()", (1, 2, 4, 5), [0, 0, INT32.max, INT32.min, INT32.max, INT32.max, -2]),
    ("int64", "x.long()", (1, 2, 5), [0, 0, INT64.max, INT64.min, 3 * 10**9, INT64.max, -2]),
    ("int8", "x.to(torch.int8)", (2, 4, 5), [0, 0, -1, 0, -1, -1, -2]),
    ("float32", "(x.int() > 0).float() + 1", (2, 4, 5), [1, 1, 2, 1, 2, 2, 1]),
]


def judged(dtype: str, code: str, made: torch.Tensor) -> tuple[Any, list[str]]:
    spec = parse_spec(SPEC.format(dtype=dtype, code=code), "op.yaml").spec
    assert spec is not None
    case = TestCase(0, {"x": (len(GIVEN),)}, values="special")
    want = reference(spec, case, {"x": torch.tensor(GIVEN)})
    result = CaseResult(spec.op, "case", "float32", FAILED)
    return want, judge(spec, {"y": made}, want, result, 0)


@pytest.mark.parametrize(("dtype", "code", "free", "made"), ROWS, ids=[r[1] for r in ROWS])
def test_where_nothing_is_compared(dtype: str, code: str, free: Any, made: list[Any]) -> None:
    kernel = torch.tensor(made, dtype=getattr(torch, dtype))
    want, reasons = judged(dtype, code, kernel)
    assert reasons == []
    # Only what PyTorch leaves open may be another number.
    for place in range(len(GIVEN)):
        other = kernel.clone()
        other[place] = 77
        _, reasons = judged(dtype, code, other)
        assert bool(reasons) is (place not in free), place
    assert [int(mask.sum()) for mask in want.unspecified.values()] == [len(free)]


def test_floats_that_stay_floats_are_compared() -> None:
    want, reasons = judged("float32", "x.trunc()", torch.tensor(GIVEN).trunc())
    assert (want.unspecified, reasons) == ({}, [])


def test_zeros_pass_where_nothing_else_is_compared() -> None:
    spec = parse_spec(SPEC.format(dtype="int32", code="(x * math.inf).int()"), "op.yaml").spec
    assert spec is not None
    want = reference(spec, TestCase(0, {"x": (2,)}), {"x": torch.tensor([1.0, 2.0])})
    result = CaseResult(spec.op, "case", "float32", FAILED)
    assert judge(spec, {"y": torch.zeros(2, dtype=torch.int32)}, want, result, 0) == []
    assert result.zero_rejected is False

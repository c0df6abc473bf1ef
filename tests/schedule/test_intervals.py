"""Bounds of 64-bit integers: of numbers counted from an index, and of sums with them."""

from __future__ import annotations

import pytest
from harness import make_spec

from msopgen_wrap.families import plan_op
from msopgen_wrap.graph.scalars import AttrRef, Const, DimRef, evaluate
from msopgen_wrap.schedule.intervals import counted
from msopgen_wrap.spec.model import ShapeLike

LENGTH = DimRef("x", 0, 1)
STEP = AttrRef("step")


@pytest.mark.parametrize("length", [0, 1, 2, 9])
@pytest.mark.parametrize("start", [-3, 0, 5])
@pytest.mark.parametrize("step", [-2, -1, 1, 3])
@pytest.mark.parametrize("literal", [True, False])
def test_counted_numbers_lie_within_bounds_around_the_start(length, start, step, literal):
    """Without elements the bounds are the start alone, so that no check refuses an empty tensor."""
    ends = counted(LENGTH, Const(start), Const(step) if literal else STEP)
    found = tuple(evaluate(end, {"step": step}, {"x": (length,)}) for end in ends)
    numbers = [start, *(start + step * i for i in range(length))]
    assert found == (min(numbers), max(numbers))


def test_a_count_up_from_a_literal_has_a_literal_lower_bound():
    assert counted(LENGTH, Const(0), Const(1))[0] == Const(0)
    assert counted(LENGTH, Const(0), Const(-1))[1] == Const(0)


@pytest.mark.parametrize("dtype", ["int8", "int32"])
@pytest.mark.parametrize("sign", ["+", "-"])
def test_a_sum_that_only_tensors_of_one_element_fit_is_computed_in_words(dtype, sign):
    """Of int32 and an index the host would refuse every call with two elements or more."""
    spec = make_spec(
        f"z = (x {sign} torch.arange(x.shape[-1])).to(torch.float32)",
        dtypes=(dtype,),
        out_dtypes=("float32",),
        shapes={"z": ShapeLike("x")},
    )
    checks = {"int8": 3, "int32": 2}  # of the index, its length and, where it is bounded, the sum
    assert len(plan_op(spec).narrow) == checks[dtype]

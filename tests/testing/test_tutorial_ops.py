"""The custom ops and the tester of tutorials: right ones pass, their mistakes are found."""

from __future__ import annotations

import pytest
import torch
from tutorial_ops import (
    CustomGELU,
    CustomLayerNorm,
    CustomRelu,
    FusedAddReLU,
    KeptAddReLU,
    OneAxisLayerNorm,
    OperatorTester,
    SavedAddReLU,
    add_relu_reference,
    gelu_reference,
    layer_norm_reference,
    relu_reference,
)

from msopgen_wrap.testing import check_op

EVERY_RANK = [((2,) * (rank - 1) + (5,), (5,), (5,)) for rank in range(1, 9)]
QUICK = ("compile", "export", "onnx")


@pytest.mark.parametrize(
    "op, reference, shapes",
    [
        (CustomRelu.apply, relu_reference, [((7,),), ((3, 4),), ((2, 3, 5),)]),
        (CustomGELU.apply, gelu_reference, [((7,),), ((3, 4),), ((2, 3, 5),)]),
        (CustomLayerNorm.apply, layer_norm_reference, EVERY_RANK),
        (SavedAddReLU.apply, add_relu_reference, [((3, 4), (3, 4)), ((2, 3, 5), (2, 3, 5))]),
    ],
    ids=["relu", "gelu", "layer_norm", "add_relu"],
)
def test_a_right_one_passes(op, reference, shapes):
    check_op(op, reference, shapes, ["float32", "float64"], skip=QUICK).raise_if_failed()


@pytest.mark.parametrize("rank", range(1, 5))
def test_a_sum_over_one_axis_only_is_found(rank):
    """At rank 2 one axis is all there is; autograd's engine hides it above, rank 1 has none."""
    shapes = [((2,) * (rank - 1) + (5,), (5,), (5,))]
    report = check_op(OneAxisLayerNorm.apply, layer_norm_reference, shapes, checks=["gradients"])
    assert report.passed is (rank == 2), str(report)
    if rank == 1:
        assert "IndexError" in str(report)
    if rank > 2:
        assert "summed over too few axes" in str(report)


def test_a_backward_that_reads_what_was_never_kept_is_found():
    shapes = [((3, 4), (3, 4))]
    report = check_op(FusedAddReLU(), add_relu_reference, shapes, skip=QUICK)
    assert report.failed == ["gradients", "finite differences"]
    assert "has no attribute 'x'" in str(report)


def test_a_backward_that_reads_what_the_last_call_kept_is_found():
    report = check_op(KeptAddReLU(), add_relu_reference, [((3, 4), (3, 4))], checks=["gradients"])
    assert "another call in between" in str(report)


def test_gradients_are_compared_at_the_same_points():
    """The tutorial's tester says that a right op is wrong."""
    torch.manual_seed(0)
    mine, theirs = OperatorTester(gelu_reference, gelu_reference).gradients((3, 4))
    assert not torch.allclose(mine[0], theirs[0], atol=1e-5)
    report = check_op(gelu_reference, gelu_reference, [((3, 4),)], checks=["gradients"])
    assert report.passed

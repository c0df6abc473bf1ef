"""``check_op``: each seeded mistake is found by its check, and what is right passes all of them."""

from __future__ import annotations

import pytest
import torch
from seeded_ops import ONE, RIGHT, VALUES, WRONG, add, square

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.testing import CHECKS, Input, OpCheckError, check_op
from msopgen_wrap.testing.targets import given_attrs


@pytest.mark.parametrize("name", WRONG)
def test_a_mistake_is_found_by_its_check(name):
    seed = WRONG[name]
    options = {**VALUES, **seed.options} if "checks" not in seed.options else seed.options
    report = check_op(seed.op, seed.reference, seed.shapes, seed.dtypes, **options)
    assert seed.found_by in report.failed, str(report)
    assert "check_op(" in str(report)


@pytest.mark.parametrize("name", RIGHT)
def test_what_is_right_passes(name):
    seed = RIGHT[name]
    options = {**VALUES, **seed.options}
    report = check_op(seed.op, seed.reference, seed.shapes, seed.dtypes, **options)
    assert report.passed and not report.failed, str(report)
    assert all(c.reason for c in report.checks if c.status == "not applicable")


def test_a_failure_tells_where_what_and_how_to_run_it_again():
    def shifted(x, y):
        z = x + y
        z[1, 2] += 1
        return z

    report = check_op(shifted, add, [((3, 4), (4,))], checks="forward")
    (failure,) = report["forward"].failures
    assert failure.index == (1, 2) and failure.differing == 1 and failure.total == 12
    assert failure.got == pytest.approx(failure.expected + 1)
    x = float(failure.inputs[0].partition(" = ")[2])
    y = float(failure.inputs[1].partition(" = ")[2])
    assert failure.inputs[0].startswith("argument 0[1, 2]") and x + y == failure.expected
    again = eval(
        failure.paste.removesuffix(".raise_if_failed()"), {**globals(), "shifted": shifted}
    )
    assert again["forward"].failures[0] == failure
    with pytest.raises(OpCheckError, match="1 of 12 elements differ"):
        report.raise_if_failed()


def test_a_registered_op_is_traced_and_checked_by_opcheck():
    @torch.library.custom_op("opgen_testing::square", mutates_args=())
    def registered(x: torch.Tensor) -> torch.Tensor:
        return x * x

    report = check_op(registered, square, [((3, 4),)], checks=["forward", "opcheck"])
    assert report.failed == ["opcheck"] and "fake" in str(report)
    registered.register_fake(lambda x: torch.empty_like(x))
    assert report["forward"].status == "passed"
    checks = ["opcheck", "gradients", "compile", "export"]
    report = check_op(registered, square, [((3, 4),)], checks=checks)
    assert report.failed == ["gradients"] and "the op has no gradient" in str(report)
    report = check_op(registered, square, [((3, 4),)], skip=["onnx"])
    assert report.passed and report["gradients"].status == "not applicable"


def test_what_does_not_apply_is_not_passed():
    report = check_op(add, add, [((3, 4), (4,))], ["int32"], checks=["gradients", "opcheck"])
    assert not report.passed and {c.status for c in report.checks} == {"not applicable"}
    with pytest.raises(OpCheckError, match="no check applied"):
        report.raise_if_failed()


@pytest.mark.parametrize(
    "code, options",
    [
        ("OPG720", {"checks": ["speed"]}),
        ("OPG720", {"skip": list(CHECKS)}),
        ("OPG721", {"shapes": [(3, "4")]}),
        ("OPG721", {"shapes": []}),
        ("OPG721", {"shapes": "3x4"}),
        ("OPG721", {"dtypes": ["float33"]}),
        ("OPG721", {"shapes": [(Input((2,), "int64", low=3, high=0),)]}),
        ("OPG721", {"shapes": [((10**7, 10**7),)]}),
        ("OPG721", {"attrs": 3}),
        ("OPG721", {"mutates": ["x"]}),
        ("OPG721", {"dtypes": [torch.complex64]}),
        ("OPG721", {"dtypes": []}),
        ("OPG722", {"shapes": None}),
        ("OPG722", {"reference": None}),
        ("OPG722", {"reference": 3}),
        ("OPG723", {"device": "nowhere"}),
        ("OPG725", {"shapes": [lambda dtype, generator: 3]}),
        ("OPG725", {"shapes": [lambda dtype: ()]}),
        ("OPG726", {"tolerance": "narrow"}),
        ("OPG726", {"tolerance": {"width": 3}}),
        ("OPG726", {"tolerance": {"mean": "small"}}),
    ],
)
def test_bad_arguments_have_a_code(code, options):
    given = {"reference": square, "shapes": ONE, **options}
    with pytest.raises(OpgenError) as caught:
        check_op(square, **given)
    assert [d.code for d in caught.value.diagnostics] == [code]


@pytest.mark.parametrize("op", [None, 3, [square]])
def test_what_is_no_op_is_refused(op):
    with pytest.raises(OpgenError, match="OPG722"):
        check_op(op, square, shapes=ONE)


def test_an_op_that_ends_the_program_has_failed():
    def leave(x):
        raise SystemExit(0)

    report = check_op(leave, square, shapes=ONE, checks=["forward"])
    assert not report.passed and "SystemExit(0)" in str(report)


@pytest.mark.parametrize(
    ("attrs", "text"),
    [
        ({"betta": 1.0}, "no 'betta'"),
        ({"beta": "large"}, "of type float"),
        ({"beta": True}, "of type float"),
        ({"beta": -1.0}, "below min"),
        ([1.0], "by name"),
    ],
)
def test_attrs_of_a_spec_are_checked(attrs, text):
    text_of_spec = "op: Swish\ninputs: {x: float32}\noutputs: {y: like x}\n"
    text_of_spec += "attrs: {beta: {type: float, default: 1.0, min: 0}}\n"
    spec = parse_spec(text_of_spec + "compute: x * torch.sigmoid(beta * x)\n").spec
    with pytest.raises(OpgenError, match=text):
        given_attrs(spec, attrs)
    assert given_attrs(spec, {"beta": 2}) == {"beta": 2}


def test_inputs_can_have_a_range_and_a_dtype_of_their_own():
    def take(x, index):
        return x[index]

    shapes = [(Input((5, 3), low=0.5, high=1), Input((4,), "int64", 0, 4))]
    report = check_op(take, take, shapes, ["float32"], skip=["compile", "export", "onnx"])
    assert report.passed, str(report)


def test_a_wider_tolerance_is_taken():
    def rough(x):
        return x * x * (1 + 2e-3)

    assert not check_op(rough, square, ONE, checks="forward").passed
    wide = {"mean": 1e-2, "maximum": 1e-1}
    assert check_op(rough, square, ONE, checks="forward", tolerance=wide).passed
    assert "mixed" in str(check_op(rough, square, ONE, checks="forward", tolerance="mixed"))


@pytest.mark.slow
def test_onnx():
    assert check_op(square, square, ONE, checks=["onnx"]).passed

    def wrong(x):
        return x * x + torch.ones_like(x)

    assert check_op(wrong, square, ONE, checks=["onnx"]).failed == ["onnx"]

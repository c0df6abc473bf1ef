"""Products that a formula makes in float32 of computed values and tensors in half precision."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch
from harness import BuiltOp
from operand_specs import operands_spec

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

SHAPES = ((33, 70), (70, 50))


def spec_of(
    compute: str, z: str = "float32", dtypes: str = "[float16, bfloat16, float32]"
) -> OpSpec:
    ranks = {"x": 2, "y": 2}
    return operands_spec("WideProduct", compute, ranks, SHAPES, "[x[0], y[1]]", (dtypes, z))


HALF = ("float16", "bfloat16", "float32")
FLOAT = ("float32",) * 3
# Formula -> what lies in the workspace.
STORED = {
    "torch.tanh(x.float()) @ y.float()": {"value1": FLOAT, "value2": FLOAT},
    "torch.tanh(x.float()) @ y.float().mT.mT": {"value1": FLOAT, "value2": FLOAT},
    "x.float() @ torch.tanh(y.float())": {"value1": FLOAT, "value2": FLOAT},
    "F.linear(torch.tanh(x.float()), y.float().mT)": {"value1": FLOAT, "value2": FLOAT},
    # rounded by the formula
    "torch.tanh(x) @ y": {"value1": HALF},
    "(torch.tanh(x.float()).to(x.dtype) @ y).float()": {"value1": HALF},
    # products of halves are exact in float32
    "x.float() @ y.float()": {},
}


@pytest.mark.parametrize("compute", STORED)
def test_operands_in_the_workspace_have_the_digits_of_the_formula(compute):
    plan = plan_op(spec_of(compute))
    found = {p.name: p.dtypes for p in getattr(plan, "temporaries", ())}
    assert found == STORED[compute]


def test_a_value_of_two_products_is_stored_once_and_in_float32():
    # the second product would round it
    compute = "p = torch.tanh(x.float())\nz = p @ y.float() + (p.to(x.dtype) @ y).float()"
    text = (
        "op: TwoProducts\ninputs:\n  x: {dtype: [float16, bfloat16], rank: 2}\n"
        '  y: {dtype: x, rank: 2}\noutputs:\n  z: {dtype: float32, shape: "[x[0], y[1]]"}\n'
        "compute: |\n  " + compute.replace("\n", "\n  ") + "\nbackward: none\n"
        "cases:\n  - {x: [33, 70], y: [70, 50]}\n"
    )
    spec = parse_spec(text, "case.yaml").spec
    assert spec is not None
    plan = plan_op(spec)
    assert {p.dtypes for p in plan.temporaries} == {("float32", "float32")}


def test_integers_of_eight_bits_are_exact_in_half_precision():
    text = (
        "op: WeightOnly\ninputs:\n  x: {dtype: [float16, bfloat16], rank: 2}\n"
        '  y: {dtype: int8, rank: 2}\noutputs:\n  z: {dtype: float32, shape: "[x[0], y[1]]"}\n'
        "compute: x.float() @ y.float()\nbackward: none\ncases:\n  - {x: [33, 70], y: [70, 50]}\n"
    )
    spec = parse_spec(text, "case.yaml").spec
    assert spec is not None
    assert [p.dtypes for p in plan_op(spec).temporaries] == [("float16", "bfloat16")]


def test_gradients_in_float32_are_products_of_floats():
    # that of y is the product of the tanh and of grad_z; that of x one of tensors that arrive
    spec = spec_of("(torch.tanh(x.float()) @ y.float()).to(x.dtype)", "x")
    plan = plan_op(gradient_spec(replace(spec, backward="kernel"), choosing=False))
    inputs = [
        [part.spec.param(v.tensor).dtypes for v in part.bodies[0].operands.values()]
        for part in plan.parts
        if part.family.name == "contract"
    ]
    assert inputs == [[HALF, HALF], [FLOAT, FLOAT]]


def test_results_have_the_digits_of_float32(tmp_path):
    spec = spec_of("torch.tanh(x.float()) @ y.float()", dtypes="[float16, bfloat16]")
    op = BuiltOp(spec, tmp_path)
    for dtype in (torch.float16, torch.bfloat16):
        for m, k, n in ((33, 70, 50), (0, 3, 4), (3, 0, 4)):
            generator = torch.Generator().manual_seed(m)
            x, y = (torch.randn(s, generator=generator).to(dtype) for s in ((m, k), (k, n)))
            for sync in (True, False):
                outputs, golden, result = op.run({"x": x, "y": y}, mode="check", auto_sync=sync)
                error = (outputs["z"].double() - golden["z"]).abs()
                assert bool((error <= 1e-5).all())  # 5e-3 with a tanh of half precision
                assert result.findings == []

"""Where a product with a reciprocal becomes a quotient."""

from __future__ import annotations

import json

import pytest

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import parse_spec

# compute of z and, if it has a second line, of y; how often the kernel has Fill, Div and Mul
CASES = [
    ("x * torch.sigmoid(x)", (0, 1, 0)),
    ("torch.sigmoid(w) * x", (0, 1, 0)),
    ("F.silu(x) * w", (0, 1, 1)),
    ("x * (1 / w)", (0, 1, 0)),
    ("x * torch.rsqrt(w)", (0, 1, 0)),
    # both are reciprocals: one of them becomes the divisor of the other
    ("torch.sigmoid(x) * torch.sigmoid(w)", (1, 2, 0)),
    # read elsewhere as well
    ("z = torch.sigmoid(x)\ny = x * z", (1, 1, 1)),
    ("torch.sigmoid(x)", (1, 1, 0)),
    ("x * (2 / w)", (1, 1, 1)),
    # a number per row: one division of the row values costs less than one of the elements, and
    # the root and its reciprocal are one call
    ("x * torch.rsqrt(x.square().mean(-1, keepdim=True))", (0, 0, 2)),
    ("x / x.sum(-1, keepdim=True)", (0, 1, 0)),
]


@pytest.mark.parametrize(("compute", "counts"), CASES)
def test_a_product_with_a_reciprocal_is_a_quotient(compute, counts) -> None:
    two = "\n" in compute
    text = {
        "op": "Demo",
        "inputs": {name: "float32" for name in ("x", "w") if name == "x" or "w" in compute},
        "outputs": {n: {"dtype": "x", "shape": "x"} for n in ("z", "y")[: 1 + two]},
        "compute": compute,
    }
    if "w" in text["inputs"]:
        text["inputs"]["w"] = {"dtype": "float32", "shape": "x"}
    spec = parse_spec(json.dumps(text), "demo.yaml").spec
    assert spec is not None
    (body,) = plan_op(spec).bodies
    # Apply reads one operand by stride; its mode is the instruction
    ops = [inst.mode if inst.op == "Apply" else inst.op for inst in body.program.insts]
    assert (ops.count("Fill"), ops.count("Div"), ops.count("Mul")) == counts

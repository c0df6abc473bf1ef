"""Which values are rounded to 16 bits and to nothing else."""

from __future__ import annotations

import json

import pytest

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import parse_spec

# compute, dtypes of the outputs, whether exact GELU may use the fit for 16 bits
CASES = [
    ("F.gelu(x)", ("float16",), True),
    ("F.gelu(x)", ("bfloat16",), True),
    ("F.gelu(x)", ("float32",), False),
    ("F.gelu(x) * x", ("float16",), True),
    ("-F.gelu(x) / 3", ("float16",), True),
    ("F.gelu(x) * F.gelu(x * 2)", ("float16",), True),
    ("F.gelu(x) - x", ("float16",), False),
    ("torch.exp(F.gelu(x))", ("float16",), False),
    ("F.gelu(x) > 0.1", ("bool",), False),
    ("y = F.gelu(x)\nz = y", ("float16", "float16"), True),
    ("y = F.gelu(x)\nz = y", ("float16", "float32"), False),
    ("y = F.gelu(x) * 2\nz = torch.sin(y)", ("float16", "float16"), False),
]


@pytest.mark.parametrize(("compute", "outputs", "short"), CASES)
def test_a_shorter_fit_is_used_where_only_16_bits_remain(compute, outputs, short) -> None:
    declared = {name: {"dtype": d, "shape": "x"} for name, d in zip("yz", outputs, strict=False)}
    text = {"op": "Demo", "inputs": {"x": "float16"}, "outputs": declared, "compute": compute}
    spec = parse_spec(json.dumps(text), "demo.yaml").spec
    assert spec is not None
    (body, *_) = plan_op(spec).bodies
    notes = {inst.note for inst in body.program.insts}
    assert ("aten.gelu in 16 bits" in notes) is short
    assert ("aten.gelu" in notes) is not short

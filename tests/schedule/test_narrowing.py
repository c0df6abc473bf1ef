"""Which instructions store a float as a small integer."""

from __future__ import annotations

import json

import pytest

from msopgen_wrap.families import plan_op
from msopgen_wrap.spec.loader import parse_spec

ROUND, TRUNC = "Cast CAST_RINT", "Cast CAST_TRUNC"
WRAP = ["ShiftLeft", "ShiftRight"]

# compute of z, dtype of z, the instructions between the load and the store
CASES = [
    ("torch.clamp(torch.round(x), -128, 127).to(torch.int8)", "int8", [ROUND]),
    ("torch.round(x).clamp(-128, 127).to(torch.int8)", "int8", [ROUND]),
    ("torch.clamp(torch.floor(x), 0, 255).to(torch.uint8)", "uint8", ["Cast CAST_FLOOR"]),
    ("torch.clamp(x, -32768, 32767).to(torch.int16)", "int16", [TRUNC]),
    # narrower than the type: the clamps stay, nothing wraps
    ("torch.clamp(torch.round(x), -127, 127).to(torch.int8)", "int8", ["Maxs", "Mins", ROUND]),
    ("torch.clamp(torch.round(x), 0, 100).to(torch.int8)", "int8", ["Maxs", "Mins", ROUND]),
    # wider, on one side or not at all: the result wraps
    (
        "torch.clamp(torch.round(x), -129, 127).to(torch.int8)",
        "int8",
        [ROUND, "Maxs", "Mins", TRUNC, *WRAP],
    ),
    (
        "torch.clamp(torch.round(x), max=127).to(torch.int8)",
        "int8",
        [ROUND, "Mins", TRUNC, *WRAP],
    ),
    ("x.to(torch.int8)", "int8", [TRUNC, *WRAP]),
    # no whole number: rounding and clamping do not commute
    (
        "torch.clamp(torch.round(x), -1.5, 99.5).to(torch.int8)",
        "int8",
        [ROUND, "Maxs", "Mins", TRUNC, *WRAP],
    ),
    # int32 outputs neither wrap nor saturate
    ("torch.clamp(torch.round(x), -128, 127).to(torch.int32)", "int32", None),
]


def listing(compute: str, outputs: dict[str, str]) -> list[str]:
    """The instructions of an op of x, but for its loads and stores."""
    declared = {name: {"dtype": d, "shape": "x"} for name, d in outputs.items()}
    text = {"op": "Demo", "inputs": {"x": "float32"}, "outputs": declared, "compute": compute}
    spec = parse_spec(json.dumps(text), "demo.yaml").spec
    assert spec is not None
    (body,) = plan_op(spec).bodies
    kept = [i for i in body.program.insts if i.op not in ("Load", "Store")]
    return [f"{i.op} {i.mode}" if i.op == "Cast" else i.op for i in kept]


@pytest.mark.parametrize(("compute", "dtype", "want"), CASES)
def test_what_is_clamped_is_neither_wrapped_nor_rounded_twice(compute, dtype, want) -> None:
    assert listing(compute, {"z": dtype}) == (want or [ROUND, "Maxs", "Mins", TRUNC])


def test_what_another_output_reads_is_still_computed() -> None:
    compute = "q = torch.clamp(torch.round(x), -128, 127)\nz = q.to(torch.int8)\ny = q"
    found = listing(compute, {"z": "int8", "y": "float32"})
    assert found[:3] == [ROUND, "Maxs", "Mins"]

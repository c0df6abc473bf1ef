"""Which tile instructions a formula becomes: roundings, quotients, shared slots."""

from __future__ import annotations

import json

import pytest

from msopgen_wrap.families import plan_op
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_spec, parse_spec

# ---- Which instructions store a float as a small integer -----------------------------------------

ROUND, TRUNC = "Cast CAST_RINT", "Cast CAST_TRUNC"
WRAP = ["ShiftLeft", "ShiftRight"]

# compute of z, dtype of z, the instructions between the load and the store
NARROWED = [
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


@pytest.mark.parametrize(("compute", "dtype", "want"), NARROWED)
def test_what_is_clamped_is_neither_wrapped_nor_rounded_twice(compute, dtype, want) -> None:
    assert listing(compute, {"z": dtype}) == (want or [ROUND, "Maxs", "Mins", TRUNC])


def test_what_another_output_reads_is_still_computed() -> None:
    compute = "q = torch.clamp(torch.round(x), -128, 127)\nz = q.to(torch.int8)\ny = q"
    found = listing(compute, {"z": "int8", "y": "float32"})
    assert found[:3] == [ROUND, "Maxs", "Mins"]


# ---- Which values are rounded to 16 bits and to nothing else -------------------------------------

# compute, dtypes of the outputs, the type for which exact GELU has to be as exact
FITS = [
    ("F.gelu(x)", ("float16",), "float16"),
    ("F.gelu(x)", ("bfloat16",), "bfloat16"),
    ("F.gelu(x)", ("float32",), "float32"),
    ("F.gelu(x) * x", ("bfloat16",), "bfloat16"),
    ("-F.gelu(x) / 3", ("float16",), "float16"),
    ("F.gelu(x) * F.gelu(x * 2)", ("float16",), "float16"),
    ("F.gelu(x) - x", ("bfloat16",), "float32"),
    ("torch.exp(F.gelu(x))", ("float16",), "float32"),
    ("F.gelu(x) > 0.1", ("bool",), "float32"),
    ("y = F.gelu(x)\nz = y", ("float16", "bfloat16"), "float16"),
    ("y = F.gelu(x)\nz = y", ("bfloat16", "float32"), "float32"),
    ("y = F.gelu(x) * 2\nz = torch.sin(y)", ("float16", "float16"), "float32"),
]


@pytest.mark.parametrize(("compute", "outputs", "exact"), FITS)
def test_a_shorter_fit_is_used_where_only_16_bits_remain(compute, outputs, exact) -> None:
    declared = {name: {"dtype": d, "shape": "x"} for name, d in zip("yz", outputs, strict=False)}
    text = {"op": "Demo", "inputs": {"x": "float16"}, "outputs": declared, "compute": compute}
    spec = parse_spec(json.dumps(text), "demo.yaml").spec
    assert spec is not None
    (body, *_) = plan_op(spec).bodies
    notes = {inst.note for inst in body.program.insts if "gelu" in inst.note}
    assert notes == {f"aten.gelu in {exact}"}


# ---- Where a product with a reciprocal becomes a quotient ----------------------------------------

# compute of z and, if it has a second line, of y; how often the kernel has Fill, Div and Mul
QUOTIENTS = [
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


@pytest.mark.parametrize(("compute", "counts"), QUOTIENTS)
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


@pytest.mark.parametrize(
    ("compute", "of_their_own"),
    [
        ("x * (1 + torch.tanh(x))", 0),
        ("1 - torch.tanh(x * 2)", 0),
        ("t = torch.tanh(x)\ny = (t + 1) * t", 1),
        ("2 + torch.tanh(x)", 1),
        ("torch.tanh(x) - 1", 1),
    ],
)
def test_one_beside_a_tanh_cancels_no_digit(compute, of_their_own):
    text = {"op": "Demo", "inputs": {"x": "float32"}, "outputs": {"y": "x"}, "compute": compute}
    spec = parse_spec(json.dumps(text), "demo.yaml").spec
    assert spec is not None
    (body,) = plan_op(spec).bodies
    ops = [inst.op for inst in body.program.insts]
    assert ops.count("opgen::Tanh") == of_their_own
    assert ops.count("Exp") == 1 - of_their_own


@pytest.mark.parametrize(
    ("compute", "calls", "exponentials"),
    [
        ("x * (1 - torch.tanh(x) ** 2)", 0, 1),
        ("t = torch.tanh(x)\ny = (1 - t * t) * t", 1, 1),
        ("1 - torch.tanh(x) * torch.tanh(x * 2)", 2, 0),
        ("2 - torch.tanh(x) ** 2", 1, 0),
        ("1 - torch.tanh(x) ** 3", 1, 0),
    ],
)
def test_the_slope_of_a_tanh_cancels_no_digit(compute, calls, exponentials):
    text = {"op": "Demo", "inputs": {"x": "float32"}, "outputs": {"y": "x"}, "compute": compute}
    spec = parse_spec(json.dumps(text), "demo.yaml").spec
    assert spec is not None
    (body,) = plan_op(spec).bodies
    ops = [inst.op for inst in body.program.insts]
    assert (ops.count("opgen::Tanh"), ops.count("Exp")) == (calls, exponentials)


# ---- Which operands an output may share a scratch slot with --------------------------------------


def _kernel(name: str) -> str:
    spec = load_spec(data_dir("op_specs") / f"activation/{name}.yaml")
    files = render_project([spec], ProjectOptions(vendor="acme", style="8.1"))
    return next(f.text for f in files if f.path == f"op_kernel/{spec.name}.cpp")


def test_instructions_that_read_late_keep_their_operand():
    """asinh takes the sign from x after it has written y: y on x's slot loses it."""
    assert "kYSlot = kXSlot;" not in _kernel("asinh")


def test_other_instructions_share():
    assert "kYSlot = kXSlot;" in _kernel("custom_relu")


def test_an_operand_on_a_shared_slot_waits_for_who_reads_the_output():
    """y lies on x1's slot and is read before x1 is loaded: without auto-sync that is a race."""
    kernel = _kernel("swi_glu")
    assert "kYSlot = kX1Slot;" in kernel
    _, _, after = kernel.partition("Div(x, x, y, count);")
    before, _, _ = after.partition("opgen::WidenOperand<kBroadcast>(x1,")
    assert "PipeBarrier<PIPE_V>();" in before

"""Every pointwise lowering on special values, in the emulation, against PyTorch.

The formulas come from the registered lowerings (``special_values.formulas``): a new one is swept by
default. An element is right when it is PyTorch's in float64, or what PyTorch itself computes in
float32 (an intermediate overflow, for instance), rounded to the output dtype, the signs of zeros
and infinities included. What differs on purpose is declared with the lowering.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
import torch

sys.path.insert(0, str(Path(__file__).parent))

import special_values as sweep
from harness import BuiltOp

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.resources import data_dir
from msopgen_wrap.schedule import plan_op
from msopgen_wrap.schedule.lowering import DIFFERENCES
from msopgen_wrap.schedule.report import as_text

TOLERANCE = {"float32": 2**-13, "float16": 2**-10, "bfloat16": 2**-7}
OUTPUTS = 8

# Formulas whose reference is another one: PyTorch's own loses the tail of GELU to a subtraction.
BETTER = {
    "F.gelu(x)": "0.5 * x * torch.erfc(-x * math.sqrt(0.5))",
    "F.gelu(x, approximate='tanh')": "x * torch.sigmoid(1.5957691216 * (x + 0.044715 * x**3))",
}
# Declared difference -> formula -> what the kernel computes instead.
INSTEAD = {
    "aten.add with alpha": {"torch.add(x, y, alpha=2)": "x + y * 2"},
    "aten.addcmul": {
        "torch.addcmul(x, y, y, value=0.5)": "x + y * y * 0.5",
        "torch.addcmul(x, y, w)": "x + y * w",
    },
    "aten.addcdiv": {"torch.addcdiv(x, y, x, value=0.5)": "x + y / x * 0.5"},
    "aten.lerp": {
        "torch.lerp(x, y, 0.3)": "x + (y - x) * 0.3",
        "torch.lerp(x, y, torch.sigmoid(x))": "torch.where(torch.sigmoid(x) < 0.5, "
        "x + (y - x) * torch.sigmoid(x), y - (y - x) * (1 - torch.sigmoid(x)))",
    },
}
# Declared difference -> largest argument for which the result is PyTorch's, and formulas.
LARGEST = {
    "aten.sin": (1e5, ("torch.sin(x)", "torch.sinc(x)")),
    "aten.cos": (1e5, ("torch.cos(x)",)),
    "aten.tan": (1e5, ("torch.tan(x)",)),
}
# Declared difference -> part of the formulas in which the sign of a zero is not PyTorch's.
ZERO_SIGN = {
    "aten.relu": "relu",
    "aten.maximum": "torch.maximum",
    "aten.minimum": "torch.minimum",
    "aten.clamp": "clamp",
    "aten.hardtanh": "hardtanh",
}
# A composition that PyTorch decomposes with another sign of zero than its own kernel has.
COMPOSED = ("F.softshrink(x)",)

SAMPLE = (
    "torch.fmod(x, y)",
    "torch.remainder(x, y)",
    "x ** y",
    "x // y",
    "torch.hypot(x, y)",
    "torch.copysign(x, y) + y",
    "torch.sin(x)",
    "torch.relu(x + x)",
)


def right(formula: str, got: torch.Tensor, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return which elements of a result are right."""
    name = str(got.dtype).removeprefix("torch.")
    codes = [formula]
    codes += [other[formula] for other in INSTEAD.values() if formula in other]
    references = []
    for code in codes:
        for dtype in (torch.float64, torch.float32, None):
            references.append(sweep.evaluate(code, inputs, dtype))
    if formula in BETTER:
        references.append(sweep.evaluate(BETTER[formula], inputs, torch.float64))
    unsigned = formula in COMPOSED or any(part in formula for part in ZERO_SIGN.values())
    ok = torch.zeros(got.shape, dtype=torch.bool)
    for reference in references:
        if reference is None:
            continue
        reference = reference.expand(got.shape)
        rounded = reference.to(got.dtype)
        if name not in TOLERANCE:
            ok |= got == rounded
            continue
        value, expected, exact = got.double(), rounded.double(), reference.double()
        info = torch.finfo(got.dtype)
        bound = TOLERANCE[name] * exact.abs().clamp(min=float(info.smallest_normal))
        signed = torch.signbit(value) == torch.signbit(expected)
        same = (value == expected) & (signed | (expected != 0) | unsigned)
        ok |= same | (torch.isnan(value) & torch.isnan(expected))
        ok |= ((value - exact).abs() <= bound) & (exact != 0)
        # at the border of overflow a rounding decides
        ok |= torch.isinf(value) & signed & (exact.abs() >= info.max * (1 - TOLERANCE[name]))
    for largest, formulas in LARGEST.values():
        if formula in formulas:
            far = inputs["x"].double().abs() > largest
            ok |= far & torch.isfinite(inputs["x"].double())
            ok &= ~far | (got.abs() <= 1) | torch.isnan(got) | ("tan" in formula)
    return ok


def faults(rows: list[tuple[str, str]], dtypes: tuple[str, ...], folder: Path) -> list[str]:
    """Build formulas as one op, run it on the grid of every dtype, and tell what is wrong."""
    spec = sweep.spec_of([f for f, _ in rows], dtypes, [out for _, out in rows])
    op = BuiltOp(spec, folder)
    found = []
    for combo, dtype in enumerate(dtypes):
        names = [p.name for p in spec.inputs]
        values = sweep.pairs(dtype) if len(names) > 1 else [sweep.singles(dtype)]
        inputs = dict(zip(names, values, strict=False))
        outputs = [
            torch.zeros(values[0].shape, dtype=getattr(torch, p.dtypes[combo]))
            for p in spec.outputs
        ]
        op.runtime.run(spec.op, list(inputs.values()), outputs, {}, mode="fast")
        for (formula, _), got in zip(rows, outputs, strict=True):
            wrong = (~right(formula, got, inputs)).nonzero().flatten().tolist()
            for i in wrong[:: max(1, len(wrong) // 4)]:
                given = {n: v[i].item() for n, v in inputs.items()}
                wanted = sweep.evaluate(formula, {n: v[i] for n, v in inputs.items()}, None)
                found.append(f"{dtype} {formula} {given}: {got[i].item()}, torch {wanted}")
    return found


def test_sample(tmp_path):
    rows = [(formula, "") for formula in SAMPLE]
    assert not faults(rows, ("float32",), tmp_path)


def planned(rows: list[tuple[str, str]], dtypes: tuple[str, ...]) -> list[tuple[str, str]]:
    """Leave out formulas that are refused for one of the dtypes."""
    try:
        plan_op(sweep.spec_of([f for f, _ in rows], dtypes, [out for _, out in rows]))
        return rows
    except OpgenError:
        return [r for r in rows if len(rows) > 1 and planned([r], dtypes)]


@pytest.mark.slow
@pytest.mark.parametrize("dtypes", [sweep.FLOATS, *((d,) for d in sweep.INTEGERS)], ids="-".join)
def test_every_lowering(dtypes, tmp_path):
    formulas = sweep.all_formulas()
    rows = []
    for formula in formulas:
        outs = [sweep.output_dtype(formula, d) for d in dtypes]
        if len(set(outs)) == 1 and outs[0] not in (None, "int64", "float64"):
            rows.append((formula, outs[0]))
    found = []
    for number, group in enumerate(sweep.groups(rows, OUTPUTS)):
        kept = planned(group, dtypes)
        if kept:
            found += faults(kept, dtypes, tmp_path / str(number))
    assert not found, "\n".join(found)


@pytest.mark.slow
def test_every_lowering_has_a_formula():
    left = [sweep.formulas(dtype)[1] for dtype in ("float32", "int32", "bool")]
    assert set.intersection(*left) <= sweep.WITHOUT_FORMULA


def test_differences_are_declared_and_shown():
    """What the sweep excuses stands with a lowering, in the documentation and in the plan."""
    assert set(INSTEAD) | set(LARGEST) | set(ZERO_SIGN) <= set(DIFFERENCES)
    page = (data_dir("op_specs") / "README.md").read_text(encoding="utf-8")
    for note in DIFFERENCES:
        assert f"`{note.removeprefix('aten.')}`" in page, note
    text = as_text(plan_op(sweep.spec_of(["torch.sin(x)"], ("float32",), [""])))
    assert f"differs from torch: aten.sin: {DIFFERENCES['aten.sin']}" in text

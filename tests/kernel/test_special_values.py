"""Every pointwise lowering on special values, in the emulation, against PyTorch."""

from __future__ import annotations

import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest
import special_values as sweep
import torch
from harness import BuiltOp, make_spec

from msopgen_wrap.families import plan_op
from msopgen_wrap.resources import data_dir
from msopgen_wrap.schedule.calls import DIFFERENCES
from msopgen_wrap.schedule.report import as_text
from msopgen_wrap.spec.model import Attr

# ---- Every pointwise lowering on special values, in the emulation, against PyTorch ---------------
# The formulas come from the registered lowerings (``special_values.formulas``): a new one is swept
# by default. An element is right when it is PyTorch's in float64, or what PyTorch itself computes
# in float32 (an intermediate overflow, for instance), rounded to the output dtype, the signs of
# zeros and infinities included. What differs on purpose is declared with the lowering.

TOLERANCE = {"float32": 2**-13, "float16": 2**-10, "bfloat16": 2**-7}
PRECISIONS = (torch.float64, torch.float32, None)
DIVIDES = re.compile(r"//|rounding_mode|fmod|remainder|floor_divide")

# Formulas whose reference is another one: PyTorch's own loses the tail of GELU to a subtraction.
BETTER = {
    # the difference of nearly equal numbers, by its series: PyTorch's has no digits left
    "F.tanhshrink(x)": "torch.where(x.abs() < 1e-2, x**3 * (1 / 3 - x**2 * 2 / 15), x - x.tanh())",
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
    **{
        f"aten.special_{name}": (1e5, (f"torch.special.{name}(x)",))
        for name in ("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0")
    },
}
# Declared difference -> dtype of the output, formula, argument below which only the absolute error
# is bounded, and that bound.
TAIL = {
    "aten.gelu in bfloat16": ("bfloat16", "F.gelu(x)", -5, 3e-9),
    "aten.gelu in float16": ("float16", "F.gelu(x)", -4.7, 2e-8),
    "aten.gelu in float32": ("float32", "F.gelu(x)", -4.9, 8e-11),
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
COMPOSED = ("F.softshrink(x)", "F.tanhshrink(x)")

SAMPLE = (
    "torch.fmod(x, y)",
    "torch.remainder(x, y)",
    "x ** y",
    "x // y",
    "torch.hypot(x, y)",
    "torch.copysign(x, y) + y",
    "torch.sin(x)",
    "torch.relu(x + x)",
    # polynomials with coefficients in UB
    "F.gelu(x)",
    "torch.lgamma(x)",
)


def references(
    formula: str, inputs: dict[str, torch.Tensor], floating: bool
) -> tuple[list[torch.Tensor], torch.Tensor]:
    """Return PyTorch's results of a formula, and for which elements it has none.

    Args:
        floating: the result is; integers are then converted to float64 for one of the results.
    """
    codes = [formula, *(other[formula] for other in INSTEAD.values() if formula in other)]
    excused = torch.zeros(inputs["x"].shape, dtype=torch.bool)
    divisor = "y" if sweep.uses(formula, "y") else "x"
    by = inputs[divisor]
    if DIVIDES.search(formula) and not by.is_floating_point():
        # PyTorch raises for a division by zero, and the process ends for that of the smallest
        # number by -1
        if divisor == "y" or formula.endswith(f", {divisor})"):
            excused = by == 0
        if divisor == "y" and by.dtype != torch.bool:
            excused = excused | ((by == -1) & (inputs["x"] == torch.iinfo(by.dtype).min))
        inputs = {**inputs, divisor: torch.where(excused, torch.ones_like(by), by)}
    found = [sweep.evaluate(code, inputs, d) for code in codes for d in PRECISIONS]
    if floating:
        found.append(sweep.evaluate(formula, {n: v.double() for n, v in inputs.items()}, None))
    if formula in BETTER:
        found.append(sweep.evaluate(BETTER[formula], inputs, torch.float64))
    return [f.expand(excused.shape) for f in found if f is not None], excused


def right(formula: str, got: torch.Tensor, inputs: dict[str, torch.Tensor]) -> torch.Tensor:
    """Return which elements of a result are right."""
    name = str(got.dtype).removeprefix("torch.")
    unsigned = formula in COMPOSED or any(part in formula for part in ZERO_SIGN.values())
    allowed, ok = references(formula, inputs, name in TOLERANCE)
    assert allowed, f"PyTorch cannot compute {formula}"
    for reference in allowed:
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
        for dtype, tail, below, error in TAIL.values():
            if (name, formula) == (dtype, tail):
                ok |= (inputs["x"].double() < below) & ((value - exact).abs() <= error)
    for largest, formulas in LARGEST.values():
        if formula in formulas:
            far = inputs["x"].double().abs() > largest
            ok |= far & torch.isfinite(inputs["x"].double())
            ok &= ~far | (got.abs() <= 1) | torch.isnan(got) | ("tan" in formula)
    return ok


def op_of(rows: list[str], dtypes: tuple[str, ...], folder: Path) -> BuiltOp:
    """Return the op of some formulas, to be compiled."""
    outputs = [tuple(str(sweep.output_dtype(f, d)) for d in dtypes) for f in rows]
    return BuiltOp(sweep.spec_of(rows, dtypes, outputs), folder, compiled=False)


def faults(rows: list[str], op: BuiltOp) -> list[str]:
    """Run an op of formulas on the grid of every dtype, and tell what is wrong."""
    spec, found = op.spec, []
    for combo, dtype in enumerate(spec.inputs[0].dtypes):
        names = [p.name for p in spec.inputs]
        values = sweep.pairs(dtype) if len(names) > 1 else [sweep.singles(dtype)]
        inputs = dict(zip(names, values, strict=False))
        outputs = [
            torch.zeros(values[0].shape, dtype=getattr(torch, p.dtypes[combo]))
            for p in spec.outputs
        ]
        op.runtime.run(spec.op, list(inputs.values()), outputs, {}, mode="fast")
        for formula, got in zip(rows, outputs, strict=True):
            wrong = (~right(formula, got, inputs)).nonzero().flatten().tolist()
            for i in wrong[:: max(1, len(wrong) // 4)]:
                given = {n: v[i].item() for n, v in inputs.items() if sweep.uses(formula, n)}
                wanted = sweep.evaluate(formula, {n: v[i] for n, v in inputs.items()}, None)
                text = f"{got[i].item()}, torch {None if wanted is None else wanted.item()}"
                found.append(f"{dtype} {formula} {given}: {text} ({len(wrong)} of {len(got)})")
    return found


def test_sample(tmp_path):
    assert not faults(list(SAMPLE), op_of(list(SAMPLE), ("float32",), tmp_path).compile())


@pytest.mark.slow
def test_every_lowering(tmp_path):
    plans = sweep.planned()
    # a lowering that is added, or that PyTorch no longer reaches, is told
    assert set(sweep.lowerings()) - plans.reached == sweep.UNREACHED
    assert set(sweep.formulas()) - set(plans.dtypes) == sweep.REFUSED
    by_dtypes: dict[tuple[str, ...], list[str]] = {}
    for formula, dtypes in plans.dtypes.items():
        by_dtypes.setdefault(tuple(dtypes), []).append(formula)
    groups = [(d, rows) for d, block in by_dtypes.items() for rows in sweep.groups(block)]
    found = []
    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        building = []
        for number, (dtypes, rows) in enumerate(groups):
            op = op_of(rows, dtypes, tmp_path / str(number))
            building.append((rows, pool.submit(op.compile)))
        for rows, future in building:
            found += faults(rows, future.result())
    assert not found, "\n".join(found)


def test_differences_are_declared_and_shown():
    """What the sweep excuses stands with a lowering, in the documentation and in the plan."""
    assert set(INSTEAD) | set(LARGEST) | set(TAIL) | set(ZERO_SIGN) <= set(DIFFERENCES)
    page = (data_dir("op_specs") / "README.md").read_text(encoding="utf-8")
    for note in DIFFERENCES:
        assert f"`{note.removeprefix('aten.')}`" in page, note
    text = as_text(plan_op(sweep.spec_of(["torch.sin(x)"], ("float32",))))
    assert f"differs from torch: aten.sin: {DIFFERENCES['aten.sin']}" in text


# ---- Bits of floats taken apart and moved, compiled and run in the emulation, bit for bit --------

COMPUTE = """\
following = torch.nextafter(x, y)
mantissa, exponent = torch.frexp(x)
"""
TINY = (1e-45, -1e-45, 1e-40, 2.0**-126)
INF = float("inf")
EDGES = torch.tensor(
    [0.0, -0.0, 1.0, -1.5, 7.0, -1000.25, 3.4028234663852886e38, INF, -INF, float("nan"), *TINY]
)


def test_parts_of_floats(tmp_path):
    spec = make_spec(COMPUTE, "x y", "following mantissa exponent")
    outputs = (*spec.outputs[:2], replace(spec.outputs[2], dtypes=("int32",)))
    op = BuiltOp(replace(spec, outputs=outputs), tmp_path)
    x, y = torch.cartesian_prod(EDGES, EDGES).unbind(1)
    got = [torch.full(x.shape, 77, dtype=d) for d in (torch.float32, torch.float32, torch.int32)]
    op.runtime.run(spec.op, [x.contiguous(), y.contiguous()], got, {})
    expected = (torch.nextafter(x, y), *torch.frexp(x))
    for have, want in zip(got, expected, strict=True):
        unordered = torch.isnan(want)
        assert torch.equal(torch.isnan(have), unordered)
        same = have.view(torch.int32) == want.contiguous().view(torch.int32)
        assert bool((same | unordered).all())


# ---- Powers of a number that an attr gives: products where it is a small integer -----------------

POWERS = (0.0, 1.0, 2.0, 3.0, 4.0, 8.0, 9.0, -1.0, -2.0, 0.5, 1.5, INF, -INF)


def test_powers_of_an_attr(tmp_path):
    spec = make_spec("torch.pow(x, p)", "x", attrs=(Attr("p", "float", 2.0),))
    op = BuiltOp(spec, tmp_path)
    x = torch.cat([EDGES[:10], torch.linspace(-3, 3, 131)])
    for p in POWERS:
        (got,) = op.run({"x": x}, {"p": p})[0].values()
        want = torch.pow(x.double(), torch.tensor(p, dtype=torch.float64)).float()
        assert torch.allclose(got, want, 2e-6, 0.0, equal_nan=True), (p, x, got, want)
        zero = want == 0
        assert torch.equal(torch.signbit(got[zero]), torch.signbit(want[zero])), p

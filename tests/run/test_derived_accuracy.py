"""Gradients that PyTorch has derived: the rule accepts right ones and refuses wrong ones.

A right kernel is PyTorch's gradient in float32, rounded to the dtypes of the outputs. Each mutant
changes that as a wrong kernel would.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable
from typing import Any

import pytest
import torch

from msopgen_wrap.run.accuracy import Comparison
from msopgen_wrap.run.case_runner import judge
from msopgen_wrap.run.golden import Reference, make_inputs, reference
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.results import FAILED, CaseResult
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec, Tolerance
from msopgen_wrap.spec.shapes import evaluate

MIXED = Tolerance(rule="mixed")


def gradient(inputs: str, shape: str, compute: str) -> OpSpec:
    """Return the spec of the gradient of a formula over some inputs."""
    text = (
        "op: Formula\n"
        f"inputs: {inputs}\n"
        f"outputs: {{y: {{dtype: x, shape: {shape!r}}}}}\n"
        f"compute: {compute}\n"
        "backward: kernel\n"
    )
    spec = parse_spec(text, "op.yaml").spec
    assert spec is not None
    return gradient_spec(spec)


FLOATS = "{dtype: [float16, bfloat16, float32], rank: 2}"
ONE = f"{{x: {FLOATS}}}"
TWO = f"{{x: {FLOATS}, t: {{dtype: x, shape: like x}}}}"
NORM = f'{{x: {FLOATS}, w: {{dtype: x, shape: "[x[-1]]"}}}}'
SPECS = {
    "a mean of products": lambda: gradient(TWO, "[]", "(x * t).mean()"),
    "a loss": lambda: gradient(TWO, "[]", "F.mse_loss(x, t)"),
    "absolute differences": lambda: gradient(TWO, "[]", "(x - t).abs().mean()"),
    "gelu": lambda: gradient(ONE, "like x", "F.gelu(x)"),
    "softmax": lambda: gradient(ONE, "like x", "torch.softmax(x, -1)"),
    "rms norm": lambda: gradient(
        NORM, "like x", "x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-6) * w"
    ),
}
SHAPES = {"x": (20, 103), "t": (20, 103), "w": (103,)}


Case = tuple[OpSpec, int, Reference, dict[str, torch.Tensor]]


@functools.cache
def calculated(name: str, combo: int) -> Case:
    """Return the spec of a gradient, its reference, and what a right kernel gives in float32."""
    spec = SPECS[name]()
    shapes: dict[str, Any] = {}
    for param in spec.inputs:
        shapes[param.name] = SHAPES.get(param.name) or evaluate(param.shape, shapes, {})
    case = TestCase(combo, shapes, {})
    inputs = make_inputs(spec, case)
    single = {n: v.float() for n, v in inputs.items()}
    attrs = {a.name: a.default for a in spec.attrs}
    made = compile_compute(spec, wrap_errors=False)(single, attrs)
    return spec, combo, reference(spec, case, inputs), {n: g.float() for n, g in made.items()}


def judged(given: Case, change: Callable[[torch.Tensor], torch.Tensor]) -> list[str]:
    """Return why a kernel fails that gives the gradient, changed."""
    spec, combo, want, made = given
    dtypes = {p.name: getattr(torch, p.dtypes[combo]) for p in spec.outputs}
    outputs = {n: change(made[n]).to(d) for n, d in dtypes.items()}
    return judge(spec, outputs, want, CaseResult(spec.op, "", "", FAILED), combo)


@pytest.mark.parametrize("combo", range(3), ids=["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", SPECS)
def test_a_right_gradient_passes(name: str, combo: int) -> None:
    assert judged(calculated(name, combo), lambda g: g) == []


def without_a_tile(g: torch.Tensor) -> torch.Tensor:
    """Return a gradient of which no pass wrote the last twentieth."""
    changed = g.clone().flatten()
    changed[-max(1, changed.numel() // 20) :] = 0
    return changed.view(g.shape)


MUTANTS: dict[str, Callable[[torch.Tensor], torch.Tensor]] = {
    "a factor": lambda g: 2 * g,
    "a small factor": lambda g: 1.1 * g,
    "the sign": lambda g: -g,
    "zeros": torch.zeros_like,
    "a missing term": lambda g: g - g.mean(-1, keepdim=True) - 0.5 * g.roll(1, -1),
    "a tile that is not written": without_a_tile,
    "rows in each other's place": lambda g: g.roll(1, 0) if g.dim() > 1 else g.roll(1),
}


@pytest.mark.parametrize("combo", range(3), ids=["float16", "bfloat16", "float32"])
@pytest.mark.parametrize("name", SPECS)
def test_wrong_gradients_fail(name: str, combo: int) -> None:
    given = calculated(name, combo)
    assert [m for m, change in MUTANTS.items() if not judged(given, change)] == []


@pytest.mark.parametrize("compute", ["torch.topk(x, 2, -1)[0]", "torch.topk(x, 2, -1, False)[0]"])
def test_the_first_of_equal_elements_has_the_gradient(compute: str) -> None:
    """PyTorch does not say which of them; kernels sort in a stable order."""
    spec = gradient(ONE, "[x[0], 2]", compute)
    case = TestCase(2, {"x": (2, 40), "grad_y": (2, 2)}, {})
    inputs = {"x": torch.zeros(2, 40), "grad_y": torch.tensor([[1.0, 2.0], [3.0, 4.0]])}
    golden = reference(spec, case, inputs).golden["grad_x"]
    want = torch.zeros(2, 40, dtype=torch.float64)
    want[:, :2] = inputs["grad_y"]
    assert torch.equal(golden, want)


def comparison(golden: torch.Tensor, native: torch.Tensor, derived: bool = True) -> Comparison:
    return Comparison(golden, native.dtype, native, MIXED, derived=derived)


def noisy(seed: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return golden values, and what a CPU makes of them that rounds to 16 bits on the way."""
    generator = torch.Generator().manual_seed(seed)
    golden = torch.randn(64, 64, generator=generator, dtype=torch.float64)
    noise = 0.02 * torch.randn(64, 64, generator=generator, dtype=torch.float64)
    return golden, (golden + noise).bfloat16()


def test_another_rounding_between_products_passes() -> None:
    golden, native = noisy(0)
    other = (golden + (noisy(1)[1].double() - noisy(1)[0])).bfloat16()
    assert comparison(golden, native).accuracy(other).passed
    assert not comparison(golden, native, derived=False).accuracy(other).passed


def test_one_large_error_of_a_cpu_is_no_licence() -> None:
    """The largest error of a CPU bounds each element; all of them may not be off by as much."""
    golden, native = noisy(0)
    native[0, 0] += 3
    accuracy = comparison(golden, native).accuracy((0.85 * golden).bfloat16())
    assert not accuracy.passed


def test_a_jump_of_a_small_gradient_is_let_pass() -> None:
    golden = torch.full((1000,), 1e-5, dtype=torch.float64)
    got = golden.float()
    got[7] = -got[7]
    assert comparison(golden, golden.float()).accuracy(got).passed
    got[::50] = 0
    accuracy = comparison(golden, golden.float()).accuracy(got)
    assert not accuracy.passed and "root mean square" in accuracy.reason


def test_what_only_roundings_leave_is_not_judged() -> None:
    """The gradient of the sum of a softmax is 0 but for what roundings leave."""
    golden = 1e-17 * torch.randn(100, dtype=torch.float64)
    native, got = 1e-8 * torch.randn(100), 1e-8 * torch.randn(100)
    assert comparison(golden, native).accuracy(got).passed
    assert not comparison(golden, native).accuracy(got + 1e-5).passed


def test_the_reason_has_numbers() -> None:
    golden = torch.full((10,), 1e-5, dtype=torch.float64)
    accuracy = comparison(golden, golden.float()).accuracy(2 * golden.float())
    found = float(accuracy.reason.split("error ")[1].split()[0])
    assert math.isclose(found, 1e-5, rel_tol=1e-3)

"""The reference of derived gradients at infinities, NaN and extremes.

Where the formula that a kernel computes gives NaN in float32 and the reference is finite, a case
of extreme values compares nothing. So the formula may give NaN only where PyTorch's gradient in
float32 does, but for the differences that ``op_specs/README.md`` lists.
"""

from __future__ import annotations

import itertools

import pytest
import torch

from msopgen_wrap.graph.trace_rewrites import Composites
from msopgen_wrap.run.golden import KeepDouble, reference
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.run.reference_modes import KernelSteps
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.loader import gradient_spec, parse_spec
from msopgen_wrap.spec.model import OpSpec

INFO = torch.finfo(torch.float32)
# fmt: off
EXTREMES = (
    torch.inf, -torch.inf, torch.nan, 0.0, -0.0, INFO.max, INFO.min, INFO.tiny, -INFO.tiny,
    INFO.tiny / 4, 1.0, -1.0, 20.0, -20.0, 0.5, -3.5, 90.0, -90.0,
)
# fmt: on
ARRIVING = (1.0, 0.0, -2.0, torch.inf, torch.nan)


def gradient_of(compute: str, inputs: str = "x") -> OpSpec:
    rows = "".join(f"  {n}: {{dtype: float32, shape: like x}}\n" for n in inputs.split()[1:])
    spec = parse_spec(
        f"op: Extreme\ninputs:\n  x: float32\n{rows}outputs:\n  y: like x\n"
        f"compute: {compute}\nbackward: kernel\n"
    ).spec
    assert spec is not None
    return gradient_spec(spec)


@pytest.mark.parametrize("function", ["hardshrink", "softshrink"])
@pytest.mark.parametrize("count", [3, 64])
def test_a_shrink_passes_its_gradient_on_at_nan(function: str, count: int) -> None:
    """PyTorch's vector code gives 0 there, and its code for what is left over does not."""
    spec = gradient_of(f"F.{function}(x)")
    given = {"x": torch.full((count,), torch.nan), "grad_y": torch.full((count,), 3.0)}
    shapes = dict.fromkeys(given, (count,))
    found = reference(spec, TestCase(0, shapes, {}), given)
    assert found.golden["grad_x"].tolist() == [3.0] * count
    assert found.native["grad_x"].tolist() == [3.0] * count


def classes(values: torch.Tensor) -> torch.Tensor:
    """Return 0 for finite values, the sign of infinities, and 2 for NaN."""
    signs = torch.where(torch.isinf(values), values.sign(), 0.0)
    return torch.where(torch.isnan(values), 2.0, signs)


ONE = (
    "torch.tanh(x)", "torch.sigmoid(x)", "torch.exp(x)", "torch.log1p(x)", "torch.sqrt(x)",
    "torch.rsqrt(x)", "torch.atan(x)", "torch.asinh(x)", "torch.erf(x)", "x ** 1.5", "x ** 2",
    "F.gelu(x)", "F.gelu(x, approximate='tanh')", "F.silu(x)", "F.mish(x)", "F.softplus(x)",
    "F.elu(x)", "F.logsigmoid(x)", "F.hardswish(x)", "F.softsign(x)", "torch.clamp(x, -1, 1)",
)  # fmt: skip
TWO = (
    "x * t", "x / t", "torch.atan2(x, t)", "torch.hypot(x, t)", "torch.maximum(x, t)",
    "torch.logaddexp(x, t)", "torch.xlogy(x, t)", "torch.pow(x, t)", "torch.lerp(x, t, 0.3)",
    "F.smooth_l1_loss(x, t, reduction='none')",
    "F.binary_cross_entropy_with_logits(x, t, reduction='none')",
)  # fmt: skip


@pytest.mark.parametrize("compute", [*ONE, *TWO])
def test_a_derived_formula_is_infinite_or_nan_where_pytorch_is(compute: str) -> None:
    names = "x t" if compute in TWO else "x"
    spec = gradient_of(compute, names)
    rows = itertools.product(*([EXTREMES] * len(names.split())), ARRIVING)
    columns = (torch.tensor(column) for column in zip(*rows, strict=True))
    inputs = [p.name for p in spec.inputs]
    given = dict(zip(inputs, columns, strict=True))
    attrs = {a.name: a.default for a in spec.attrs}
    function = compile_compute(spec, wrap_errors=False)
    with torch.no_grad():
        with KeepDouble():
            golden = function({n: t.double() for n, t in given.items()}, attrs)
        native = function({n: t.clone() for n, t in given.items()}, attrs)
        with KernelSteps(), Composites(True):
            steps = function({n: t.clone() for n, t in given.items()}, attrs)
    for name, want in golden.items():
        # elsewhere PyTorch's own float32 overflows
        known = classes(native[name]) == classes(want.float())
        other = known & (classes(steps[name]) != classes(native[name]))
        places = torch.nonzero(other).flatten().tolist()
        assert not places, [(float(t[places[0]]), n) for n, t in given.items()]


@pytest.mark.parametrize(("function", "at"), [("tanh", 25.0), ("sigmoid", 40.0)])
def test_slopes_keep_their_digits_where_the_function_is_one(function: str, at: float) -> None:
    """1 - y ** 2 is 0 there in float64: a kernel with the true slope was called wrong."""
    spec = gradient_of(f"torch.{function}(x)", "x")
    x = torch.tensor([at, -at, 0.5, torch.inf, at], dtype=torch.float64)
    arriving = torch.tensor([1e20, 1e20, 2.0, 1.0, torch.inf], dtype=torch.float64)
    given = dict(zip([p.name for p in spec.inputs], (x, arriving), strict=True))
    attrs = {a.name: a.default for a in spec.attrs}
    with torch.no_grad(), KeepDouble():
        found = compile_compute(spec, wrap_errors=False)(given, attrs)["grad_x"]
    steep = 2 if function == "tanh" else 1
    slope = steep * steep * torch.exp(-steep * x.abs()) / (1 + torch.exp(-steep * x.abs())) ** 2
    torch.testing.assert_close(found[:4], (slope * arriving)[:4])
    assert found[4].isnan()  # as PyTorch's own

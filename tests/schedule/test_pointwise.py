"""Every pointwise lowering against PyTorch, run by the NumPy oracle on its coloured places."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from harness import check, make_spec
from interpreter import Machine

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families import plan_op
from msopgen_wrap.schedule.buffers import check as check_places
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.model import Attr

FLOAT = "float32"
VALUES = torch.cat(
    [
        torch.linspace(-6, 6, 241),
        torch.tensor([0.0, -0.0, 1.0, -1.0, 0.5, 2.5, -2.5, 1e-6, -1e-6, 1e4, -1e4]),
        torch.tensor([float("inf"), float("-inf"), float("nan")]),
    ]
)
ALPHA = (Attr("alpha", "float", 0.75),)

UNARY = [
    *(
        f"torch.{n}(x)"
        for n in [
            "abs",
            "neg",
            "exp",
            "exp2",
            "expm1",
            "log1p",
            "sin",
            "cos",
            "tan",
            "atan",
            "sinh",
            "cosh",
            "tanh",
            "asinh",
            "erf",
            "erfc",
            "sigmoid",
            "floor",
            "ceil",
            "trunc",
            "round",
            "frac",
            "sign",
            "square",
            "reciprocal",
            "relu",
        ]
    ),
    "torch.sqrt(x.abs())",
    "torch.rsqrt(x.abs() + 0.1)",
    "torch.log(x.abs() + 1.5)",
    "torch.log2(x.abs() + 1.5)",
    "torch.log10(x.abs() + 1.5)",
    "F.gelu(x)",
    "F.gelu(x, approximate='tanh')",
    "F.silu(x)",
    "F.mish(x)",
    "F.softplus(x)",
    "F.elu(x)",
    "F.selu(x)",
    "F.celu(x)",
    "F.leaky_relu(x, 0.1)",
    "F.hardswish(x)",
    "F.hardsigmoid(x)",
    "F.hardtanh(x)",
    "F.relu6(x)",
    "F.logsigmoid(x)",
    "F.softsign(x)",
    "F.tanhshrink(x)",
    "F.threshold(x, 0.1, 20.0)",
    "x ** 2",
    "x ** 3",
    "x ** -1",
    "x.abs() ** 0.5",
    "x ** 2.5",
    "torch.clamp(x, -1.5, 2.0)",
    "torch.clamp(x, min=0.5)",
    "torch.where(torch.isnan(x), 0.0, x)",
    "torch.where(torch.isinf(x), 1.0, x)",
    "torch.where(torch.isfinite(x), x, -1.0)",
    "torch.where(x > 0, x, x * 0.5)",
    "torch.where((x > -1) & (x < 1), x, torch.zeros_like(x))",
    "torch.where((x > 2) | ~(x >= -2), torch.ones_like(x), x)",
    "x.masked_fill(x > 1, 3.0)",
    "1.0 - x",
    "1 - torch.tanh(x) ** 2",
    "2.0 / (x.abs() + 1)",
    "(x > 0).to(torch.float32) * 2",
    "x.to(torch.float16).to(torch.float32) + x.to(torch.bfloat16).to(torch.float32)",
]
POSITIVE = torch.cat([torch.linspace(0.01, 12, 331), torch.linspace(13, 80, 45)])
SIGNED = torch.cat([POSITIVE, -POSITIVE, torch.tensor([0.0, math.nan])])
UNIT = torch.cat([torch.linspace(0, 1, 203), torch.tensor([1e-30, 1e-6, 1 - 1e-6, -0.1, 1.5])])
# Formula -> its argument: more than one piece of each function, the ends of its domain, and poles.
SPECIAL = {
    "torch.lgamma(x)": torch.cat([SIGNED, -torch.arange(4.0), torch.tensor([math.inf])]),
    "torch.digamma(x)": torch.cat([SIGNED, -torch.arange(4.0), torch.tensor([math.inf])]),
    "torch.polygamma(0, x)": POSITIVE,
    "torch.polygamma(1, x)": torch.cat(
        [SIGNED[SIGNED.round() != SIGNED], torch.tensor([math.inf])]
    ),
    "torch.polygamma(2, x)": torch.cat([POSITIVE, -torch.arange(4.0)]),
    "torch.polygamma(3, x)": torch.cat([SIGNED, -torch.arange(4.0)]),
    "torch.polygamma(4, x)": torch.cat([POSITIVE, torch.tensor([-0.3, -2.2, math.inf])]),
    "torch.mvlgamma(x, 3)": POSITIVE[POSITIVE > 1],
    "torch.erfinv(x)": torch.cat([UNIT, -UNIT]),
    "torch.special.ndtri(x)": UNIT,
    "torch.special.erfcx(x)": torch.cat([POSITIVE, -POSITIVE[POSITIVE < 9]]),
    "torch.special.log_ndtr(x)": torch.cat([POSITIVE[POSITIVE < 5], -POSITIVE]),
    **{
        f"torch.special.{name}(x)": SIGNED
        for name in (
            *("i0", "i0e", "i1", "i1e", "modified_bessel_i0", "modified_bessel_i1"),
            *("bessel_j0", "bessel_j1", "bessel_y0", "bessel_y1", "spherical_bessel_j0"),
            *("modified_bessel_k0", "scaled_modified_bessel_k0"),
            *("modified_bessel_k1", "scaled_modified_bessel_k1"),
        )
    },
}
ORTHOGONAL = [
    *(f"{shifted}chebyshev_polynomial_{kind}" for shifted in ("", "shifted_") for kind in "tuvw"),
    *("hermite_polynomial_h", "hermite_polynomial_he"),
    *("laguerre_polynomial_l", "legendre_polynomial_p"),
]
BINARY = [
    "x + y",
    "x - y",
    "x * y",
    "x / y",
    "torch.add(x, y, alpha=2)",
    "torch.sub(x, y, alpha=0.5)",
    "torch.maximum(x, y)",
    "torch.minimum(x, y)",
    "torch.lerp(x, y, 0.3)",
    "torch.lerp(x, y, x)",
    "torch.addcmul(x, y, y, value=0.5)",
    "torch.addcdiv(x, y, y.abs() + 1, value=0.5)",
    "torch.where(x == y, x, y)",
    "torch.where(x != y, x, 0.25)",
    "torch.atan2(x, y)",
    "torch.hypot(x, y)",
    "torch.copysign(x, y)",
    "torch.heaviside(x, y)",
    "torch.masked.logaddexp(x, y, input_mask=x > 0)",
    "torch.remainder(x, y)",
    "torch.fmod(x, y)",
    "torch.floor_divide(x, y)",
    "torch.pow(x.abs() + 0.1, y)",
    "torch.logaddexp(x, y)",
    "F.smooth_l1_loss(x, y, reduction='none')",
    "F.mse_loss(x, y, reduction='none')",
]
ATTRS = [
    "x * alpha + (1 - alpha)",
    "torch.clamp(x, -alpha, alpha)",
    "torch.where(x > alpha, x, alpha * 2)",
    "F.leaky_relu(x, alpha)",
    "F.elu(x, alpha)",
    "x / alpha",
    "x ** alpha",
    "F.softplus(x, alpha)",
    "torch.add(x, x, alpha=alpha)",
    "torch.full_like(x, alpha) + alpha ** 2",
]
INTEGER = [
    "x + y",
    "x - y",
    "x * y",
    "-x",
    "torch.abs(x)",
    "torch.maximum(x, y)",
    "torch.minimum(x, y)",
    "torch.clamp(x, 2, 5)",
    "x & y",
    "x | y",
    "x ^ y",
    "~x",
    "x << 2",
    "x >> 1",
    "x << (y & 15)",
    "x >> (y & 15)",
    "x << y",
    "x >> y",
    "torch.gcd(x, y)",
    "torch.lcm(x, y % 8)",
    "x // torch.where(y == 0, 1, y)",
    "x % torch.where(y == 0, 1, y)",
    "torch.div(x, torch.where(y == 0, 1, y), rounding_mode='trunc').to(x.dtype)",
    "torch.where(x > y, x, y)",
    "torch.where(x <= 3, x, y)",
    "torch.where(x < y, x, y) + torch.where(x >= -2, x, y)",
    "x ** 2",
    "torch.sign(x)",
    "torch.relu(x)",
    "x + 3",
    "7 - x",
]
BOOLEAN = [
    "x > y",
    "x >= y",
    "x < y",
    "x <= y",
    "x == y",
    "x != y",
    "(x > 0) ^ (y > 0)",
    "torch.logical_and(x, y)",
    "torch.logical_or(x, y)",
    "torch.logical_not(x)",
    "torch.isnan(x)",
    "~(x > 1)",
]


def run(spec, tensors, attrs=None):
    values = {a.name: a.default for a in spec.attrs} | (attrs or {})
    plan = plan_op(spec)
    body = plan.bodies[0]
    assert not check_places(body.program, body.placement)
    numbers = {}
    for name, view in body.operands.items():
        data = tensors[view.tensor]
        numbers[name] = (
            data.float().numpy()
            if data.is_floating_point()
            else (data.numpy() if data.dtype == torch.bool else data.to(torch.int32).numpy())
        )
    outputs = Machine(body.program, body.placement, values).run(numbers, tensors["x"].shape)
    wide = {
        k: v.double() if v is not None and v.is_floating_point() else v for k, v in tensors.items()
    }
    golden = compile_compute(spec)(wide, values)
    for name, result in outputs.items():
        expected = golden[name]
        actual = torch.from_numpy(np.ascontiguousarray(result))
        if expected.dtype == torch.bool:
            assert torch.equal(actual, expected)
        elif expected.is_floating_point():
            check(actual, expected, 4)
        else:
            assert torch.equal(actual.to(expected.dtype), expected)


@pytest.mark.parametrize("compute", UNARY)
def test_unary(compute):
    run(make_spec(compute), {"x": VALUES.clone()})


@pytest.mark.parametrize("compute", SPECIAL)
def test_special_functions(compute):
    run(make_spec(compute), {"x": SPECIAL[compute].clone()})


@pytest.mark.parametrize("degree", [-1, 0, 1, 2, 7])
@pytest.mark.parametrize("name", ORTHOGONAL)
def test_orthogonal_polynomials(name, degree):
    run(make_spec(f"torch.special.{name}(x, {degree})"), {"x": torch.linspace(-1.4, 1.5, 97)})


@pytest.mark.parametrize("name", ORTHOGONAL)
def test_orthogonal_polynomials_of_a_degree_per_element(name):
    x, n = torch.cartesian_prod(
        torch.linspace(-1.4, 1.5, 23), torch.tensor([-2.0, 0, 0.9, 1, 2, 5.5, 7, math.nan])
    ).unbind(1)
    run(make_spec(f"torch.special.{name}(x, y)", "x y"), {"x": x, "y": n})


@pytest.mark.parametrize("compute", BINARY)
def test_binary(compute):
    generator = torch.Generator().manual_seed(1)
    x = torch.cat([torch.randn(200, generator=generator) * 3, torch.tensor([5.0, 2.0, 0.0])])
    y = torch.cat([torch.randn(200, generator=generator), torch.tensor([5.0, -2.0, 1.0])])
    run(make_spec(compute, "x y"), {"x": x, "y": y})


@pytest.mark.parametrize("compute", ATTRS)
@pytest.mark.parametrize("alpha", [0.75, 2.0])
def test_attrs(compute, alpha):
    run(make_spec(compute, attrs=ALPHA), {"x": VALUES[:241].abs().clone()}, {"alpha": alpha})


@pytest.mark.parametrize("dtype", ["int8", "uint8", "int16", "int32"])
@pytest.mark.parametrize("compute", INTEGER)
def test_integer(compute, dtype):
    generator = torch.Generator().manual_seed(2)
    info = torch.iinfo(getattr(torch, dtype))
    bound = min(info.max, 40000)
    draw = [
        torch.randint(max(info.min, -bound), bound, (300,), generator=generator) for _ in range(2)
    ]
    x, y = (d.to(getattr(torch, dtype)) for d in draw)
    x[0], y[0] = info.max, info.max
    if dtype == "int32" and "*" in compute:
        x, y = x % 1000, y % 1000
    spec = make_spec(compute, "x y" if "y" in compute else "x", dtypes=(dtype,))
    run(spec, {"x": x, "y": y} if "y" in compute else {"x": x})


@pytest.mark.parametrize("dtype", ["float32", "int32", "bool"])
@pytest.mark.parametrize("compute", BOOLEAN)
def test_boolean(compute, dtype):
    if "isnan" in compute and dtype != "float32":
        pytest.skip("only floats have NaN")
    generator = torch.Generator().manual_seed(3)
    draw = [torch.randint(-2, 3, (200,), generator=generator) for _ in range(2)]
    x, y = (d.to(getattr(torch, dtype)) for d in draw)
    if dtype == "float32":
        x[3] = float("nan")
    names = "x y" if "y" in compute.replace("torch.isnan", "") else "x"
    spec = make_spec(compute, names, dtypes=(dtype,), out_dtypes=("bool",))
    run(spec, {"x": x, "y": y} if names == "x y" else {"x": x})


@pytest.mark.parametrize(
    "compute, code, word",
    [
        ("torch.special.airy_ai(x)", "OPG331", "airy_ai"),
        ("torch.special.legendre_polynomial_p(x, 65)", "OPG331", "legendre_polynomial_p"),
        ("torch.polygamma(9, x)", "OPG331", "polygamma"),
    ],
)
def test_refusals_name_the_operation(compute, code, word):
    with pytest.raises(OpgenError) as raised:
        plan_op(make_spec(compute))
    diagnostic = raised.value.diagnostics[0]
    assert diagnostic.code == code
    assert "kernel:" in diagnostic.fix


def test_shifts_of_int64_are_refused_with_the_reason():
    with pytest.raises(OpgenError) as raised:
        plan_op(make_spec("x << x", dtypes=("int64",)))
    assert raised.value.diagnostics[0].code == "OPG332"


def test_structural_attr_is_refused():
    with pytest.raises(OpgenError) as raised:
        plan_op(make_spec("x if alpha > 0 else -x", attrs=ALPHA))
    assert raised.value.diagnostics[0].code == "OPG202"


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_next_number_of_half_precision_is_refused(dtype):
    with pytest.raises(OpgenError) as raised:
        plan_op(make_spec("torch.nextafter(x, y)", "x y", dtypes=(dtype,)))
    assert raised.value.diagnostics[0].code == "OPG331"

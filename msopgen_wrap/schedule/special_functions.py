"""Lowerings of the gamma and error functions, the normal distribution and their relatives.

Each is a formula for pieces of the line with a fit on every piece (``special_fits``: within 3e-7 of
the exact function, but for those of 16-bit outputs). All pieces are computed and one is selected,
so a piece may give anything outside its own interval.

A value has to be as exact as the outputs that it becomes. An output of 16 bits is rounded to 11
(float16) or 8 (bfloat16) of them, so that a shorter fit serves where the value reaches nothing
else, and no operation between makes its error larger.

The polygamma functions of a literal order are the derivatives of digamma:
psi_n(x) = (-1)^(n + 1) n! zeta(n + 1, x), and zeta(s, x) is the sum of (x + k)^-s over all k: its
first terms, and the Euler-Maclaurin series of the rest. Negative arguments are reflected.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.schedule import special_fits as fits
from msopgen_wrap.schedule.calls import DIFFERENCES, RESHAPES, VIEW_OPS, target_name
from msopgen_wrap.schedule.formulas import Number, OddFit, ZeroSeries, where
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.program import F32
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

SHORT = frozenset({"float16", "bfloat16"})
# Their results have no larger relative errors than their operands have (a sum of those).
_KEEPING = frozenset(
    {
        "aten.mul.Tensor",
        "aten.mul.Scalar",
        "aten.div.Tensor",
        "aten.div.Scalar",
        "aten.neg.default",
        "aten.abs.default",
        "aten.relu.default",
        "aten.clone.default",
        "aten.detach.default",
        "aten.alias.default",
        "aten._to_copy.default",
        *VIEW_OPS,
        *RESHAPES,
    }
)


def short_outputs(low: Lowerer, node: Node) -> frozenset[str]:
    """Return the dtypes of the 16-bit float outputs that are all that a node becomes.

    Returns:
        No dtypes where it becomes something else, or by operations that do not keep its error.
    """
    found: set[str] = set()
    return frozenset(found) if _reaches_short_outputs(low, node, set(), found) else frozenset()


def _reaches_short_outputs(low: Lowerer, node: Node, seen: set[Node], found: set[str]) -> bool:
    if node in seen:
        return True
    seen.add(node)
    dtypes = {
        param.dtypes[low.combo]
        for param in low.spec.outputs
        if low.traced.outputs.get(param.name) is node
    }
    found |= dtypes
    if not dtypes <= SHORT:
        return False
    users = [user for user in node.users if user.op != "output"]
    if any(target_name(user) not in _KEEPING for user in users):
        return False
    return all(_reaches_short_outputs(low, user, seen, found) for user in users)


Formula = Callable[[Number], Number]

NEAR_ZEROS = (
    "loses relative accuracy next to its zeros at negative arguments: two terms of opposite sign "
    "are subtracted there"
)
BELOW_SERIES = f"{NEAR_ZEROS}, but for those above -4"
AT_POLES = "order 1 is infinite at its poles, where PyTorch gives a large number"


def computes(*targets: str, differs: str = "") -> Callable[[Formula], Formula]:
    """Register a formula as the lowering of ATen overloads of one float tensor."""

    def register(formula: Formula) -> Formula:
        def handler(low: Lowerer, node: Node) -> Any:
            value = low.tile(low.as_kind(low.operand(node.args[0]), F32))
            return formula(Number(low, value)).value

        handler.__module__ = formula.__module__
        lowers(*targets, differs=differs)(handler)
        return formula

    return register


def sine_of_turns(r: Number) -> Number:
    """sin(pi r) for ``|r|`` up to 0.54, with relative accuracy next to 0."""
    return r * (r * r).fit(fits.SIN_PI)


def with_zeros(value: Number, x: Number, zeros: tuple[ZeroSeries, ...]) -> Number:
    """A function of x, with relative accuracy next to zeros where its terms cancel."""
    for near in zeros:
        t = x.minus(near.zero)
        value = where(abs(t) < near.reach, t * t.polynomial(near.coefficients), value)
    return value


# ---- gamma ---------------------------------------------------------------------------------------


@computes("aten.lgamma.default", differs=BELOW_SERIES)
def _lgamma(x: Number) -> Number:
    negative = x < 0
    z = where(negative, 1 - x, x)
    logarithm = z.log()
    # below 1.5 from the next argument; the factors of the zeros at 1 and 2 are exact
    early = z < 1.5
    factor = where(early, z, z - 2) * (z - 1)
    near = factor * where(early, z + 1, z).fit(fits.LGAMMA_UNIT)
    near = where(early, near - logarithm, near)
    # Stirling's series: the products grow to infinity before they can cancel
    inverse = 1 / z
    far = (z - 0.5) * (logarithm - 1) + 0.5 * math.log(2 * math.pi) - 0.5
    far = far + inverse * (inverse * inverse).fit(fits.LGAMMA_TAIL)
    positive = where(z < 3, near, far)
    # Gamma(x) Gamma(1 - x) = pi / sin(pi x); the product below would round the smallest r
    r = abs(x - x.rounded())
    sine_log = r.log() + (r * r).fit(fits.SIN_PI).log()
    reflected = math.log(math.pi) - sine_log - positive
    reflected = where(r > 0, reflected, math.inf)
    return with_zeros(where(negative, reflected, positive), x, fits.LGAMMA_ZEROS)


@computes("aten.digamma.default", differs=BELOW_SERIES)
def _digamma(x: Number) -> Number:
    negative = x < 0
    z = where(negative, 1 - x, x)
    inverse = 1 / z
    early = z < 1
    y = where(early, z + 1, z)
    near = y.minus(fits.DIGAMMA_ZERO) * y.fit(fits.DIGAMMA_UNIT)
    near = where(early, near - inverse, near)
    square = inverse * inverse
    far = z.log() - 0.5 * inverse - square * square.fit(fits.DIGAMMA_TAIL)
    positive = where(z < 2, near, far)
    # psi(1 - x) - psi(x) = pi cot(pi x); there is no limit at the poles
    r = x - x.rounded()
    sine = sine_of_turns(r)
    cotangent = sine_of_turns(0.5 - abs(r)) / sine
    reflected = where(abs(sine) > 0, positive - math.pi * cotangent, math.nan)
    return with_zeros(where(negative, reflected, positive), x, fits.DIGAMMA_ZEROS)


# ---- error functions -----------------------------------------------------------------------------


@computes("aten.erfinv.default")
def _erfinv(x: Number) -> Number:
    # of w = -ln(1 - x^2), the tail of its root: both are nearly straight lines
    w = -((1 - x) * (x + 1)).log()
    tail = w.sqrt().fit(fits.ERFINV_TAIL)
    tail = where(x < 0, -tail, tail)
    inside = where(w < 5, x * w.fit(fits.ERFINV_MIDDLE), tail)
    return where(abs(x).equals(1), x * math.inf, inside)


@computes("aten.special_ndtri.default")
def _ndtri(p: Number) -> Number:
    centred = p - 0.5
    middle = centred * (centred * centred).fit(fits.NDTRI_MIDDLE)
    # 1 - p is exact in the upper half
    below = p < 0.5
    root = (-2 * where(below, p, 1 - p).log()).sqrt()
    tail = root * (1 / root).fit(fits.NDTRI_TAIL)
    return where(abs(centred) < 0.375, middle, where(below, -tail, tail))


@computes("aten.special_erfcx.default")
def _erfcx(x: Number) -> Number:
    t = 1 / (0.5 * abs(x) + 1)
    right = t * t.fit(fits.ERFCX)
    return where(x < 0, 2 * (x * x).exp() - right, right)


# ---- the normal distribution ---------------------------------------------------------------------

# PyTorch's tanh form is x sigmoid(2 sqrt(2/pi) (x + 0.044715 x^3)).
_TANH_SCALE = 2 * math.sqrt(2 / math.pi)
_TANH_LOGIT = OddFit(math.inf, (_TANH_SCALE, 0.044715 * _TANH_SCALE))


DIFFERENCES["aten.gelu in bfloat16"] = (
    "has a relative error of up to 3e-3 at negative arguments, besides the rounding to bfloat16, "
    "and an absolute one of 3e-9 below x = -5, where it falls to 0 sooner"
)
DIFFERENCES["aten.gelu in float16"] = (
    "has a relative error of up to 9e-5 at negative arguments, besides the rounding to float16, "
    "and an absolute one of 2e-8 below x = -4.7; PyTorch's own loses all digits there"
)
DIFFERENCES["aten.gelu in float32"] = (
    "has a relative error of up to 4e-5 at negative arguments, and an absolute one of 8e-11 below "
    "x = -4.9; PyTorch's own loses all digits there"
)


@lowers("aten.gelu.default")
def _gelu(low: Lowerer, node: Node) -> Any:
    x = Number(low, low.tile(low.as_kind(low.operand(node.args[0]), F32)))
    if node.kwargs.get("approximate", "none") == "tanh":
        fit = _TANH_LOGIT
    elif not (dtypes := short_outputs(low, node)):
        low.refine_note("in float32")
        fit = fits.NORMAL_LOGIT_FLOAT32
    elif "float16" in dtypes:
        low.refine_note("in float16")
        fit = fits.NORMAL_LOGIT_FLOAT16
    else:
        low.refine_note("in bfloat16")
        fit = fits.NORMAL_LOGIT_BFLOAT16
    # x sigmoid(logit); e^-logit overflows to inf, which gives the right 0
    return (x / (x.odd_fit(fit, -1.0).exp() + 1)).value


# Beyond, (x + k)^-s leaves float32 for arguments that matter.
MAX_ORDER = 8
# Terms of the sum before the series, and Bernoulli numbers B2, B4, ... of the series.
_TERMS = 8
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30)


def _power(base: Number, exponent: int) -> Number:
    result = base
    for _ in range(exponent - 1):
        result = result * base
    return result


def zeta(s: int, x: Number) -> Number:
    """The Hurwitz zeta function of an order from 2 on, for ``x`` from 0 on."""
    total = _power(1 / x, s)
    for k in range(1, _TERMS):
        total = total + _power(1 / (x + float(k)), s)
    inverse = 1 / (x + float(_TERMS))
    square = inverse * inverse
    series, rising = [1 / (s - 1)], float(s)
    for j, bernoulli in enumerate(_BERNOULLI, 1):
        series.append(bernoulli / math.factorial(2 * j) * rising)
        rising *= (s + 2 * j - 1) * (s + 2 * j)
    rest = square.polynomial(tuple(series)) + inverse * 0.5
    return total + _power(inverse, s - 1) * rest


def cotangent_derivative(n: int) -> tuple[float, ...]:
    """Return the coefficients of the polynomial in c = cot(t) for d^n c / dt^n."""
    poly = [0.0, 1.0]
    for _ in range(n):
        slope = [k * a for k, a in enumerate(poly)][1:]
        poly = [0.0] * (len(slope) + 2)
        for k, a in enumerate(slope):
            poly[k] -= a
            poly[k + 2] -= a
    return tuple(poly)


@lowers("aten.polygamma.default", differs=f"{NEAR_ZEROS}; {AT_POLES}")
def _polygamma(low: Lowerer, node: Node) -> Any:
    n: Any = node.args[0]
    if type(n) is not int or not 1 <= n <= MAX_ORDER:
        raise OpgenError(low.unsupported(node, f"an order other than a literal 0 to {MAX_ORDER}"))
    x = Number(low, low.tile(low.as_kind(low.operand(node.args[1]), F32)))
    negative = x < 0
    sign = (-1.0) ** (n + 1)
    positive = sign * math.factorial(n) * zeta(n + 1, where(negative, 1 - x, x) + 0.0)
    # psi_n(1 - x) + (-1)^(n + 1) psi_n(x) = (-1)^n pi d^n cot(pi x) / dx^n
    r = x - x.rounded()
    sine = sine_of_turns(r)
    cotangent = sine_of_turns(0.5 - abs(r)) / sine
    slope = cotangent.polynomial(cotangent_derivative(n))
    reflected = -(math.pi ** (n + 1)) * slope - sign * positive
    # like PyTorch's: an infinity at the poles; psi_1(-inf) and psi_n(inf) are no numbers
    reflected = where(abs(sine) > 0, reflected, sign * math.inf)
    if n == 1:
        return where(negative, reflected + 0.0 * x, positive).value
    return where(negative, reflected, positive + 0.0 * x).value

"""Lowerings of the gamma and error functions, the normal distribution and their relatives.

Each is a formula for pieces of the line with a fit on every piece (``special_fits``: within 3e-7 of
the exact function, but for those of 16-bit outputs). All pieces are computed and one is selected,
so a piece may give anything outside its own interval.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.schedule import special_fits as fits
from msopgen_wrap.schedule.calls import DIFFERENCES
from msopgen_wrap.schedule.formulas import Number, OddFit, where
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.mathematics import block
from msopgen_wrap.schedule.precision import is_rounded_to_16_bits
from msopgen_wrap.schedule.program import F32
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
Formula = Callable[[Number], Number]

NEAR_ZEROS = (
    "loses relative accuracy next to its zeros at negative arguments: two terms of opposite sign "
    "are subtracted there"
)


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


# ---- gamma ---------------------------------------------------------------------------------------


@computes("aten.lgamma.default", differs=NEAR_ZEROS)
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
    return where(negative, reflected, positive)


@computes("aten.digamma.default", differs=NEAR_ZEROS)
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
    return where(negative, reflected, positive)


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


DIFFERENCES["aten.gelu in 16 bits"] = (
    "has an absolute error of up to 3e-8, and no relative accuracy, below x = -4.7, which only "
    "a bfloat16 output could show; PyTorch's own loses it there as well"
)


@lowers("aten.gelu.default")
def _gelu(low: Lowerer, node: Node) -> Any:
    x = Number(low, low.tile(low.as_kind(low.operand(node.args[0]), F32)))
    if node.kwargs.get("approximate", "none") == "tanh":
        fit = _TANH_LOGIT
    elif is_rounded_to_16_bits(low, node):
        low.refine_note("in 16 bits")
        fit = fits.NORMAL_LOGIT
    else:
        # 0.5 x erfc(-x / sqrt 2): erfc keeps its relative accuracy where 1 + erf would cancel.
        tail = Number(low, block(low, "Erfc", (x * -math.sqrt(0.5)).value))
        return (x * 0.5 * tail).value
    # x sigmoid(logit); e^-logit overflows to inf, which gives the right 0
    return (x / (x.odd_fit(fit, -1.0).exp() + 1)).value

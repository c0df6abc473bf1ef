"""Lowering of the polygamma functions of a literal order: the derivatives of digamma.

psi_n(x) = (-1)^(n + 1) n! zeta(n + 1, x), and zeta(s, x) is the sum of (x + k)^-s over all k: its
first terms, and the Euler-Maclaurin series of the rest. Negative arguments are reflected.
"""

from __future__ import annotations

import math
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.schedule.formulas import Number, where
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.program import F32
from msopgen_wrap.schedule.special_functions import NEAR_ZEROS, sine_of_turns
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

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


@lowers("aten.polygamma.default", differs=NEAR_ZEROS)
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

#!/usr/bin/env python3
"""Fit the polynomials of special functions and write ``msopgen_wrap/schedule/special_fits.py``.

Every fit interpolates a smooth function at Chebyshev nodes in 40 digits (mpmath) and is stored as
powers of u in [-1, 1], where float32 evaluates it without losing digits. The formulas that use the
fits are in ``special_functions.py`` and ``bessel_functions.py`` beside the table.

    python scripts/special_fits.py            write the table
    python scripts/special_fits.py --check    print the largest relative error of every fit
"""

from __future__ import annotations

import argparse
import math
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import mpmath
import numpy as np
from mpmath import mp, mpf

TARGET = Path(__file__).resolve().parent.parent / "msopgen_wrap" / "schedule" / "special_fits.py"
mp.dps = 40
PI = mp.pi

# Zeros that formulas divide out.
DIGAMMA_ZERO = mpmath.findroot(mpmath.digamma, 1.46)
J0_ZERO = mpmath.besseljzero(0, 1)
Y0_ZERO = mpmath.besselyzero(0, 1)
Y1_ZERO = mpmath.besselyzero(1, 1)


def _off(value: Any, *points: Any) -> Any:
    """Move an argument off a removable singularity."""
    for point in points:
        if abs(value - point) < mpf(10) ** -12:
            return point + mpf(10) ** -12
    return value


def _lgamma_unit(y: Any) -> Any:
    y = _off(y, 1, 2)
    return mpmath.loggamma(y) / ((y - 1) * (y - 2))


def _log_abs_gamma(x: Any) -> Any:
    return mpmath.log(abs(mpmath.gamma(x)))


def _lgamma_tail(t: Any) -> Any:
    x = 1 / mpmath.sqrt(_off(t, 0))
    if x > 10**4:
        return mpf(1) / 12 - t / 360
    return (mpmath.loggamma(x) - (x - 0.5) * mpmath.log(x) + x - mpmath.log(2 * PI) / 2) * x


def _digamma_unit(x: Any) -> Any:
    x = _off(x, DIGAMMA_ZERO)
    return mpmath.digamma(x) / (x - DIGAMMA_ZERO)


def _digamma_tail(t: Any) -> Any:
    x = 1 / mpmath.sqrt(_off(t, 0))
    if x > 10**4:
        return mpf(1) / 12 - t / 120
    return (mpmath.log(x) - 1 / (2 * x) - mpmath.digamma(x)) * x * x


def _sin_pi(t: Any) -> Any:
    r = mpmath.sqrt(_off(t, 0))
    return mpmath.sin(PI * r) / r


def _erfinv_middle(w: Any) -> Any:
    x = mpmath.sqrt(1 - mpmath.exp(-_off(w, 0)))
    return mpmath.erfinv(x) / x


def _erfinv_tail(s: Any) -> Any:
    return -_normal_quantile((1 - mpmath.sqrt(1 - mpmath.exp(-s * s))) / 2) / mpmath.sqrt(2)


def _normal_quantile(p: Any) -> Any:
    """Return the x of P(X < x) = p, for p below 1/2."""
    start = -mpmath.sqrt(-2 * mpmath.log(p))

    def difference(x: Any) -> Any:
        return mpmath.log(mpmath.erfc(-x / mpmath.sqrt(2)) / 2) - mpmath.log(p)

    return mpmath.findroot(difference, (start, start * 0.9))


def _ndtri_middle(t: Any) -> Any:
    c = mpmath.sqrt(_off(t, 0))
    return -_normal_quantile(mpf(1) / 2 - c) / c


def _ndtri_tail(v: Any) -> Any:
    s = 1 / v
    return -_normal_quantile(mpmath.exp(-s * s / 2)) / s


def _normal_logit(x: Any) -> Any:
    """Return ln(P / (1 - P)) of P = P(X < x): an odd function, whose sigmoid is P."""
    return mpmath.log(mpmath.ncdf(x) / mpmath.ncdf(-x))


def _erfcx(t: Any) -> Any:
    t = _off(t, 0)
    x = 2 * (1 / t - 1)
    if x > 1000:
        return (1 - 1 / (2 * x * x)) / (x * mpmath.sqrt(PI)) / t
    return mpmath.exp(x * x) * mpmath.erfc(x) / t


def _i0_low(x: Any) -> Any:
    return mpmath.exp(-x) * mpmath.besseli(0, x)


def _i1_low(x: Any) -> Any:
    x = _off(x, 0)
    return mpmath.exp(-x) * mpmath.besseli(1, x) / x


def _i_high(order: int) -> Callable[[Any], Any]:
    def function(v: Any) -> Any:
        x = 1 / _off(v, 0)
        if x > 10**4:
            m = 4 * order * order
            first, second = mpf(m - 1) / 8, mpf((m - 1) * (m - 9)) / 128
            return (1 - first * v + second * v * v) / mpmath.sqrt(2 * PI)
        return mpmath.exp(-x) * mpmath.besseli(order, x) * mpmath.sqrt(x)

    return function


def _i0_power(t: Any) -> Any:
    return mpmath.besseli(0, mpmath.sqrt(t))


def _i1_power(t: Any) -> Any:
    x = mpmath.sqrt(_off(t, 0))
    return mpmath.besseli(1, x) / x


def _k0_low(t: Any) -> Any:
    x = mpmath.sqrt(_off(t, 0))
    return -(mpmath.besselk(0, x) + mpmath.log(x / 2) * mpmath.besseli(0, x))


def _k1_low(t: Any) -> Any:
    x = mpmath.sqrt(_off(t, 0))
    return (mpmath.besselk(1, x) - mpmath.log(x / 2) * mpmath.besseli(1, x)) * x


def _k_high(order: int) -> Callable[[Any], Any]:
    def function(v: Any) -> Any:
        x = 1 / _off(v, 0)
        if x > 10**4:
            m = 4 * order * order
            first, second = mpf(m - 1) / 8, mpf((m - 1) * (m - 9)) / 128
            return (1 + first * v + second * v * v) * mpmath.sqrt(PI / 2)
        return mpmath.exp(x) * mpmath.besselk(order, x) * mpmath.sqrt(x)

    return function


def _j0_low(t: Any) -> Any:
    x = _off(mpmath.sqrt(t), J0_ZERO)
    return mpmath.besselj(0, x) / (J0_ZERO**2 - x * x)


def _j1_low(t: Any) -> Any:
    x = mpmath.sqrt(_off(t, 0))
    return mpmath.besselj(1, x) / x


def _y0_low(t: Any) -> Any:
    x = _off(mpmath.sqrt(_off(t, 0)), Y0_ZERO)
    rest = mpmath.bessely(0, x) - 2 / PI * mpmath.log(x / Y0_ZERO) * mpmath.besselj(0, x)
    return rest / (x * x - Y0_ZERO**2)


def _y1_low(t: Any) -> Any:
    x = _off(mpmath.sqrt(_off(t, 0)), Y1_ZERO)
    rest = mpmath.bessely(1, x) - 2 / PI * mpmath.log(x / Y1_ZERO) * mpmath.besselj(1, x)
    return rest * x / (x * x - Y1_ZERO**2)


def _modulus(order: int) -> Callable[[Any], Any]:
    def function(t: Any) -> Any:
        x = 1 / mpmath.sqrt(max(t, mpf(10) ** -8))
        j, y = mpmath.besselj(order, x), mpmath.bessely(order, x)
        return mpmath.sqrt((j * j + y * y) * x)

    return function


def _phase(order: int) -> Callable[[Any], Any]:
    """Return x times the angle by which the oscillation leads its limit."""

    def function(t: Any) -> Any:
        x = 1 / mpmath.sqrt(max(t, mpf(10) ** -8))
        angle = x - (2 * order + 1) * PI / 4
        j, y = mpmath.besselj(order, x), mpmath.bessely(order, x)
        lead = mpmath.atan2(y, j) - angle
        return (lead - 2 * PI * mpmath.nint(lead / (2 * PI))) * x

    return function


# name -> function, interval, degree
FITS: dict[str, tuple[Callable[[Any], Any], float, float, int]] = {
    "LGAMMA_UNIT": (_lgamma_unit, 1, 3, 12),
    "LGAMMA_TAIL": (_lgamma_tail, 0, 1 / 9, 4),
    "DIGAMMA_UNIT": (_digamma_unit, 1, 2, 9),
    "DIGAMMA_TAIL": (_digamma_tail, 0, 0.25, 6),
    "SIN_PI": (_sin_pi, 0, 0.3, 6),
    "ERFINV_MIDDLE": (_erfinv_middle, 0, 5, 8),
    "ERFINV_TAIL": (_erfinv_tail, 2.2, 4.2, 7),
    "NDTRI_MIDDLE": (_ndtri_middle, 0, 0.140625, 9),
    "NDTRI_TAIL": (_ndtri_tail, 0.068, 0.491, 10),
    "ERFCX": (_erfcx, 0, 1, 12),
    "I0_LOW": (_i0_low, 0, 8, 16),
    "I0_HIGH": (_i_high(0), 0, 0.125, 5),
    "I1_LOW": (_i1_low, 0, 8, 16),
    "I1_HIGH": (_i_high(1), 0, 0.125, 5),
    "I0_POWER": (_i0_power, 0, 4, 6),
    "I1_POWER": (_i1_power, 0, 4, 6),
    "K0_LOW": (_k0_low, 0, 4, 6),
    "K0_HIGH": (_k_high(0), 0, 0.5, 9),
    "K1_LOW": (_k1_low, 0, 4, 6),
    "K1_HIGH": (_k_high(1), 0, 0.5, 9),
    "J0_LOW": (_j0_low, 0, 9, 6),
    "J1_LOW": (_j1_low, 0, 9, 7),
    "Y0_LOW": (_y0_low, 0, 9, 7),
    "Y1_LOW": (_y1_low, 0, 9, 7),
    "MODULUS0": (_modulus(0), 0, 1 / 9, 7),
    "MODULUS1": (_modulus(1), 0, 1 / 9, 7),
    "PHASE0": (_phase(0), 0, 1 / 9, 8),
    "PHASE1": (_phase(1), 0, 1 / 9, 8),
}
# name -> odd function, end of the interval around 0, degree, where the square is cut off
ODD_FITS: dict[str, tuple[Callable[[Any], Any], float, int, float]] = {
    # With what rounding adds, each value is within the mean relative error that the accuracy rule
    # allows. Without a cut: the last coefficient is positive, so that the tail falls to 0 beyond
    # the fit.
    "NORMAL_LOGIT_BFLOAT16": (_normal_logit, 5.0, 7, math.inf),
    "NORMAL_LOGIT_FLOAT16": (_normal_logit, 4.7, 13, math.inf),
    "NORMAL_LOGIT_FLOAT32": (_normal_logit, 5.8, 17, math.inf),
}
ZEROS = {
    "DIGAMMA_ZERO": DIGAMMA_ZERO,
    "J0_ZERO": J0_ZERO,
    "Y0_ZERO": Y0_ZERO,
    "Y1_ZERO": Y1_ZERO,
}

# name -> function and the zeros at negative arguments next to which it is a short series
NEGATIVE_ZEROS: dict[str, tuple[Callable[[Any], Any], tuple[float, ...]]] = {
    "LGAMMA_ZEROS": (_log_abs_gamma, (-2.46, -2.75, -3.144, -3.955)),
    "DIGAMMA_ZEROS": (mpmath.digamma, (-0.5, -1.57, -2.61, -3.635)),
}
# A series takes over where the function is smaller: elsewhere float32's rounding errors of the
# terms that cancel are small beside it.
SMALL = mpf(2) ** -9
SERIES_TERMS = 3


def fit(function: Callable[[Any], Any], low: Any, high: Any, degree: int) -> list[Any]:
    """Return the powers of u of the interpolant at Chebyshev nodes, u in [-1, 1]."""
    count = degree + 1
    angles = [PI * (2 * k + 1) / (2 * count) for k in range(count)]
    centre, half = (mpf(low) + mpf(high)) / 2, (mpf(high) - mpf(low)) / 2
    values = [function(centre + half * mpmath.cos(a)) for a in angles]
    series = []
    for order in range(count):
        total = mpmath.fsum(v * mpmath.cos(order * a) for v, a in zip(values, angles, strict=True))
        series.append(total * (1 if order == 0 else 2) / count)
    before, now = [mpf(1)], [mpf(0), mpf(1)]
    powers = [mpf(0)] * count
    for value in series:
        for k, c in enumerate(before):
            powers[k] += value * c
        doubled = [mpf(0), *(2 * c for c in now)]
        following = [c - (before[k] if k < len(before) else 0) for k, c in enumerate(doubled)]
        before, now = now, following
    return powers


def odd_fit(function: Callable[[Any], Any], end: Any, degree: int) -> list[Any]:
    """Return the powers of x^2 by which x is multiplied, for x in [-end, end]."""
    powers = fit(function, -end, end, degree)
    return [powers[k] / mpf(end) ** k for k in range(1, degree + 1, 2)]


def series(function: Callable[[Any], Any], guess: float) -> tuple[Any, Any, list[Any]]:
    """Return a zero, how far the series around it holds, and its coefficients from x^1 on."""
    zero = mpmath.findroot(function, guess)
    terms = mpmath.taylor(function, zero, SERIES_TERMS)[1:]
    return zero, SMALL / abs(terms[0]), terms


def series_error(function: Callable[[Any], Any], guess: float) -> Any:
    """Return the largest relative error of the series around a zero, where it is used."""
    zero, reach, terms = series(function, guess)
    places = [reach * k / 16 for k in range(-16, 17) if k]
    return max(abs(mpmath.polyval([*terms[::-1], 0], t) / function(zero + t) - 1) for t in places)


def errors(
    function: Callable[[Any], Any], low: Any, high: Any, powers: list[Any]
) -> tuple[Any, Any]:
    """Return the largest relative errors of the fit and of its evaluation in float32."""
    centre, half = (mpf(low) + mpf(high)) / 2, (mpf(high) - mpf(low)) / 2
    points = np.linspace(-1, 1, 97).astype(np.float32)
    exact = [function(centre + half * mpf(float(u))) for u in points]
    own = [mpmath.polyval(powers[::-1], mpf(float(u))) for u in points]
    result = np.zeros_like(points)
    for c in powers[::-1]:
        result = result * points + np.float32(float(c))
    worst = max(abs(a / b - 1) for a, b in zip(own, exact, strict=True))
    rounded = max(abs(mpf(float(a)) / b - 1) for a, b in zip(result, exact, strict=True))
    return worst, rounded


def table() -> str:
    """Return the text of the module of fits."""
    lines = [
        '"""Polynomials of special functions, written by ``scripts/special_fits.py``."""',
        "",
        "from __future__ import annotations",
        "",
        "import math",
        "",
        "from msopgen_wrap.schedule.formulas import Fit, OddFit, SplitNumber, ZeroSeries",
        "",
        "# fmt: off",
    ]
    for name, value in ZEROS.items():
        lines.append(f"{name} = {_split(value)}")
    for name, (function, guesses) in NEGATIVE_ZEROS.items():
        lines += ["", f"{name} = ("]
        for guess in guesses:
            zero, reach, terms = series(function, guess)
            numbers = ", ".join(f"{float(t):.9g}" for t in terms)
            lines.append("    ZeroSeries(")
            lines.append(f"        {_split(zero)}, {float(reach):.3g}, ({numbers}),")
            lines.append("    ),")
        lines.append(")")
    for name, (function, low, high, degree) in FITS.items():
        powers = fit(function, low, high, degree)
        lines += ["", f"{name} = Fit(", f"    {float(low)!r},", f"    {float(high)!r},", "    ("]
        lines += [*_numbers(powers), "    ),", ")"]
    for name, (function, end, degree, cut) in ODD_FITS.items():
        lines += ["", f"{name} = OddFit(", f"    {_cut(cut)},", "    ("]
        lines += [*_numbers(odd_fit(function, end, degree)), "    ),", ")"]
    return "\n".join(lines) + "\n"


def _split(value: Any) -> str:
    high = np.float32(float(value))
    return f"SplitNumber({high!s}, {np.float32(float(value - mpf(float(high))))!s})"


def _cut(cut: float) -> str:
    return repr(float(cut)) if math.isfinite(cut) else "math.inf"


def _numbers(powers: list[Any]) -> list[str]:
    numbers = ", ".join(f"{float(np.float32(float(c))):.9g}" for c in powers)
    return textwrap.wrap(numbers, 92, initial_indent=" " * 8, subsequent_indent=" " * 8)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--check", action="store_true", help="print errors instead of writing")
    options = parser.parse_args()
    if not options.check:
        TARGET.write_text(table(), encoding="utf-8")
        return 0
    for name, (function, low, high, degree) in FITS.items():
        worst, rounded = errors(function, low, high, fit(function, low, high, degree))
        print(f"{name:16} degree {degree:2}: {float(worst):.1e}, in float32 {float(rounded):.1e}")
    for name, (function, guesses) in NEGATIVE_ZEROS.items():
        worst = max(series_error(function, guess) for guess in guesses)
        print(f"{name:16} {SERIES_TERMS} terms:  {float(worst):.1e}")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())

"""Lowerings of Bessel functions, from the fits of ``special_fits`` (see ``special_functions``).

J and Y beyond 3 are modulus times sine: the angle is reduced with pi in four parts before the phase
is added, so that the result keeps its relative accuracy next to zeros. Below 3 zeros are factors.
"""

from __future__ import annotations

import math

from msopgen_wrap.schedule import special_fits as fits
from msopgen_wrap.schedule.formulas import Fit, Number, SplitNumber, where
from msopgen_wrap.schedule.mathematics import LARGE_ANGLE, block
from msopgen_wrap.schedule.special_functions import computes, sine_of_turns

# The first three are short enough for exact products with integers up to 2^15.
_PI_PARTS = (3.140625, 0.0009675025939941406, 1.5099067240953445e-07, 5.126688136514179e-12)
_LOW_END = 3.0


def _wave(x: Number, turns: float, modulus: Fit, phase: Fit) -> Number:
    """modulus / sqrt(x) sin(x + turns pi + phase / x), for x of at least 3."""
    inverse = 1 / x
    square = inverse * inverse
    number = (x * (1 / math.pi) + turns).rounded()
    # parity as a factor 1 or -1
    odd = number - 2 * (0.5 * number).rounded("FLOOR")
    angle = x
    for part in _PI_PARTS:
        angle = angle - part * number + turns * part
    # far from the origin the rest is no longer exact, but the wave stays within its bounds
    angle = angle.at_most(math.pi / 2).at_least(-math.pi / 2) + inverse * square.fit(phase)
    wave = sine_of_turns(angle * (1 / math.pi)) * (1 - 2 * odd)
    return wave * square.fit(modulus) / x.sqrt()


def _factor(x: Number, zero: SplitNumber) -> Number:
    """x^2 - zero^2 with relative accuracy next to the zero."""
    return x.minus(zero) * (x + zero.high)


def _j0_low(x: Number) -> Number:
    return -_factor(x, fits.J0_ZERO) * (x * x).fit(fits.J0_LOW)


def _j1_low(x: Number) -> Number:
    return x * (x * x).fit(fits.J1_LOW)


def _log_ratio(x: Number, zero: SplitNumber) -> Number:
    """ln(x / zero) with relative accuracy next to the zero."""
    step = x.minus(zero) * (1 / zero.high)
    near = Number(x.low, block(x.low, "Log1p", step.value))
    return where(abs(step) < 0.5, near, x.log() - math.log(zero.high))


@computes("aten.special_bessel_j0.default", differs=LARGE_ANGLE)
def _j0(x: Number) -> Number:
    size = abs(x)
    high = _wave(size, 0.25, fits.MODULUS0, fits.PHASE0)
    return where(size < _LOW_END, _j0_low(size), high)


@computes("aten.special_bessel_j1.default", differs=LARGE_ANGLE)
def _j1(x: Number) -> Number:
    size = abs(x)
    high = _wave(size, -0.25, fits.MODULUS1, fits.PHASE1)
    return where(size < _LOW_END, _j1_low(x), where(x < 0, -high, high))


@computes("aten.special_bessel_y0.default", differs=LARGE_ANGLE)
def _y0(x: Number) -> Number:
    logarithm = (2 / math.pi) * _log_ratio(x, fits.Y0_ZERO) * _j0_low(x)
    low = logarithm + _factor(x, fits.Y0_ZERO) * (x * x).fit(fits.Y0_LOW)
    # negative arguments have no value: the logarithm gives NaN
    return where(x < _LOW_END, low, _wave(x, -0.25, fits.MODULUS0, fits.PHASE0))


@computes("aten.special_bessel_y1.default", differs=LARGE_ANGLE)
def _y1(x: Number) -> Number:
    logarithm = (2 / math.pi) * _log_ratio(x, fits.Y1_ZERO) * _j1_low(x)
    low = logarithm + _factor(x, fits.Y1_ZERO) * (x * x).fit(fits.Y1_LOW) / x
    # 0 times the logarithm is NaN there
    low = where(x.equals(0), -math.inf, low)
    return where(x < _LOW_END, low, _wave(x, -0.75, fits.MODULUS1, fits.PHASE1))


@computes("aten.special_spherical_bessel_j0.default", differs=LARGE_ANGLE)
def _spherical_j0(x: Number) -> Number:
    ratio = Number(x.low, block(x.low, "Sin", x.value)) / x
    size = abs(x)
    return where(size.equals(0), 1, where(size.equals(math.inf), 0, ratio))


# ---- modified ------------------------------------------------------------------------------------


def _scaled_i0(size: Number) -> Number:
    high = (1 / size).fit(fits.I0_HIGH) / size.sqrt()
    return where(size < 8, size.fit(fits.I0_LOW), high)


def _scaled_i1(size: Number) -> Number:
    high = (1 / size).fit(fits.I1_HIGH) / size.sqrt()
    return where(size < 8, size * size.fit(fits.I1_LOW), high)


def _unscaled(scaled: Number, size: Number) -> Number:
    """Times e^size, in two steps, as that overflows before the result does."""
    root = (0.5 * size).exp()
    return scaled * root * root


@computes("aten.special_i0e.default")
def _i0e(x: Number) -> Number:
    return _scaled_i0(abs(x))


@computes("aten.i0.default", "aten.special_modified_bessel_i0.default")
def _i0(x: Number) -> Number:
    size = abs(x)
    return _unscaled(_scaled_i0(size), size)


@computes("aten.special_i1e.default")
def _i1e(x: Number) -> Number:
    scaled = _scaled_i1(abs(x))
    return where(x < 0, -scaled, scaled)


@computes("aten.special_i1.default", "aten.special_modified_bessel_i1.default")
def _i1(x: Number) -> Number:
    size = abs(x)
    result = _unscaled(_scaled_i1(size), size)
    return where(x < 0, -result, result)


def _k0_low(x: Number) -> Number:
    square = x * x
    return -((x.log() - math.log(2)) * square.fit(fits.I0_POWER) + square.fit(fits.K0_LOW))


def _k1_low(x: Number) -> Number:
    square = x * x
    logarithm = x.log() - math.log(2)
    low = logarithm * (x * square.fit(fits.I1_POWER)) + square.fit(fits.K1_LOW) / x
    # 0 times the logarithm is NaN there
    return where(x.equals(0), math.inf, low)


def _k_high(x: Number, fit: Fit) -> Number:
    """e^x K(x), for x of at least 2."""
    return (1 / x).fit(fit) / x.sqrt()


# Negative arguments have no value: the logarithm gives NaN.


@computes("aten.special_modified_bessel_k0.default")
def _k0(x: Number) -> Number:
    return where(x < 2, _k0_low(x), (-x).exp() * _k_high(x, fits.K0_HIGH))


@computes("aten.special_modified_bessel_k1.default")
def _k1(x: Number) -> Number:
    return where(x < 2, _k1_low(x), (-x).exp() * _k_high(x, fits.K1_HIGH))


@computes("aten.special_scaled_modified_bessel_k0.default")
def _scaled_k0(x: Number) -> Number:
    return where(x < 2, _k0_low(x) * x.exp(), _k_high(x, fits.K0_HIGH))


@computes("aten.special_scaled_modified_bessel_k1.default")
def _scaled_k1(x: Number) -> Number:
    return where(x < 2, _k1_low(x) * x.exp(), _k_high(x, fits.K1_HIGH))

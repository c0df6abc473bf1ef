"""The committed fits of special functions are those that the script derives, and close enough."""

from __future__ import annotations

import math

import numpy as np
import special_fits as fits

from msopgen_wrap.schedule import special_fits as table

# Half of float32's spacing is 6e-8: fits add little to what rounding costs.
BOUND = 3e-7


def test_the_committed_table_is_derived() -> None:
    assert fits.TARGET.read_text(encoding="utf-8") == fits.table()


def test_gelu_of_every_half_is_within_one_unit() -> None:
    """The logit of the normal distribution, as the kernel evaluates it in float32."""
    x = np.arange(0x7C00, dtype=np.uint16).view(np.float16).astype(np.float32)
    for sign in (np.float32(1), np.float32(-1)):
        square = np.minimum(x * x, np.float32(table.NORMAL_LOGIT.cut))
        powers = np.zeros_like(x)
        for c in table.NORMAL_LOGIT.coefficients[::-1]:
            powers = powers * square + np.float32(-c)
        with np.errstate(over="ignore"):
            got = (sign * x / (np.exp(sign * x * powers) + 1)).astype(np.float16)
        double = x.astype(np.float64)
        exact = [sign * v * math.erfc(-sign * v / math.sqrt(2)) / 2 for v in double]
        spacing = np.maximum(np.abs(exact), 2.0**-14) * 2**-10
        assert np.max(np.abs(got - np.array(exact)) / spacing) < 1


def test_fits_are_close() -> None:
    for name, (function, low, high, degree) in fits.FITS.items():
        exact, _ = fits.errors(function, low, high, fits.fit(function, low, high, degree))
        assert exact < BOUND, name

"""The committed fits of special functions are those that the script derives, and close enough."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2] / "scripts"))

import special_fits as fits

# Half of float32's spacing is 6e-8: fits add little to what rounding costs.
BOUND = 3e-7


def test_the_committed_table_is_derived() -> None:
    assert fits.TARGET.read_text(encoding="utf-8") == fits.table()


def test_fits_are_close() -> None:
    for name, (function, low, high, degree) in fits.FITS.items():
        exact, _ = fits.errors(function, low, high, fits.fit(function, low, high, degree))
        assert exact < BOUND, name

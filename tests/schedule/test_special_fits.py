"""The committed fits of special functions are those that the script derives, and close enough."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import Any

import pytest

SCRIPT = Path(__file__).parents[2] / "scripts" / "special_fits.py"
# Half of float32's spacing is 6e-8: fits add little to what rounding costs.
BOUND = 3e-7


@pytest.fixture(scope="module")
def fits() -> Any:
    spec = importlib.util.spec_from_file_location("special_fits", SCRIPT)
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_the_committed_table_is_derived(fits: Any) -> None:
    assert fits.TARGET.read_text(encoding="utf-8") == fits.table()


def test_fits_are_close(fits: Any) -> None:
    for name, (function, low, high, degree) in fits.FITS.items():
        exact, _ = fits.errors(function, low, high, fits.fit(function, low, high, degree))
        assert exact < BOUND, name

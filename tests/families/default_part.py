"""Which parameters of a test the default suite takes; the others are slow tests."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest


def default_part(names: Iterable[Any], default: Iterable[Any]) -> list[Any]:
    """Mark as slow all names but the default ones.

    A default name that is no name of the test is an error: the default suite would lose a test
    without a word when a case is renamed.
    """
    names, default = list(names), list(default)
    assert set(default) <= set(names), sorted(set(default) - set(names))
    return [n if n in default else pytest.param(n, marks=pytest.mark.slow) for n in names]

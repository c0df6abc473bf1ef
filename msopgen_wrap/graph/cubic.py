"""Weights of the cubic convolution that resamples images, as PyTorch has them."""

from __future__ import annotations

from typing import Any

CUBIC = -0.75


def near_weight(d: Any) -> Any:
    """Return the weight of an element at a distance up to 1."""
    return ((CUBIC + 2) * d - (CUBIC + 3)) * d * d + 1


def far_weight(d: Any) -> Any:
    """Return that of an element at a distance from 1 to 2."""
    return ((CUBIC * d - 5 * CUBIC) * d + 8 * CUBIC) * d - 4 * CUBIC


def near_slope(d: Any) -> Any:
    """Return by how much ``near_weight`` grows with the distance."""
    return (3 * (CUBIC + 2) * d - 2 * (CUBIC + 3)) * d


def far_slope(d: Any) -> Any:
    """Return by how much ``far_weight`` grows with the distance."""
    return (3 * CUBIC * d - 10 * CUBIC) * d + 8 * CUBIC

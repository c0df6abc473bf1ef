"""Budgets of kernels that tiling cannot tell apart."""

from __future__ import annotations

from msopgen_wrap.render.tiling import joined_needs


def test_kernels_with_one_key_take_the_largest_needs() -> None:
    """The dtype of an optional input is no part of the key: a call may come without it."""
    rows = [
        {"dtypes": ["F", "H"], "variant": 0, "bytes": [26, [46, 1.5]], "wide": False},
        {"dtypes": ["F", "B"], "variant": 0, "bytes": [20, [40, 1.0]], "wide": False},
        {"dtypes": ["F", "H"], "variant": 0, "bytes": [28, [44, 1.0]], "wide": True},
        {"dtypes": ["F", "H"], "variant": 1, "bytes": [99, [99, 9.0]], "wide": False},
    ]
    first, second, third, fourth = joined_needs(rows)
    assert first == third
    assert first["bytes"] == [28, [46, 1.5]] and first["wide"]
    assert second == rows[1] and fourth == rows[3]

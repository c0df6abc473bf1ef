"""Tiling fields of the numbers that TilingFunc computes for kernels from sizes and attrs."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.host_text import to_cpp
from msopgen_wrap.graph.scalars import describe
from msopgen_wrap.graph.simplification import simplified
from msopgen_wrap.schedule.program import F32, Scalar


def scalar_fields(names: dict[Scalar, str], used: dict[str, Scalar]) -> list[dict[str, Any]]:
    """Return tiling fields for the scalar operands of all kernels."""
    return [
        {
            "type": "float" if scalar.kind == F32 else "int32_t",
            "name": name,
            "count": 0,
            "doc": describe(simplified(scalar.expr)),
        }
        for scalar, name in names.items()
        if name in used
    ]


def scalar_values(names: dict[Scalar, str], used: dict[str, Scalar]) -> list[dict[str, str]]:
    """Return name and host expression of the scalar fields.

    ``whole`` is the 64-bit expression of a field that is 32 bits wide: it may not fit.
    """
    return [
        {
            "name": name,
            "whole": "" if s.kind == F32 else to_cpp(s.expr),
            "doc": describe(simplified(s.expr)).replace("%", "%%"),
            "value": f"static_cast<{'float' if s.kind == F32 else 'int32_t'}>({to_cpp(s.expr)})",
        }
        for s, name in names.items()
        if name in used
    ]

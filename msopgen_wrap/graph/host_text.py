"""Scalar expressions as C++ of the host.

Python's integers have no limit, ``int64_t`` has. Where the range of an integer expression shows
that 64 bits hold it, the C++ is plain arithmetic; else it goes through ``whole``, an
``opgen::WholeNumbers`` that notes what does not fit (``opgen/host/whole_numbers.h``).
"""

from __future__ import annotations

import math

from msopgen_wrap.graph.integer_ranges import INT64, is_checked
from msopgen_wrap.graph.scalars import (
    WHOLE_FUNCTIONS,
    AttrRef,
    Const,
    DimRef,
    Numel,
    ReducedCount,
    ScalarExpr,
    Unary,
    is_integer,
)
from msopgen_wrap.graph.simplification import simplified

_CPP_NAME = {"abs": "fabs", "round": "nearbyint"}
_CHECKED = {"+": "Add", "-": "Sub", "*": "Mul", "//": "FloorDiv", "%": "FloorMod", "**": "Power"}


def attr_variable(name: str) -> str:
    """Return the variable of an attr in TilingFunc: never one that TilingFunc uses itself."""
    return f"{name}Value"


def to_cpp(expr: ScalarExpr) -> str:
    """Format for the host: an ``int64_t`` expression where Python has integers, else a ``double``.

    Attr ``alpha`` is spelled ``alphaValue``, dimension ``axis`` of ``x``
    ``opgen::DimAt(xShape, axis)`` (negative axes count from the end), both provided by the tiling
    template; it declares ``whole`` where an operation ``is_checked``.
    """
    return _text(simplified(expr))


def _text(expr: ScalarExpr) -> str:
    if isinstance(expr, Const):
        if is_checked(expr):
            return f"whole.Of({cpp_number(float(expr.value))})"
        return cpp_number(expr.value)
    if isinstance(expr, AttrRef):
        name = attr_variable(expr.name)
        name = name if expr.index is None else f"{name}[{expr.index}]"
        return name if expr.integer else f"static_cast<double>({name})"
    if isinstance(expr, DimRef):
        return f"opgen::DimAt({expr.tensor}Shape, {expr.from_either_end()})"
    if isinstance(expr, Numel):
        return f"opgen::Numel({expr.tensor}Shape)"
    if isinstance(expr, ReducedCount):
        return "space.reducedCount"
    if isinstance(expr, Unary):
        return _unary_cpp(expr)
    a, b = _text(expr.left), _text(expr.right)
    whole = is_integer(expr.left) and is_integer(expr.right)
    if is_checked(expr):
        return f"whole.{_CHECKED[expr.op]}({a}, {b})"
    if expr.op == "**":
        return f"std::pow(static_cast<double>({a}), static_cast<double>({b}))"
    if expr.op in ("min", "max"):
        return f"std::{expr.op}<{'int64_t' if whole else 'double'}>({a}, {b})"
    if expr.op == "/":
        return f"({_double(expr.left)} / {_double(expr.right)})"
    if expr.op in ("//", "%"):
        function = "FloorDiv" if expr.op == "//" else "FloorMod"
        if whole:
            return f"opgen::{function}({a}, {b})"
        return f"opgen::{function}({_double(expr.left)}, {_double(expr.right)})"
    if not whole:
        a, b = _double(expr.left), _double(expr.right)
    return f"({a} {expr.op} {b})"


def _unary_cpp(expr: Unary) -> str:
    inner = _text(expr.arg)
    if expr.op == "float":
        return _double(expr.arg)
    if is_integer(expr.arg) and expr.op in ("neg", "abs"):
        if is_checked(expr):
            return f"whole.{expr.op.capitalize()}({inner})"
        return f"(-{inner})" if expr.op == "neg" else f"std::max<int64_t>({inner}, -{inner})"
    if expr.op == "neg":
        return f"(-{inner})"
    if expr.op == "int":
        return inner if is_integer(expr.arg) else f"whole.Of({inner})"
    if expr.op in WHOLE_FUNCTIONS and is_integer(expr.arg):
        return inner
    call = f"std::{_CPP_NAME.get(expr.op, expr.op)}({_double(expr.arg)})"
    return f"whole.Of({call})" if expr.op in WHOLE_FUNCTIONS else call


def _double(expr: ScalarExpr) -> str:
    """Format as a double; what is one already stays as it is."""
    if isinstance(expr, Const):
        return cpp_number(float(expr.value))
    text = _text(expr)
    return f"static_cast<double>({text})" if is_integer(expr) else text


def cpp_number(value: float | int | bool) -> str:
    """Format a literal for the host (double precision)."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        if value == INT64[0]:
            return "INT64_MIN"  # its digits are past the range before the sign is there
        return str(value) if abs(value) < 2**31 else f"{value}LL"
    if math.isnan(value):
        return 'std::nan("")'
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)

"""Scalar expressions as C++ of the host.

Python's integers have no limit, ``int64_t`` has. Where the range of an integer expression shows
that 64 bits hold it, the C++ is plain arithmetic; else it goes through ``whole``, an
``opgen::WholeNumbers`` that notes what does not fit (``opgen/host/whole_numbers.h``).
"""

from __future__ import annotations

import itertools
import math

from msopgen_wrap.graph.scalars import (
    WHOLE_FUNCTIONS,
    AttrRef,
    Binary,
    Const,
    DimRef,
    Numel,
    ReducedCount,
    ScalarExpr,
    Unary,
    is_integer,
)

_CPP_NAME = {"abs": "fabs", "round": "nearbyint"}
_CHECKED = {"+": "Add", "-": "Sub", "*": "Mul", "//": "FloorDiv", "%": "FloorMod", "**": "Power"}

Range = tuple[int, int]
_INT64: Range = (-(2**63), 2**63 - 1)
# kMaxElements: a tiling function refuses larger tensors.
_SIZE: Range = (0, (2**63 - 1) // 16)


def attr_variable(name: str) -> str:
    """Return the variable of an attr in TilingFunc: never one that TilingFunc uses itself."""
    return f"{name}Value"


def bounds(expr: ScalarExpr) -> Range:
    """Return the least and the largest value of an integer expression, as far as they are known.

    An operation whose result may leave 64 bits is checked when it runs, so its range ends there.
    """
    low, high = _unlimited(expr)
    return max(low, _INT64[0]), min(high, _INT64[1])


def is_checked(expr: ScalarExpr) -> bool:
    """Whether an integer operation may have no 64-bit result: past the range, or divided by 0."""
    if isinstance(expr, Const):
        return is_integer(expr) and _leaves(_unlimited(expr))
    if isinstance(expr, Unary):
        if is_integer(expr.arg):
            return _leaves(_unlimited(expr))
        return expr.op == "int" or expr.op in WHOLE_FUNCTIONS
    if not isinstance(expr, Binary) or not is_integer(expr):
        return False
    if expr.op in ("//", "%") and bounds(expr.right)[0] <= 0 <= bounds(expr.right)[1]:
        # A size is 0 where a tensor is empty: no element is at the place that a remainder says,
        # which is what formulas want of it (`roll`).
        return expr.op == "//" or not isinstance(expr.right, DimRef)
    return expr.op == "**" or _leaves(_unlimited(expr))


def has_checks(expr: ScalarExpr) -> bool:
    """Whether an operation anywhere in an expression is checked."""
    parts: tuple[ScalarExpr, ...] = ()
    if isinstance(expr, Unary):
        parts = (expr.arg,)
    elif isinstance(expr, Binary):
        parts = (expr.left, expr.right)
    return is_checked(expr) or any(has_checks(part) for part in parts)


def _leaves(limits: Range) -> bool:
    return limits[0] < _INT64[0] or limits[1] > _INT64[1]


def _unlimited(expr: ScalarExpr) -> Range:
    """Return the range of an operation on operands that fit 64 bits."""
    if isinstance(expr, Const):
        return int(expr.value), int(expr.value)
    if isinstance(expr, (DimRef, Numel, ReducedCount)):
        return _SIZE
    if isinstance(expr, AttrRef) or not is_integer(expr):
        return _INT64
    if isinstance(expr, Unary):
        if not is_integer(expr.arg):
            return _INT64
        low, high = bounds(expr.arg)
        if expr.op == "neg":
            return -high, -low
        if expr.op == "abs":
            return max(0, low, -high), max(-low, high)
        return low, high
    return _pair_range(expr.op, bounds(expr.left), bounds(expr.right))


def _pair_range(op: str, left: Range, right: Range) -> Range:
    if op == "+":
        return left[0] + right[0], left[1] + right[1]
    if op == "-":
        return left[0] - right[1], left[1] - right[0]
    if op == "*":
        ends = [a * b for a, b in itertools.product(left, right)]
        return min(ends), max(ends)
    if op in ("min", "max"):
        pick = min if op == "min" else max
        return pick(left[0], right[0]), pick(left[1], right[1])
    if op == "//":
        # The divisors nearest to 0 give the quotients farthest from it.
        divisors = {d for d in (right[0], right[1], -1, 1) if d and right[0] <= d <= right[1]}
        ends = [a // d for a, d in itertools.product(left, divisors)] or [0]
        return min(0, *ends), max(0, *ends)
    if op == "%":
        return min(0, right[0] + 1), max(0, right[1] - 1)
    return _INT64


def to_cpp(expr: ScalarExpr) -> str:
    """Format for the host: an ``int64_t`` expression where Python has integers, else a ``double``.

    Attr ``alpha`` is spelled ``alphaValue``, dimension ``axis`` of ``x``
    ``opgen::DimAt(xShape, axis)`` (negative axes count from the end), both provided by the tiling
    template; it declares ``whole`` where an operation ``is_checked``.
    """
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
    a, b = to_cpp(expr.left), to_cpp(expr.right)
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
    inner = to_cpp(expr.arg)
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
    text = to_cpp(expr)
    return f"static_cast<double>({text})" if is_integer(expr) else text


def cpp_number(value: float | int | bool) -> str:
    """Format a literal for the host (double precision)."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        if value == _INT64[0]:
            return "INT64_MIN"  # its digits are past the range before the sign is there
        return str(value) if abs(value) < 2**31 else f"{value}LL"
    if math.isnan(value):
        return 'std::nan("")'
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)

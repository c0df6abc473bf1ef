"""Scalar expressions as C++ of the host.

Python's integers have no limit, ``int64_t`` has. Where the range of an integer expression shows
that 64 bits hold it, the C++ is plain arithmetic; else it goes through ``whole``, an
``opgen::WholeNumbers`` that notes what does not fit (``opgen/host/whole_numbers.h``).

Before, expressions are written shorter: what decompositions clamp that their ranges rule out. Only
integers: a sum of floats is not regrouped.
"""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

from msopgen_wrap.graph.scalars import (
    NUMBERS_OF_CONDITIONS,
    WHOLE_FUNCTIONS,
    WORDS,
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

Range = tuple[int, int]
INT64: Range = (-(2**63), 2**63 - 1)
# kMaxElements: a tiling function refuses larger tensors.
_SIZE: Range = (0, (2**63 - 1) // 16)


def bounds(expr: ScalarExpr) -> Range:
    """Return the least and the largest value of an integer expression, as far as they are known.

    An operation whose result may leave 64 bits is checked when it runs, so its range ends there.
    """
    low, high = _unlimited(expr)
    return max(low, INT64[0]), min(high, INT64[1])


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
        # which is what formulas want of it (`roll`). A loss of no classes divides no elements by 0.
        if expr.op == "//":
            return not _has_factor(expr.left, expr.right)
        return not isinstance(expr.right, DimRef)
    return expr.op == "**" or _leaves(_unlimited(expr))


def _has_factor(product: ScalarExpr, size: ScalarExpr) -> bool:
    """Whether a product of sizes has a size among its factors: it is 0 where that is."""
    if not isinstance(size, DimRef):
        return False
    if isinstance(product, Binary) and product.op == "*":
        return _has_factor(product.left, size) or _has_factor(product.right, size)
    if isinstance(product, Numel):
        return product.tensor == size.tensor and not product.without
    return isinstance(product, DimRef) and product == size


def has_checks(expr: ScalarExpr) -> bool:
    """Whether an operation anywhere in an expression is checked."""
    parts: tuple[ScalarExpr, ...] = ()
    if isinstance(expr, Unary):
        parts = (expr.arg,)
    elif isinstance(expr, Binary):
        parts = (expr.left, expr.right)
    return is_checked(expr) or any(has_checks(part) for part in parts)


def _leaves(limits: Range) -> bool:
    return limits[0] < INT64[0] or limits[1] > INT64[1]


def _unlimited(expr: ScalarExpr) -> Range:
    """Return the range of an operation on operands that fit 64 bits."""
    if isinstance(expr, Const):
        return int(expr.value), int(expr.value)
    if isinstance(expr, (DimRef, Numel, ReducedCount)):
        return _SIZE
    if isinstance(expr, AttrRef) or not is_integer(expr):
        return INT64
    if isinstance(expr, Unary):
        if expr.op in WORDS:
            return -(2**31), 2**31 - 1
        if not is_integer(expr.arg):
            return INT64
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
    return INT64


def simplified(expr: ScalarExpr) -> ScalarExpr:
    """Return an expression of the same value; what is checked when it runs stays."""
    if isinstance(expr, Unary):
        return replace(expr, arg=simplified(expr.arg))
    if isinstance(expr, DimRef):
        axis = expr.from_either_end()
        return DimRef(expr.tensor, axis, 0, axis)  # whichever rank it was seen in
    if not isinstance(expr, Binary):
        return expr
    short = replace(expr, left=simplified(expr.left), right=simplified(expr.right))
    if not is_integer(short) or has_checks(short):
        return short
    low, high = bounds(short)
    if low == high:
        return Const(low)
    rule = {"+": _sum, "-": _difference, "*": _product, "min": _least, "max": _largest}.get(expr.op)
    return rule(short.left, short.right) if rule else short


def _sum(a: ScalarExpr, b: ScalarExpr) -> ScalarExpr:
    if isinstance(a, Const):
        a, b = b, a
    if isinstance(b, Const) and b.value <= 0:
        return _difference(a, Const(-b.value))
    if isinstance(a, Binary) and a.op == "-" and a.right == b:
        return a.left
    for first, second in ((a, b), (b, a)):
        if isinstance(second, Unary) and second.op == "neg":
            return _difference(first, second.arg)
        if isinstance(second, Binary) and second.op == "*" and second.left == Const(-1):
            return _difference(first, second.right)
    return Binary("+", a, b)


def _difference(a: ScalarExpr, b: ScalarExpr) -> ScalarExpr:
    if a == b:
        return Const(0)
    return a if b == Const(0) else Binary("-", a, b)


def _product(a: ScalarExpr, b: ScalarExpr) -> ScalarExpr:
    if a == Const(1):
        return b
    return a if b == Const(1) else Binary("*", a, b)


def _least(a: ScalarExpr, b: ScalarExpr) -> ScalarExpr:
    if _no_more(a, b):
        return a
    return b if _no_more(b, a) else Binary("min", a, b)


def _largest(a: ScalarExpr, b: ScalarExpr) -> ScalarExpr:
    if _no_more(b, a):
        return a
    return b if _no_more(a, b) else Binary("max", a, b)


def _no_more(a: ScalarExpr, b: ScalarExpr) -> bool:
    """Whether ``a`` is never larger than ``b``."""
    if a == b or bounds(a)[1] <= bounds(b)[0]:
        return True
    if a == Const(0) and isinstance(b, Binary) and b.op == "-":
        return _no_more(b.right, b.left)
    if not isinstance(a, Binary) or bounds(b)[0] < 0:
        return False
    if a.op == "%":
        return a.right == b  # of 0 it is 0
    return a.op == "//" and a.left == b and bounds(a.right)[0] > 0


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
        if expr.without:
            axes = ", ".join(map(str, expr.without))
            return f"opgen::NumelWithout({expr.tensor}Shape, {{{axes}}})"
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
    if expr.op == "if":
        return f"({b} != 0 ? {_double(expr.left)} : 0.0)"
    if expr.op in NUMBERS_OF_CONDITIONS:
        return f"({_double(expr.left)} {expr.op} {_double(expr.right)} ? 1.0 : 0.0)"
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
    if expr.op in WORDS:
        word = inner if WORDS[expr.op] == 0 else f"({inner} >> {WORDS[expr.op]})"
        return f"static_cast<int32_t>(static_cast<uint32_t>({word}))"
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

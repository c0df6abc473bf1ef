"""Ranges of integer expressions of the host, and which of them may leave 64 bits."""

from __future__ import annotations

import itertools

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

"""Scalar expressions written shorter: what decompositions clamp that their ranges rule out.

Only integers: a sum of floats is not regrouped.
"""

from __future__ import annotations

from dataclasses import replace

from msopgen_wrap.graph.integer_ranges import bounds, has_checks
from msopgen_wrap.graph.scalars import Binary, Const, DimRef, ScalarExpr, Unary, is_integer


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

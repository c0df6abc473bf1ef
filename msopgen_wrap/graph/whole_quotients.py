"""Quotients of sizes that come out whole: ``(2 * n + 1) // 2`` is ``n``.

PyTorch takes the number of the sample for a size where it cannot tell whether two sizes are equal.
Two tensors that were joined, and the pieces that ``chunk`` cuts from the result, are such sizes.
"""

from __future__ import annotations

from typing import Any

import sympy
from torch.utils._sympy.functions import FloorDiv


def decided_equality(expr: Any) -> bool | None:
    """Return whether two sizes are equal, or differ, in every call; None where that is open."""
    if not isinstance(expr, (sympy.Eq, sympy.Ne)) or not expr.atoms(FloorDiv):
        return None
    difference = sympy.expand(_whole(expr.lhs) - _whole(expr.rhs))
    if difference.free_symbols or difference.atoms(FloorDiv):
        return None
    return bool(difference == 0) is isinstance(expr, sympy.Eq)


def _whole(expr: Any) -> Any:
    """Return an expression in which multiples of divisors are outside of their quotients."""
    if not getattr(expr, "args", ()):
        return expr
    args = [_whole(a) for a in expr.args]
    if not isinstance(expr, FloorDiv):
        return expr.func(*args)
    total, divisor = sympy.expand(args[0]), args[1]
    if not divisor.is_Integer or divisor <= 0:
        return FloorDiv(*args)
    whole, rest = sympy.Integer(0), sympy.Integer(0)
    for term in sympy.Add.make_args(total):
        count, _ = term.as_coeff_Mul()
        if count.is_Integer and count % divisor == 0:
            whole += term / divisor
        else:
            rest += term
    return whole + (rest // divisor if rest.is_Integer else FloorDiv(rest, divisor))

"""What calls of a traced graph must fulfil, as relations of its symbols.

Each comes with the text of the assertion in ``compute``, "" where PyTorch asks for it.
"""

from __future__ import annotations

from typing import Any

import sympy

Demands = list[tuple[sympy.Basic, str]]


def count_symbol(name: str) -> sympy.Symbol:
    """Return what stands for a count in the demands of a graph (``TracedGraph.demands``)."""
    return sympy.Symbol(f"attr_{name}", integer=True, positive=True)


def with_count(first: Demands, known: int, second: Demands, value: int, name: str) -> Demands:
    """Return the demands of a graph with a count in place of its value.

    Args:
        first, second: the demands of graphs that were traced with two values of attr ``name``.
        known, value: these values.
    """

    def joined(a: Any, b: Any) -> Any:
        if a == b:
            return a
        if a.is_Integer and b.is_Integer:
            return count_symbol(name) if (int(a), int(b)) == (known, value) else None
        if a.func != b.func or len(a.args) != len(b.args):
            return None
        parts = [joined(x, y) for x, y in zip(a.args, b.args, strict=True)]
        return None if None in parts or not parts else a.func(*parts)

    if len(first) != len(second):
        return [(sympy.true, text) for _, text in first if text]
    pairs = [(joined(a, b), text) for (a, text), (b, _) in zip(first, second, strict=True)]
    return [(sympy.true if d is None else d, text) for d, text in pairs if text or d is not None]


def divides(expr: sympy.Basic) -> bool:
    """Whether a relation says that a number divides a size."""
    if not isinstance(expr, sympy.Eq) or expr.rhs != 0:
        return False
    left = expr.lhs
    return type(left).__name__ in ("Mod", "PythonMod") and left.args[1].is_Integer

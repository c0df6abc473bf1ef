"""Formulas whose results have no derivative: everything passes through ``argmax``, ``>`` and such.

Read from the text, without torch. What is not known counts as differentiable: a formula that is
called so here has no derivative for certain.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable

from msopgen_wrap.spec.model import Code

# Results are integers, truths or constants, whatever goes in.
_STEPS = frozenset(
    {
        *("argmax", "argmin", "argsort", "argwhere", "nonzero", "count_nonzero", "one_hot"),
        *("searchsorted", "bucketize", "signbit", "any", "all", "detach"),
        *("eq", "ne", "lt", "le", "gt", "ge", "equal", "not_equal", "isclose"),
        *("less", "less_equal", "greater", "greater_equal"),
        *("isnan", "isinf", "isfinite", "isposinf", "isneginf"),
        *("logical_and", "logical_or", "logical_xor", "logical_not"),
        *("bool", "byte", "char", "short", "int", "long"),
    }
)
# Nothing of the values goes in.
_CONSTANTS = frozenset(
    {
        *("shape", "size", "dim", "ndim", "numel", "dtype", "device"),
        *("zeros_like", "ones_like", "full_like", "empty_like"),
        *("new_zeros", "new_ones", "new_full", "new_empty"),
    }
)
_CASTS = frozenset({"to", "type"})
_INTEGERS = frozenset({"bool", "uint8", "int8", "int16", "int32", "int64", "short", "int", "long"})


def steps_without_derivative(
    code: Code, inputs: Iterable[str], outputs: Iterable[str]
) -> tuple[str, ...]:
    """Return the operations that leave no output of a formula a derivative; empty: it may have one.

    Args:
        code: of the formula: statements that assign the outputs, or one expression.
        inputs: the names to differentiate by.
        outputs: the names of the results.
    """
    try:
        tree = ast.parse(code.text.strip())
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()  # reported where the formula is checked
    reader = _Reader(set(inputs))
    # A name that has a derivative once keeps it, so that loops and branches need no order.
    before = -1
    while before != len(reader.smooth):
        before = len(reader.smooth)
        for node in ast.walk(tree):
            reader.assign(node)
    last = tree.body[-1] if tree.body else None
    results = any(name in reader.smooth for name in outputs)
    if isinstance(last, ast.Expr):
        results = results or reader.depends(last.value)
    return () if results else tuple(dict.fromkeys(reader.steps))


class _Reader:
    """Follows which names may have a derivative.

    Attributes:
        smooth: those names.
        steps: the operations at which a dependence ended.
    """

    def __init__(self, smooth: set[str]) -> None:
        self.smooth = smooth
        self.steps: list[str] = []

    def assign(self, node: ast.AST) -> None:
        """Note the targets of an assignment or a loop."""
        if isinstance(node, ast.Assign):
            targets, value = node.targets, node.value
        elif isinstance(node, (ast.AugAssign, ast.NamedExpr)):
            targets, value = [node.target], node.value
        elif isinstance(node, (ast.For, ast.comprehension)):
            targets, value = [node.target], node.iter
        else:
            return
        if self.depends(value):
            for target in targets:
                self.smooth |= {n.id for n in ast.walk(target) if isinstance(n, ast.Name)}

    def depends(self, node: ast.AST) -> bool:
        """Whether a value may have a derivative."""
        if isinstance(node, ast.Name):
            return node.id in self.smooth
        if isinstance(node, ast.Attribute) and node.attr in _CONSTANTS:
            return False
        inside = any([self.depends(child) for child in ast.iter_child_nodes(node)])
        if not inside:
            return False
        if isinstance(node, ast.Compare):
            return self._ends(ast.unparse(node))
        if not isinstance(node, ast.Call):
            return True
        name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in _CONSTANTS:
            return False
        given = [*node.args, *(k.value for k in node.keywords)]
        to_integers = name in _CASTS and any(
            isinstance(a, ast.Attribute) and a.attr in _INTEGERS for a in given
        )
        if name in _STEPS or to_integers:
            return self._ends(ast.unparse(node.func))
        return True

    def _ends(self, text: str) -> bool:
        self.steps.append(text if len(text) <= 40 else f"{text[:37]}...")
        return False

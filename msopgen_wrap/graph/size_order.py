"""Prove that a size is at most another one in every call, not in the sample alone."""

from __future__ import annotations

import operator
from collections.abc import Container, Mapping
from typing import Any

import sympy

from msopgen_wrap.graph.demands import Demands, divides
from msopgen_wrap.graph.sizes import size_symbols
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.spec.model import (
    DimBinary,
    DimConst,
    DimOf,
    DimSlice,
    OpSpec,
    ShapeChoice,
    ShapeLike,
    ShapeList,
    ShapeRule,
)
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.utils._sympy.functions import FloorDiv

Graph = torch.fx.Graph
Sizes = Mapping[str, tuple[Any, ...]]

_OPERATORS = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "//": FloorDiv,
}


class SizeOrder:
    """What is known of the sizes of a traced graph: none is negative, what tiling checks holds.

    Args:
        spec: the op, whose inputs may have shape rules.
        variant: of which the graph is.
        graph: traced of its ``compute``.
        inputs: placeholder name -> input.
        demands: what calls must fulfil; of these, that a number divides a size.
    """

    def __init__(
        self,
        spec: OpSpec,
        variant: Variant,
        graph: Graph,
        inputs: dict[str, str],
        demands: Demands,
    ) -> None:
        self.sizes = set(size_symbols(graph, inputs))
        shapes = {
            inputs[node.name]: tuple(map(expression, node.meta["val"].shape))
            for node in graph.nodes
            if node.op == "placeholder" and node.name in inputs
        }
        self.ruled: dict[sympy.Symbol, sympy.Expr] = {}
        for param in spec.inputs:
            own = shapes.get(param.name, ())
            for size, known in zip(own, _ruled_sizes(param.shape, shapes, variant), strict=False):
                if isinstance(size, sympy.Symbol) and known is not None and known != size:
                    self.ruled.setdefault(size, known)
        for relation, _ in demands:
            size, divisor = relation.lhs.args if divides(relation) else (None, None)
            if size in self.sizes and size not in self.ruled:
                self.ruled[size] = divisor * _part_of(size, "quotient")

    def known(self, size: Any) -> sympy.Expr:
        """Return a size, a number or a symbolic integer, over the sizes that no rule gives."""
        found = expression(size)
        for _ in range(len(self.ruled) + 1):  # a rule may name a size that another one gives
            found = found.xreplace(self.ruled)
        return sympy.expand(found)

    def equal(self, first: Any, second: Any) -> bool:
        """Whether two sizes are the same number in every call."""
        return bool(self.known(first) == self.known(second))

    def at_most(self, first: Any, second: Any) -> bool:
        """Whether ``first <= second`` in every call; False where that is not proved."""
        return at_most(self.known(first), self.known(second), self.sizes)


def at_most(first: Any, second: Any, sizes: Container[sympy.Symbol]) -> bool:
    """Whether ``first <= second`` whatever numbers from 0 on the sizes are; False: no proof.

    Args:
        first, second: numbers, symbolic integers or expressions.
        sizes: the symbols that are sizes of tensors.
    """
    difference = sympy.expand(expression(second) - expression(first))
    terms = sympy.Add.make_args(_without_division(difference, sizes))
    return all(_is_not_negative(term, sizes) for term in terms)


def _without_division(expr: sympy.Expr, sizes: Container[sympy.Symbol]) -> sympy.Expr:
    """Write ``n`` as ``k * (n // k) + rest`` where an expression has ``n // k``."""
    quotients = sorted(expr.atoms(FloorDiv), key=str)
    for quotient in quotients:
        size, divisor = quotient.args
        others = [q for q in quotients if q is not quotient and q.has(size)]
        if size in sizes and isinstance(divisor, sympy.Integer) and not others:
            whole, rest = _part_of(size, "quotient"), _part_of(size, "rest")
            expr = expr.xreplace({quotient: whole}).xreplace({size: divisor * whole + rest})
    return sympy.expand(expr)


def _part_of(size: sympy.Symbol, name: str) -> sympy.Symbol:
    return sympy.Symbol(f"{name}_of_{size}", integer=True, nonnegative=True)


def _is_not_negative(term: sympy.Expr, sizes: Container[sympy.Symbol]) -> bool:
    """Whether a product is of numbers and sizes that are not negative."""
    number, factors = term.as_coeff_mul()
    plain = all(f in sizes or bool(f.is_nonnegative) for f in factors)
    return bool(number >= 0) and plain


def expression(size: Any) -> sympy.Expr:
    """Return a size, a number or a symbolic integer or an expression, as an expression."""
    return size.node.expr if isinstance(size, torch.SymInt) else sympy.sympify(size)


def _ruled_sizes(
    rule: ShapeRule | None, shapes: Sizes, variant: Variant
) -> list[sympy.Expr | None]:
    """Return the sizes that the shape rule of an input gives; None where it says nothing."""
    if isinstance(rule, ShapeChoice):
        attrs = dict(variant.attrs)
        if rule.test.name not in attrs:
            return []
        chosen = rule.then if rule.test.holds(attrs) else rule.otherwise
        return _ruled_sizes(chosen, shapes, variant)
    if isinstance(rule, ShapeLike):
        return list(shapes.get(rule.tensor, ()))
    if not isinstance(rule, ShapeList):
        return []
    found: list[sympy.Expr | None] = []
    for item in rule.items:
        if isinstance(item, DimSlice):
            if item.tensor not in shapes:
                return []  # of how many axes is not known
            found += shapes[item.tensor][item.start : item.stop]
        else:
            found.append(_ruled_size(item, shapes))
    return found


def _ruled_size(dim: Any, shapes: Sizes) -> sympy.Expr | None:
    if isinstance(dim, DimConst):
        return sympy.Integer(dim.value)
    if isinstance(dim, DimOf):
        shape = shapes.get(dim.tensor, ())
        return shape[dim.axis] if -len(shape) <= dim.axis < len(shape) else None
    if isinstance(dim, DimBinary) and dim.op in _OPERATORS:
        left, right = _ruled_size(dim.left, shapes), _ruled_size(dim.right, shapes)
        if left is not None and right is not None:
            return _OPERATORS[dim.op](left, right)
    return None

"""Formulas as terms that look alike however they were written.

A term is a sum with coefficients, a product of powers, a call of an operator, a number or a leaf.
``x / sqrt(v)`` and ``x * rsqrt(v)`` are the same product, ``a - 2 * b`` is a sum. What only changes
the dtype of floats or adds axes of size 1 is an *alias*: a term of its own around another, because
it is a value of the model that an op may read.

Terms propose matches. What they leave out (axes of views, rounding) is proved with numbers
afterwards (``numeric_proof``).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any


def names_in(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


LEAF, CONST, ALIAS, SUM, PRODUCT, CALL = "leaf", "const", "alias", "sum", "product", "call"

# Operators whose first two operands may be swapped.
COMMUTATIVE = names_in(
    "maximum minimum eq ne logical_and logical_or logical_xor bitwise_and bitwise_or "
    "bitwise_xor fmax fmin"
)


@dataclass(eq=False)
class Term:
    """A node of a formula.

    Attributes:
        kind: one of the constants of this module.
        op: name of the operator of a call, or of the parameter that a leaf of a pattern is.
        children: operands.
        powers: exponents of the factors of a product, coefficients of the operands of a sum.
        number: value of a constant, constant of a sum, coefficient of a product.
        parameters: axes, dtypes and other arguments of a call that are no operands.
        value: the node of the model's graph that holds this term; None for a step inside of one.
    """

    kind: str
    op: str = ""
    children: tuple[Term, ...] = ()
    powers: tuple[float, ...] = ()
    number: float = 0.0
    parameters: tuple[Any, ...] = ()
    value: Any = None

    def bare(self) -> Term:
        """Return the term without the aliases around it."""
        term = self
        while term.kind == ALIAS:
            term = term.children[0]
        return term

    def aliases(self) -> Iterator[Term]:
        """Yield the term and what its aliases are of, outermost first."""
        term = self
        yield term
        while term.kind == ALIAS:
            term = term.children[0]
            yield term


def constant(value: float) -> Term:
    """Return the term of a number."""
    return Term(CONST, number=float(value))


def leaf(name: str = "", value: Any = None) -> Term:
    """Return the term of an input or of an unknown value."""
    return Term(LEAF, op=name, value=value)


def call(op: str, children: tuple[Term, ...], parameters: tuple[Any, ...] = ()) -> Term:
    """Return the call of an operator."""
    return Term(CALL, op=op, children=children, parameters=parameters)


def alias(of: Term, op: str = "") -> Term:
    """Return a term that has the elements of another."""
    return Term(ALIAS, op=op, children=(of,))


def total(
    items: list[tuple[float, Term]], number: float = 0.0, *, written_out: bool = False
) -> Term:
    """Return ``sum(c * t) + number``, with like terms joined.

    Args:
        written_out: factors of products become coefficients. A model's products stay whole, for
            they are values that an op may read.
    """
    joined: dict[int, tuple[float, Term]] = {}
    for coefficient, term in items:
        bare = term.bare()
        if bare.kind == CONST:
            number += coefficient * bare.number
            continue
        if written_out and bare.kind == PRODUCT and bare.number != 1:
            coefficient *= bare.number
            term = product(list(zip(bare.children, bare.powers, strict=True)))
            bare = term.bare()
        before = joined.get(id(bare))
        joined[id(bare)] = (
            (coefficient, term) if before is None else (before[0] + coefficient, before[1])
        )
    kept = [(c, t) for c, t in joined.values() if c != 0]
    if not kept:
        return constant(number)
    if len(kept) == 1 and number == 0:
        coefficient, term = kept[0]
        return alias(term) if coefficient == 1 else product([(term, 1.0)], coefficient)
    return Term(
        SUM,
        children=tuple(t for _, t in kept),
        powers=tuple(c for c, _ in kept),
        number=number,
    )


def product(items: list[tuple[Term, float]], number: float = 1.0) -> Term:
    """Return ``prod(t ** e) * number``, with like factors joined."""
    joined: dict[int, tuple[Term, float]] = {}
    for term, power in items:
        bare = term.bare()
        if bare.kind == CONST and (bare.number > 0 or float(power).is_integer()):
            if bare.number == 0 and power < 0:
                return call("division_by_zero", (bare,))
            number *= bare.number**power
            continue
        before = joined.get(id(bare))
        joined[id(bare)] = (term, power) if before is None else (before[0], before[1] + power)
    kept = [(t, p) for t, p in joined.values() if p != 0]
    if not kept:
        return constant(number)
    if len(kept) == 1 and number == 1 and kept[0][1] == 1:
        return alias(kept[0][0])
    return Term(
        PRODUCT,
        children=tuple(t for t, _ in kept),
        powers=tuple(p for _, p in kept),
        number=number,
    )


def flattenings(term: Term, limit: int = 24) -> Iterator[Term]:
    """Yield a sum or product, and the same with nested ones of its kind written out."""
    seen = 0
    queue = [term]
    known: set[tuple[Any, ...]] = set()
    while queue and seen < limit:
        now = queue.pop(0)
        seen += 1
        yield now
        for i, child in enumerate(now.children):
            inner, factor = child.bare(), 1.0
            if now.kind == SUM and inner.kind == PRODUCT and inner.powers == (1.0,):
                inner, factor = inner.children[0].bare(), inner.number
            if inner.kind != now.kind:
                continue
            rest = [
                (c, p)
                for j, (c, p) in enumerate(zip(now.children, now.powers, strict=True))
                if j != i
            ]
            outer = now.powers[i] * factor
            if now.kind == SUM:
                items = [(p, c) for c, p in rest]
                items += [(p * outer, c) for c, p in zip(inner.children, inner.powers, strict=True)]
                flat = total(items, now.number + outer * inner.number)
            else:
                if inner.number < 0 and not float(outer).is_integer():
                    continue
                factors = rest + [
                    (c, p * outer) for c, p in zip(inner.children, inner.powers, strict=True)
                ]
                flat = product(factors, now.number * inner.number**outer)
            if flat.kind != now.kind:
                continue
            key = tuple(sorted((id(c), p) for c, p in zip(flat.children, flat.powers, strict=True)))
            if key not in known:
                known.add(key)
                queue.append(flat)


def flattened(term: Term, done: dict[int, Term] | None = None) -> Term:
    """Return a term with all nested sums in sums, and products in products, written out.

    Args:
        done: terms written out before, by identity: a shared term stays shared.
    """
    done = {} if done is None else done
    if id(term) in done:
        return done[id(term)]
    children = tuple(flattened(child, done) for child in term.children)
    result = term
    if term.kind == SUM:
        items = list(zip(term.powers, children, strict=True))
        result = total(items, term.number, written_out=True)
    elif term.kind == PRODUCT:
        result = product(list(zip(children, term.powers, strict=True)), term.number)
    elif children:
        result = Term(
            term.kind, term.op, children, term.powers, term.number, term.parameters, term.value
        )
    if result.kind in (SUM, PRODUCT):
        *_, result = flattenings(result)
    done[id(term)] = result
    return result


def size(term: Term) -> int:
    """Return the number of steps of a formula, shared ones counted once."""
    seen: set[int] = set()

    def visit(t: Term) -> None:
        if id(t) in seen:
            return
        seen.add(id(t))
        for child in t.children:
            visit(child)

    visit(term)
    return len(seen)

"""Match a pattern against the terms of a model, operands in any order.

A loose match takes any numbers and axes and notes the pairs, from which attrs are recovered; a
strict one wants them equal.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.fusion.terms import (
    ALIAS,
    CALL,
    COMMUTATIVE,
    CONST,
    LEAF,
    PRODUCT,
    SUM,
    Term,
    flattenings,
    product,
)

# Steps of one attempt; a formula that needs more is reported as not matched.
MAX_STEPS = 4000
_CLOSE = 2e-6


@dataclass
class Match:
    """What a pattern was found to be.

    Attributes:
        inputs: input of the op -> terms it may be, innermost first (aliases of one another).
        pairs: numbers of the pattern with those of the model, and the same of parameters.
        held: output or step of the pattern (by identity) -> term of the model.
        open: steps around the current one whose operators agree.
    """

    inputs: dict[str, tuple[Term, ...]] = field(default_factory=dict)
    pairs: tuple[tuple[float, float], ...] = ()
    parameters: tuple[tuple[Any, Any], ...] = ()
    held: dict[int, Term] = field(default_factory=dict)
    open: int = 0


class Matcher:
    """Matches one pattern, anywhere.

    Args:
        strict: numbers and parameters have to be equal.
        numbers: values of int attrs, for which a loose match takes others.

    Attributes:
        agreed: after an attempt that failed, how many steps agreed.
        obstacle: the pair of steps that did not.
    """

    def __init__(self, *, strict: bool, numbers: Iterable[float] = ()) -> None:
        self.strict = strict
        self.numbers = frozenset(numbers)
        self.steps = 0
        self.agreed = 0
        self.obstacle: tuple[Term, Term] | None = None

    @property
    def gave_up(self) -> bool:
        """Whether the last attempt took more steps than are allowed."""
        return self.steps > MAX_STEPS

    def matches(self, pattern: Term, term: Term, start: Match | None = None) -> Iterator[Match]:
        """Yield the ways in which ``term`` is an instance of ``pattern``."""
        self.steps = 0
        yield from self._term(pattern, term, start or Match())

    def _term(self, pattern: Term, term: Term, now: Match) -> Iterator[Match]:
        self.steps += 1
        if self.steps > MAX_STEPS:
            return
        pattern = pattern.bare()
        if pattern.kind == LEAF:
            yield from self._leaf(pattern, term, now)
            return
        known = now.held.get(id(pattern))
        # The same formula written twice is as good as shared.
        if known is not None and known.bare() is term.bare():
            yield now
            return
        outer, term = term, term.bare()
        if pattern.kind != term.kind or (pattern.kind == CALL and pattern.op != term.op):
            self._missed(pattern, outer, now)
            return
        found = False
        inside = Match(now.inputs, now.pairs, now.parameters, now.held, now.open + 1)
        for match in self._same_kind(pattern, term, inside):
            found = True
            yield Match(
                match.inputs,
                match.pairs,
                match.parameters,
                {**match.held, id(pattern): outer},
                now.open,
            )
        if not found:
            self._missed(pattern, outer, inside)

    def _missed(self, pattern: Term, term: Term, now: Match) -> None:
        agreed = len(now.held) + len(now.inputs) + now.open
        if agreed > self.agreed or self.obstacle is None:
            self.agreed = agreed
            self.obstacle = (pattern, term)

    def _leaf(self, pattern: Term, term: Term, now: Match) -> Iterator[Match]:
        candidates = tuple(reversed([t for t in term.aliases() if t.value is not None]))
        if not candidates:
            return
        before = now.inputs.get(pattern.op)
        if before is not None:
            values = {id(t.value) for t in candidates}
            candidates = tuple(t for t in before if id(t.value) in values)
            if not candidates:
                return
        yield Match(
            {**now.inputs, pattern.op: candidates}, now.pairs, now.parameters, now.held, now.open
        )

    def _same_kind(self, pattern: Term, term: Term, now: Match) -> Iterator[Match]:
        if pattern.kind == CONST:
            yield from self._number(pattern.number, term.number, now)
        elif pattern.kind == CALL:
            yield from self._call(pattern, term, now)
        elif pattern.kind in (SUM, PRODUCT):
            for flat in flattenings(term):
                if len(flat.children) == len(pattern.children):
                    for start in self._number(pattern.number, flat.number, now):
                        yield from self._operands(pattern, flat, start)

    def _number(self, wanted: float, found: float, now: Match) -> Iterator[Match]:
        if self.strict:
            if same_number(wanted, found):
                yield now
            return
        yield Match(now.inputs, (*now.pairs, (wanted, found)), now.parameters, now.held, now.open)

    def _call(self, pattern: Term, term: Term, now: Match) -> Iterator[Match]:
        if len(pattern.children) != len(term.children):
            return
        if self.strict and pattern.parameters != term.parameters:
            return
        noted = Match(
            now.inputs,
            now.pairs,
            (*now.parameters, (pattern.parameters, term.parameters)),
            now.held,
            now.open,
        )
        orders = [term.children]
        if pattern.op in COMMUTATIVE and len(term.children) == 2:
            orders.append(term.children[::-1])
        for order in orders:
            yield from self._in_order(list(zip(pattern.children, order, strict=True)), noted)

    def _in_order(self, pairs: list[tuple[Term, Term]], now: Match) -> Iterator[Match]:
        if not pairs:
            yield now
            return
        (pattern, term), *rest = pairs
        for match in self._term(pattern, term, now):
            yield from self._in_order(rest, match)

    def _operands(self, pattern: Term, term: Term, now: Match) -> Iterator[Match]:
        """Match operands in any order; those that say most are placed first."""
        wanted = sorted(
            zip(pattern.children, pattern.powers, strict=True), key=lambda o: _rank(o[0])
        )
        given = list(zip(term.children, term.powers, strict=True))
        yield from self._placed(pattern.kind, wanted, given, now)

    def _placed(
        self,
        kind: str,
        wanted: list[tuple[Term, float]],
        given: list[tuple[Term, float]],
        now: Match,
    ) -> Iterator[Match]:
        if not wanted:
            yield now
            return
        (pattern, power), *rest = wanted
        for i, (term, other) in enumerate(given):
            left = given[:i] + given[i + 1 :]
            for start in self._powers(kind, power, other, now):
                for match in self._term(pattern, term, start):
                    yield from self._placed(kind, rest, left, match)
            if kind == SUM and pattern.bare().kind != CONST:
                for number, inner in _without_numbers(term.bare()):
                    for start in self._powers(kind, power, other * number, now):
                        for match in self._term(pattern, inner, start):
                            yield from self._placed(kind, rest, left, match)

    def _powers(self, kind: str, wanted: float, found: float, now: Match) -> Iterator[Match]:
        if same_number(wanted, found):
            yield now
        elif not self.strict and (wanted in self.numbers or _may_be_an_attr(wanted)):
            yield Match(
                now.inputs, (*now.pairs, (wanted, found)), now.parameters, now.held, now.open
            )


def _without_numbers(term: Term) -> Iterator[tuple[float, Term]]:
    """Yield what a product is a multiple of: ``a * b`` of ``(2 * a) * b``, with the factor 2.

    Nested products are written out as far as they have factors; of those with the same factor the
    one that is written out least comes first, and the others follow from it.
    """
    if term.kind != PRODUCT:
        return
    seen = {1.0}
    for flat in flattenings(term):
        if flat.number not in seen:
            seen.add(flat.number)
            yield flat.number, product(list(zip(flat.children, flat.powers, strict=True)))


def _may_be_an_attr(number: float) -> bool:
    """Whether an exponent or coefficient can have come from a stand-in or from a size."""
    return abs(number) not in (1.0, 2.0, 0.5)


def _rank(pattern: Term) -> int:
    bare = pattern.bare()
    return {LEAF: 2, CONST: 1, ALIAS: 2}.get(bare.kind, 0)


def same_number(a: float, b: float) -> bool:
    """Whether two constants are the same up to float32's rounding."""
    return a == b or math.isclose(a, b, rel_tol=_CLOSE) or (math.isnan(a) and math.isnan(b))

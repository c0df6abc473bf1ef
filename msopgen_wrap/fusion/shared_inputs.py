"""The formula of an op whose inputs are one tensor: ``x + x`` is the product ``2 * x``."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from msopgen_wrap.fusion.terms import (
    CONST,
    LEAF,
    PRODUCT,
    SUM,
    Term,
    flattenings,
    product,
    total,
)
from msopgen_wrap.spec.model import OpSpec, ParamKind

if TYPE_CHECKING:
    from msopgen_wrap.fusion.patterns import Pattern

# An op of more inputs has too many ways to share them.
MAX_INPUTS = 4


def ways_to_share(spec: OpSpec, names: list[str]) -> Iterator[dict[str, str]]:
    """Yield which inputs may be another one: input -> the input whose tensor it is.

    Args:
        names: the inputs that a call passes.
    """
    params = [spec.param(n) for n in names]
    params = [p for p in params if p.kind is not ParamKind.DYNAMIC]
    if len(names) > MAX_INPUTS:
        return
    for count in range(2, len(params) + 1):
        for group in itertools.combinations(params, count):
            dtypes = [p.dtypes for p in group]
            if any(len(set(row)) == 1 for row in zip(*dtypes, strict=True)):
                yield {p.name: group[0].name for p in group[1:]}


def with_one_tensor(
    outputs: Mapping[str, Term], same: Mapping[str, str]
) -> tuple[dict[str, Term], bool]:
    """Return the formulas with inputs replaced, and whether like terms were joined by that.

    Without such terms the formula of distinct inputs matches one tensor as well.

    Args:
        outputs: output -> formula, written out.
        same: input -> the input that stands for it.
    """
    merger = _Merger(same)
    return {name: merger.visit(term) for name, term in outputs.items()}, merger.joined


def says_something(outputs: Mapping[str, Term]) -> bool:
    """Whether no output has become a number or an input."""
    return all(t.bare().kind not in (CONST, LEAF) for t in outputs.values())


class _Merger:
    def __init__(self, same: Mapping[str, str]) -> None:
        self.same = same
        self.joined = False
        self._done: dict[int, Term] = {}
        self._known: dict[Any, Term] = {}

    def visit(self, term: Term) -> Term:
        """Return the term over the inputs that are left; equal terms are one."""
        if id(term) in self._done:
            return self._done[id(term)]
        children = tuple(self.visit(child) for child in term.children)
        result = Term(
            term.kind, term.op, children, term.powers, term.number, term.parameters, term.value
        )
        if term.kind == LEAF:
            result.op = self.same.get(term.op, term.op)
        elif term.kind == SUM:
            items = list(zip(term.powers, children, strict=True))
            result = total(items, term.number, written_out=True)
        elif term.kind == PRODUCT:
            result = product(list(zip(children, term.powers, strict=True)), term.number)
        if term.kind in (SUM, PRODUCT) and len(result.children) < len(children):
            self.joined = True
        if result.kind in (SUM, PRODUCT):
            *_, result = flattenings(result)
        key = (
            result.kind,
            result.op,
            tuple(id(child.bare()) for child in result.children),
            result.powers,
            result.number,
            repr(result.parameters),
        )
        self._done[id(term)] = self._known.setdefault(key, result)
        return self._done[id(term)]


def shared_patterns(pattern: Pattern, names: list[str]) -> Iterator[tuple[dict[str, Term], Any]]:
    """Yield formulas of an op with one tensor for several inputs, and which inputs those are.

    Args:
        names: the inputs that calls of the pattern pass.
    """
    for same in ways_to_share(pattern.spec, names):
        outputs, joined = with_one_tensor(pattern.outputs, same)
        if joined and says_something(outputs):
            yield outputs, same

"""Which values of its attrs make an op the formula that a loose match found."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from typing import Any

from msopgen_wrap.fusion.matching import Match
from msopgen_wrap.fusion.patterns import Pattern
from msopgen_wrap.spec.model import OpSpec

# Combinations of integers that are tried.
MAX_CHOICES = 16

# How constants of formulas depend on attrs: name, function of the attr, its inverse.
_FORMS = (
    (lambda s: s, lambda c: c),
    (lambda s: -s, lambda c: -c),
    (lambda s: 1 - s, lambda c: 1 - c),
    (lambda s: s - 1, lambda c: c + 1),
    (lambda s: 1 + s, lambda c: c - 1),
    (lambda s: 1 / s, lambda c: 1 / c),
    (lambda s: -1 / s, lambda c: -1 / c),
    (lambda s: 2 * s, lambda c: c / 2),
    (lambda s: s / 2, lambda c: 2 * c),
    (lambda s: -s / 2, lambda c: -2 * c),
    (lambda s: s * s, lambda c: math.sqrt(c)),
    (lambda s: math.sqrt(s), lambda c: c * c),
    (lambda s: 1 / math.sqrt(s), lambda c: 1 / (c * c)),
    (lambda s: 0.5 / s, lambda c: 0.5 / c),
    (lambda s: math.exp(s), lambda c: math.log(c)),
    (lambda s: math.log(s), lambda c: math.exp(c)),
)


def recovered(
    stand_ins: dict[str, float], pairs: tuple[tuple[float, float], ...]
) -> dict[str, float]:
    """Return the attrs that the constants of a loose match tell."""
    found: dict[str, float] = {}
    for (name, stand_in), (wanted, given) in itertools.product(stand_ins.items(), pairs):
        if name in found:
            continue
        for function, inverse in _FORMS:
            try:
                # PyTorch rounds the constants of some decompositions to float32.
                if math.isclose(function(stand_in), wanted, rel_tol=2e-7):
                    found[name] = inverse(given)
                    break
            except (ValueError, ZeroDivisionError, OverflowError):
                continue
    return found


def attr_choices(pattern: Pattern, match: Match) -> Iterator[dict[str, Any]]:
    """Yield values of the attrs that may make the pattern equal to the formula found."""
    spec = pattern.spec
    stand_ins = {name: pattern.attrs[name] for name in pattern.open}
    told = recovered(stand_ins, match.pairs)
    attrs = dict(pattern.attrs)
    for name in pattern.open:
        value = told.get(name)
        if value is None:
            attr = spec.attr(name)
            if attr.required:
                return
            value = attr.default
        attrs[name] = value
    if any(not _allowed(spec, name, attrs[name]) for name in pattern.open):
        return
    yield from _with_integers(pattern, match, attrs)


def _with_integers(
    pattern: Pattern, match: Match, attrs: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    seen: list[Any] = []
    for _, found in match.parameters:
        for item in found:
            seen += [item] if type(item) is int else list(item) if _ints(item) else []
            if _ints(item):
                seen.append(tuple(item))
    seen += [int(found) for _, found in match.pairs if float(found).is_integer()]
    ranks = [t.value.meta["val"].dim() for terms in match.inputs.values() for t in terms[:1]]
    rank = max(ranks, default=0)
    options = []
    for name in pattern.shaping:
        attr = pattern.spec.attr(name)
        values = [attrs[name]]
        for item in dict.fromkeys(seen):
            value: Any = list(item) if isinstance(item, tuple) else item
            if attr.type == "list_int":
                value = value if isinstance(value, list) else [value]
            elif isinstance(value, list):
                continue
            for shifted in (value, _from_end(value, rank)):
                if shifted not in values and _allowed(pattern.spec, name, shifted):
                    values.append(shifted)
        options.append(values[:8])
    for way in itertools.islice(itertools.product(*options), MAX_CHOICES):
        yield {**attrs, **dict(zip(pattern.shaping, way, strict=True))}


def _ints(item: Any) -> bool:
    return isinstance(item, tuple) and bool(item) and all(type(i) is int for i in item)


def _from_end(value: Any, rank: int) -> Any:
    if isinstance(value, list):
        return [v - rank for v in value]
    return value - rank


def _allowed(spec: OpSpec, name: str, value: Any) -> bool:
    attr = spec.attr(name)
    items = value if isinstance(value, list) else [value]
    low = -float("inf") if attr.minimum is None else attr.minimum
    high = float("inf") if attr.maximum is None else attr.maximum
    return all(low <= item <= high for item in items)

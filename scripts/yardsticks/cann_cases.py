"""Cases of CANN Bench with smaller shapes: a minute for the cases of an op, not an hour.

A case names shapes, attrs and ranges of values. The numbers above a bound are divided by the same
power of two wherever they stand, so that a size which is an attr too, or the largest index of an
axis, stays what it is; no multiple of 16 becomes one, and what 2 or a small attr divides is divided
by them afterwards. Only the longest leading axes shrink, or else the second ones, where the golden
function of the op refuses what came of it, because one size was half of another, and where a list
that rose, such as the ends of groups, does not any more: numbers above the bound fell below others.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Collection, Iterator
from typing import Any

ELEMENTS_AT_MOST = 1 << 17  # of all inputs of a case
KEPT = 16  # numbers up to here are heads, kernels, axes


def elements(shapes: Any) -> int:
    """Return how many elements tensors of nested lists of shapes have."""
    if shapes is None:
        return 0
    if all(isinstance(n, int) for n in shapes):
        return math.prod(shapes)
    return sum(elements(shape) for shape in shapes)


def _mapped(value: Any, change: Callable[[int], int]) -> Any:
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return change(value)
    if isinstance(value, list):
        return [_mapped(v, change) for v in value]
    return value


def _divided(
    factor: int, divisors: Collection[int] = (), roots: Collection[int] = ()
) -> Callable[[int], int]:
    """Return what makes a number smaller.

    Args:
        divisors: counts of groups and the like, which go on dividing what they divide.
        roots: sizes that are attrs, odd ones, so that it and a few times it are rounded apart: that
            stays as many times of it, as the gates of a hidden size do.
    """

    def change(number: int) -> int:
        if abs(number) <= KEPT:
            return number
        root = max((r for r in roots if number % r == 0 and r < number <= KEPT * r), default=0)
        if root:
            return number // root * change(root)
        small = max(math.ceil(abs(number) / factor), KEPT // 2)
        step = math.lcm(*(d for d in (2, *divisors) if number % d == 0))
        small = max(small // step, 1) * step
        if number % KEPT and not small % KEPT:
            small -= step if small > step else -step
        return small if number > 0 else -small

    return change


def _smaller_values(ranges: Any, dtypes: Any, sizes: set[int], change: Callable[[int], int]) -> Any:
    """Return ranges of values in which the largest index of an axis is still that."""
    if not isinstance(ranges, list) or len(ranges) != 2 or isinstance(ranges[0], list):
        if not isinstance(ranges, list):
            return ranges
        listed = dtypes if isinstance(dtypes, list) else [dtypes]
        listed = listed + [listed[-1]] * len(ranges)
        return [_smaller_values(r, d, sizes, change) for r, d in zip(ranges, listed, strict=False)]
    high = ranges[1]
    if "int" in str(dtypes) and isinstance(high, int) and high + 1 in sizes:
        return [ranges[0], change(high + 1) - 1]
    return ranges


def _numbers(value: Any) -> set[int]:
    if isinstance(value, int):
        return {value}
    if isinstance(value, dict):
        value = list(value.values())
    return set().union(*map(_numbers, value)) if isinstance(value, list) else set()


def _changed(case: Any, change: Callable[[int], int]) -> Any:
    """Return a copy of a case in which the sizes and the numbers of the attrs are others."""
    small = copy.copy(case)
    small.input_shapes = _mapped(case.input_shapes, change)
    small.attrs = {k: _mapped(v, change) for k, v in (case.attrs or {}).items()}
    return small


def divided(case: Any, most: int = ELEMENTS_AT_MOST) -> Any:
    """Return a copy of a case whose numbers are divided until its inputs are small enough."""
    factor = 1
    while elements(_mapped(case.input_shapes, _divided(factor))) > most and factor < 1 << 24:
        factor *= 2
    attrs = _numbers(case.attrs or {})
    divisors, roots = [n for n in attrs if 1 < n <= KEPT], [n for n in attrs if n > KEPT and n % 2]
    change = _divided(factor, divisors, roots)
    sizes = _numbers(case.input_shapes) | _numbers(case.attrs or {})
    small = _changed(case, change)
    small.value_ranges = _smaller_values(case.value_ranges, case.dtypes, sizes, change)
    return small


def shortened(case: Any, most: int = ELEMENTS_AT_MOST) -> Any:
    """Return a copy of a case in which the longest leading axes of its inputs are shorter."""
    small = copy.copy(case)
    small.attrs = dict(case.attrs or {})
    replaced: dict[int, int] = {}
    leading = sorted({s[0] for s in _shapes(case.input_shapes)}, reverse=True)
    for size in leading:
        while elements(_mapped(case.input_shapes, lambda n: replaced.get(n, n))) > most:
            now = replaced.get(size, size)
            if now <= 3:
                break
            replaced[size] = max(3, now // 2)
    small.input_shapes = _mapped(case.input_shapes, lambda n: replaced.get(n, n))
    return small


def proportioned(case: Any, most: int = ELEMENTS_AT_MOST) -> Any:
    """Return a copy of a case in which the smallest leading axis and its multiples are shorter.

    Indices that go to the end of such an axis go on doing so.
    """
    leading = sorted(s[0] for s in _shapes(case.input_shapes) if s[0] > KEPT)
    small = copy.copy(case)
    small.attrs = dict(case.attrs or {})
    for factor in (1 << power for power in range(24 if leading else 0)):
        base = max(3, leading[0] // factor)
        replaced = {n: n // leading[0] * base for n in leading if n % leading[0] == 0}

        def shorter(n: int, replaced: dict[int, int] = replaced) -> int:
            return replaced.get(n, n)

        small.input_shapes = _mapped(case.input_shapes, shorter)
        small.value_ranges = _smaller_values(case.value_ranges, case.dtypes, set(replaced), shorter)
        if elements(small.input_shapes) <= most:
            break
    return small


def thinned(case: Any, most: int = ELEMENTS_AT_MOST) -> Any:
    """Return a copy of a case in which the second axes of its inputs, and equal attrs, are shorter.

    A size that a later axis has too is left as it is.
    """
    shapes = [shape for shape in _shapes(case.input_shapes) if len(shape) > 2]
    chosen = {s[1] for s in shapes} - {n for s in shapes for n in s[2:]}
    for factor in (1 << power for power in range(1, 24)):
        change = _divided(factor)

        def second(n: int, change: Callable[[int], int] = change) -> int:
            return change(n) if n in chosen else n

        small = _changed(case, second)
        if elements(small.input_shapes) <= most:
            break
    return small


def quartered(case: Any) -> Any:
    """Return a copy of a case with a quarter of every size, so that sums of sizes stay such.

    A size from the square of the largest attr on is a product of that attr and others: it becomes
    a sixteenth.
    """
    counts = [n for n in _numbers(case.attrs or {}) if n > KEPT]
    square = max(counts, default=0) ** 2 or math.inf

    def change(number: int) -> int:
        factor = 16 if number >= square else 4
        return number // factor if number > KEPT and number % factor == 0 else number

    return _changed(case, change)


def _shapes(value: Any) -> Iterator[list[int]]:
    for item in value or ():
        if isinstance(item, list) and item and isinstance(item[0], int):
            yield item
        elif isinstance(item, list):
            yield from _shapes(item)


def _rising(case: Any) -> list[bool]:
    """Return which attrs are lists of integers none of which is below the one before."""
    return [
        isinstance(value, list)
        and all(isinstance(n, int) for n in value)
        and value == sorted(value)
        for value in (case.attrs or {}).values()
    ]


def variants(case: Any) -> Iterator[Any]:
    """Yield smaller forms of a case, the one that keeps most relations last."""
    small = divided(case)
    if _rising(small) == _rising(case):
        yield small
    kept = (thinned(case, 8 * ELEMENTS_AT_MOST), proportioned(case), quartered(case))
    for small in (shortened(case), *kept):
        if elements(small.input_shapes) <= 16 * ELEMENTS_AT_MOST:
            yield small

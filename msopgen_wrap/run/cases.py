"""The default case grid: which shapes, attrs, dtypes and values an op is tried on.

The grid follows from the spec alone, so it is the same on every machine. Shapes are searched under
the spec's rules and under what ``compute`` accepts (asked on meta tensors: no data).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from msopgen_wrap.run.layouts import (
    SPECIAL,
    Layout,
    broadcast_layouts,
    layouts,
    of_rank,
    variant_layouts,
)
from msopgen_wrap.run.op_case import TestCase, case_key, combined_attrs
from msopgen_wrap.run.shape_search import ShapeSearch, one_input
from msopgen_wrap.spec.model import OpSpec, ParamKind, ShapeBroadcast
from msopgen_wrap.spec.sample_values import given_lists

LARGE = 2**24 + 3


def case_grid(
    spec: OpSpec, *, large: bool = False, answers: dict[str, bool] | None = None
) -> list[TestCase]:
    """Return every case of ``spec``: the default grid for each dtype, then the spec's own cases.

    Args:
        large: include the 2^24+3 element case (for the first dtype combination).
        answers: which shapes an earlier search found to fit; new answers are added.
    """
    if _has_lists_of_its_own(spec):
        return _variations(spec, list(_own_cases(spec)))
    search = ShapeSearch(spec, _acceptance(spec), answers)
    grid = list(_default_cases(spec, search))
    cases: list[TestCase] = []
    for combo in range(spec.combos):
        cases += [replace(c, combo=combo, attrs=combined_attrs(spec, combo, c.attrs)) for c in grid]
        cases += _value_cases(spec, search, combo)
        if large and combo == 0:
            cases += _large_cases(search)
    cases += _own_cases(spec)
    return list({case_key(case): case for case in cases}.values())


def _own_cases(spec: OpSpec) -> Iterator[TestCase]:
    """Yield the cases that the spec lists."""
    for extra in spec.cases:
        combos = extra.dtypes if extra.dtypes is not None else range(spec.combos)
        shapes = {p.name: _freeze(extra.shapes.get(p.name)) for p in spec.inputs}
        for combo in combos:
            chosen = spec.chosen_attrs(combo)
            # an attr of the case leaves the combinations in which it has that value
            if all(extra.attrs.get(name, value) == value for name, value in chosen.items()):
                yield TestCase(combo, shapes, {**extra.attrs, **chosen})


def _has_lists_of_its_own(spec: OpSpec) -> bool:
    """Say whether only the spec's cases tell how many tensors its lists have, of which shapes.

    That is so for lists of a handwritten kernel: its tiling decides which lists it takes, as those
    of the weights of several layers. The lists of generated kernels are like one another.
    """
    lists = (p for p in spec.inputs if p.kind is ParamKind.DYNAMIC and p.shape is None)
    return spec.kernel is not None and any(lists)


def _variations(spec: OpSpec, cases: list[TestCase]) -> list[TestCase]:
    """Return cases with, per dtypes, one without each optional input, on one core, of special
    values.
    """
    found = list(cases)
    for combo in range(spec.combos):
        own = [case for case in cases if case.combo == combo]
        for param in spec.inputs:
            given = [c for c in own if c.shapes.get(param.name) is not None]
            if param.kind is ParamKind.OPTIONAL and given:
                found.append(replace(given[0], shapes={**given[0].shapes, param.name: None}))
        found += [replace(max(own, key=_elements), block_dim=1)] if own else []
        special = [case for case in own if _takes_any_float(spec, case)]
        found += [replace(case, values="special") for case in special[:1]]
    return list({case_key(case): case for case in found}.values())


def _takes_any_float(spec: OpSpec, case: TestCase) -> bool:
    """Say whether a case has a float tensor whose numbers no range bounds."""
    return any(
        p.low is None and p.high is None and "float" in p.dtypes[case.combo]
        for p in spec.inputs
        if case.shapes.get(p.name)
    )


def _elements(case: TestCase) -> int:
    """Return the elements of all inputs of a case."""
    total = 0
    for shape in case.shapes.values():
        tensors = shape if shape and isinstance(shape[0], tuple) else (shape,)
        total += sum(math.prod(s) for s in tensors if s is not None)
    return total


def _acceptance(spec: OpSpec) -> Any:
    if spec.compute is None:
        return lambda shapes, attrs: True
    from msopgen_wrap.run.golden import acceptance  # imports torch

    return acceptance(spec)


def _default_cases(spec: OpSpec, search: ShapeSearch) -> Iterator[TestCase]:
    """Yield what every dtype combination is tried on."""
    defaults = _default_attrs(spec)
    ranks = search.ranks()
    for layout in layouts(ranks):
        yield from _at(search, layout, defaults)
    yield from _broadcast_cases(spec, search, defaults)
    variants = variant_layouts(ranks)
    for attrs in _attr_variants(spec, defaults):
        own_kernel = _own_kernel(spec, attrs, defaults)
        for layout in variants:
            if own_kernel or not layout.several:
                yield from _at(search, layout, attrs)
    for absent in _absent(spec):
        for layout in variants:
            for case in _at(search, layout, defaults):
                left = {n: None if n in absent else s for n, s in case.shapes.items()}
                if search.fits(left, case.attrs):
                    yield replace(case, shapes=left)


def _at(search: ShapeSearch, layout: Layout, attrs: dict[str, Any]) -> Iterator[TestCase]:
    find = search.several if layout.several else search.near
    if (found := find(layout.shape, attrs)) is not None:
        yield TestCase(0, found[0], found[1], block_dim=layout.cores)


def _value_cases(spec: OpSpec, search: ShapeSearch, combo: int) -> Iterator[TestCase]:
    if not any(
        p.low is None and p.high is None and "float" in p.dtypes[combo] for p in spec.inputs
    ):
        return
    ranks = search.ranks()
    shape = of_rank(SPECIAL, min(ranks), max(ranks))
    found = search.near(shape, _default_attrs(spec))
    if found is None:
        return
    # Special values turn whole rows into nan; a row kernel that forgets to subtract the largest
    # element before exp shows with finite ones.
    attrs = combined_attrs(spec, combo, found[1])
    yield TestCase(combo, found[0], attrs, values="wide")
    yield TestCase(combo, found[0], attrs, values="special")


def whole_number_cases(cases: list[TestCase]) -> list[TestCase]:
    """Return the cases of special values with small whole numbers instead, one per dtypes."""
    special = {case.combo: case for case in cases if case.values == "special"}
    return [replace(case, values="whole") for case in special.values()]


def _large_cases(search: ShapeSearch) -> Iterator[TestCase]:
    ranks = search.ranks()
    base = of_rank((LARGE,), 0, max(ranks))
    search.most = 2 * LARGE
    found = search.near((1,) * (min(ranks) - len(base)) + base, _default_attrs(search.spec))
    if found is not None:
        yield TestCase(0, *found, large=True)


def _freeze(shape: Any) -> Any:
    if shape is None:
        return None
    if shape and isinstance(shape[0], (tuple, list)):
        return tuple(tuple(s) for s in shape)
    return tuple(shape)


def _default_attrs(spec: OpSpec) -> dict[str, Any]:
    plain = {a.name: _sample_value(a) if a.required else a.default for a in spec.attrs}
    return plain | given_lists(spec)


def _sample_value(attr: Any) -> Any:
    """A value for an attr that has no default."""
    if attr.allowed:
        return attr.allowed[0]
    low = attr.minimum
    plain = {
        "int": 1 if low is None else math.ceil(low),
        "float": 0.5 if low is None else float(low),
        "bool": False,
        "str": "",
        "list_int": (0,),
        "list_float": (1.0,),
        "dtype": "float32",
    }
    return plain[attr.type]


def _broadcast_groups(spec: OpSpec) -> tuple[str, ...]:
    """Inputs that an output rule broadcasts together and that no input rule ties down."""
    names: list[str] = []
    for output in spec.outputs:
        if isinstance(output.shape, ShapeBroadcast):
            names += output.shape.tensors
    free = {p.name for p in spec.inputs if p.shape is None and p.kind is not ParamKind.DYNAMIC}
    return tuple(n for n in dict.fromkeys(names) if n in free)


def _broadcast_cases(
    spec: OpSpec, search: ShapeSearch, attrs: dict[str, Any]
) -> Iterator[TestCase]:
    group = _broadcast_groups(spec)
    if len(group) < 2:
        return
    for first, other, cores in broadcast_layouts(search.ranks()):
        for big, small in ((first, other), (other, first)):
            # The first input takes one side; each of the rest has its turn at the other.
            for turn in group[1:]:
                shapes: dict[str, Any] = {}
                for param in spec.inputs:
                    own = small if param.name == turn else big
                    shape = one_input(param, own, shapes, attrs)
                    if shape is None or not param.min_rank <= len(shape) <= param.max_rank:
                        break
                    shapes[param.name] = shape
                if len(shapes) == len(spec.inputs) and search.fits(shapes, attrs):
                    yield TestCase(0, shapes, attrs, block_dim=cores)


def _attr_variants(spec: OpSpec, defaults: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Each attr at each of its other interesting values, one attr at a time; pairs of variants."""
    choices: dict[str, list[Any]] = {}
    chosen = spec.chosen_attrs(0)
    for attr in spec.attrs:
        values: list[Any] = []
        if attr.name in chosen:
            pass  # every combination of dtypes has its value
        elif attr.allowed:
            values = list(attr.allowed)
        elif attr.type == "bool":
            values = [False, True]
        elif attr.type == "int" and _names_axis(spec, attr.name):
            values = [0, 1, -1, -2]
        elif attr.type == "int":
            values = [defaults[attr.name], defaults[attr.name] + 1]
        elif attr.type == "list_int" and _names_axis(spec, attr.name):
            values = [(0,), (-1,), (0, 1), (0, -1)]
        elif attr.type == "float":
            values = [defaults[attr.name], defaults[attr.name] * 1.5 + 0.25]
        choices[attr.name] = [v for v in values if _in_bounds(attr, v)]
    seen = {repr(sorted(defaults.items()))}
    for one, two in itertools.combinations_with_replacement(choices, 2):
        for a, b in itertools.product(choices[one], choices[two]):
            if one == two and a != b:
                continue
            attrs = {**defaults, one: a, two: b}
            if (key := repr(sorted(attrs.items()))) not in seen:
                seen.add(key)
                yield attrs


def _own_kernel(spec: OpSpec, attrs: dict[str, Any], defaults: dict[str, Any]) -> bool:
    """Say whether attrs may lead to another kernel, or other tiles, than the defaults do."""
    return any(
        a.allowed is not None or a.type in ("bool", "dtype") or _names_axis(spec, a.name)
        for a in spec.attrs
        if attrs[a.name] != defaults[a.name]
    )


def _names_axis(spec: OpSpec, name: str) -> bool:
    """Whether an int attr is an axis: a shape rule reduces over it, or it is called so."""
    rules = [o.shape for o in spec.outputs]
    return name in ("dim", "dims", "axis", "axes") or any(
        getattr(rule, "dims", None) == name for rule in rules
    )


def _in_bounds(attr: Any, value: Any) -> bool:
    if attr.allowed is not None:
        return value in attr.allowed
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        low = -math.inf if attr.minimum is None else attr.minimum
        high = math.inf if attr.maximum is None else attr.maximum
        return low <= value <= high
    return True


def _absent(spec: OpSpec) -> Iterator[tuple[str, ...]]:
    """Yield every subset of the optional inputs to leave out (all subsets of up to three)."""
    names = [p.name for p in spec.inputs if p.kind is ParamKind.OPTIONAL][:3]
    for count in range(1, len(names) + 1):
        yield from itertools.combinations(names, count)

"""Sample shapes a spec is traced at: distinct sizes that satisfy its rank and shape rules."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Iterator
from typing import Any

from msopgen_wrap.spec.model import (
    DimConst,
    DimSlice,
    OpSpec,
    ParamKind,
    ShapeList,
    ShapeRule,
    TensorParam,
)
from msopgen_wrap.spec.sample_values import given_lists

# Distinct and larger than 1, so that no dimension is specialised or mistaken for another;
# the last one is divisible by 2, 3 and 4 for ops that split it.
_SIZES = (23, 19, 17, 5, 7, 11, 13, 24)
# Where a rule or a view leaves none or one of these, which a trace takes for a number.
_LARGER = (13, 11, 17, 19, 18, 15, 10, 24)
# Where an attr counts something, sizes that many numbers divide.
_DIVISIBLE = (4, 8, 2, 16, 6, 12, 24, 36)
# Where the square of such a number divides channels, as in F.pixel_shuffle.
_SQUARES = (2, 3, 5, 7, 2, 36, 4, 6)
# Sizes that many powers of two divide, and 3 some of them: for formulas that take none of the
# first ones, such as F.group_norm with 8 groups.
_MULTIPLES = (4, 2, 6, 8, 16, 64, 32, 48)
_MOST_AXES_OF_MULTIPLES = 5  # a proof runs the formula on tensors of these sizes
# Other sizes for a proof that the first ones did not matter: an odd last one, sizes of 1, and sizes
# that are cut into fewer parts than asked for (3 of 4, 4 of 5, 4 of 6, 3 of 9, 4 of 9).
_OTHER_SIZES = (
    (2, 3, 2, 4, 7, 2, 9, 15),
    (2, 2, 3, 2, 1, 6, 1, 10),
    (2, 1, 2, 3, 2, 1, 4, 9),
    (1, 2, 2, 1, 2, 3, 6, 4),
    (1, 1, 2, 1, 2, 2, 9, 1),
)


def base_shape(rank: int, sizes: tuple[int, ...] = _SIZES) -> tuple[int, ...]:
    """Return the sample shape of a rank."""
    return sizes[len(sizes) - rank :] if rank else ()


def other_shapes(
    spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield shapes of the same ranks with other sizes, as far as the shape rules have some.

    In the last ones an input of any shape has sizes of 1 and is broadcast against the others: in a
    trace all inputs have the sizes of the sample, so it takes any of them for the size of a sum.
    """
    if count_attrs(spec):
        return
    given = [p for p in spec.inputs if p.name in shapes]
    free = [p.name for p in given if p.shape is None and shapes[p.name]]
    cases = [(sizes, "") for sizes in _OTHER_SIZES]
    cases += [(_OTHER_SIZES[0], name) for name in free if len(free) > 1]
    for sizes, broadcast in cases:
        result: dict[str, Any] = {}
        for param in given:
            rank = len(shapes[param.name])
            shape = _one_shape(param, rank, result, attrs, sizes)
            if shape is None or len(shape) != rank:
                break
            result[param.name] = (1,) * rank if param.name == broadcast else shape
        else:
            yield result


def sample_attrs(spec: OpSpec) -> dict[str, Any]:
    """Return one legal value per attr: the default, else a bound, else an allowed value.

    A list of zeros gives way to what a case has.
    """
    values: dict[str, Any] = {}
    for attr in spec.attrs:
        if not attr.required and attr.default is not None:
            values[attr.name] = attr.default
        elif attr.allowed:
            values[attr.name] = attr.allowed[0]
        else:
            fallback: dict[str, Any] = {
                "int": -1 if attr.minimum is None else int(attr.minimum),
                "float": 0.5 if attr.minimum is None else attr.minimum,
                "bool": False,
                "str": "",
                "list_int": [-1],
                "list_float": [0.5],
                "dtype": "float32",
            }
            values[attr.name] = fallback[attr.type]
    values.update(given_lists(spec))
    for case in spec.cases:
        for name, value in case.attrs.items():
            if any(a.name == name and a.required and not a.allowed for a in spec.attrs):
                values[name] = value
    for name in count_attrs(spec):
        given = [c.attrs[name] for c in spec.cases if c.attrs.get(name, 1) > 1]
        # 1 would hide what depends on it
        most = spec.attr(name).maximum
        few = most is not None and most < 2
        values[name] = given[0] if given else max(values[name], 1 if few else 2)
    return values


def call_attrs(spec: OpSpec, given: dict[str, Any]) -> dict[str, Any]:
    """Return the values of all attrs of a call that gives some of them.

    Lists of sizes whose default says that they are not given are alternatives: where a call gives
    one, the others keep their defaults.
    """
    values = {**sample_attrs(spec), **given}
    sizes = given_lists(spec)
    if not sizes.keys().isdisjoint(given):
        values |= {name: spec.attr(name).default for name in sizes if name not in given}
    return values


def count_attrs(spec: OpSpec) -> list[str]:
    """Return the open int attrs that count something (minimum 1): they may divide a size."""
    return [
        a.name
        for a in spec.attrs
        if a.type == "int" and not a.allowed and a.minimum is not None and a.minimum >= 1
    ]


def with_ruled_sizes(
    spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any], name: str
) -> dict[str, Any]:
    """Return sample shapes where those inputs have other sizes whose rule reads an attr.

    So it is with what arrives at the gradient of an output whose size is the attr.

    Args:
        shapes: sample shapes by input; a list has one shape.
        attrs: the value of every attr.
        name: the attr whose value is another one than that of ``shapes``.

    Raises:
        ShapeError: the rules give no shape for these values.
    """
    from msopgen_wrap.spec.shapes import rule_attrs, rule_tensors

    changed: dict[str, Any] = {}
    for param in spec.inputs:
        rule = param.shape
        if rule is None or param.name not in shapes:
            continue
        if name not in rule_attrs(rule) and changed.keys().isdisjoint(rule_tensors(rule)):
            continue
        sizes = _ruled_shape(rule, {**shapes, **changed}, attrs)
        changed[param.name] = [sizes] if param.kind is ParamKind.DYNAMIC else sizes
    return {**shapes, **changed}


def settled_axes(param: TensorParam, rank: int) -> set[int]:
    """Return the axes that the shape rule of an input gives size 0 or 1 in every call.

    PyTorch takes these sizes apart from all others: 1 may broadcast, and of a tensor without
    elements it does not ask what a reshape of it has.

    Args:
        rank: the rank that the input has.
    """
    if not isinstance(param.shape, ShapeList):
        return set()
    items = param.shape.items
    runs = [i for i, item in enumerate(items) if isinstance(item, DimSlice)]
    found = [i for i, item in enumerate(items) if item in (DimConst(0), DimConst(1))]
    if len(runs) > 1:
        return set()
    return {i if not runs or i < runs[0] else i + rank - len(items) for i in found}


def candidate_shapes(
    spec: OpSpec, attrs: dict[str, Any], rank: int | None = None
) -> Iterator[dict[str, Any]]:
    """Yield input shapes to try, most general first; a dynamic input gets a list of one shape.

    With an attr such as ``num_groups`` the cases come first: their shapes and attrs fit together.
    Those with a size of 1 come last, since a trace takes it for a number.
    A ``rank`` gives the shapes of that rank only, for the inputs that may have it.
    """
    if rank is not None:
        shapes = _shapes_at(spec, rank, attrs)
        if shapes is not None:
            yield shapes
        if any(map(_open_rank, spec.inputs)):
            yield from (_at_rank(spec, case, rank, attrs) for case in _case_shapes(spec))
        yield from _shapes_of_multiples(spec, [rank], attrs)
        return
    low = max((p.min_rank for p in spec.inputs), default=0)
    high = max((p.max_rank for p in spec.inputs), default=8)
    ranks = [r for r in (3, 4, 2, 5, 1, 6, 7, 8, 0) if low <= r <= high]
    if count_attrs(spec) or _has_ratios(spec):
        cases = list(_case_shapes(spec))
        yield from (case for case in cases if not _has_ones(spec, case))
        yield from _plain_shapes(spec, ranks, attrs)
        squares = _shapes_at(spec, min(max(low, 4), high), attrs, _SQUARES)
        if squares is not None:
            yield squares
        yield from (case for case in cases if _has_ones(spec, case))
    elif any(map(_open_rank, spec.inputs)):
        yield from _plain_shapes(spec, ranks[:2], attrs)
        cases = list(_case_shapes(spec))
        yield from (_at_rank(spec, case, rank, attrs) for rank in ranks[:2] for case in cases)
        # Before other ranks, which may have a size that divides by chance: F.group_norm of 8 groups
        # takes the 24 of rank 2, where its reshape lacks the axes that other ranks have.
        yield from _shapes_of_multiples(spec, ranks[:2], attrs)
        yield from _plain_shapes(spec, ranks[2:], attrs)
        yield from cases
    else:
        yield from _plain_shapes(spec, ranks, attrs)
        yield from _case_shapes(spec)
        yield from _shapes_of_multiples(spec, ranks[:2], attrs)


def _plain_shapes(
    spec: OpSpec, ranks: list[int], attrs: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield the first sample shapes of some ranks."""
    for rank in ranks:
        shapes = _shapes_at(spec, rank, attrs)
        if shapes is not None:
            yield shapes


def _shapes_of_multiples(
    spec: OpSpec, ranks: list[int], attrs: dict[str, Any]
) -> Iterator[dict[str, Any]]:
    """Yield shapes for formulas that divide a size by a number and refuse a remainder."""
    if count_attrs(spec):
        return  # the first ones have such sizes
    for sizes in (_DIVISIBLE, _MULTIPLES, _SQUARES, _LARGER):
        for rank in ranks:
            shapes = _shapes_at(spec, rank, attrs, sizes)
            if shapes is not None and all(
                len(s) <= _MOST_AXES_OF_MULTIPLES for s in map(first_shape, shapes.values())
            ):
                yield shapes


def first_shape(shape: Any) -> tuple[int, ...]:
    """Return a shape, or that of the first tensor of a list."""
    found: tuple[int, ...] = shape[0] if isinstance(shape, list) else shape
    return found


def _ruled_shape(rule: ShapeRule, known: dict[str, Any], attrs: dict[str, Any]) -> tuple[int, ...]:
    """Return the shape of a tensor, or of each of a list, by a rule and the known shapes."""
    from msopgen_wrap.spec.shapes import evaluate

    sizes: Any = evaluate(rule, {k: first_shape(v) for k, v in known.items()}, attrs)
    return tuple(sizes)


def _case_shapes(spec: OpSpec) -> Iterator[dict[str, Any]]:
    for case in spec.cases:
        yield {
            p.name: (
                [tuple(s) for s in case.shapes[p.name]][:1]
                if p.kind is ParamKind.DYNAMIC
                else tuple(case.shapes[p.name])
            )
            for p in spec.inputs
            if case.shapes.get(p.name) is not None
        }


def _has_ones(spec: OpSpec, case: dict[str, Any]) -> bool:
    """Whether a case has a size of 1 that no rule gives."""
    free = [p.name for p in spec.inputs if p.shape is None and p.name in case]
    return any(1 in first_shape(case[name]) for name in free)


def _has_ratios(spec: OpSpec) -> bool:
    """Whether a case gives an axis of one input a multiple of its size in another one.

    Sizes above 1, of one batch axis of inputs that may have any shape and have the same other
    batches and last axis: heads that share keys.
    The samples have equal sizes there, which would hide what depends on the ratio.
    """
    free = [p.name for p in spec.inputs if p.shape is None and p.kind is ParamKind.REQUIRED]
    for case in spec.cases:
        known = [case.shapes[name] for name in free if case.shapes.get(name)]
        for one, other in itertools.permutations(known, 2):
            if len(one) != len(other) or one[-1] != other[-1]:
                continue
            apart = [(a, b) for a, b in zip(one[:-2], other[:-2], strict=True) if a != b]
            if len(apart) == 1 and apart[0][0] > apart[0][1] > 1 and not apart[0][0] % apart[0][1]:
                return True
    return False


def _open_rank(param: TensorParam) -> bool:
    return param.shape is None and param.min_rank < param.max_rank


def _at_rank(
    spec: OpSpec, case: dict[str, Any], rank: int, attrs: dict[str, Any]
) -> dict[str, Any]:
    """Return the shapes of a case with the inputs of open rank brought to another one.

    Sizes come and go in front: a formula that takes the case mostly takes these, too. Inputs with a
    shape rule follow.
    """
    from msopgen_wrap.spec.shapes import ShapeError

    shapes = dict(case)
    for param in filter(_open_rank, spec.inputs):
        own = shapes.get(param.name)
        if param.kind is not ParamKind.DYNAMIC and own is not None:
            wanted = max(param.min_rank, min(rank, param.max_rank))
            more = base_shape(wanted)[: max(0, wanted - len(own))]
            shapes[param.name] = (*more, *own[max(0, len(own) - wanted) :])
    for param in spec.inputs:
        own = shapes.get(param.name)
        if param.shape is not None and own is not None and param.kind is not ParamKind.DYNAMIC:
            with contextlib.suppress(ShapeError, KeyError):
                shapes[param.name] = _ruled_shape(param.shape, shapes, attrs)
    return shapes


def _shapes_at(
    spec: OpSpec, rank: int, attrs: dict[str, Any], sizes: tuple[int, ...] = ()
) -> dict[str, Any] | None:
    if sizes or count_attrs(spec):
        return _shapes_of(spec, rank, attrs, sizes or _DIVISIBLE)
    shapes = _shapes_of(spec, rank, attrs, _SIZES)
    if shapes is not None and _has_few(spec, shapes, attrs):
        larger = _shapes_of(spec, rank, attrs, _LARGER)
        return shapes if larger is None or _has_few(spec, larger, attrs) else larger
    return shapes


def _has_few(spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any]) -> bool:
    """Whether a rule gives an axis size 0 or 1 which it does not have in every call."""
    for param in (*spec.inputs, *spec.outputs):
        if not isinstance(param.shape, ShapeList):
            continue
        try:
            shape = _ruled_shape(param.shape, shapes, attrs)
        except Exception:
            continue  # the trace says what is wrong
        settled = settled_axes(param, len(shape))
        if any(size < 2 and axis not in settled for axis, size in enumerate(shape)):
            return True
    return False


def _shapes_of(
    spec: OpSpec, rank: int, attrs: dict[str, Any], sizes: tuple[int, ...]
) -> dict[str, Any] | None:
    shapes: dict[str, Any] = {}
    for param in spec.inputs:
        shape = _one_shape(param, rank, shapes, attrs, sizes)
        if shape is None:
            return None
        shapes[param.name] = [shape] if param.kind is ParamKind.DYNAMIC else shape
    return shapes


def _one_shape(
    param: TensorParam,
    rank: int,
    known: dict[str, Any],
    attrs: dict[str, Any],
    base: tuple[int, ...] = _SIZES,
) -> tuple[int, ...] | None:
    if param.shape is not None:
        try:
            return _ruled_shape(param.shape, known, attrs)
        except Exception:
            return None
    return base_shape(max(param.min_rank, min(rank, param.max_rank)), base)

"""Shape rules: evaluate the nodes of ``model.py`` in Python and turn them back into text.

The generated InferShape (C++) and the generated fake kernel evaluate
the same nodes, so ``evaluate`` is the reference for both.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping, Sequence
from typing import Any

from msopgen_wrap.spec.model import (
    AttrTest,
    DimAttr,
    DimBinary,
    DimConst,
    DimExpr,
    DimGiven,
    DimNumel,
    DimOf,
    DimRank,
    DimScaled,
    DimSlice,
    ShapeBroadcast,
    ShapeChoice,
    ShapeLike,
    ShapeList,
    ShapePermute,
    ShapeReduce,
    ShapeRule,
    ShapeStridedSlice,
    TensorParam,
)
from msopgen_wrap.spec.strided_slices import sliced_shape

MAX_RANK = 8

Shape = tuple[int, ...]
PlainRule = ShapeLike | ShapeBroadcast | ShapeList | ShapeReduce | ShapePermute | ShapeStridedSlice
ShapeOrList = Shape | list[Shape]


class ShapeError(ValueError):
    """Given shapes do not satisfy a rule; the message names the shapes."""


def broadcast_shapes(shapes: Sequence[Shape]) -> Shape:
    """Return the NumPy broadcast of ``shapes``.

    Raises:
        ShapeError: two dimensions differ and neither is 1.
    """
    rank = max((len(s) for s in shapes), default=0)
    result = [1] * rank
    for shape in shapes:
        for i, dim in enumerate(shape, rank - len(shape)):
            if dim == result[i] or dim == 1:
                continue
            if result[i] != 1:
                shown = " and ".join(str(list(s)) for s in shapes)
                raise ShapeError(f"shapes {shown} do not broadcast")
            result[i] = dim
    return tuple(result)


def holds_number(param: TensorParam) -> bool:
    """Whether a tensor, or each one of a list, has one element in every call."""
    ones = isinstance(param.shape, ShapeList) and set(param.shape.items) <= {DimConst(1)}
    return ones or param.max_rank == 0


def evaluate(
    rule: ShapeRule,
    shapes: Mapping[str, Any],
    attrs: Mapping[str, Any] | None = None,
) -> ShapeOrList:
    """Return the shape that ``rule`` gives.

    Args:
        rule: the parsed rule.
        shapes: input name -> shape, a list or tuple of shapes for a dynamic input, None for an
            absent optional input.
        attrs: attr name -> value; needed only by rules that name attrs.

    Returns:
        A tuple of dimensions, or a list of tuples when the rule follows a dynamic input.

    Raises:
        ShapeError: the shapes do not satisfy the rule.
    """
    values = dict(attrs or {})
    rule = chosen_rule(rule, values)
    names = rule_tensors(rule)
    lists = [n for n in names if is_shape_list(shapes.get(n))]
    if not lists:
        return _evaluate_one(rule, {n: _tuple(shapes.get(n)) for n in names}, values)
    count = {len(shapes[n]) for n in lists}
    if len(count) != 1:
        lengths = ", ".join(f"{n} has {len(shapes[n])}" for n in lists)
        raise ShapeError(f"tensor lists differ in length: {lengths}")
    results = []
    for i in range(count.pop()):
        row = {n: shapes[n][i] if n in lists else shapes.get(n) for n in names}
        results.append(_evaluate_one(rule, {n: _tuple(s) for n, s in row.items()}, values))
    return results


def chosen_rule(rule: ShapeRule, attrs: Mapping[str, Any]) -> PlainRule:
    """Return the rule that attrs choose; one without conditions is that itself."""
    while isinstance(rule, ShapeChoice):
        rule = rule.then if rule.test.holds(attrs) else rule.otherwise
    return rule


def is_shape_list(shape: Any) -> bool:
    """Whether ``shape`` holds the shapes of a tensor list rather than dimensions."""
    return bool(shape) and isinstance(shape, (list, tuple)) and isinstance(shape[0], (list, tuple))


def tensor_shapes(shape: Any) -> list[Any]:
    """Return the shapes of the tensors of an input: one, those of a list, none of an absent one."""
    if shape is None:
        return []
    return list(shape) if is_shape_list(shape) else [shape]


def _tuple(shape: Any) -> Shape | None:
    return None if shape is None else tuple(shape)


def _evaluate_one(
    rule: PlainRule, shapes: Mapping[str, Shape | None], attrs: Mapping[str, Any]
) -> Shape:
    if isinstance(rule, ShapeLike):
        return _shape_of(rule.tensor, shapes)
    if isinstance(rule, ShapeBroadcast):
        return broadcast_shapes([s for n in rule.tensors if (s := shapes.get(n)) is not None])
    if isinstance(rule, ShapeReduce):
        return _evaluate_reduce(rule, _shape_of(rule.tensor, shapes), attrs)
    if isinstance(rule, ShapePermute):
        return _permuted(rule, _shape_of(rule.tensor, shapes), attrs)
    if isinstance(rule, ShapeStridedSlice):
        return _sliced(rule, _shape_of(rule.tensor, shapes), attrs)
    result: list[int] = []
    for item in rule.items:
        if isinstance(item, DimSlice):
            result.extend(_shape_of(item.tensor, shapes)[item.start : item.stop])
        else:
            value = evaluate_dim(item, shapes, attrs)
            if value < 0:
                raise ShapeError(f"dimension {len(result)} would be {value}")
            result.append(value)
    if len(result) > MAX_RANK:
        raise ShapeError(f"rank {len(result)} is above {MAX_RANK}")
    return tuple(result)


def _shape_of(name: str, shapes: Mapping[str, Shape | None]) -> Shape:
    shape = shapes.get(name)
    if shape is None:
        raise ShapeError(f"the shape rule needs input '{name}', which is absent")
    return shape


def _evaluate_reduce(rule: ShapeReduce, shape: Shape, attrs: Mapping[str, Any]) -> Shape:
    dims: Any = attrs[rule.dims] if isinstance(rule.dims, str) else rule.dims
    dims = [dims] if isinstance(dims, int) else list(dims or ())
    keep = attrs[rule.keepdim] if isinstance(rule.keepdim, str) else rule.keepdim
    rank = len(shape)
    chosen = set()
    for dim in dims:
        # A scalar accepts dim 0 and -1, as torch does.
        if not -max(rank, 1) <= dim < max(rank, 1):
            raise ShapeError(f"dim {dim} is out of range for {rule.tensor} of shape {list(shape)}")
        chosen.add(dim % rank if rank else 0)
    if not dims:
        chosen = set(range(rank))
    if keep:
        return tuple(1 if i in chosen else d for i, d in enumerate(shape))
    return tuple(d for i, d in enumerate(shape) if i not in chosen)


def _permuted(rule: ShapePermute, shape: Shape, attrs: Mapping[str, Any]) -> Shape:
    order = [int(axis) for axis in attrs[rule.axes]]
    places = [axis + len(shape) if axis < 0 else axis for axis in order]
    if sorted(places) != list(range(len(shape))):
        text = f"{rule.axes} = {order} is no order of the axes of {rule.tensor}, {list(shape)}"
        raise ShapeError(text)
    return tuple(shape[place] for place in places)


def _sliced(rule: ShapeStridedSlice, shape: Shape, attrs: Mapping[str, Any]) -> Shape:
    try:
        result = sliced_shape(shape, *(attrs[name] for name in (*rule.lists, *rule.masks)))
    except ValueError as error:
        raise ShapeError(f"{error} (slice of {rule.tensor}, {list(shape)})") from None
    if len(result) > MAX_RANK:
        raise ShapeError(f"rank {len(result)} is above {MAX_RANK}")
    return tuple(result)


def evaluate_dim(
    expr: DimExpr, shapes: Mapping[str, Shape | None], attrs: Mapping[str, Any]
) -> int:
    """Return the value of one dimension expression.

    Raises:
        ShapeError: an axis is out of range, an input is absent, or a division by zero.
    """
    if isinstance(expr, DimConst):
        return expr.value
    if isinstance(expr, DimAttr):
        value = attrs[expr.name]
        if expr.index is None:
            return int(value)
        try:
            return int(value[expr.index])
        except IndexError:
            raise ShapeError(f"attr '{expr.name}' has no element {expr.index}") from None
    if isinstance(expr, DimOf):
        shape = _shape_of(expr.tensor, shapes)
        try:
            return shape[expr.axis]
        except IndexError:
            raise ShapeError(
                f"{expr.tensor} of shape {list(shape)} has no axis {expr.axis}"
            ) from None
    if isinstance(expr, DimRank):
        return len(_shape_of(expr.tensor, shapes))
    if isinstance(expr, DimNumel):
        total = 1
        for dim in _shape_of(expr.tensor, shapes):
            total *= dim
        return total
    if isinstance(expr, DimScaled):
        return _scaled(evaluate_dim(expr.dim, shapes, attrs), expr, attrs)
    if isinstance(expr, DimGiven):
        chosen = expr.absent if shapes.get(expr.tensor) is None else expr.given
        return evaluate_dim(chosen, shapes, attrs)
    left = evaluate_dim(expr.left, shapes, attrs)
    right = evaluate_dim(expr.right, shapes, attrs)
    if expr.op in ("//", "%") and right == 0:
        raise ShapeError(f"division by zero in '{left} {expr.op} {right}'")
    operations = {
        "+": lambda: left + right,
        "-": lambda: left - right,
        "*": lambda: left * right,
        "//": lambda: left // right,
        "%": lambda: left % right,
        "min": lambda: min(left, right),
        "max": lambda: max(left, right),
    }
    return operations[expr.op]()


def _scaled(dim: int, expr: DimScaled, attrs: Mapping[str, Any]) -> int:
    value = attrs[expr.factor.name]
    if expr.factor.index is not None:
        try:
            value = value[expr.factor.index]
        except IndexError:
            text = f"attr '{expr.factor.name}' has no element {expr.factor.index}"
            raise ShapeError(text) from None
    product = dim * float32(value)
    if not abs(product) < 2**31:
        raise ShapeError(f"dimension {dim} times {value} is no size")
    return math.ceil(product) if expr.up else math.floor(product)


def float32(value: float) -> float:
    """Return the number as float32 holds it, which is what CANN passes for a float attr."""
    try:
        return float(struct.unpack("f", struct.pack("f", value))[0])
    except OverflowError:
        return math.copysign(math.inf, value)


# ---- queries and text --------------------------------------------------------------------------


def rule_choices(rule: ShapeRule) -> tuple[AttrTest, ...]:
    """Return the conditions of a rule."""
    if not isinstance(rule, ShapeChoice):
        return ()
    return (rule.test, *rule_choices(rule.then), *rule_choices(rule.otherwise))


def plain_rules(rule: ShapeRule) -> tuple[PlainRule, ...]:
    """Return the rules that the conditions of a rule choose from; a rule without any is one."""
    if isinstance(rule, ShapeChoice):
        return (*plain_rules(rule.then), *plain_rules(rule.otherwise))
    return (rule,)


def rule_tensors(rule: ShapeRule) -> tuple[str, ...]:
    """Return the inputs that a rule refers to, in order, each once."""
    if isinstance(rule, ShapeChoice):
        return tuple(dict.fromkeys(n for plain in plain_rules(rule) for n in rule_tensors(plain)))
    if isinstance(rule, ShapeBroadcast):
        return tuple(dict.fromkeys(rule.tensors))
    if isinstance(rule, (ShapeLike, ShapeReduce, ShapePermute, ShapeStridedSlice)):
        return (rule.tensor,)
    names: list[str] = []
    for item in rule.items:
        names += [item.tensor] if isinstance(item, DimSlice) else _dim_tensors(item)
    return tuple(dict.fromkeys(names))


def _dim_tensors(expr: DimExpr) -> list[str]:
    if isinstance(expr, DimBinary):
        return _dim_tensors(expr.left) + _dim_tensors(expr.right)
    if isinstance(expr, DimScaled):
        return _dim_tensors(expr.dim)
    if isinstance(expr, DimGiven):
        return [expr.tensor, *_dim_tensors(expr.given), *_dim_tensors(expr.absent)]
    return [expr.tensor] if isinstance(expr, (DimOf, DimRank, DimNumel)) else []


def needed_tensors(rule: ShapeRule) -> tuple[str, ...]:
    """Return the inputs without which a rule gives no shape, in order, each once."""
    if isinstance(rule, ShapeChoice):
        return tuple(dict.fromkeys(n for r in plain_rules(rule) for n in needed_tensors(r)))
    if isinstance(rule, ShapeBroadcast):
        return ()
    if not isinstance(rule, ShapeList):
        return rule_tensors(rule)
    names: list[str] = []
    for item in rule.items:
        names += [item.tensor] if isinstance(item, DimSlice) else _dim_needs(item)
    return tuple(dict.fromkeys(names))


def _dim_needs(expr: DimExpr) -> list[str]:
    if isinstance(expr, DimGiven):
        given = [n for n in _dim_needs(expr.given) if n != expr.tensor]
        return given + _dim_needs(expr.absent)
    if isinstance(expr, DimBinary):
        return _dim_needs(expr.left) + _dim_needs(expr.right)
    return _dim_needs(expr.dim) if isinstance(expr, DimScaled) else _dim_tensors(expr)


def queried_tensors(rule: ShapeRule) -> tuple[str, ...]:
    """Return the inputs whose presence decides a dimension of a rule, in order, each once."""
    lists = [r for r in plain_rules(rule) if isinstance(r, ShapeList)]
    items = [i for r in lists for i in r.items if not isinstance(i, DimSlice)]
    return tuple(dict.fromkeys(n for item in items for n in _dim_tests(item)))


def _dim_tests(expr: DimExpr) -> list[str]:
    if isinstance(expr, DimGiven):
        return [expr.tensor, *_dim_tests(expr.given), *_dim_tests(expr.absent)]
    if isinstance(expr, DimBinary):
        return _dim_tests(expr.left) + _dim_tests(expr.right)
    return _dim_tests(expr.dim) if isinstance(expr, DimScaled) else []


def rule_attrs(rule: ShapeRule) -> tuple[str, ...]:
    """Return the attrs that a rule refers to, in order, each once."""
    if isinstance(rule, ShapeChoice):
        names = [test.name for test in rule_choices(rule)]
        names += [n for plain in plain_rules(rule) for n in rule_attrs(plain)]
        return tuple(dict.fromkeys(names))
    if isinstance(rule, ShapeReduce):
        return tuple(n for n in (rule.dims, rule.keepdim) if isinstance(n, str))
    if isinstance(rule, ShapePermute):
        return (rule.axes,)
    if isinstance(rule, ShapeStridedSlice):
        return (*rule.lists, *rule.masks)
    if not isinstance(rule, ShapeList):
        return ()
    found: list[str] = []
    for item in rule.items:
        if not isinstance(item, DimSlice):
            found += _dim_attrs(item)
    return tuple(dict.fromkeys(found))


def _dim_attrs(expr: DimExpr) -> list[str]:
    if isinstance(expr, DimBinary):
        return _dim_attrs(expr.left) + _dim_attrs(expr.right)
    if isinstance(expr, DimScaled):
        return [*_dim_attrs(expr.dim), expr.factor.name]
    if isinstance(expr, DimGiven):
        return _dim_attrs(expr.given) + _dim_attrs(expr.absent)
    return [expr.name] if isinstance(expr, DimAttr) else []


def format_shape(rule: ShapeRule) -> str:
    """Return the canonical text of a rule; ``parse_shape`` reads it back to the same nodes."""
    if isinstance(rule, ShapeChoice):
        then, otherwise = format_shape(rule.then), format_shape(rule.otherwise)
        if isinstance(rule.then, ShapeChoice):
            then = f"({then})"
        return f"{then} if {format_test(rule.test)} else {otherwise}"
    if isinstance(rule, ShapeLike):
        return f"like {rule.tensor}"
    if isinstance(rule, ShapeBroadcast):
        return f"broadcast({', '.join(rule.tensors)})"
    if isinstance(rule, ShapeReduce):
        dims = rule.dims if isinstance(rule.dims, str) else f"[{', '.join(map(str, rule.dims))}]"
        keep = rule.keepdim if isinstance(rule.keepdim, str) else str(rule.keepdim).lower()
        return f"reduce({rule.tensor}, {dims}, {keep})"
    if isinstance(rule, ShapePermute):
        return f"permute({rule.tensor}, {rule.axes})"
    if isinstance(rule, ShapeStridedSlice):
        return f"strided_slice({', '.join((rule.tensor, *rule.lists, *rule.masks))})"
    parts = []
    for item in rule.items:
        if not isinstance(item, DimSlice):
            parts.append(format_dim(item))
        elif item.start is None and item.stop is None:
            parts.append(f"*{item.tensor}")
        else:
            start = "" if item.start is None else item.start
            stop = "" if item.stop is None else item.stop
            parts.append(f"*{item.tensor}[{start}:{stop}]")
    return f"[{', '.join(parts)}]"


def format_test(test: AttrTest) -> str:
    """Return the text of a condition, which is Python as well."""
    if test.values in ((True,), (False,)) and isinstance(test.values[0], bool):
        return test.name if test.values[0] != test.inverted else f"not {test.name}"
    if len(test.values) == 1:
        return f"{test.name} {'!=' if test.inverted else '=='} {test.values[0]!r}"
    return f"{test.name} {'not in' if test.inverted else 'in'} {test.values!r}"


def format_dim(expr: DimExpr) -> str:
    """Return the text of a dimension expression, with parentheses around nested operations."""
    if isinstance(expr, DimConst):
        return str(expr.value)
    if isinstance(expr, DimAttr):
        return expr.name if expr.index is None else f"{expr.name}[{expr.index}]"
    if isinstance(expr, DimOf):
        return f"{expr.tensor}[{expr.axis}]"
    if isinstance(expr, DimRank):
        return f"rank({expr.tensor})"
    if isinstance(expr, DimNumel):
        return f"numel({expr.tensor})"
    if isinstance(expr, DimScaled):
        dim = format_dim(expr.dim)
        dim = f"({dim})" if isinstance(expr.dim, (DimBinary, DimGiven)) else dim
        return f"{'ceil' if expr.up else 'floor'}({dim} * {format_dim(expr.factor)})"
    if isinstance(expr, DimGiven):
        given, absent = format_dim(expr.given), format_dim(expr.absent)
        given = f"({given})" if isinstance(expr.given, DimGiven) else given
        return f"{given} if {expr.tensor} is not None else {absent}"
    if expr.op in ("min", "max"):
        return f"{expr.op}({format_dim(expr.left)}, {format_dim(expr.right)})"
    left, right = (
        f"({format_dim(e)})"
        if isinstance(e, DimGiven) or (isinstance(e, DimBinary) and e.op not in ("min", "max"))
        else format_dim(e)
        for e in (expr.left, expr.right)
    )
    return f"{left} {expr.op} {right}"

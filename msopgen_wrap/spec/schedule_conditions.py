"""Read the conditions of a spec's ``schedule``: ``elements <= 2**20 and dtype == float16``."""

from __future__ import annotations

import ast

from msopgen_wrap.spec.findings import listed, suggestion
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.schedule_entries import LARGEST, Condition, DtypeTest, SizeBound

MOST = 2**62
_EXAMPLE = "e.g. 'elements <= 2**20 and x[-1] > 4096 and dtype == float16'"
_FLIPPED = {ast.Lt: ast.Gt, ast.LtE: ast.GtE, ast.Gt: ast.Lt, ast.GtE: ast.LtE, ast.Eq: ast.Eq}


class ConditionError(ValueError):
    """A condition cannot be read.

    Attributes:
        fix: what to do about it.
    """

    def __init__(self, text: str, fix: str = _EXAMPLE) -> None:
        super().__init__(text)
        self.fix = fix


def read_conditions(text: str, spec: OpSpec) -> tuple[Condition, ...]:
    """Return the conditions that a text joins by ``and``.

    Args:
        text: comparisons of ``elements``, ``numel(x)``, ``x[axis]`` with whole numbers, and of
            ``dtype``.
        spec: the op; its required inputs have the sizes and the dtype.

    Raises:
        ConditionError: the text says something else, or can never hold.
    """
    try:
        root = ast.parse(text.strip(), mode="eval").body
    except (SyntaxError, ValueError, MemoryError, RecursionError):
        raise ConditionError(f"'{text[:60]}' is no condition") from None
    terms = root.values if isinstance(root, ast.BoolOp) and isinstance(root.op, ast.And) else [root]
    found: dict[str, Condition] = {}
    for term in terms:
        if not isinstance(term, ast.Compare):
            raise ConditionError(f"'{_source(term)}' is no comparison")
        for condition in _comparison(term, spec):
            key = "dtype" if isinstance(condition, DtypeTest) else condition.name()
            found[key] = _both(found[key], condition) if key in found else condition
    return tuple(found.values())


def _comparison(term: ast.Compare, spec: OpSpec) -> list[Condition]:
    sides = [term.left, *term.comparators]
    if any(isinstance(side, ast.Name) and side.id == "dtype" for side in sides):
        return [_dtype_test(term, spec)]
    found: list[Condition] = []
    for left, operator, right in zip(sides[:-1], term.ops, sides[1:], strict=True):
        kind = type(operator)
        if kind not in _FLIPPED:
            raise ConditionError(f"'{_source(term)}' compares by neither < <= > >= nor ==")
        if (number := _number(right)) is not None:
            size = left
        elif (number := _number(left)) is not None:
            size, kind = right, _FLIPPED[kind]
        else:
            raise ConditionError(f"'{_source(term)}' compares with no whole number")
        low = {ast.Gt: number + 1, ast.GtE: number, ast.Eq: number}.get(kind)
        high = {ast.Lt: number - 1, ast.LtE: number, ast.Eq: number}.get(kind)
        name, tensor, axis = _size(size, spec)
        found.append(SizeBound(name, tensor, axis, low, high))
    return found


def _size(node: ast.expr, spec: OpSpec) -> tuple[str, str, int]:
    """Return what a size is of: its kind, the input and the axis."""
    if isinstance(node, ast.Name) and node.id == LARGEST:
        return LARGEST, "", 0
    if (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Name)
        and node.func.id == "numel"
        and len(node.args) == 1
        and isinstance(node.args[0], ast.Name)
        and not node.keywords
    ):
        return "numel", _input(node.args[0].id, spec).name, 0
    if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
        axis = _number(node.slice)
        param = _input(node.value.id, spec)
        if axis is None or not -8 <= axis < 8:
            raise ConditionError(f"'{_source(node)}' has no axis: a whole number, e.g. x[-1]")
        if (axis if axis >= 0 else -axis - 1) >= param.max_rank:
            raise ConditionError(f"'{param.name}' has at most {param.max_rank} axes, no {axis}")
        return "dim", param.name, axis
    names = [LARGEST, "numel(x)", "x[-1]", "dtype"]
    raise ConditionError(
        f"'{_source(node)}' is no size of a call: {listed(names)}",
        suggestion(node.id, [LARGEST, "dtype"]) if isinstance(node, ast.Name) else _EXAMPLE,
    )


def _input(name: str, spec: OpSpec) -> TensorParam:
    known = [p.name for p in spec.inputs if p.kind is ParamKind.REQUIRED]
    if name not in known:
        raise ConditionError(
            f"'{name}' is no required input that is a single tensor",
            suggestion(name, known) or f"they are: {listed(known)}",
        )
    return spec.param(name)


def _dtype_test(term: ast.Compare, spec: OpSpec) -> DtypeTest:
    param = dtype_input(spec)
    if param is None:
        raise ConditionError("'dtype' is that of the first required input, and there is none")
    right = term.comparators[0]
    one = isinstance(term.ops[0], ast.Eq)
    many = isinstance(term.ops[0], ast.In) and isinstance(right, (ast.Tuple, ast.List))
    items = right.elts if many and isinstance(right, (ast.Tuple, ast.List)) else [right]
    names = [item.id for item in items if isinstance(item, ast.Name)]
    plain = isinstance(term.left, ast.Name) and term.left.id == "dtype" and len(term.ops) == 1
    if not (plain and (one or many)) or len(names) < len(items):
        raise ConditionError(
            f"'{_source(term)}' is no test of the dtype",
            "write 'dtype == float16' or 'dtype in (float16, bfloat16)'",
        )
    for name in names:
        if name not in param.dtypes:
            known = dict.fromkeys(param.dtypes)
            raise ConditionError(
                f"'{param.name}' never has dtype '{name}'",
                suggestion(name, known) or f"its dtypes: {listed(known)}",
            )
    return DtypeTest(tuple(dict.fromkeys(names)))


def dtype_input(spec: OpSpec) -> TensorParam | None:
    """Return the input whose dtype conditions mean: the first that every call has."""
    return next((p for p in spec.inputs if p.kind is not ParamKind.OPTIONAL), None)


def _both(first: Condition, second: Condition) -> Condition:
    """Return the condition that both hold."""
    if isinstance(first, DtypeTest) and isinstance(second, DtypeTest):
        dtypes = tuple(d for d in first.dtypes if d in second.dtypes)
        if not dtypes:
            raise ConditionError("the condition can never hold: no dtype meets both tests")
        return DtypeTest(dtypes)
    assert isinstance(first, SizeBound) and isinstance(second, SizeBound)
    lows = [n for n in (first.low, second.low) if n is not None]
    highs = [n for n in (first.high, second.high) if n is not None]
    low, high = max(lows, default=None), min(highs, default=None)
    if low is not None and high is not None and low > high:
        raise ConditionError(
            f"the condition can never hold: {first.name()} cannot be at least {low} and at most "
            f"{high}"
        )
    return SizeBound(first.size, first.tensor, first.axis, low, high)


def _number(node: ast.expr) -> int | None:
    """Return a whole number, or a product, power or negation of such."""
    if isinstance(node, ast.Constant) and type(node.value) is int:
        return node.value if node.value <= MOST else None
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        value = _number(node.operand)
        return None if value is None else -value
    if isinstance(node, ast.BinOp) and isinstance(node.op, (ast.Mult, ast.Pow)):
        left, right = _number(node.left), _number(node.right)
        if left is None or right is None or left < 0 or right < 0:
            return None
        if isinstance(node.op, ast.Pow):
            fits = left <= 1 or (right <= 62 and left**right <= MOST)
            return left**right if fits else None
        return left * right if left * right <= MOST else None
    return None


def _source(node: ast.AST) -> str:
    return ast.unparse(node)[:60]

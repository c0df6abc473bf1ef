"""Attribute values that remember where they came from, and the scalar expressions they form.

A non-variant attr must reach the kernel as tiling data, so tracing has to see through
``1 - alpha`` or ``float(alpha) ** 2``. ``TracedFloat`` and ``TracedInt`` are real Python numbers
with an unlikely value; arithmetic on them records an expression under the resulting value, and
after tracing every constant of the graph is looked up in that record. Two traces with different
values (see ``tracing``) prove that nothing else in the graph depends on the attr.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Union


@dataclass(frozen=True)
class Const:
    """A literal number."""

    value: float | int | bool


@dataclass(frozen=True)
class AttrRef:
    """The value of an int or float attr, or element ``index`` of a list attr."""

    name: str
    integer: bool = False
    index: int | None = None


@dataclass(frozen=True)
class DimRef:
    """Size of dimension ``axis`` of input ``tensor`` in the traced sample of rank ``rank``."""

    tensor: str
    axis: int
    rank: int


@dataclass(frozen=True)
class ReducedCount:
    """How many elements one reduction of a row kernel covers; known to its tiling function."""


@dataclass(frozen=True)
class Unary:
    """``op`` one of ``neg abs sqrt exp log float int floor ceil``."""

    op: str
    arg: ScalarExpr


@dataclass(frozen=True)
class Binary:
    """``op`` one of ``+ - * / // % ** min max``."""

    op: str
    left: ScalarExpr
    right: ScalarExpr


ScalarExpr = Union[Const, AttrRef, DimRef, ReducedCount, Unary, Binary]  # noqa: UP007  (forward references)


class StructureError(Exception):
    """The structure of ``compute`` depends on an attr that is not a variant."""

    def __init__(self, name: str):
        self.name = name
        super().__init__(f"the value of attr {name!r} decides the structure of the graph")


class Record:
    """Values seen during one trace and the expression behind each."""

    def __init__(self) -> None:
        self._by_value: dict[float, ScalarExpr] = {}

    def note(self, value: float | int, expr: ScalarExpr) -> None:
        """Remember that ``value`` is ``expr``."""
        self._by_value.setdefault(float(value), expr)

    def lookup(self, value: float | int) -> ScalarExpr | None:
        """Return the expression recorded for a constant, or None for a plain literal."""
        return self._by_value.get(float(value))


_BINARY = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "truediv": "/",
    "floordiv": "//",
    "mod": "%",
    "pow": "**",
}


class _Traced:
    """Mixin: arithmetic keeps the expression, anything that would branch raises."""

    expr: ScalarExpr
    record: Record
    root: str

    def _refuse(self, *_: Any) -> Any:
        raise StructureError(self.root)

    __bool__ = __lt__ = __le__ = __gt__ = __ge__ = _refuse

    def __eq__(self, other: object) -> bool:
        if other is None or isinstance(other, str):
            return False
        raise StructureError(self.root)

    def __ne__(self, other: object) -> bool:
        if other is None or isinstance(other, str):
            return True
        raise StructureError(self.root)

    def __neg__(self) -> Any:
        return wrap(-_plain(self), Unary("neg", self.expr), self.record, self.root)

    def __abs__(self) -> Any:
        return wrap(abs(_plain(self)), Unary("abs", self.expr), self.record, self.root)

    def __pos__(self) -> Any:
        return self


def _plain(value: Any) -> float | int:
    """Return the plain Python number behind a traced one."""
    if isinstance(value, TracedFloat):
        return float.__float__(value)
    if isinstance(value, TracedInt):
        return int.__int__(value)
    return value


def _expr(value: Any) -> ScalarExpr:
    return value.expr if isinstance(value, _Traced) else Const(value)


def _make_binary(method: str, symbol: str, swapped: bool) -> Any:
    name = f"__{method}__"

    def operate(self: Any, other: Any) -> Any:
        if isinstance(other, bool) or not isinstance(other, (int, float)):
            return NotImplemented
        a, b = (other, self) if swapped else (self, other)
        result = getattr(_promote(_plain(a), _plain(b)), name)(_plain(b))
        if result is NotImplemented:
            return NotImplemented
        return wrap(result, Binary(symbol, _expr(a), _expr(b)), self.record, self.root)

    return operate


def _promote(a: float | int, b: float | int) -> float | int:
    return float(a) if isinstance(b, float) else a


for _method, _symbol in _BINARY.items():
    setattr(_Traced, f"__{_method}__", _make_binary(_method, _symbol, False))
    setattr(_Traced, f"__r{_method}__", _make_binary(_method, _symbol, True))


class TracedFloat(_Traced, float):
    """A float attr (or a float computed from attrs) during a trace."""

    __hash__ = float.__hash__


class TracedInt(_Traced, int):
    """An int attr during a trace."""

    __hash__ = int.__hash__

    def __float__(self) -> float:
        # The result loses the subclass, but the value stays findable in the record.
        value = float(int.__int__(self))
        self.record.note(value, self.expr)
        return value


def wrap(value: float | int, expr: ScalarExpr, record: Record, root: str) -> Any:
    """Return a traced number of the right type and note its value."""
    cls = TracedInt if isinstance(value, int) else TracedFloat
    traced = cls(value)
    traced.expr, traced.record, traced.root = expr, record, root
    record.note(value, expr)
    return traced


def evaluate(expr: ScalarExpr, attrs: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> Any:
    """Evaluate on concrete attrs and input shapes (Python numbers)."""
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, AttrRef):
        value = attrs[expr.name]
        return value if expr.index is None else value[expr.index]
    if isinstance(expr, DimRef):
        shape = shapes[expr.tensor]
        return shape[expr.axis - expr.rank if expr.axis * 2 >= expr.rank else expr.axis]
    if isinstance(expr, ReducedCount):
        return attrs["reducedCount"]
    if isinstance(expr, Unary):
        return _UNARY_EVAL[expr.op](evaluate(expr.arg, attrs, shapes))
    a, b = evaluate(expr.left, attrs, shapes), evaluate(expr.right, attrs, shapes)
    return _BINARY_EVAL[expr.op](a, b)


_UNARY_EVAL: dict[str, Any] = {
    "neg": lambda a: -a,
    "abs": abs,
    "sqrt": lambda a: math.sqrt(a) if a >= 0 else math.nan,
    "exp": math.exp,
    "log": lambda a: math.log(a) if a > 0 else (-math.inf if a == 0 else math.nan),
    "float": float,
    "int": int,
    "floor": math.floor,
    "ceil": math.ceil,
}


def _divide(a: Any, b: Any) -> float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a)
    return a / b


_BINARY_EVAL: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": _divide,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
    "**": lambda a, b: a**b,
    "min": min,
    "max": max,
}


def is_const(expr: ScalarExpr) -> bool:
    """Whether the expression has no attr and no dimension in it."""
    if isinstance(expr, Const):
        return True
    if isinstance(expr, Unary):
        return is_const(expr.arg)
    if isinstance(expr, Binary):
        return is_const(expr.left) and is_const(expr.right)
    return False


def fold(op: str, *args: ScalarExpr) -> ScalarExpr:
    """Build ``op(args)``, evaluating it at once when every argument is a literal."""
    expr: ScalarExpr = Unary(op, args[0]) if len(args) == 1 else Binary(op, args[0], args[1])
    if is_const(expr):
        return Const(evaluate(expr, {}, {}))
    return expr


def attr_variable(name: str) -> str:
    """Return the variable of an attr in TilingFunc: never one that TilingFunc uses itself."""
    return f"{name}Value"


def to_cpp(expr: ScalarExpr) -> str:
    """Format for the host: a double (or int64) expression over attr variables.

    Attr ``alpha`` is spelled ``alphaValue``, dimension ``axis`` of ``x``
    ``opgen::DimAt(xShape, axis)`` (negative axes count from the end), both provided by the tiling
    template.
    """
    if isinstance(expr, Const):
        return cpp_number(expr.value)
    if isinstance(expr, AttrRef):
        name = attr_variable(expr.name)
        name = name if expr.index is None else f"{name}[{expr.index}]"
        return name if expr.integer else f"static_cast<double>({name})"
    if isinstance(expr, DimRef):
        axis = expr.axis - expr.rank if expr.axis * 2 >= expr.rank else expr.axis
        return f"opgen::DimAt({expr.tensor}Shape, {axis})"
    if isinstance(expr, ReducedCount):
        return "reducedCount"
    if isinstance(expr, Unary):
        inner = to_cpp(expr.arg)
        if expr.op == "neg":
            return f"(-{inner})"
        if expr.op == "float":
            return f"static_cast<double>({inner})"
        if expr.op == "int":
            return f"static_cast<int64_t>({inner})"
        return f"std::{'fabs' if expr.op == 'abs' else expr.op}(static_cast<double>({inner}))"
    a, b = to_cpp(expr.left), to_cpp(expr.right)
    if expr.op == "**":
        return f"std::pow(static_cast<double>({a}), static_cast<double>({b}))"
    if expr.op in ("min", "max"):
        return f"std::{expr.op}<double>({a}, {b})"
    if expr.op == "/":
        return f"(static_cast<double>({a}) / static_cast<double>({b}))"
    if expr.op == "//":
        return f"opgen::FloorDiv({a}, {b})"
    if expr.op == "%":
        return f"opgen::FloorMod({a}, {b})"
    return f"({a} {expr.op} {b})"


def cpp_number(value: float | int | bool) -> str:
    """Format a literal for the host (double precision)."""
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, int):
        return str(value) if abs(value) < 2**31 else f"{value}LL"
    if math.isnan(value):
        return 'std::nan("")'
    if math.isinf(value):
        return "INFINITY" if value > 0 else "-INFINITY"
    return repr(value)


def describe(expr: ScalarExpr) -> str:
    """Format for people (plan tables, comments)."""
    if isinstance(expr, Const):
        return f"{expr.value:g}" if isinstance(expr.value, float) else str(expr.value)
    if isinstance(expr, AttrRef):
        return expr.name if expr.index is None else f"{expr.name}[{expr.index}]"
    if isinstance(expr, DimRef):
        return f"{expr.tensor}.shape[{expr.axis}]"
    if isinstance(expr, ReducedCount):
        return "n"
    if isinstance(expr, Unary):
        return f"{expr.op}({describe(expr.arg)})"
    return f"({describe(expr.left)} {expr.op} {describe(expr.right)})"

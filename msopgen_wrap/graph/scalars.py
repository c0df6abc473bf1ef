"""Scalar expressions over attrs and sizes: what the host computes for the tiling data.

The traced graph has them as nodes (``graph.symbols``); a lowering turns these into the expressions
here, which are evaluated in Python for plans and printed as C++ for tiling functions
(``graph.host_text``).
"""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from typing import Any, TypeGuard, Union


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
    """Size of dimension ``axis`` of input ``tensor`` in the traced sample of rank ``rank``.

    ``signed`` is the axis for every rank, where traces of two ranks have shown it.
    """

    tensor: str
    axis: int
    rank: int
    signed: int | None = None

    def from_either_end(self) -> int:
        """Return the axis for tensors of other ranks: negative ones count from the end."""
        if self.signed is not None:
            return self.signed
        return self.axis - self.rank if self.axis * 2 >= self.rank else self.axis


@dataclass(frozen=True)
class Numel:
    """Number of elements of input ``tensor``, or the product of its sizes but those ``without``.

    Axes are written as ``DimRef.from_either_end`` writes them.
    """

    tensor: str
    without: tuple[int, ...] = ()


@dataclass(frozen=True)
class ReducedCount:
    """How many elements one reduction of a row kernel covers; known to its tiling function."""


@dataclass(frozen=True)
class Unary:
    """``op`` is ``neg``, ``float``, ``int`` (toward zero) or one of ``UNARY_FUNCTIONS``.

    ``low_word`` and ``high_word`` are the halves of a 64-bit integer, as int32.
    """

    op: str
    arg: ScalarExpr


@dataclass(frozen=True)
class Binary:
    """``op`` one of ``+ - * / // % ** min max``, or of ``NUMBERS_OF_CONDITIONS``."""

    op: str
    left: ScalarExpr
    right: ScalarExpr


ScalarExpr = Union[Const, AttrRef, DimRef, Numel, ReducedCount, Unary, Binary]  # noqa: UP007  (forward references)


# Functions of one number: of Python, and of C++ by the same name where none is given.
UNARY_FUNCTIONS = {
    name: getattr(math, name)
    for name in (
        *("sqrt", "exp", "log", "log2", "log10", "log1p", "expm1"),
        *("sin", "cos", "tan", "tanh", "erf", "floor", "ceil", "trunc"),
    )
} | {"abs": abs, "round": round}
WHOLE_FUNCTIONS = ("floor", "ceil", "trunc", "round")
WORDS = {"low_word": 0, "high_word": 32}  # how far the word lies from the lowest bit


def evaluate(expr: ScalarExpr, attrs: dict[str, Any], shapes: dict[str, tuple[int, ...]]) -> Any:
    """Evaluate on concrete attrs and input shapes (Python numbers)."""
    if isinstance(expr, Const):
        return expr.value
    if isinstance(expr, AttrRef):
        value = attrs[expr.name]
        return value if expr.index is None else value[expr.index]
    if isinstance(expr, DimRef):
        return shapes[expr.tensor][expr.from_either_end()]
    if isinstance(expr, Numel):
        sizes = shapes[expr.tensor]
        left_out = {axis % max(1, len(sizes)) for axis in expr.without}
        return math.prod(n for axis, n in enumerate(sizes) if axis not in left_out)
    if isinstance(expr, ReducedCount):
        return attrs["reducedCount"]
    if isinstance(expr, Unary):
        return _UNARY_EVAL[expr.op](evaluate(expr.arg, attrs, shapes))
    a, b = evaluate(expr.left, attrs, shapes), evaluate(expr.right, attrs, shapes)
    return _BINARY_EVAL[expr.op](a, b)


def _guarded(function: Any) -> Any:
    """Give nan and infinity where Python raises, as C++ does."""

    def call(a: Any) -> Any:
        try:
            return function(a)
        except ValueError:
            return -math.inf if a == 0 else math.nan
        except OverflowError:
            return math.inf

    return call


def _word(bit: int, value: int) -> int:
    """Return 32 bits of an integer as int32."""
    word = (int(value) >> bit) & 0xFFFFFFFF
    return word - (1 << 32) if word >> 31 else word


_UNARY_EVAL: dict[str, Any] = {
    **{name: _guarded(function) for name, function in UNARY_FUNCTIONS.items()},
    "neg": lambda a: -a,
    "float": float,
    "int": int,
    **{name: functools.partial(_word, bit) for name, bit in WORDS.items()},
}


def divided(a: Any, b: Any) -> float:
    """Return a quotient of numbers; that by zero is what C++ gives."""
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a)
    return a / b


def _power(a: Any, b: Any) -> Any:
    try:
        value = a**b
    except ZeroDivisionError:
        return math.inf
    except OverflowError:
        return math.inf if a > 0 or b % 2 == 0 else -math.inf
    return math.nan if isinstance(value, complex) else value


_BINARY_EVAL: dict[str, Any] = {
    "+": lambda a, b: a + b,
    "-": lambda a, b: a - b,
    "*": lambda a, b: a * b,
    "/": divided,
    "//": lambda a, b: a // b if b else (0 if isinstance(a, int) else math.nan),
    "%": lambda a, b: a % b if b else (0 if isinstance(a, int) else math.nan),
    "**": lambda a, b: _power(a, b),
    "min": min,
    "max": max,
    ">": lambda a, b: float(a > b),
    ">=": lambda a, b: float(a >= b),
    "if": lambda a, b: float(a) if b else 0.0,
}
# 1 where a comparison holds, else 0; the left number where the right one is not 0, else 0.
NUMBERS_OF_CONDITIONS = (">", ">=", "if")


def is_const(expr: ScalarExpr) -> bool:
    """Whether the expression has no attr and no dimension in it."""
    if isinstance(expr, Const):
        return True
    if isinstance(expr, Unary):
        return is_const(expr.arg)
    if isinstance(expr, Binary):
        return is_const(expr.left) and is_const(expr.right)
    return False


def is_word(expr: ScalarExpr) -> TypeGuard[Unary]:
    """Whether the expression is one of the two words of an integer: int32 holds it."""
    return isinstance(expr, Unary) and expr.op in WORDS


def fold(op: str, *args: ScalarExpr) -> ScalarExpr:
    """Build ``op(args)``, evaluating it at once when every argument is a literal."""
    expr: ScalarExpr = Unary(op, args[0]) if len(args) == 1 else Binary(op, args[0], args[1])
    if is_const(expr):
        return Const(evaluate(expr, {}, {}))
    return expr


def with_numel(expr: ScalarExpr) -> ScalarExpr:
    """Write the product of all sizes of an input as its ``numel``, which holds for any rank."""
    parts = factors(expr)
    for tensor, rank in dict.fromkeys((f.tensor, f.rank) for f in parts if isinstance(f, DimRef)):
        sizes = [f for f in parts if isinstance(f, DimRef) and f.tensor == tensor]
        if rank > 1 and sorted(f.axis for f in sizes) == list(range(rank)):
            rest = [f for f in parts if f not in sizes]
            return functools.reduce(functools.partial(Binary, "*"), [Numel(tensor), *rest])
    return expr


def with_attr(expr: ScalarExpr, name: str, value: Any) -> ScalarExpr:
    """Return an expression in which an attr, or the elements of a list attr, are numbers.

    Args:
        name: of the attr.
        value: of the attr; elements that it lacks stay as they are.
    """
    if isinstance(expr, AttrRef) and expr.name == name:
        if expr.index is None:
            return Const(value)
        return Const(value[expr.index]) if expr.index < len(value) else expr
    if isinstance(expr, Unary):
        return fold(expr.op, with_attr(expr.arg, name, value))
    if isinstance(expr, Binary):
        left, right = (with_attr(e, name, value) for e in (expr.left, expr.right))
        return fold(expr.op, left, right)
    return expr


def with_product(expr: ScalarExpr, tensor: str, axes: set[int], product: ScalarExpr) -> ScalarExpr:
    """Write the product of the sizes of a tensor along some axes as ``product``, wherever it is."""
    parts = factors(expr)
    sizes = [f for f in parts if isinstance(f, DimRef) and f.tensor == tensor]
    if sizes and sorted(f.axis for f in sizes) == sorted(axes):
        rest = [f for f in parts if f not in sizes]
        return functools.reduce(functools.partial(Binary, "*"), [product, *rest])
    inner = functools.partial(with_product, tensor=tensor, axes=axes, product=product)
    if isinstance(expr, Unary):
        return Unary(expr.op, inner(expr.arg))
    if isinstance(expr, Binary):
        return Binary(expr.op, inner(expr.left), inner(expr.right))
    return expr


def factors(expr: ScalarExpr) -> list[ScalarExpr]:
    """Return what an expression is the product of: itself, where it is no product."""
    if isinstance(expr, Binary) and expr.op == "*":
        return [*factors(expr.left), *factors(expr.right)]
    return [expr]


def tensors_of(expr: ScalarExpr) -> set[str]:
    """Return the inputs whose sizes an expression reads."""
    if isinstance(expr, (DimRef, Numel)):
        return {expr.tensor}
    if isinstance(expr, Unary):
        return tensors_of(expr.arg)
    if isinstance(expr, Binary):
        return tensors_of(expr.left) | tensors_of(expr.right)
    return set()


def has_attr(expr: ScalarExpr) -> bool:
    """Whether an expression reads an attr."""
    if isinstance(expr, Unary):
        return has_attr(expr.arg)
    if isinstance(expr, Binary):
        return has_attr(expr.left) or has_attr(expr.right)
    return isinstance(expr, AttrRef)


def is_integer(expr: ScalarExpr) -> bool:
    """Whether Python computes the expression in integers."""
    if isinstance(expr, Const):
        return isinstance(expr.value, int)
    if isinstance(expr, AttrRef):
        return expr.integer
    if isinstance(expr, (DimRef, Numel, ReducedCount)):
        return True
    if isinstance(expr, Unary):
        if expr.op in ("neg", "abs"):
            return is_integer(expr.arg)
        return expr.op == "int" or expr.op in WHOLE_FUNCTIONS or expr.op in WORDS
    floating = expr.op == "/" or expr.op in NUMBERS_OF_CONDITIONS
    return not floating and is_integer(expr.left) and is_integer(expr.right)


def describe(expr: ScalarExpr) -> str:
    """Format for people (plan tables, comments)."""
    if isinstance(expr, Const):
        return f"{expr.value:g}" if isinstance(expr.value, float) else str(expr.value)
    if isinstance(expr, AttrRef):
        return expr.name if expr.index is None else f"{expr.name}[{expr.index}]"
    if isinstance(expr, DimRef):
        axis = expr.axis if expr.signed is None else expr.signed
        return f"{expr.tensor}.shape[{axis}]"
    if isinstance(expr, Numel):
        left_out = [f"{expr.tensor}.shape[{axis}]" for axis in expr.without]
        return " without ".join([f"{expr.tensor}.numel()", *left_out])
    if isinstance(expr, ReducedCount):
        return "n"
    if isinstance(expr, Unary):
        return f"{expr.op}({describe(expr.arg)})"
    return f"({describe(expr.left)} {expr.op} {describe(expr.right)})"

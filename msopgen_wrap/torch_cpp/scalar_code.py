"""Pointwise ATen calls as C++ expressions over the values of one element.

``SCALAR_CALLS`` maps an overload packet (``aten.add``) to a function that writes the expression. It
computes what eager PyTorch computes for one element: half precision in float, integers in their own
type, NaN kept by maximum and minimum. Functions that the C++ library lacks are in
``csrc/scalar_math.h`` of the generated extension.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

C_TYPES = {
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
    "int8": "int8_t",
    "int16": "int16_t",
    "int32": "int32_t",
    "int64": "int64_t",
    "uint8": "uint8_t",
    "bool": "bool",
}
# What tensors hold; half precision is widened when it is read.
STORAGE_TYPES = {**C_TYPES, "float16": "at::Half", "bfloat16": "at::BFloat16"}
FLOATS = frozenset({"float16", "bfloat16", "float32", "float64"})
_SMALL = frozenset({"int8", "int16", "uint8"})


@dataclass(frozen=True)
class Expr:
    """A C++ expression.

    Attributes:
        dtype: torch's name of its type, ``float32``.
        atomic: whether it may stand beside any operator without parentheses.
        product: whether it is a product or a quotient, which a sum takes as it is.
        number: the value of a literal, which has no type of its own yet.
    """

    text: str
    dtype: str
    atomic: bool = True
    product: bool = False
    number: Any = None

    @property
    def operand(self) -> str:
        """The text as an operand of an operator."""
        return self.text if self.atomic else f"({self.text})"


def literal(value: Any, dtype: str) -> Expr:
    """Return a number as a literal of a type."""
    if dtype == "bool":
        return Expr("true" if value else "false", dtype)
    if dtype in FLOATS:
        suffix = "" if dtype == "float64" else "f"
        number = float(value)
        c_type = C_TYPES[dtype]
        if math.isnan(number):
            return Expr(f"std::numeric_limits<{c_type}>::quiet_NaN()", dtype)
        if math.isinf(number):
            sign = "-" if number < 0 else ""
            return Expr(f"{sign}std::numeric_limits<{c_type}>::infinity()", dtype, not sign)
        text = repr(number)
        text = text if any(c in text for c in ".e") else text + ".0"
        return Expr(text + suffix, dtype, not text.startswith("-"))
    whole = int(value)
    if whole == -(2**63):
        return Expr("std::numeric_limits<int64_t>::min()", dtype)
    text = f"int64_t{{{whole}}}" if dtype == "int64" else str(whole)
    return Expr(text, dtype, not text.startswith("-"))


def cast(value: Expr, dtype: str) -> Expr:
    """Return a value in another type; half precision is kept in float."""
    if value.number is not None:
        return literal(value.number, dtype)
    if value.dtype == dtype or C_TYPES[value.dtype] == C_TYPES[dtype]:
        return Expr(value.text, dtype, value.atomic, value.product)
    return Expr(f"static_cast<{C_TYPES[dtype]}>({value.text})", dtype)


def rounded(value: Expr, dtype: str) -> Expr:
    """Return a float rounded to half precision, as a conversion that compute asks for does."""
    wide = cast(value, "float32")
    return Expr(f"static_cast<float>({STORAGE_TYPES[dtype]}({wide.text}))", dtype)


Writer = Callable[[list[Expr], str, dict[str, Any]], Expr]
SCALAR_CALLS: dict[str, Writer] = {}
# Calls whose arguments are compared: they meet in their common type, the result is a bool.
COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _writes(*names: str) -> Callable[[Writer], Writer]:
    def register(writer: Writer) -> Writer:
        for name in names:
            SCALAR_CALLS[f"aten.{name}"] = writer
        return writer

    return register


def binary(op: str, a: Expr, b: Expr, dtype: str) -> Expr:
    """Return ``a op b``; results of small integers are cut to their type, as torch does it."""
    sums = op in ("+", "-")
    left, right = (x.text if sums and x.product else x.operand for x in (a, b))
    text = f"{left} {op} {right}"
    if dtype in _SMALL:
        return Expr(f"static_cast<{C_TYPES[dtype]}>({text})", dtype)
    return Expr(text, dtype, False, op in ("*", "/"))


def _call(name: str, dtype: str, *args: Expr) -> Expr:
    return Expr(f"{name}({', '.join(a.text for a in args)})", dtype)


def _infix(op: str) -> Writer:
    def write(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
        a, b = (cast(x, dtype) for x in args[:2])
        if "alpha" in options:
            b = binary("*", cast(options["alpha"], dtype), b, dtype)
        return binary(op, a, b, dtype)

    return write


def _function(name: str, count: int = 1) -> Writer:
    def write(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
        return _call(name, dtype, *(cast(x, dtype) for x in args[:count]))

    return write


SCALAR_CALLS["aten.add"] = _infix("+")
SCALAR_CALLS["aten.sub"] = _infix("-")
SCALAR_CALLS["aten.bitwise_and"] = _infix("&")
SCALAR_CALLS["aten.bitwise_or"] = _infix("|")
SCALAR_CALLS["aten.bitwise_xor"] = _infix("^")
_STD = """exp exp2 expm1 log log2 log10 log1p sqrt sin cos tan asin acos atan sinh cosh tanh asinh
    acosh atanh erf erfc lgamma"""
for _name in _STD.split():
    SCALAR_CALLS[f"aten.{_name}"] = _function(f"std::{_name}")
for _name in ("atan2", "hypot", "copysign", "nextafter"):
    SCALAR_CALLS[f"aten.{_name}"] = _function(f"std::{_name}", 2)
for _name, _helper in {
    "sigmoid": "Sigmoid",
    "rsqrt": "Rsqrt",
    "relu": "Relu",
    "sign": "Sign",
    "sgn": "Sign",
}.items():
    SCALAR_CALLS[f"aten.{_name}"] = _function(f"scalar::{_helper}")
for _name, _helper in {
    "maximum": "Maximum",
    "minimum": "Minimum",
    "clamp_min": "Maximum",
    "clamp_max": "Minimum",
    "remainder": "Remainder",
    "fmod": "Fmod",
    "floor_divide": "FloorDivide",
}.items():
    SCALAR_CALLS[f"aten.{_name}"] = _function(f"scalar::{_helper}", 2)


@_writes("mul")
def _mul(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    a, b = (cast(x, dtype) for x in args[:2])
    return binary("&&" if dtype == "bool" else "*", a, b, dtype)


@_writes("rsub")
def _rsub(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    return binary("-", cast(args[1], dtype), cast(args[0], dtype), dtype)


@_writes("div")
def _div(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    a, b = (cast(x, dtype) for x in args[:2])
    mode = options.get("rounding_mode")
    if mode is None:
        return binary("/", a, b, dtype)
    return _call("scalar::FloorDivide" if mode == "floor" else "scalar::TruncDivide", dtype, a, b)


@_writes("neg")
def _neg(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    value = Expr(f"-{cast(args[0], dtype).operand}", dtype, False)
    return Expr(f"static_cast<{C_TYPES[dtype]}>({value.text})", dtype) if dtype in _SMALL else value


@_writes("abs")
def _abs(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    value = cast(args[0], dtype)
    return value if dtype in ("bool", "uint8") else _call("scalar::Abs", dtype, value)


@_writes("square")
def _square(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    value = cast(args[0], dtype)
    return binary("*", value, value, dtype)


@_writes("reciprocal")
def _reciprocal(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    return binary("/", literal(1, dtype), cast(args[0], dtype), dtype)


@_writes("pow")
def _pow(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    base, power = (cast(x, dtype) for x in args[:2])
    exponent = options.get("exponent")
    if exponent in (2, 3) and base.atomic:
        square = binary("*", base, base, dtype)
        return square if exponent == 2 else binary("*", square, base, dtype)
    if exponent == 0.5 and dtype in FLOATS:
        return _call("std::sqrt", dtype, base)
    if dtype not in FLOATS:
        return _call("scalar::IntegerPower", dtype, base, power)
    return _call("std::pow", dtype, base, power)


@_writes("clamp", "hardtanh")
def _clamp(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    value = cast(args[0], dtype)
    for helper, place, key in (("Maximum", 1, "min"), ("Minimum", 2, "max")):
        bound = args[place] if len(args) > place else options.get(key)
        if bound is not None:
            value = _call(f"scalar::{helper}", dtype, value, cast(bound, dtype))
    return value


@_writes("where")
def _where(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    condition, a, b = cast(args[0], "bool"), cast(args[1], dtype), cast(args[2], dtype)
    return Expr(f"{condition.operand} ? {a.operand} : {b.operand}", dtype, False)


_ROUNDINGS = {"floor": "floor", "ceil": "ceil", "trunc": "trunc", "round": "nearbyint"}


def _rounding(name: str) -> Writer:
    def write(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
        value = cast(args[0], dtype)
        return _call(f"std::{_ROUNDINGS[name]}", dtype, value) if dtype in FLOATS else value

    return write


for _name in _ROUNDINGS:
    SCALAR_CALLS[f"aten.{_name}"] = _rounding(_name)


@_writes("gelu")
def _gelu(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    tanh = options.get("approximate", "none") == "tanh"
    return _call("scalar::GeluTanh" if tanh else "scalar::Gelu", dtype, cast(args[0], dtype))


@_writes("mish")
def _mish(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    return _call("scalar::Mish", dtype, cast(args[0], dtype))


@_writes("isnan", "isinf")
def _class(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    name = str(options["name"])
    return (
        literal(False, "bool")
        if args[0].dtype not in FLOATS
        else _call(f"std::{name}", "bool", args[0])
    )


@_writes("logical_and", "logical_or", "logical_xor")
def _logical(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    op = {"logical_and": "&&", "logical_or": "||", "logical_xor": "!="}[str(options["name"])]
    a, b = (cast(x, "bool") for x in args[:2])
    return binary(op, a, b, "bool")


@_writes("logical_not", "bitwise_not")
def _not(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    if dtype == "bool":
        return Expr(f"!{cast(args[0], 'bool').operand}", "bool", False)
    return Expr(f"static_cast<{C_TYPES[dtype]}>(~{cast(args[0], dtype).operand})", dtype)


def _comparison(op: str) -> Writer:
    def write(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
        a, b = (cast(x, str(options["common"])) for x in args[:2])
        return binary(op, a, b, "bool")

    return write


for _name, _op in COMPARISONS.items():
    SCALAR_CALLS[f"aten.{_name}"] = _comparison(_op)


@_writes("_to_copy")
def _convert(args: list[Expr], dtype: str, options: dict[str, Any]) -> Expr:
    if dtype in ("float16", "bfloat16") and args[0].dtype != dtype:
        return rounded(args[0], dtype)
    return cast(args[0], dtype)


SCALAR_CALLS["prims.convert_element_type"] = SCALAR_CALLS["aten.to"] = _convert
# The value is among the arguments: which one, by name.
FILLS = {"full": 1, "full_like": 1, "scalar_tensor": 0, "fill": 1, "copy": 1}
CONSTANTS = {"zeros_like": 0, "ones_like": 1, "zeros": 0, "ones": 1, "empty": 0, "empty_like": 0}

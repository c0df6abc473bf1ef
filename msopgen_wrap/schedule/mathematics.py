"""Lowerings of transcendental functions: instructions where one exists, building blocks of
``opgen/math.h`` where a formula needs care at the extremes (that header has the error bounds)."""

from __future__ import annotations

import math
from typing import Any

from msopgen_wrap.graph.scalars import Const, fold
from msopgen_wrap.schedule.calls import target_name
from msopgen_wrap.schedule.lowering import Lowerer, lowers, wrap_small
from msopgen_wrap.schedule.program import F32, I32, MASK, OPS, Operand, OpInfo, Scalar, Val
from msopgen_wrap.schedule.views import View
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

# Building blocks: kinds of the scratch tiles each needs, after dst and the sources.
BLOCKS: dict[str, tuple[str, ...]] = {
    "Expm1": (F32, F32, MASK),
    "Log1p": (F32, F32, MASK),
    "Tanh": (F32, F32, F32, MASK),
    "Sinh": (F32, F32, F32, MASK),
    "Cosh": (F32,),
    "Erf": (F32, F32, F32, MASK),
    "Erfc": (F32, F32, MASK),
    "Sin": (F32, F32, F32),
    "Cos": (F32, F32, F32),
    "Tan": (F32, F32, F32, F32),
    "Atan": (F32, F32, F32, MASK),
    "Atan2": (F32, F32, F32, F32, MASK, MASK),
    "Asin": (F32, F32, MASK),
    "Acos": (F32, F32, F32, MASK, MASK),
    "Asinh": (F32, F32, F32, F32, MASK),
    "Acosh": (F32, F32, F32, F32, MASK),
    "Atanh": (F32, F32, F32, MASK),
    "Pow": (F32, F32, F32, MASK, MASK, MASK),
    "PowOfNumber": (F32, F32, F32, F32, MASK, MASK, MASK),
    "FloorQuotient": (F32, F32, F32, F32, F32, MASK),
    "Fmod": (F32, F32, F32, F32, F32, MASK, MASK),
    "Remainder": (F32, F32, F32, F32, F32, MASK, MASK),
    "DivideFloor": (F32, F32, I32, I32, MASK, MASK),
    "DivideTrunc": (F32, F32, I32, I32, MASK, MASK),
    "Gcd": (F32, F32, I32, I32, I32, I32, MASK, MASK, MASK),
    "RoundTo": (F32,),
}
OPS.update({f"opgen::{name}": OpInfo(f"opgen::{name}", in_place=False) for name in BLOCKS})

# How lowerings of more than one name differ from PyTorch.
LARGE_ANGLE = (
    "loses accuracy for arguments beyond 1e5 (the result stays within its range): the argument is "
    "reduced with pi in four parts"
)
ROUNDED_STEPS = (
    "rounds the product to float32 before the sum, and it may overflow there; PyTorch fuses the two"
)
_DIFFERS = {"sin": LARGE_ANGLE, "cos": LARGE_ANGLE, "tan": LARGE_ANGLE}

_BY_ATEN = {
    "expm1": "Expm1",
    "log1p": "Log1p",
    "tanh": "Tanh",
    "sinh": "Sinh",
    "cosh": "Cosh",
    "erf": "Erf",
    "erfc": "Erfc",
    "sin": "Sin",
    "cos": "Cos",
    "tan": "Tan",
    "atan": "Atan",
    "asin": "Asin",
    "acos": "Acos",
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
}


def block(low: Lowerer, name: str, *args: Operand, kind: str = F32, mode: str = "") -> Val:
    """Emit a building block with its scratch tiles; ``mode`` is its template argument."""
    return low.emit(f"opgen::{name}", kind, *args, mode=mode, temps=BLOCKS[name])


def _float(low: Lowerer, value: Any) -> Val:
    return low.tile(low.as_kind(low.operand(value), F32))


def _register_blocks() -> None:
    for aten, name in _BY_ATEN.items():

        def handler(low: Lowerer, node: Node, name: str = name) -> Any:
            return block(low, name, _float(low, node.args[0]))

        lowers(f"aten.{aten}.default", differs=_DIFFERS.get(aten, ""))(handler)


_register_blocks()


def one_over(low: Lowerer, value: Val) -> Val:
    """1 / value; the Reciprocal instruction is too coarse for float."""
    one = low.emit("Fill", F32, Scalar(Const(1.0)))
    return low.emit("Div", F32, one, value)


@lowers("aten.exp.default")
def _exp(low: Lowerer, node: Node) -> Any:
    return low.emit("Exp", F32, _float(low, node.args[0]))


@lowers("aten.exp2.default")
def _exp2(low: Lowerer, node: Node) -> Any:
    scaled = low.emit("Muls", F32, _float(low, node.args[0]), Scalar(Const(math.log(2.0))))
    return low.emit("Exp", F32, scaled)


@lowers("aten.log.default", "aten.log2.default", "aten.log10.default")
def _log(low: Lowerer, node: Node) -> Any:
    natural = low.emit("Ln", F32, _float(low, node.args[0]))
    base = {"log2": 2.0, "log10": 10.0}.get(str(node.target).split(".")[1])
    if base is None:
        return natural
    return low.emit("Muls", F32, natural, Scalar(Const(1.0 / math.log(base))))


@lowers("aten.sqrt.default")
def _sqrt(low: Lowerer, node: Node) -> Any:
    return low.emit("Sqrt", F32, _float(low, node.args[0]))


@lowers("aten.rsqrt.default")
def _rsqrt(low: Lowerer, node: Node) -> Any:
    return one_over(low, low.emit("Sqrt", F32, _float(low, node.args[0])))


@lowers("aten.reciprocal.default")
def _reciprocal(low: Lowerer, node: Node) -> Any:
    return one_over(low, _float(low, node.args[0]))


@lowers("aten.sigmoid.default")
def _sigmoid(low: Lowerer, node: Node) -> Any:
    return sigmoid(low, _float(low, node.args[0]))


def sigmoid(low: Lowerer, value: Val) -> Val:
    """1 / (1 + exp(-value)); exp overflows to inf, which gives the right 0."""
    negated = low.emit("Muls", F32, value, Scalar(Const(-1.0)))
    grown = low.emit("Exp", F32, negated)
    return one_over(low, low.emit("Adds", F32, grown, Scalar(Const(1.0))))


def tanh_beside_one(low: Lowerer, node: Node, one: Any, tanh: Any, sign: float) -> Val | None:
    """Return ``1 + sign * tanh(x)`` without cancellation; None for other sums and differences.

    It is 2 / (1 + exp(-2 sign x)). A tanh that others read as well is not computed twice.

    Args:
        one, tanh: the two sides of the sum or difference ``node``.
    """
    plain = len(node.args) == 2 and not node.kwargs
    if not plain or one != 1 or not isinstance(tanh, Node):
        return None
    if target_name(tanh) != "aten.tanh.default" or len(tanh.users) > 1:
        return None
    if not low.dtype(tanh).startswith(("float", "bfloat")):
        return None
    scaled = low.emit("Muls", F32, _float(low, tanh.args[0]), Scalar(Const(-2.0 * sign)))
    grown = low.emit("Adds", F32, low.emit("Exp", F32, scaled), Scalar(Const(1.0)))
    return low.emit("Div", F32, low.emit("Fill", F32, Scalar(Const(2.0))), grown)


def one_less_square_of_tanh(low: Lowerer, one: Any, square: Any) -> Val | None:
    """Return ``1 - tanh(x) ** 2``, the slope of tanh, without cancellation; None for the rest.

    With e = exp(-2 |x|) it is 4 e / (1 + e)^2. What is left of 1 has few digits where tanh is near
    1: its own roundings are as large. So it is computed of x even where others read the tanh.

    Args:
        one, square: the two sides of a difference.
    """
    tanh: Any = _squared(square) if one == 1 else None
    if target_name(tanh) != "aten.tanh.default":
        return None
    if not low.dtype(tanh).startswith(("float", "bfloat")):
        return None
    size = low.emit("Abs", F32, _float(low, tanh.args[0]))
    shrunk = low.emit("Exp", F32, low.emit("Muls", F32, size, Scalar(Const(-2.0))))
    whole = low.emit("Adds", F32, shrunk, Scalar(Const(1.0)))
    quotient = low.emit("Div", F32, shrunk, low.emit("Mul", F32, whole, whole))
    return low.emit("Muls", F32, quotient, Scalar(Const(4.0)))


def _squared(node: Any) -> Any:
    """Return what is multiplied by itself, None where nothing is."""
    if target_name(node if isinstance(node, Node) else None) == "aten.mul.Tensor":
        return node.args[0] if node.args[0] is node.args[1] else None
    power = isinstance(node, Node) and target_name(node) == "aten.pow.Tensor_Scalar"
    return node.args[0] if power and node.args[1] == 2 else None


@lowers("aten.silu.default")
def _silu(low: Lowerer, node: Node) -> Any:
    value = _float(low, node.args[0])
    return low.emit("Mul", F32, value, sigmoid(low, value))


# tanh(softplus(x)) is 1 in float32 from here on, and the square of e^x has not yet overflowed.
_MISH_LIMIT = 20.0


@lowers("aten.mish.default")
def _mish(low: Lowerer, node: Node) -> Any:
    # With e = exp(x), tanh(log(1 + e)) is n / (n + 2) of n = e (e + 2): no term cancels.
    value = _float(low, node.args[0])
    grown = low.emit("Exp", F32, low.emit("Mins", F32, value, Scalar(Const(_MISH_LIMIT))))
    product = low.emit("Mul", F32, grown, low.emit("Adds", F32, grown, Scalar(Const(2.0))))
    more = low.emit("Adds", F32, product, Scalar(Const(2.0)))
    return low.emit("Mul", F32, value, low.emit("Div", F32, product, more))


@lowers(
    "aten.floor.default",
    "aten.ceil.default",
    "aten.trunc.default",
    "aten.round.default",
    "aten.frac.default",
)
def _round(low: Lowerer, node: Node) -> Any:
    value = low.operand(node.args[0])
    if low.kind(node) == I32:
        return low.as_kind(value, I32)
    value = _float(low, value)
    name = str(node.target).split(".")[1]
    mode = {"floor": "FLOOR", "ceil": "CEIL", "round": "RINT"}.get(name, "TRUNC")
    rounded = low.emit("Cast", F32, value, mode=f"CAST_{mode}")
    return low.emit("Sub", F32, value, rounded) if name == "frac" else rounded


@lowers("aten.atan2.default")
def _atan2(low: Lowerer, node: Node) -> Any:
    return block(low, "Atan2", _float(low, node.args[0]), _float(low, node.args[1]))


def floor_quotient(low: Lowerer, a: Val, b: Val) -> Val:
    """floor(a / b), corrected where the float quotient rounded up to an integer."""
    return block(low, "FloorQuotient", a, b)


# Bits of the largest quotient of two float32 and of two float16 numbers.
_FLOAT_QUOTIENT_BITS = 277
_HALF_QUOTIENT_BITS = 40


def _quotient_bits(low: Lowerer, node: Node) -> str:
    """Return how many bits a quotient of the arguments can have: what exact division costs."""
    dividend, divisor = (low.operand(v) for v in node.args[:2])
    if isinstance(divisor, Scalar) and isinstance(divisor.expr, Const):
        value = abs(float(divisor.expr.value))
        if value and math.isfinite(value) and isinstance(dividend, Val):
            # |dividend| < 2^128 and value >= 2^(exponent - 1)
            return str(max(1, min(_FLOAT_QUOTIENT_BITS, 129 - math.frexp(value)[1])))
    stored = all(
        isinstance(v, Node)
        and isinstance(view := low.values[v], View)
        and low.spec.param(view.tensor).dtypes[low.combo] == "float16"
        for v in node.args[:2]
    )
    return str(_HALF_QUOTIENT_BITS if stored else _FLOAT_QUOTIENT_BITS)


def fmod(low: Lowerer, node: Node, a: Val, b: Val) -> Val:
    """C remainder of the node's arguments ``a`` and ``b``, exact, sign of a."""
    return block(low, "Fmod", a, b, mode=_quotient_bits(low, node))


def remainder(low: Lowerer, node: Node, a: Val, b: Val) -> Val:
    """Python remainder of the node's arguments ``a`` and ``b``, sign of b."""
    return block(low, "Remainder", a, b, mode=_quotient_bits(low, node))


@lowers("aten.hypot.default")
def _hypot(low: Lowerer, node: Node) -> Any:
    a = low.emit("Abs", F32, _float(low, node.args[0]))
    b = low.emit("Abs", F32, _float(low, node.args[1]))
    large, small = low.emit("Max", F32, a, b), low.emit("Min", F32, a, b)
    # 0 / 0 and inf / inf count as 0
    positive = low.emit("Compares", MASK, large, Scalar(Const(0.0)), mode="GT")
    finite = low.emit("Compares", MASK, large, Scalar(Const(math.inf)), mode="LT")
    usual = low.emit("MaskAnd", MASK, positive, finite)
    ratio = low.emit("Div", F32, small, large)
    ratio = low.emit("Selects", F32, usual, ratio, Scalar(Const(0.0)))
    root = low.emit("Mul", F32, ratio, ratio)
    root = low.emit("Adds", F32, root, Scalar(Const(1.0)))
    length = low.emit("Mul", F32, large, low.emit("Sqrt", F32, root))
    # infinite with a NaN beside it, too
    infinite = [
        low.emit("Compares", MASK, side, Scalar(Const(math.inf)), mode="EQ") for side in (a, b)
    ]
    endless = low.emit("MaskOr", MASK, *infinite)
    kept = low.emit("MaskNot", MASK, endless)
    return low.emit("Selects", F32, kept, length, Scalar(Const(math.inf)))


@lowers("aten.copysign.Tensor", "aten.copysign.Scalar")
def _copysign(low: Lowerer, node: Node) -> Any:
    size = low.emit("Abs", F32, _float(low, node.args[0]))
    sign = low.operand(node.args[1])
    if isinstance(sign, Scalar) and isinstance(sign.expr, Const):
        negative = math.copysign(1.0, float(sign.expr.value)) < 0
        return low.emit("Muls", F32, size, Scalar(Const(-1.0))) if negative else size
    bits = low.emit("Bits", I32, _float(low, sign))
    shifted = low.emit("ShiftRight", I32, bits, Scalar(Const(31), I32))
    positive = low.emit("Compares", MASK, shifted, Scalar(Const(0), I32), mode="EQ")
    opposite = low.emit("Muls", F32, size, Scalar(Const(-1.0)))
    return low.emit("Select", F32, positive, size, opposite)


@lowers("aten.pow.Tensor_Scalar", "aten.pow.Tensor_Tensor", "aten.pow.Scalar")
def _pow(low: Lowerer, node: Node) -> Any:
    base, exponent = low.operand(node.args[0]), low.operand(node.args[1])
    kind = low.kind(node)
    if isinstance(exponent, Scalar) and isinstance(exponent.expr, Const):
        short = _constant_power(low, kind, base, float(exponent.expr.value), node)
        if short is not None:
            return short
    if isinstance(base, Scalar) and isinstance(exponent, Scalar):
        return Scalar(fold("**", base.expr, exponent.expr), kind)
    if kind == I32:
        from msopgen_wrap.diagnostics import OpgenError

        raise OpgenError(low.unsupported(node, "integers"))
    if isinstance(exponent, Scalar) and not isinstance(exponent.expr, Const):
        # a call decides which power it is: most are products
        number = low.scalar(exponent, F32)
        return block(low, "PowOfNumber", _float(low, base), number)
    return block(low, "Pow", _float(low, base), _float(low, exponent))


def _constant_power(
    low: Lowerer, kind: str, base: Operand, exponent: float, node: Node
) -> Operand | None:
    """Small literal exponents as products and roots; None where the general block is needed."""
    value = low.tile(low.as_kind(base, kind))
    if exponent == 0:
        return low.emit("Fill", kind, Scalar(Const(1), kind))
    if exponent == int(exponent) and 0 < exponent <= 8:
        return wrap_small(low, _product(low, kind, value, int(exponent)), low.dtype(node))
    if kind != F32:
        return None
    if exponent == int(exponent) and -4 <= exponent < 0:
        return one_over(low, _product(low, F32, value, -int(exponent)))
    if abs(exponent) == 0.5:
        # as PyTorch does it, which gives NaN for -inf and -0 for -0 where C's pow does not
        root = low.emit("Sqrt", F32, value)
        return root if exponent > 0 else one_over(low, root)
    return None


def _product(low: Lowerer, kind: str, value: Val, count: int) -> Val:
    result: Val | None = None
    power = value
    while True:
        if count & 1:
            result = power if result is None else low.emit("Mul", kind, result, power)
        count >>= 1
        if not count:
            assert result is not None
            return result
        power = low.emit("Mul", kind, power, power)

"""Lowerings of pointwise ATen ops: arithmetic, selection, conversion (see ``mathematics`` for
transcendental functions and ``comparisons`` for masks)."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.scalars import Const, fold
from msopgen_wrap.schedule import comparisons, mathematics
from msopgen_wrap.schedule.calls import DIFFERENCES
from msopgen_wrap.schedule.lowering import SMALL_BITS, Lowerer, lowers, wrap_small
from msopgen_wrap.schedule.program import F32, I32, MASK, Operand, Scalar, Val
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

ZERO_SIGN = "which sign a zero has among zeros is the instruction's choice, not PyTorch's"


def numbers(low: Lowerer, node: Node, *values: Any) -> tuple[str, list[Operand]]:
    """Return the kind of the result and the arguments converted to it."""
    kind = low.kind(node)
    if kind == MASK:
        kind = F32
    operands = [low.as_kind(low.operand(v), kind) for v in values]
    return kind, [comparisons.narrowed(v, low.dtype(node)) for v in operands]


def _fold(op: str, a: Scalar, b: Scalar) -> Scalar:
    return Scalar(fold(op, a.expr, b.expr), a.kind)


def add(low: Lowerer, kind: str, a: Operand, b: Operand) -> Operand:
    """a + b."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return _fold("+", a, b)
    if isinstance(a, Scalar):
        a, b = b, a
    if isinstance(b, Scalar):
        return low.emit("Adds", kind, a, low.scalar(b, kind))
    return low.emit("Add", kind, a, b)


def multiply(low: Lowerer, kind: str, a: Operand, b: Operand) -> Operand:
    """a * b."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return _fold("*", a, b)
    if isinstance(a, Scalar):
        a, b = b, a
    if isinstance(b, Scalar):
        if b.expr == Const(1) or b.expr == Const(1.0):
            return a
        return low.emit("Muls", kind, a, low.scalar(b, kind))
    return low.emit("Mul", kind, a, b)


def subtract(low: Lowerer, kind: str, a: Operand, b: Operand) -> Operand:
    """a - b."""
    if isinstance(b, Scalar):
        return add(low, kind, a, Scalar(fold("neg", b.expr), b.kind))
    if isinstance(a, Scalar):
        negated = low.emit("Muls", kind, b, Scalar(Const(-1), kind))
        if a.expr == Const(0) or a.expr == Const(0.0):
            return negated
        return low.emit("Adds", kind, negated, low.scalar(a, kind))
    return low.emit("Sub", kind, a, b)


def divide(low: Lowerer, a: Operand, b: Operand) -> Operand:
    """a / b in float; a division by an exact power of two or an attr becomes a product."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return _fold("/", a, b)
    if isinstance(b, Scalar):
        return multiply(low, F32, a, Scalar(fold("/", Const(1.0), b.expr), F32))
    return low.emit("Div", F32, low.tile(a), b)


DIFFERENCES.update(
    {f"aten.{name} with alpha": mathematics.ROUNDED_STEPS for name in ("add", "sub")}
)


def _less_tanh(low: Lowerer, node: Node, one: Any, tanh: Any) -> Val | None:
    """Return 1 less a tanh or its square, where ``node`` is such a difference."""
    beside = mathematics.tanh_beside_one(low, node, one, tanh, -1.0)
    plain = len(node.args) == 2 and not node.kwargs
    if beside is None and plain:
        beside = mathematics.one_less_square_of_tanh(low, one, tanh)
    return beside


@lowers("aten.add.Tensor", "aten.add.Scalar", "aten.sub.Tensor", "aten.sub.Scalar")
def _add(low: Lowerer, node: Node) -> Any:
    first, second = node.args[:2]
    beside = (
        mathematics.tanh_beside_one(low, node, second, first, 1.0)
        if "add" in str(node.target)
        else _less_tanh(low, node, first, second)
    )
    if beside is not None:
        return beside
    kind, (a, b) = numbers(low, node, *node.args[:2])
    alpha = node.kwargs.get("alpha", node.args[2] if len(node.args) > 2 else 1)
    if alpha != 1:
        low.refine_note("with alpha")
        b = multiply(low, kind, b, low.as_kind(low.operand(alpha), kind))
    join = add if "add" in str(node.target) else subtract
    return wrap_small(low, join(low, kind, a, b), low.dtype(node))


@lowers("aten.rsub.Scalar", "aten.rsub.Tensor")
def _rsub(low: Lowerer, node: Node) -> Any:
    beside = _less_tanh(low, node, node.args[1], node.args[0])
    if beside is not None:
        return beside
    kind, (a, b) = numbers(low, node, *node.args[:2])
    return wrap_small(low, subtract(low, kind, b, a), low.dtype(node))


@lowers("aten.mul.Tensor", "aten.mul.Scalar")
def _mul(low: Lowerer, node: Node) -> Any:
    if low.dtype(node) == "bool":
        return comparisons.logical(low, "and", *node.args[:2])
    kind, (a, b) = numbers(low, node, *node.args[:2])
    return wrap_small(low, multiply(low, kind, a, b), low.dtype(node))


@lowers("aten.div.Tensor", "aten.div.Scalar", "aten.div.Tensor_mode", "aten.div.Scalar_mode")
def _div(low: Lowerer, node: Node) -> Any:
    mode = node.kwargs.get("rounding_mode")
    kind, (a, b) = numbers(low, node, *node.args[:2])
    if mode is None:
        return divide(low, low.as_kind(a, F32), low.as_kind(b, F32))
    if kind == I32:
        return integer_divide(low, a, b, str(mode))
    quotient = low.emit("Div", F32, low.tile(a), low.tile(b))
    if mode == "trunc":
        return low.emit("Cast", F32, quotient, mode="CAST_TRUNC")
    return mathematics.floor_quotient(low, low.tile(a), low.tile(b))


@lowers("aten.floor_divide.default")
def _floor_divide(low: Lowerer, node: Node) -> Any:
    kind, (a, b) = numbers(low, node, *node.args[:2])
    if kind == I32:
        return integer_divide(low, a, b, "floor")
    return mathematics.floor_quotient(low, low.tile(a), low.tile(b))


def integer_divide(low: Lowerer, a: Operand, b: Operand, mode: str) -> Val:
    """Exact int32 division rounded down or toward zero (division by zero gives -1 or 0)."""
    return low.emit(
        "opgen::DivideFloor" if mode == "floor" else "opgen::DivideTrunc",
        I32,
        low.tile(a),
        low.tile(b),
        temps=(F32, F32, I32, I32, MASK, MASK),
    )


@lowers("aten.remainder.Tensor", "aten.remainder.Scalar", "aten.remainder.Scalar_Tensor")
def _remainder(low: Lowerer, node: Node) -> Any:
    kind, (a, b) = numbers(low, node, *node.args[:2])
    if kind == I32:
        quotient = integer_divide(low, a, b, "floor")
        product = low.emit("Mul", I32, quotient, low.tile(b))
        return low.emit("Sub", I32, low.tile(a), product)
    return mathematics.remainder(low, node, low.tile(a), low.tile(b))


@lowers("aten.fmod.Tensor", "aten.fmod.Scalar")
def _fmod(low: Lowerer, node: Node) -> Any:
    kind, (a, b) = numbers(low, node, *node.args[:2])
    if kind == I32:
        quotient = integer_divide(low, a, b, "trunc")
        product = low.emit("Mul", I32, quotient, low.tile(b))
        return low.emit("Sub", I32, low.tile(a), product)
    return mathematics.fmod(low, node, low.tile(a), low.tile(b))


@lowers("aten.neg.default")
def _neg(low: Lowerer, node: Node) -> Any:
    kind, (a,) = numbers(low, node, node.args[0])
    if isinstance(a, Scalar):
        return Scalar(fold("neg", a.expr), kind)
    negated = low.emit("Muls", kind, a, Scalar(Const(-1), kind))
    return wrap_small(low, negated, low.dtype(node))


@lowers("aten.abs.default")
def _abs(low: Lowerer, node: Node) -> Any:
    kind, (a,) = numbers(low, node, node.args[0])
    if isinstance(a, Scalar):
        return Scalar(fold("abs", a.expr), kind)
    if kind == F32:
        return low.emit("Abs", F32, a)
    negated = low.emit("Muls", I32, a, Scalar(Const(-1), I32))
    return wrap_small(low, low.emit("Max", I32, a, negated), low.dtype(node))


@lowers("aten.maximum.default", "aten.minimum.default", differs=ZERO_SIGN)
def _extremum(low: Lowerer, node: Node) -> Any:
    which = "Max" if "maximum" in str(node.target) else "Min"
    if low.dtype(node) == "bool":
        return comparisons.logical(low, "or" if which == "Max" else "and", *node.args[:2])
    kind, (a, b) = numbers(low, node, *node.args[:2])
    return extremum(low, which, kind, a, b)


def extremum(low: Lowerer, which: str, kind: str, a: Operand, b: Operand) -> Operand:
    """max(a, b) or min(a, b); NaN wins, as the instruction does it."""
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        return _fold(which.lower(), a, b)
    if isinstance(a, Scalar):
        a, b = b, a
    if isinstance(b, Scalar):
        return low.emit(which + "s", kind, a, low.scalar(b, kind))
    return low.emit(which, kind, a, b)


@lowers("aten.clamp.default", "aten.clamp.Tensor", "aten.hardtanh.default", differs=ZERO_SIGN)
def _clamp(low: Lowerer, node: Node) -> Any:
    arguments = [*node.args, None, None][:3]
    lower = node.kwargs.get("min", arguments[1])
    upper = node.kwargs.get("max", arguments[2])
    kind, (value,) = numbers(low, node, arguments[0])
    for which, bound in (("Max", lower), ("Min", upper)):
        if bound is not None:
            _, (limit,) = numbers(low, node, bound)
            value = extremum(low, which, kind, value, limit)
    return value


@lowers(
    "aten.clamp_min.default",
    "aten.clamp_max.default",
    "aten.clamp_min.Tensor",
    differs=ZERO_SIGN,
)
def _clamp_one(low: Lowerer, node: Node) -> Any:
    kind, (a, b) = numbers(low, node, *node.args[:2])
    return extremum(low, "Max" if "clamp_min" in str(node.target) else "Min", kind, a, b)


@lowers("aten.relu.default", differs=ZERO_SIGN)
def _relu(low: Lowerer, node: Node) -> Any:
    kind, (a,) = numbers(low, node, node.args[0])
    return low.emit("Relu", kind, low.tile(a))


@lowers("aten.square.default")
def _square(low: Lowerer, node: Node) -> Any:
    kind, (a,) = numbers(low, node, node.args[0])
    return wrap_small(low, multiply(low, kind, a, a), low.dtype(node))


@lowers("aten.lerp.Scalar", "aten.lerp.Tensor", differs=mathematics.ROUNDED_STEPS)
def _lerp(low: Lowerer, node: Node) -> Any:
    kind, (start, end, weight) = numbers(low, node, *node.args[:3])
    step = subtract(low, kind, end, start)

    def near_start() -> Operand:
        return add(low, kind, start, multiply(low, kind, step, weight))

    def near_end() -> Operand:
        # exact at weight 1
        rest = subtract(low, kind, Scalar(Const(1.0), kind), weight)
        return subtract(low, kind, end, multiply(low, kind, step, rest))

    if isinstance(weight, Scalar):
        if isinstance(weight.expr, Const):
            return near_start() if abs(float(weight.expr.value)) < 0.5 else near_end()
        weight = low.tile(weight)
    close = low.emit("Compares", MASK, low.emit("Abs", F32, weight), Scalar(Const(0.5)), mode="LT")
    return low.emit("Select", F32, close, low.tile(near_start()), low.tile(near_end()))


@lowers("aten.addcmul.default", "aten.addcdiv.default", differs=mathematics.ROUNDED_STEPS)
def _addc(low: Lowerer, node: Node) -> Any:
    kind, (base, first, second) = numbers(low, node, *node.args[:3])
    value = low.as_kind(low.operand(node.kwargs.get("value", 1)), kind)
    if "addcdiv" in str(node.target):
        product = divide(low, first, second)
    else:
        product = multiply(low, kind, first, second)
    result = add(low, kind, base, multiply(low, kind, product, value))
    return wrap_small(low, result, low.dtype(node))


@lowers("aten._to_copy.default", "prims.convert_element_type.default", "aten.to.dtype")
def _convert(low: Lowerer, node: Node) -> Any:
    value = low.operand(node.args[0])
    source = low.dtype(node.args[0]) if isinstance(node.args[0], Node) else ""
    target = low.dtype(node)
    if source == target:
        return value
    converted = low.as_kind(value, low.kind(node))
    if target in ("float16", "bfloat16") and isinstance(converted, Val):
        return low.emit(
            "opgen::RoundTo",
            F32,
            converted,
            mode={"float16": "half"}.get(target, "bfloat16_t"),
            temps=(F32,),
        )
    if target in SMALL_BITS and source not in SMALL_BITS and source != "bool":
        return wrap_small(low, converted, target)
    if target in SMALL_BITS and source in SMALL_BITS and target != source:
        return wrap_small(low, converted, target)
    return converted


@lowers(
    "aten.full.default",
    "aten.full_like.default",
    "aten.scalar_tensor.default",
    "aten.zeros_like.default",
    "aten.ones_like.default",
    "aten.zeros.default",
    "aten.ones.default",
)
def _full(low: Lowerer, node: Node) -> Any:
    name = str(node.target)
    if "zeros" in name or "ones" in name:
        operand = low.operand(0 if "zeros" in name else 1)
    else:
        operand = low.operand(node.args[0 if "scalar_tensor" in name else 1])
    if low.dtype(node) == "int64" and isinstance(operand, Scalar) and _fits_int32(operand):
        return low.as_kind(operand, I32)
    kind = low.kind(node)
    if kind == MASK:
        return low.as_kind(operand, MASK)
    return comparisons.narrowed(low.as_kind(operand, kind), low.dtype(node))


def _fits_int32(operand: Scalar) -> bool:
    """Whether a number is a literal that int32 holds: then int64 is only what Python calls it."""
    expr = operand.expr
    return isinstance(expr, Const) and -(2**31) <= expr.value < 2**31


@lowers(
    "aten.empty.memory_format",
    "aten.empty_like.default",
    "aten.empty_permuted.default",
    "aten.new_empty.default",
)
def _empty(low: Lowerer, node: Node) -> Any:
    # Decompositions make one for its shape and dtype; compute itself cannot.
    return low.as_kind(low.operand(0), low.kind(node))


@lowers("aten.copy.default", "aten.fill.Scalar", "aten.fill.Tensor")
def _copy(low: Lowerer, node: Node) -> Any:
    value = low.as_kind(low.operand(node.args[1]), low.kind(node))
    return comparisons.narrowed(value, low.dtype(node))

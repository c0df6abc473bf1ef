"""Lowerings of comparisons, logic, bit operations and ``where``."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule.lowering import Lowerer, lowers, wrap_small
from msopgen_wrap.schedule.program import F32, I32, MASK, Operand, Scalar, Val
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

_SWAPPED = {"LT": "GT", "GT": "LT", "LE": "GE", "GE": "LE", "EQ": "EQ", "NE": "NE"}


def _negate(low: Lowerer, mask: Val) -> Val:
    return low.emit("MaskNot", MASK, mask)


def compare(low: Lowerer, mode: str, a: Operand, b: Operand) -> Val:
    """Return the mask of ``a mode b``; NaN compares false except for NE."""
    kind = low.common(a, b)
    if kind == MASK:
        if mode in ("EQ", "NE"):
            different = logical_masks(low, "xor", low.as_kind(a, MASK), low.as_kind(b, MASK))
            return different if mode == "NE" else _negate(low, different)
        kind = F32
    a, b = low.as_kind(a, kind), low.as_kind(b, kind)
    if isinstance(a, Scalar) and isinstance(b, Scalar):
        a = low.tile(a)
    if isinstance(a, Scalar):
        a, b, mode = b, a, _SWAPPED[mode]
    assert isinstance(a, Val)
    if mode == "NE":
        # EQ is false for NaN on every arch; what NE gives for NaN is not documented.
        return _negate(low, compare(low, "EQ", a, b))
    if kind == I32 and mode != "EQ":
        return _compare_int(low, mode, a, b)
    if isinstance(b, Scalar):
        return low.emit("Compares", MASK, a, low.scalar(b, kind), mode=mode)
    return low.emit("Compare", MASK, a, b, mode=mode)


def _compare_int(low: Lowerer, mode: str, a: Val, b: Operand) -> Val:
    """Order int32 exactly: the hardware compares int32 only for equality; a >= b is max == a."""
    which = "Max" if mode in ("GE", "LT") else "Min"
    if isinstance(b, Scalar):
        bound: Val = low.emit(which + "s", I32, a, low.scalar(b, I32))
    else:
        bound = low.emit(which, I32, a, b)
    inclusive = low.emit("Compare", MASK, bound, a, mode="EQ")
    return inclusive if mode in ("GE", "LE") else _negate(low, inclusive)


_NARROW_BITS = {"int8": 8, "uint8": 8, "int16": 16}


def narrowed(operand: Operand, dtype: str) -> Operand:
    """Wrap a literal to the range of the small integer dtype it is computed in, as PyTorch does."""
    bits = _NARROW_BITS.get(dtype)
    if bits is None or not isinstance(operand, Scalar) or not isinstance(operand.expr, Const):
        return operand
    if operand.kind != I32:
        return operand
    value = int(operand.expr.value) % (1 << bits)
    if dtype != "uint8" and value >= 1 << (bits - 1):
        value -= 1 << bits
    return Scalar(Const(value), I32)


def _compared(low: Lowerer, node: Node, index: int) -> Operand:
    """Return an operand; a literal has the dtype of the tensor it is compared with."""
    arg, other = node.args[index], node.args[1 - index]
    operand = low.operand(arg)
    if isinstance(arg, Node) or not isinstance(other, Node):
        return operand
    return narrowed(operand, low.dtype(other))


def _register_comparisons() -> None:
    for name in ("eq", "ne", "lt", "le", "gt", "ge"):

        def handler(low: Lowerer, node: Node, mode: str = name.upper()) -> Any:
            return compare(low, mode, _compared(low, node, 0), _compared(low, node, 1))

        lowers(f"aten.{name}.Tensor", f"aten.{name}.Scalar")(handler)


_register_comparisons()


def logical_masks(low: Lowerer, op: str, a: Operand, b: Operand) -> Val:
    """Combine two masks with ``and``, ``or`` or ``xor``."""
    first, second = low.as_kind(a, MASK), low.as_kind(b, MASK)
    if op == "and":
        return low.emit("MaskAnd", MASK, first, second)
    if op == "or":
        return low.emit("MaskOr", MASK, first, second)
    either = low.emit("MaskOr", MASK, first, second)
    both = low.emit("MaskAnd", MASK, first, second)
    return low.emit("MaskAnd", MASK, either, _negate(low, both))


def logical(low: Lowerer, op: str, a: Any, b: Any) -> Val:
    """Combine two arguments as booleans."""
    return logical_masks(low, op, low.operand(a), low.operand(b))


@lowers("aten.logical_and.default", "aten.logical_or.default", "aten.logical_xor.default")
def _logical(low: Lowerer, node: Node) -> Any:
    op = str(node.target).split("logical_")[1].split(".")[0]
    return logical(low, op, node.args[0], node.args[1])


@lowers("aten.logical_not.default")
def _logical_not(low: Lowerer, node: Node) -> Any:
    return _negate(low, low.tile(low.as_kind(low.operand(node.args[0]), MASK)))


@lowers(
    "aten.bitwise_and.Tensor",
    "aten.bitwise_or.Tensor",
    "aten.bitwise_xor.Tensor",
    "aten.bitwise_and.Scalar",
    "aten.bitwise_or.Scalar",
    "aten.bitwise_xor.Scalar",
    "aten.bitwise_and.Scalar_Tensor",
    "aten.bitwise_or.Scalar_Tensor",
    "aten.bitwise_xor.Scalar_Tensor",
)
def _bitwise(low: Lowerer, node: Node) -> Any:
    op = str(node.target).split("bitwise_")[1].split(".")[0]
    if low.dtype(node) == "bool":
        return logical(low, op, node.args[0], node.args[1])
    low.kind(node)  # refuses 64-bit integers without bounds
    a, b = (
        low.tile(narrowed(low.as_kind(low.operand(v), I32), low.dtype(node))) for v in node.args[:2]
    )
    return bitwise(low, op, a, b)


def bitwise(low: Lowerer, op: str, a: Val, b: Val) -> Val:
    """Combine the bits of two int32 tiles with ``and``, ``or`` or ``xor``."""
    if op == "and":
        return low.emit("BitAnd", I32, a, b)
    either = low.emit("BitOr", I32, a, b)
    if op == "or":
        return either
    both = low.emit("BitAnd", I32, a, b)
    return low.emit("Sub", I32, either, both)


@lowers("aten.bitwise_not.default")
def _bitwise_not(low: Lowerer, node: Node) -> Any:
    value = low.operand(node.args[0])
    if low.dtype(node) == "bool":
        return _negate(low, low.tile(low.as_kind(value, MASK)))
    low.kind(node)
    inverted = low.emit("BitNot", I32, low.tile(low.as_kind(value, I32)))
    return wrap_small(low, inverted, low.dtype(node))


@lowers(
    "aten.bitwise_left_shift.Tensor_Scalar",
    "aten.bitwise_right_shift.Tensor_Scalar",
    "aten.__lshift__.Scalar",
    "aten.__rshift__.Scalar",
    "aten.bitwise_left_shift.Tensor",
    "aten.bitwise_right_shift.Tensor",
    "aten.bitwise_left_shift.Scalar_Tensor",
    "aten.bitwise_right_shift.Scalar_Tensor",
    "aten.__lshift__.Tensor",
    "aten.__rshift__.Tensor",
)
def _shift(low: Lowerer, node: Node) -> Any:
    low.kind(node)
    number = narrowed(low.operand(node.args[0]), low.dtype(node))
    value = low.tile(low.as_kind(number, I32))
    amount = low.operand(node.args[1])
    left = "left" in str(node.target) or "lshift" in str(node.target)
    op = "ShiftLeft" if left else "ShiftRight"
    if isinstance(amount, Scalar):
        shifted = low.emit(op, I32, value, low.scalar(amount, I32))
    else:
        shifted = _shift_by_tile(low, op, value, low.tile(low.as_kind(amount, I32)))
    return wrap_small(low, shifted, low.dtype(node)) if left else shifted


def _shift_by_tile(low: Lowerer, op: str, value: Val, amount: Val) -> Val:
    """Shift by powers of two, each where the amount has the bit: arch 2201 shifts by one number.

    Amounts outside 0..31 leave the sign of a right shift and 0 of a left one, as in PyTorch.
    """
    shifted = value
    for bit in range(5):
        # the bit as the sign
        raised = low.emit("ShiftLeft", I32, amount, Scalar(Const(31 - bit), I32))
        chosen = compare(low, "LT", raised, Scalar(Const(0), I32))
        moved = low.emit(op, I32, shifted, Scalar(Const(1 << bit), I32))
        shifted = low.emit("Select", I32, chosen, moved, shifted)
    rest = low.emit("ShiftRight", I32, amount, Scalar(Const(5), I32))
    within = low.emit("Compares", MASK, rest, Scalar(Const(0), I32), mode="EQ")
    if op == "ShiftLeft":
        outside = low.emit("Fill", I32, Scalar(Const(0), I32))
    else:
        outside = low.emit(op, I32, value, Scalar(Const(31), I32))
    return low.emit("Select", I32, within, shifted, outside)


@lowers("aten.where.self", "aten.where.ScalarOther", "aten.where.ScalarSelf", "aten.where.Scalar")
def _where(low: Lowerer, node: Node) -> Any:
    mask = low.tile(low.as_kind(low.operand(node.args[0]), MASK))
    values = (narrowed(low.operand(v), low.dtype(node)) for v in node.args[1:3])
    return select(low, low.kind(node), mask, *values)


@lowers("aten.masked_fill.Scalar", "aten.masked_fill.Tensor")
def _masked_fill(low: Lowerer, node: Node) -> Any:
    mask = low.tile(low.as_kind(low.operand(node.args[1]), MASK))
    value = narrowed(low.operand(node.args[2]), low.dtype(node))
    return select(low, low.kind(node), mask, value, low.operand(node.args[0]))


def select(low: Lowerer, kind: str, mask: Val, a: Operand, b: Operand) -> Val:
    """Return ``mask ? a : b``."""
    a, b = low.as_kind(a, kind), low.as_kind(b, kind)
    if kind == MASK:
        taken = low.emit("MaskAnd", MASK, mask, a)
        left = low.emit("MaskAnd", MASK, _negate(low, mask), b)
        return low.emit("MaskOr", MASK, taken, left)
    if isinstance(b, Scalar) and kind == F32:
        return low.emit("Selects", F32, mask, low.tile(a), low.scalar(b, F32))
    if isinstance(a, Scalar) and kind == F32:
        return low.emit("Selects", F32, _negate(low, mask), low.tile(b), low.scalar(a, F32))
    return low.emit("Select", kind, mask, low.tile(a), low.tile(b))


@lowers("aten.isnan.default")
def _isnan(low: Lowerer, node: Node) -> Any:
    value = low.tile(low.as_kind(low.operand(node.args[0]), F32))
    return _negate(low, low.emit("Compare", MASK, value, value, mode="EQ"))


@lowers("aten.isinf.default")
def _isinf(low: Lowerer, node: Node) -> Any:
    value = low.tile(low.as_kind(low.operand(node.args[0]), F32))
    size = low.emit("Abs", F32, value)
    return low.emit("Compares", MASK, size, Scalar(Const(float("inf"))), mode="EQ")


@lowers("aten.isfinite.default")
def _isfinite(low: Lowerer, node: Node) -> Any:
    value = low.tile(low.as_kind(low.operand(node.args[0]), F32))
    size = low.emit("Abs", F32, value)
    return low.emit("Compares", MASK, size, Scalar(Const(float("inf"))), mode="LT")


@lowers("aten.signbit.default")
def _signbit(low: Lowerer, node: Node) -> Any:
    value = low.operand(node.args[0])
    if value.kind != F32:
        return compare(low, "LT", low.as_kind(value, I32), Scalar(Const(0), I32))
    bits = low.emit("Bits", I32, low.tile(value))
    sign = low.emit("ShiftRight", I32, bits, Scalar(Const(31), I32))
    return _negate(low, low.emit("Compares", MASK, sign, Scalar(Const(0), I32), mode="EQ"))


@lowers("aten.sign.default", "aten.sgn.default")
def _sign(low: Lowerer, node: Node) -> Any:
    kind = low.kind(node)
    value = low.tile(low.as_kind(low.operand(node.args[0]), F32 if kind == MASK else kind))
    if kind == MASK:
        return low.as_kind(low.operand(node.args[0]), MASK)
    if kind == I32:
        bounded = low.emit("Mins", I32, value, Scalar(Const(1), I32))
        return low.emit("Maxs", I32, bounded, Scalar(Const(-1), I32))
    one = low.emit("Fill", F32, Scalar(Const(1.0)))
    positive = compare(low, "GT", value, Scalar(Const(0.0)))
    upper = low.emit("Selects", F32, positive, one, Scalar(Const(0.0)))
    negative = compare(low, "LT", value, Scalar(Const(0.0)))
    return low.emit("Selects", F32, _negate(low, negative), upper, Scalar(Const(-1.0)))

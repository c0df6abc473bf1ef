"""Lowerings that take numbers apart: the bits of floats, common divisors of integers."""

from __future__ import annotations

import math
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule.lowering import Lowerer, lowers, wrap_small
from msopgen_wrap.schedule.mathematics import block
from msopgen_wrap.schedule.program import F32, I32, MASK, Scalar, Val
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

# Bits of the magnitudes of integers.
_MAGNITUDE_BITS = {"int8": 7, "uint8": 8, "int16": 15, "int32": 31}
_MANTISSA_BITS = 23
# Exponent field of the numbers in [1/2, 1).
_HALF_FIELD = 126


def _float(low: Lowerer, value: Any) -> Val:
    return low.tile(low.as_kind(low.operand(value), F32))


def _compares(low: Lowerer, mode: str, value: Val, number: float) -> Val:
    return low.emit("Compares", MASK, value, Scalar(Const(number)), mode=mode)


def _integer(number: int) -> Scalar:
    return Scalar(Const(number), I32)


@lowers("aten.nextafter.default")
def _nextafter(low: Lowerer, node: Node) -> Any:
    params = (*low.spec.inputs, *low.spec.outputs)
    if any(p.dtypes[low.combo] in ("float16", "bfloat16") for p in params):
        # computed in float32, whose next number rounds back to the same half
        raise OpgenError(low.unsupported(node, "half precision"))
    x, goal = _float(low, node.args[0]), _float(low, node.args[1])
    bits = low.emit("Bits", I32, x)
    # the bits of a number grow with its magnitude
    up = low.emit("Compare", MASK, goal, x, mode="GT")
    positive = _compares(low, "GT", x, 0.0)
    outward = low.emit("MaskAnd", MASK, up, positive)
    either = low.emit("MaskOr", MASK, up, positive)
    outward = low.emit("MaskOr", MASK, outward, low.emit("MaskNot", MASK, either))
    more, less = (low.emit("Adds", I32, bits, _integer(step)) for step in (1, -1))
    moved = low.emit("Select", I32, outward, more, less)
    # from zero to the smallest number of the sign of the goal
    first = low.emit("Fill", I32, _integer(1))
    first_below = low.emit("Fill", I32, _integer(1 - 2**31))
    smallest = low.emit("Select", I32, up, first, first_below)
    zero = _compares(low, "EQ", x, 0.0)
    moved = low.emit("Select", I32, zero, smallest, moved)
    result = low.emit("Bits", F32, moved)
    there = low.emit("Compare", MASK, x, goal, mode="EQ")
    result = low.emit("Select", F32, there, goal, result)
    ordered = [low.emit("Compare", MASK, side, side, mode="EQ") for side in (x, goal)]
    both = low.emit("MaskAnd", MASK, *ordered)
    return low.emit("Selects", F32, both, result, Scalar(Const(math.nan)))


@lowers("aten.frexp.Tensor")
def _frexp(low: Lowerer, node: Node) -> Any:
    x = _float(low, node.args[0])
    size = low.emit("Abs", F32, x)
    # numbers below the smallest normal one have no exponent of their own
    small = _compares(low, "LT", size, 2.0**-126)
    raised = low.emit("Muls", F32, x, Scalar(Const(2.0**24)))
    normal = low.emit("Select", F32, small, raised, x)
    bits = low.emit("Bits", I32, normal)
    signless = low.emit("Bits", I32, low.emit("Abs", F32, normal))
    exponent_field = low.emit("ShiftRight", I32, signless, _integer(_MANTISSA_BITS))
    exponent = low.emit("Adds", I32, exponent_field, _integer(-_HALF_FIELD))
    taken = low.emit("ShiftLeft", I32, exponent, _integer(_MANTISSA_BITS))
    mantissa = low.emit("Bits", F32, low.emit("Sub", I32, bits, taken))
    lowered = low.emit("Adds", I32, exponent, _integer(-24))
    exponent = low.emit("Select", I32, small, lowered, exponent)
    # 0, infinities and NaN are their own mantissas, of exponent 0
    positive, finite = _compares(low, "GT", size, 0.0), _compares(low, "LT", size, math.inf)
    usual = low.emit("MaskAnd", MASK, positive, finite)
    none = low.emit("Fill", I32, _integer(0))
    return (
        low.emit("Select", F32, usual, mantissa, x),
        low.emit("Select", I32, usual, exponent, none),
    )


@lowers("aten.gcd.default")
def _gcd(low: Lowerer, node: Node) -> Any:
    if low.padded:
        raise OpgenError(low.unsupported(node, "padded rows"))
    dtype = low.dtype(node)
    sizes = []
    for argument in node.args[:2]:
        value = low.tile(low.as_kind(low.operand(argument), low.kind(node)))
        negated = low.emit("Muls", I32, value, _integer(-1))
        sizes.append(low.tile(wrap_small(low, low.emit("Max", I32, value, negated), dtype)))
    return block(low, "Gcd", *sizes, kind=I32, mode=str(_MAGNITUDE_BITS[dtype]))

"""Results of int8, uint8 and int16 that are calculated in int32."""

from __future__ import annotations

from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.schedule.program import I32, Operand, Scalar, Val

SMALL_BITS = {"int8": 24, "uint8": 24, "int16": 16}


def wrap_small(low: Lowerer, value: Operand, dtype: str) -> Operand:
    """Wrap an int32 result to the range of int8, uint8 or int16, as two's complement does."""
    bits = SMALL_BITS.get(dtype)
    if bits is None or not isinstance(value, Val) or value.kind != I32:
        return value
    up = low.emit("ShiftLeft", I32, value, Scalar(Const(bits), I32), note=f"wrap to {dtype}")
    down = "ShiftRightLogical" if dtype == "uint8" else "ShiftRight"
    return low.emit(down, I32, up, Scalar(Const(bits), I32), note=f"wrap to {dtype}")

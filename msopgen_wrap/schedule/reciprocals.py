"""Products with a reciprocal as quotients.

A reciprocal is 1 divided by a tile, since the instruction of that name is too coarse, and the tile
of ones is made again for every tile. A quotient needs neither it nor the product, and rounds once.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace

from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule.program import (
    F32,
    OPS,
    Inst,
    Operand,
    OpInfo,
    Program,
    Scalar,
    Val,
)

INVERSE_SQRT = "opgen::InverseSqrt"
OPS[INVERSE_SQRT] = OpInfo(INVERSE_SQRT)


def divide_directly(program: Program) -> Program:
    """Return a program in which ``a * (1 / b)`` is ``a / b``; what is unused then, stays.

    A reciprocal that is read elsewhere as well, or that has another extent than the product (a
    number per row against the elements of the row), is left as it is.
    """
    made = {i.dst.id: i for i in program.insts if i.dst is not None}
    uses = Counter(a.id for i in program.insts for a in i.args if isinstance(a, Val))
    result = Program([], dict(program.scalars), program._next)
    for inst in program.insts:
        dst = inst.dst
        if inst.op == "Mul" and dst is not None and dst.kind == F32:
            for number, other in (inst.args, inst.args[::-1]):
                divisor = _divisor(other, made, uses)
                if divisor is not None and {_extent(number), divisor.extent} == {dst.extent}:
                    inst = replace(inst, op="Div", args=(number, divisor))
                    made[dst.id] = inst
                    break
        result.insts.append(inst)
    return result


def inverse_roots(program: Program) -> Program:
    """Return a program in which ``1 / sqrt(b)`` of numbers of rows is one call."""
    made = {i.dst.id: i for i in program.insts if i.dst is not None}
    uses = Counter(a.id for i in program.insts for a in i.args if isinstance(a, Val))
    result = Program([], dict(program.scalars), program._next)
    for inst in program.insts:
        dst = inst.dst
        if inst.op == "Div" and dst is not None and dst.extent == "row":
            divisor = _divisor(dst, made, {**uses, dst.id: 1})
            root = made.get(divisor.id) if divisor is not None else None
            if root is not None and root.op == "Sqrt" and uses[divisor.id] == 1:  # type: ignore[union-attr]
                ones = result.value(F32, "row")
                inst = replace(inst, op=INVERSE_SQRT, args=root.args, temps=(ones,))
        result.insts.append(inst)
    return result


def _divisor(value: Operand, made: Mapping[int, Inst], uses: Mapping[int, int]) -> Val | None:
    """Return b of a value 1 / b that only one instruction reads, None for other values."""
    inst = made.get(value.id) if isinstance(value, Val) and uses[value.id] == 1 else None
    divides = inst is not None and (inst.op == "Div" or (inst.op, inst.mode) == ("Apply", "Div"))
    if inst is None or not divides or not isinstance(inst.args[0], Val):
        return None
    one = made.get(inst.args[0].id)
    if one is None or one.op != "Fill" or one.args != (Scalar(Const(1.0)),):
        return None
    divisor = inst.args[1]
    return divisor if isinstance(divisor, Val) else None


def _extent(value: Operand) -> str:
    return value.extent if isinstance(value, Val) else ""

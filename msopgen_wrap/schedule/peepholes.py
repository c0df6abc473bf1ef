"""Fewer instructions for the same values, where a lowering cannot see what stands around it.

*Narrow stores.* A conversion to a small integer wraps round in PyTorch, so that a lowering shifts
the upper bits out. What ``compute`` has clamped before does not wrap. A clamp to whole numbers may
as well come before the rounding, which is then that of the conversion to int32; and one to the
limits of the output's type is what storing does, as conversions to narrower integers saturate.

*Quotients.* A reciprocal is 1 divided by a tile, since the instruction of that name is too coarse,
and the tile of ones is made again for every tile. A quotient needs neither it nor the product, and
rounds once.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace

from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule.program import (
    F32,
    I32,
    OPS,
    Inst,
    Operand,
    OpInfo,
    Program,
    Scalar,
    Val,
)

#: Output dtypes that ``Store`` saturates to, with their limits.
LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767)}

_ROUNDED = frozenset({"CAST_RINT", "CAST_FLOOR", "CAST_CEIL", "CAST_TRUNC"})
_RIGHT_SHIFTS = ("ShiftRight", "ShiftRightLogical")


@dataclass(frozen=True)
class _Chain:
    """A float that is clamped, rounded and converted to int32.

    Attributes:
        base: the float.
        clamps: instructions ``Maxs`` and ``Mins`` in order, each with a whole number.
        mode: rounding of the conversion.
    """

    base: Val
    clamps: tuple[Inst, ...]
    mode: str

    @property
    def bounds(self) -> tuple[float, float]:
        """The least and the largest number that the clamps leave."""
        low, high = -math.inf, math.inf
        for clamp in self.clamps:
            bound, choose = _number(clamp.args[1]), max if clamp.op == "Maxs" else min
            low, high = choose(low, bound), choose(high, bound)
        return low, high


def narrow_stores(program: Program, dtypes: Mapping[str, str]) -> Program:
    """Return a program that stores clamped and rounded floats with fewer instructions.

    Args:
        dtypes: storage dtype of every output by its name.
    """
    made = {i.dst.id: i for i in program.insts if i.dst is not None}
    uses = Counter(a.id for i in program.insts for a in i.args if isinstance(a, Val))
    result = Program([], dict(program.scalars), program._next)
    for inst in program.insts:
        limits = LIMITS.get(dtypes.get(inst.mode, "")) if inst.op == "Store" else None
        chain = _chain(inst.args[0], made, uses) if limits else None
        if limits is None or chain is None or not _fits(chain, limits):
            result.insts.append(inst)
            continue
        value = chain.base
        for clamp in () if chain.bounds == limits else chain.clamps:
            value = _append(result, clamp, value, F32, clamp.mode)
        # the conversion of the chain, with the rounding of an instruction before it
        convert = Inst("Cast", value, (value,), chain.mode, (), inst.note)
        result.insts.append(replace(inst, args=(_append(result, convert, value, I32, chain.mode),)))
    return result


def _append(program: Program, model: Inst, value: Val, kind: str, mode: str) -> Val:
    dst = program.value(kind, value.extent)
    program.insts.append(replace(model, dst=dst, args=(value, *model.args[1:]), mode=mode))
    return dst


def _fits(chain: _Chain, limits: tuple[int, int]) -> bool:
    """Whether the clamps leave nothing that would wrap."""
    low, high = chain.bounds
    return limits[0] <= low and high <= limits[1]


def _chain(value: Operand, made: Mapping[int, Inst], uses: Mapping[int, int]) -> _Chain | None:
    """Return what a stored integer is made of, None when it is something else."""

    def source(value: Operand) -> Inst | None:
        # what others read has to stay as it is
        return made.get(value.id) if isinstance(value, Val) and uses[value.id] == 1 else None

    inst = source(value)
    if inst is not None and inst.op in _RIGHT_SHIFTS:
        shifted = source(inst.args[0])
        if shifted is None or shifted.op != "ShiftLeft" or shifted.args[1] != inst.args[1]:
            return None
        inst = source(shifted.args[0])
    if inst is None or inst.op != "Cast" or inst.dst is None or inst.dst.kind != I32:
        return None
    if inst.mode != "CAST_TRUNC":
        return None
    clamps: list[Inst] = []
    value, inst = inst.args[0], source(inst.args[0])
    while inst is not None and inst.op in ("Maxs", "Mins") and _is_whole(inst.args[1]):
        clamps.insert(0, inst)
        value, inst = inst.args[0], source(inst.args[0])
    mode = "CAST_TRUNC"
    if inst is not None and inst.op == "Cast" and inst.mode in _ROUNDED:
        before = inst.args[0]
        if isinstance(before, Val) and before.kind == F32:
            value, mode = before, inst.mode
    if not isinstance(value, Val) or value.kind != F32:
        return None
    return _Chain(value, tuple(clamps), mode)


def _is_whole(value: Operand) -> bool:
    return math.isfinite(number := _number(value)) and number == math.floor(number)


def _number(value: Operand) -> float:
    """Return the value of a literal, nan for anything else."""
    if isinstance(value, Scalar) and isinstance(value.expr, Const):
        return float(value.expr.value)
    return math.nan


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

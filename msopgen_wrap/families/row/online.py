"""Reductions that need another reduction of the same rows and can still share its pass.

Where rows stream through in chunks, a sum of exp(x - max) or of (x - mean)^2 would need a pass of
its own, after the one that gives max or mean. Both have a rule that merges the numbers of two
chunks, each relative to its own max or mean (``opgen/row_online.h``). What counts is the form of
the program, not the operator that it came from.
"""

from __future__ import annotations

from dataclasses import dataclass

from msopgen_wrap.graph.scalars import Binary, Const, ReducedCount
from msopgen_wrap.schedule.program import F32, Inst, Program, Scalar, Val

# 1 / n, the factor between a sum and a mean of the reduced elements
_SHARE = Binary("/", Const(1.0), ReducedCount())


@dataclass(frozen=True)
class Pair:
    """Two reductions of the same value in one pass.

    Attributes:
        base: the reduction that the other one needs: the maximum, or the sum.
        other: the one that needs it, as the program has it.
        merged: the instruction that gathers both from a chunk: ``AddExpSum`` or ``AddVariance``.
        moved: row instruction after the pass that makes the other result, in place, of what was
            gathered (None: it is the result).
        accumulators: what is gathered, in the order of the building blocks.
    """

    base: Inst
    other: Inst
    merged: Inst
    moved: Inst | None
    accumulators: tuple[Val, ...]


def find_pairs(program: Program, level: dict[int, int]) -> list[Pair]:
    """Return the pairs of a program, at most one for each base.

    Args:
        level: value id -> how many reductions lie one behind the other before it.
    """
    defined = {i.dst.id: i for i in program.insts if i.dst is not None}
    reduces = [i for i in program.insts if i.op == "Reduce"]
    pairs: list[Pair] = []
    for other in reduces:
        pair = _exp_sum(program, reduces, defined, level, other) or _variance(
            program, defined, other
        )
        if pair is not None and all(pair.base is not p.base for p in pairs):
            pairs.append(pair)
    return pairs


def _argument(inst: Inst, position: int = 0) -> Val | None:
    value = inst.args[position] if len(inst.args) > position else None
    return value if isinstance(value, Val) else None


def _distance(defined: dict[int, Inst], value: Val | None) -> tuple[Val, Val] | None:
    """Return x and r where a value is x - r for every element, r a number per row."""
    inst = defined.get(value.id) if value is not None else None
    if inst is None or inst.op != "Apply" or inst.mode != "Sub":
        return None
    x, r = _argument(inst), _argument(inst, 1)
    if x is None or r is None or (x.extent, r.extent) != ("full", "row"):
        return None
    return x, r


def _exp_sum(
    program: Program,
    reduces: list[Inst],
    defined: dict[int, Inst],
    level: dict[int, int],
    other: Inst,
) -> Pair | None:
    """Match sum(exp(x - r)) where r follows from max(x)."""
    operand = _argument(other)
    power = defined.get(operand.id) if operand is not None else None
    if other.mode != "sum" or power is None or power.op != "Exp":
        return None
    found = _distance(defined, _argument(power))
    if found is None or other.dst is None:
        return None
    x, r = found
    for base in reduces:
        source = _argument(base)
        if base.mode != "max" or source is None or base.dst is None or source.id != x.id:
            continue
        if level[r.id] != level[base.dst.id]:
            continue
        tile = program.value(F32)
        merged = Inst("AddExpSum", other.dst, (x,), "", (base.dst, tile), other.note)
        # in place: what was gathered is relative to the maximum
        scratch = program.value(F32, "row")
        moved = Inst("MoveExpSum", other.dst, (other.dst, base.dst, r), "", (scratch,), other.note)
        return Pair(base, other, merged, moved, (base.dst, other.dst))
    return None


def _variance(program: Program, defined: dict[int, Inst], other: Inst) -> Pair | None:
    """Match sum((x - mean)^2)."""
    operand = _argument(other)
    square = defined.get(operand.id) if operand is not None else None
    if other.mode != "sum" or square is None or square.op != "Mul" or other.dst is None:
        return None
    left, right = _argument(square), _argument(square, 1)
    found = _distance(defined, left)
    if found is None or left != right:
        return None
    x, mean = found
    share = defined[mean.id]
    total = _argument(share)
    if share.op != "Muls" or total is None or len(share.args) != 2:
        return None
    factor = share.args[1]
    if not isinstance(factor, Scalar) or factor.expr != _SHARE:
        return None
    base = defined[total.id]
    source = _argument(base)
    if base.op != "Reduce" or base.mode != "sum" or base.dst is None or source != x:
        return None
    elements = program.value(F32, "row")
    tile = program.value(F32)
    merged = Inst("AddVariance", other.dst, (x,), "", (base.dst, elements, tile), other.note)
    return Pair(base, other, merged, None, (base.dst, other.dst, elements))

"""Lowerings of reductions."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.row.lowering import RowLowerer
from msopgen_wrap.graph.scalars import Binary, Const, ReducedCount, fold
from msopgen_wrap.schedule import comparisons
from msopgen_wrap.schedule.calls import DIFFERENCES, REDUCTIONS, Node, reduction_kind
from msopgen_wrap.schedule.lowering import Lowerer, lowers
from msopgen_wrap.schedule.program import F32, I32, MASK, Scalar, Val

DIFFERENCES.update(
    dict.fromkeys(
        ("aten.sum", "aten.mean"),
        "adds in float32 and in an order of its own: magnitudes that add up to more than 3.4e38 "
        "may overflow or cancel otherwise than PyTorch's",
    )
)
DIFFERENCES["aten.sum of integers"] = (
    "adds in int32: TilingFunc refuses shapes of which the largest elements would not fit"
)
DIFFERENCES["aten.prod"] = (
    "multiplies in float32 and in an order of its own: products of a part of the elements may "
    "overflow or vanish where PyTorch's do not"
)


@lowers(*(f"aten.{name}" for name in REDUCTIONS))
def _reduction(low: Lowerer, node: Node) -> Any:
    assert isinstance(low, RowLowerer)
    kind = reduction_kind(node)
    operand = low.operand(node.args[0])
    if isinstance(operand, Scalar) and kind in ("sum", "mean", "max", "min"):
        # every element is the same number
        count = fold("*", operand.expr, ReducedCount()) if kind == "sum" else operand.expr
        return Scalar(count, operand.kind)
    if kind in ("any", "all") or (kind in ("max", "min") and operand.kind == MASK):
        number = low.tile(low.as_kind(low.as_kind(operand, MASK), F32))
        reduced = low.reduce("max" if kind in ("any", "max") else "min", number)
        # not `!= 0`: no elements at all give the identity of the reduction, an infinity
        return low.emit("Compares", MASK, reduced, Scalar(Const(0.0)), mode="GT")
    if kind in ("sum", "prod", "mean"):
        joined = low.joined_kind(node)
        if joined == I32:
            low.refine_note("of integers" if low.dtype(node) == "int64" else "in int32")
        operand = low.as_kind(operand, joined)
    value = low.tile(low.as_kind(operand, F32) if operand.kind == MASK else operand)
    if kind == "mean":
        total = low.reduce("sum", value)
        share = Scalar(Binary("/", Const(1.0), ReducedCount()), F32)
        return low.emit("Muls", F32, total, low.scalar(share, F32))
    if kind in ("argmax", "argmin"):
        return _arg_extremum(low, value, "max" if kind == "argmax" else "min")
    if kind in ("max_dim", "min_dim"):
        which = str(kind)[:3]
        return low.reduce(which, value), _arg_extremum(low, value, which)
    assert kind is not None
    return low.reduce(kind, value)


def _arg_extremum(low: RowLowerer, value: Val, which: str) -> Val:
    """Index of the first extreme element: the smallest position among those equal to it."""
    best = low.reduce(which, value)
    position = low.emit("Position", F32)
    hit: Any = low.emit("Compare", MASK, value, best, mode="EQ")
    if value.kind == F32:
        number = low.emit("Compare", MASK, value, value, mode="EQ")
        nan = low.emit("MaskNot", MASK, number)
        hit = comparisons.logical_masks(low, "or", hit, nan)
    # 2^24 bounds positions that float holds exactly; the tiling function checks it.
    candidate = low.emit("Selects", F32, hit, position, Scalar(Const(16777216.0)))
    first = low.reduce("min", candidate)
    return low.emit("Cast", I32, first, mode="CAST_RINT")

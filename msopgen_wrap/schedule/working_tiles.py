"""Which tensors need a working tile of their own beside the tile of their queue."""

from __future__ import annotations

from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.schedule.program import DIRECT, MASK, Val, only_moves
from msopgen_wrap.spec.model import OpSpec


def slot_order(spec: OpSpec, body: Body) -> list[tuple[str, str]]:
    """Return the working tiles that may need a scratch slot, as (role, name), inputs first."""
    used = {p.name for p in body.placement.of.values() if p.role == "input"}
    order = [("input", name) for name in body.operands if name in used]
    produced = {p.name for p in body.placement.of.values() if p.role == "output"}
    order += [("output", p.name) for p in spec.outputs if p.name in produced]
    return order


def needs_slot(spec: OpSpec, body: Body, role: str, name: str, combo: int, mode: str) -> bool:
    """Whether a working tile is a scratch slot rather than the queue's own tile."""
    tensor = body.operands[name].tensor if role == "input" else name
    direct = spec.param(tensor).dtypes[combo] in DIRECT
    if role == "output":
        return not direct and name not in body.placement.shared
    return not direct or mode == "broadcast"


def splits_elements(spec: OpSpec, body: Body) -> bool:
    """Whether a body moves elements of 64 bits, as two of 32 each: nothing is converted."""
    return only_moves(body.program) and any(moves_wide(spec, body, c) for c in body.combos)


def moves_wide(spec: OpSpec, body: Body, combo: int) -> bool:
    """Whether all tensors of a combination are int64."""
    read = [spec.param(view.tensor) for view in body.operands.values()]
    return {p.dtypes[combo] for p in (*read, *spec.outputs)} == {"int64"}


def uses_select(spec: OpSpec, body: Body, combo: int) -> bool:
    """Whether Select in a tensor mode may run: it needs UB at the top."""
    return body.program.uses_masks or any(
        isinstance(a, Val) and a.kind == MASK for i in body.program.insts for a in i.args
    )

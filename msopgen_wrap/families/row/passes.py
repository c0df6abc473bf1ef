"""The passes of a row program: what a kernel computes on a whole tile, and chunk by chunk.

Rows that stay in UB are read once (``resident_order``). Others stream through: one pass per level
of reductions and one for the outputs (``split_passes``). A reduction that needs another one of the
same rows shares its pass where a rule merges what chunks give (``online``).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from msopgen_wrap.families.row.columns import adds
from msopgen_wrap.families.row.online import Pair, find_pairs
from msopgen_wrap.schedule.buffers import Place, Placement
from msopgen_wrap.schedule.program import MASK, OPS, Inst, Program, Val
from msopgen_wrap.schedule.views import View


@dataclass
class Piece:
    """A part of a program with its placement; renders like a body."""

    program: Program
    placement: Placement
    operands: dict[str, View] = field(default_factory=dict)


@dataclass
class Passes:
    """A program cut at its reductions.

    Attributes:
        prologue: row instructions before the first pass (loads of row operands).
        full: per pass the instructions on whole tiles, reductions included; the last entry makes
            the full outputs (it may be empty).
        rows: per reduction pass the row instructions after it.
        late: row instructions of any level that no pass needs, only the stores of row outputs.
        row_stores: stores of row outputs.
        pairs: per reduction pass the reductions that share it.
    """

    prologue: list[Inst]
    full: list[list[Inst]]
    rows: list[list[Inst]]
    late: list[Inst]
    row_stores: list[Inst]
    pairs: list[list[Pair]]

    def order(self) -> list[list[Inst]]:
        """Return the instructions in the order of execution, those of a tile pass together."""
        order: list[list[Inst]] = [[i] for i in self.prologue]
        for index, group in enumerate(self.full):
            order.append(group)
            if index < len(self.rows):
                order += [[i] for i in self.rows[index]]
        return [*order, *([i] for i in self.late), self.row_stores]


def split_passes(program: Program) -> tuple[Passes, Passes]:
    """Cut a program into passes over the reduced elements.

    Returns:
        The cut at every level of reductions, and the one for rows that stream through, where a
        reduction may share the pass of another one.
    """
    levels = _levels(program, [])
    plain = _split(program, levels, [])
    pairs = find_pairs(program, levels)
    if not pairs:
        return plain, plain
    streamed = _split(program, _levels(program, pairs), pairs)
    # both modes load the same operands at the same places
    if streamed.prologue != plain.prologue or _loads(streamed.late) != _loads(plain.late):
        return plain, plain
    return plain, streamed


def _loads(insts: list[Inst]) -> list[Inst]:
    return [i for i in insts if i.op == "Load"]


def _levels(program: Program, pairs: list[Pair]) -> dict[int, int]:
    """Return how many passes lie before each value, counting the one that makes it."""
    shared = {id(p.other): p.base for p in pairs}
    level: dict[int, int] = {}
    for inst in program.insts:
        if inst.dst is None:
            continue
        own = max((level[a.id] for a in inst.args if isinstance(a, Val)), default=0)
        base = shared.get(id(inst))
        if base is not None and base.dst is not None:
            own = max(own, level[base.dst.id])
        elif inst.op == "Reduce":
            own += 1
        level[inst.dst.id] = own
    return level


def _split(program: Program, level: dict[int, int], pairs: list[Pair]) -> Passes:
    defined = {i.dst.id: i for i in program.insts if i.dst is not None}
    reduces = [i for i in program.insts if i.op == "Reduce" and i.dst is not None]
    levels = max((level[i.dst.id] for i in reduces if i.dst), default=0)
    paired = {id(i) for p in pairs for i in (p.base, p.other)}
    columns = adds(program)  # in the first pass that has what is added
    full: list[list[Inst]] = []
    shared: list[list[Pair]] = []
    for step in range(1, levels + 1):
        roots = [i for i in reduces if id(i) not in paired and i.dst and level[i.dst.id] == step]
        roots += [i for i in columns if level[_value(i).id] == step - 1]
        here = [p for p in pairs if p.base.dst and level[p.base.dst.id] == step]
        full.append(_slice(program, defined, roots, [p.merged for p in here]))
        shared.append(here)
    final = [s for s in program.stores if _value(s).extent == "full"]
    final += [i for i in columns if level[_value(i).id] == levels]
    row_stores = [s for s in program.stores if _value(s).extent == "row"]
    full.append(_slice(program, defined, final, []))
    rows, late = _rows_between(program, level, pairs, full)
    return Passes(rows[0], full, rows[1:], late, row_stores, shared)


def _rows_between(
    program: Program, level: dict[int, int], pairs: list[Pair], full: list[list[Inst]]
) -> tuple[list[list[Inst]], list[Inst]]:
    """Return the instructions on row values that passes do not do themselves.

    Returns:
        Those before the first pass and after each but the last one, and those that come late.
    """
    moved = {id(p.other): p.moved for p in pairs}
    found = [
        moved.get(id(i)) if i.op == "Reduce" else i
        for i in program.insts
        if i.dst is not None and i.dst.extent == "row"
    ]
    row_insts = [i for i in found if i is not None]
    late = _late(row_insts, full)
    needed = [i for i in row_insts if i not in late]
    level = {**level, **_constant_levels(needed, full, level)}
    # level 0 comes before the first pass, the others each after one
    rows: list[list[Inst]] = [[] for _ in full]
    for inst in needed:
        assert inst.dst is not None
        rows[level[inst.dst.id]].append(inst)
    return rows, late


def _constant_levels(
    rows: list[Inst], full: list[list[Inst]], level: dict[int, int]
) -> dict[int, int]:
    """Return the levels of row constants: made where they are used first, not for every pass."""
    result: dict[int, int] = {}
    for inst in rows:
        if inst.op == "Fill" and inst.dst is not None:
            users = [level[i.dst.id] for i in rows if i.dst is not None and inst.dst in i.args]
            users += [n for n, group in enumerate(full) if any(inst.dst in i.args for i in group)]
            result[inst.dst.id] = min(users, default=0)
    return result


def _late(row_insts: list[Inst], passes: list[list[Inst]]) -> list[Inst]:
    """Return the row instructions whose results no pass needs.

    When all cores share an item, only the core that stores its rows executes them: the others
    would compute what nobody reads.
    """
    needed = {a.id for group in passes for i in group for a in i.args if isinstance(a, Val)}
    late = []
    for inst in reversed(row_insts):
        assert inst.dst is not None
        if inst.dst.id in needed:
            needed.update(a.id for a in inst.args if isinstance(a, Val))
        else:
            late.append(inst)
    return late[::-1]


def _value(store: Inst) -> Val:
    value = store.args[0]
    assert isinstance(value, Val)
    return value


def _slice(
    program: Program, defined: dict[int, Inst], roots: list[Inst], merged: list[Inst]
) -> list[Inst]:
    """The full instructions that the roots need, and the roots; merged ones come last."""
    wanted: set[int] = set()
    pending = [a for r in (*roots, *merged) for a in r.args if isinstance(a, Val)]
    while pending:
        value = pending.pop()
        if value.extent == "row" or value.id in wanted:
            continue
        wanted.add(value.id)
        pending += [a for a in defined[value.id].args if isinstance(a, Val)]
    chosen = {id(r) for r in roots}
    return [
        i for i in program.insts if id(i) in chosen or (i.dst is not None and i.dst.id in wanted)
    ] + merged


def row_places(orders: list[list[list[Inst]]]) -> tuple[dict[int, Place], int, int]:
    """Give row values slots that hold in several orders of execution.

    Args:
        orders: as ``Passes.order`` gives them.

    Returns:
        Value id -> slot, and the numbers of slots for numbers and for masks.
    """
    lives: list[dict[int, list[int]]] = []
    kinds: dict[int, str] = {}
    makers: dict[int, Inst] = {}
    for order in orders:
        life: dict[int, list[int]] = {}
        for position, group in enumerate(order):
            for inst in group:
                for value in (*inst.args, inst.dst, *inst.temps):
                    if isinstance(value, Val) and value.extent == "row":
                        kinds[value.id] = value.kind
                        life.setdefault(value.id, [position, position])[1] = position
                if len(group) == 1 and inst.dst is not None and _writes_over(inst):
                    makers[inst.dst.id] = inst
        lives.append(life)

    def after(a: int, b: int, life: dict[int, list[int]]) -> bool:
        """Whether a lives after b, or from b's end on if a is written over its operand b."""
        begin, end = life[a][0], life[b][1]
        over = a in makers and any(isinstance(v, Val) and v.id == b for v in makers[a].args)
        return begin > end or (over and begin == end)

    def clash(a: int, b: int) -> bool:
        return any(
            not after(a, b, life) and not after(b, a, life)
            for life in lives
            if a in life and b in life
        )

    slots: dict[str, list[list[int]]] = {"row": [], "rowMask": []}
    places: dict[int, Place] = {}
    for value_id, kind in kinds.items():
        name = "rowMask" if kind == MASK else "row"
        free = [
            n for n, held in enumerate(slots[name]) if not any(clash(value_id, v) for v in held)
        ]
        # the slot of an operand, so that a chain of instructions stays in one
        read = (
            {a.id for a in makers[value_id].args if isinstance(a, Val)}
            if value_id in makers
            else set()
        )
        number = next((n for n in free if read & set(slots[name][n][-1:])), None)
        if number is None:
            number = free[0] if free else len(slots[name])
        if number == len(slots[name]):
            slots[name].append([])
        slots[name][number].append(value_id)
        places[value_id] = Place(name.lower(), f"{name}{number}")
    return places, len(slots["row"]), len(slots["rowMask"])


def _writes_over(inst: Inst) -> bool:
    """Whether an instruction may write its result over an operand of the same size.

    Scratch is no obstacle: it has a slot of its own while the operand lives.
    """
    kinds = {a.kind for a in inst.args if isinstance(a, Val)}
    assert inst.dst is not None
    return OPS[inst.op].in_place and kinds == {inst.dst.kind}


def resident_order(program: Program, passes: Passes) -> Program:
    """The whole program in pass order, every instruction once."""
    insts: dict[int, Inst] = {}
    for index, group in enumerate(passes.full):
        before = passes.prologue if index == 0 else passes.rows[index - 1]
        for inst in [*before, *(i for i in group if i.op != "Store")]:
            insts.setdefault(id(inst), inst)
    for inst in [*passes.late, *program.stores]:
        insts.setdefault(id(inst), inst)
    return Program(list(insts.values()), dict(program.scalars), program._next)


def holds_last_chunk(passes: Passes) -> bool:
    """Whether the pass for the outputs can begin with the chunk that is in UB after the first one.

    It can when both read the same operands.
    """
    loads = [{i.mode for i in _loads(group) if _is_full(i)} for group in passes.full]
    return len(loads) == 2 and loads[0] == loads[1] != set()


def _is_full(load: Inst) -> bool:
    return load.dst is not None and load.dst.extent == "full"


def reduce_in_place(program: Program, pinned: bool = False) -> Program:
    """Let a reduction use its operand as scratch where nobody reads that afterwards.

    Args:
        pinned: operands of the kernel stay as they were loaded.
    """
    held = {i.dst.id for i in program.loads if i.dst is not None} if pinned else set()
    last: dict[int, Inst] = {}
    for inst in program.insts:
        last.update({a.id: inst for a in inst.args if isinstance(a, Val)})
    insts = []
    for inst in program.insts:
        if inst.op == "Reduce":
            operand = inst.args[0]
            assert isinstance(operand, Val)
            dying = last[operand.id] is inst and operand.id not in held
            inst = replace(inst, temps=()) if dying else inst
        insts.append(inst)
    return Program(insts, dict(program.scalars), program._next)


def accumulators(passes: Passes, number: int) -> list[Val]:
    """Return what pass ``number`` (from 0) gathers, in the order in which cores exchange it."""
    plain = [i.dst for i in passes.full[number] if i.op == "Reduce" and i.dst is not None]
    return plain + [value for pair in passes.pairs[number] for value in pair.accumulators]

"""Place the values of a program in UB: liveness and linear-scan colouring.

Places are the working tile of each loaded operand and of each output (a queue's own tile when its
storage type is the compute type, else a scratch slot), numbered word slots and mask slots.
"""

from __future__ import annotations

from dataclasses import dataclass, field

from msopgen_wrap.schedule.program import KIND_BYTES, MASK, OPS, Inst, Program, Val


@dataclass(frozen=True)
class Place:
    """A piece of UB that holds one tile.

    ``role`` is ``input``, ``output``, ``word`` (4-byte scratch) or ``mask`` (bit mask); ``name`` is
    the operand, the output, or ``tmp0`` / ``mask0``.
    """

    role: str
    name: str


@dataclass
class Placement:
    """Result of the colouring.

    Attributes:
        of: value id -> place.
        words, masks: numbers of scratch slots.
        shared: output name -> place whose slot it can share when it is not stored directly.
        sharable: output name -> all places whose slot it could share.
    """

    of: dict[int, Place] = field(default_factory=dict)
    words: int = 0
    masks: int = 0
    shared: dict[str, Place] = field(default_factory=dict)
    sharable: dict[str, list[Place]] = field(default_factory=dict)

    def place(self, value: Val) -> Place:
        """Return where a value lives."""
        return self.of[value.id]


def _values(inst: Inst) -> list[Val]:
    return [a for a in inst.args if isinstance(a, Val)]


def allocate(
    program: Program,
    mergeable: dict[str, list[str]] | None = None,
    fixed: dict[int, Place] | None = None,
    newest: bool = False,
    pinned: bool = False,
) -> Placement:
    """Colour a program.

    Args:
        program: the program, stores last.
        mergeable: output name -> operand names with the same storage dtypes, whose scratch slot
            the output may share.
        fixed: values whose place is given (row values of the row family).
        newest: take the place that was freed last, which leaves others for outputs to share.
        pinned: operands stay as they were loaded, also when nothing reads them any more.
    """
    result = Placement()
    given = fixed or {}
    result.of.update(given)
    last: dict[int, int] = {}
    defined: dict[int, int] = {}
    for index, inst in enumerate(program.insts):
        for value in _values(inst):
            last[value.id] = index
        for made in (inst.dst, *inst.temps):
            if made is not None:
                defined[made.id] = index
                last.setdefault(made.id, index)
    # An output's tile belongs to the stored value from its definition on.
    owner: dict[str, int] = {}
    target: dict[int, Place] = {}
    loads = {i.dst.id for i in program.loads if i.dst}
    for store in program.stores:
        value = _values(store)[0]
        if (
            value.kind != MASK
            and value.id not in loads
            and value.id not in target
            and value.id not in given
        ):
            place = Place("output", store.mode)
            target[value.id] = place
            owner[store.mode] = value.id
    free_words = [Place("output", name) for name in owner]
    free_masks: list[Place] = []
    busy: dict[Place, list[tuple[int, int]]] = {}

    def usable(place: Place, value: Val, index: int) -> bool:
        if place.role != "output":
            return True
        mine = owner[place.name]
        if mine == value.id:
            return True
        start = defined[mine]
        in_place = OPS[program.insts[start].op].in_place
        return last[value.id] < start or (last[value.id] == start and in_place)

    def take(value: Val, index: int) -> None:
        if value.id in given:
            return
        pool = free_masks if value.kind == MASK else free_words
        wanted = target.get(value.id)
        if wanted is not None and wanted in pool:
            pool.remove(wanted)
            place = wanted
        else:
            # scratch first, so that output tiles stay free for what they are meant for
            freed = pool[::-1] if newest else pool
            order = sorted(freed, key=lambda p: (p.role == "output", -_rank(p)))
            found = next((p for p in order if usable(p, value, index)), None)
            if found is not None:
                pool.remove(found)
                place = found
            elif value.kind == MASK:
                place = Place("mask", f"mask{result.masks}")
                result.masks += 1
            else:
                place = Place("word", f"tmp{result.words}")
                result.words += 1
        result.of[value.id] = place
        busy.setdefault(place, []).append((index, last[value.id]))

    def release(value: Val) -> None:
        place = result.of[value.id]
        if value.id in given or (pinned and place.role == "input"):
            return
        (free_masks if place.role == "mask" else free_words).append(place)

    for index, inst in enumerate(program.insts):
        dying = [v for v in dict.fromkeys(_values(inst)) if last[v.id] == index]
        if inst.op == "Load" and inst.dst is not None:
            if inst.dst.id in given:
                continue
            if inst.dst.kind == MASK:
                take(inst.dst, index)
            else:
                place = Place("input", inst.mode)
                result.of[inst.dst.id] = place
                busy.setdefault(place, []).append((index, last[inst.dst.id]))
            continue
        in_place = OPS[inst.op].in_place and not inst.temps
        if in_place:
            for value in dying:
                release(value)
        if inst.dst is not None:
            take(inst.dst, index)
        for temp in inst.temps:
            take(temp, index)
        for temp in inst.temps:
            release(temp)
        if not in_place:
            for value in dying:
                release(value)
        if inst.dst is not None and last[inst.dst.id] == index and inst.op != "Store":
            release(inst.dst)
    apart = {i for i, inst in enumerate(program.insts) if not OPS[inst.op].in_place or inst.temps}
    _share(result, busy, owner, mergeable or {}, apart)
    return result


def _rank(place: Place) -> int:
    return {"input": 2, "mask": 1, "word": 1}.get(place.role, 0)


def _share(
    result: Placement,
    busy: dict[Place, list[tuple[int, int]]],
    owner: dict[str, int],
    mergeable: dict[str, list[str]],
    apart: set[int],
) -> None:
    """Let an output share the scratch slot of an operand that is never live with it.

    ``apart`` are the instructions whose result may not lie on an operand that they read.
    """
    for name in owner:
        mine = busy.get(Place("output", name), [])
        for operand in mergeable.get(name, []):
            other = Place("input", operand)
            if other in busy and all(
                b < a0 or a > b0 or (a == b0 and a not in apart)
                for a, b in mine
                for a0, b0 in busy[other]
            ):
                result.sharable.setdefault(name, []).append(other)
    result.shared = share_slots(result.sharable)


def share_slots(sharable: dict[str, list[Place]]) -> dict[str, Place]:
    """Give as many outputs as possible a slot to share, each slot to one of them."""
    holder: dict[Place, str] = {}

    def give(name: str, seen: set[Place]) -> bool:
        for place in sharable[name]:
            if place in seen:
                continue
            seen.add(place)
            if place not in holder or give(holder[place], seen):
                holder[place] = name
                return True
        return False

    for name in sharable:
        give(name, set())
    return {name: place for place, name in holder.items()}


def check(program: Program, placement: Placement) -> list[str]:
    """Return a text for every pair of live values that share a place (empty when sound)."""
    problems = []
    holder: dict[Place, int] = {}
    for index, inst in enumerate(program.insts):
        for value in _values(inst):
            if holder.get(placement.place(value)) != value.id:
                problems.append(f"{index}: {inst} reads {value} after its place was reused")
        written = [v for v in (inst.dst, *inst.temps) if v is not None]
        for value in written:
            place = placement.place(value)
            sharing = [v for v in _values(inst) if placement.place(v) == place]
            resized = any(KIND_BYTES[v.kind] != KIND_BYTES[value.kind] for v in sharing)
            # scratch is taken after operands are released, except for numbers of rows
            beside = bool(inst.temps) and (value is not inst.dst or value.extent != "row")
            strict = not OPS[inst.op].in_place or beside or resized
            if sharing and strict and inst.op != "Store":
                problems.append(f"{index}: {inst} writes {value} over its own operand")
            holder[place] = value.id
        if len({placement.place(v) for v in written}) != len(written):
            problems.append(f"{index}: {inst} has overlapping results and scratch")
    return problems

"""Place the values of a program in UB: liveness and linear-scan colouring.

Places are the working tile of each loaded operand and of each output (a queue's own tile when its
storage type is the compute type, else a scratch slot), numbered word slots and mask slots.
"""

from __future__ import annotations

from collections.abc import Iterable
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
    return _Colouring(program, fixed or {}, newest, pinned).run(mergeable or {})


class _Colouring:
    """One walk over a program that takes and frees places.

    Attributes:
        last, defined: value id -> the instruction that uses it last, and that makes it.
        owner: output name -> the value whose definition begins the time of the output's tile.
        target: value id -> the output's tile that is meant for it.
        free_words, free_masks: places that hold no live value, in the order they were freed.
        busy: place -> first and last instruction of every value it held.
    """

    def __init__(
        self, program: Program, given: dict[int, Place], newest: bool, pinned: bool
    ) -> None:
        self.program, self.given, self.newest, self.pinned = program, given, newest, pinned
        self.result = Placement()
        self.result.of.update(given)
        self.last: dict[int, int] = {}
        self.defined: dict[int, int] = {}
        self._find_lifetimes()
        self.owner: dict[str, int] = {}
        self.target: dict[int, Place] = {}
        self._give_outputs_their_tiles()
        self.free_words = [Place("output", name) for name in self.owner]
        self.free_masks: list[Place] = []
        self.busy: dict[Place, list[tuple[int, int]]] = {}

    def run(self, mergeable: dict[str, list[str]]) -> Placement:
        """Place every value, then let outputs share slots with operands."""
        for index, inst in enumerate(self.program.insts):
            if inst.op == "Load" and inst.dst is not None:
                self._load(inst.mode, inst.dst, index)
            else:
                self._step(inst, index)
        self._share(mergeable)
        return self.result

    def _find_lifetimes(self) -> None:
        for index, inst in enumerate(self.program.insts):
            for value in _values(inst):
                self.last[value.id] = index
            for made in (inst.dst, *inst.temps):
                if made is not None:
                    self.defined[made.id] = index
                    self.last.setdefault(made.id, index)

    def _give_outputs_their_tiles(self) -> None:
        """An output's tile belongs to the stored value from its definition on."""
        loads = {i.dst.id for i in self.program.loads if i.dst and i.op == "Load"}
        for store in self.program.stores:
            value = _values(store)[0]
            placed = value.id in loads or value.id in self.target or value.id in self.given
            if value.kind != MASK and not placed:
                self.target[value.id] = Place("output", store.mode)
                self.owner[store.mode] = value.id

    def _load(self, operand: str, value: Val, index: int) -> None:
        if value.id in self.given:
            return
        if value.kind == MASK:
            self._take(value, index)
        else:
            self._hold(Place("input", operand), value, index)

    def _step(self, inst: Inst, index: int) -> None:
        """Place what an instruction makes; operands that end here are freed before or after it."""
        dying = [v for v in dict.fromkeys(_values(inst)) if self.last[v.id] == index]
        in_place = OPS[inst.op].in_place and not inst.temps
        if in_place:
            self._release(dying)
        if inst.dst is not None:
            self._take(inst.dst, index)
        for temp in inst.temps:
            self._take(temp, index)
        self._release(inst.temps)
        if not in_place:
            self._release(dying)
        if inst.dst is not None and self.last[inst.dst.id] == index and inst.op != "Store":
            self._release([inst.dst])

    def _take(self, value: Val, index: int) -> None:
        if value.id in self.given:
            return
        pool = self.free_masks if value.kind == MASK else self.free_words
        place = self._chosen(pool, value)
        if place is not None:
            pool.remove(place)
        elif value.kind == MASK:
            place = Place("mask", f"mask{self.result.masks}")
            self.result.masks += 1
        else:
            place = Place("word", f"tmp{self.result.words}")
            self.result.words += 1
        self._hold(place, value, index)

    def _chosen(self, pool: list[Place], value: Val) -> Place | None:
        """Return the free place for a value, None where it needs a slot more."""
        wanted = self.target.get(value.id)
        if wanted is not None and wanted in pool:
            return wanted
        # scratch first, so that output tiles stay free for what they are meant for
        freed = pool[::-1] if self.newest else pool
        order = sorted(freed, key=lambda p: (p.role == "output", -_rank(p)))
        return next((p for p in order if self._usable(p, value)), None)

    def _usable(self, place: Place, value: Val) -> bool:
        """Whether a value is dead when the output needs its tile."""
        if place.role != "output":
            return True
        mine = self.owner[place.name]
        if mine == value.id:
            return True
        start = self.defined[mine]
        in_place = OPS[self.program.insts[start].op].in_place
        return self.last[value.id] < start or (self.last[value.id] == start and in_place)

    def _hold(self, place: Place, value: Val, index: int) -> None:
        self.result.of[value.id] = place
        self.busy.setdefault(place, []).append((index, self.last[value.id]))

    def _release(self, values: Iterable[Val]) -> None:
        for value in values:
            place = self.result.of[value.id]
            if value.id in self.given or (self.pinned and place.role == "input"):
                continue
            (self.free_masks if place.role == "mask" else self.free_words).append(place)

    def _share(self, mergeable: dict[str, list[str]]) -> None:
        """Let an output share the scratch slot of an operand that is never live with it."""
        # the instructions whose result may not lie on an operand that they read
        apart = {
            i
            for i, inst in enumerate(self.program.insts)
            if not OPS[inst.op].in_place or inst.temps
        }
        result, busy = self.result, self.busy
        for name in self.owner:
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


def _rank(place: Place) -> int:
    return {"input": 2, "mask": 1, "word": 1}.get(place.role, 0)


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

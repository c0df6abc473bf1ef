"""C++ text of the parts of a row program: reductions, row values and kept operands."""

from __future__ import annotations

from dataclasses import dataclass

from msopgen_wrap.render.program_text import ProgramText
from msopgen_wrap.schedule.buffers import Place
from msopgen_wrap.schedule.program import I32, MASK, Inst, Val

# Notes that say no more than the instruction beside them.
_PLAIN = {"to every element", "load", "store"}
# Building blocks whose names say it.
_MERGED = {"AddExpSum", "AddVariance", "MoveExpSum"}
_BLOCKS = Place("blocks", "rowBlocks")


def _pairwise(inst: Inst) -> bool:
    """Whether no instruction makes one number of a row: it does sums and extremes of floats."""
    return inst.mode == "prod" or (inst.dst is not None and inst.dst.kind == I32)


@dataclass
class RowText(ProgramText):
    """Renders a part of a row body.

    Attributes:
        covering: operands that have every element of the box.
        accumulators: merged instruction -> what it gathers, by the id of its result.
        small: whether 8-bit tensors are converted through the half tile ``bytes``.
    """

    covering: frozenset[str] = frozenset()
    accumulators: dict[int, tuple[Val, ...]] | None = None
    small: bool = False

    def _note(self, inst: Inst) -> str:
        """What the comment before an instruction says; empty where the instruction says it."""
        note = inst.note.removeprefix("aten.")
        name = note.rsplit(".", 1)[-1].split(" ")[0]
        if note in _PLAIN or name in _PLAIN or inst.op in _MERGED or inst.op.startswith("opgen::"):
            return ""
        if name == note and (self._alone(inst) or self._called(inst) == name):
            return ""
        return note

    def _alone(self, inst: Inst) -> bool:
        """Whether an operator is this one instruction."""
        insts = self.body.program.insts
        at = next(n for n, i in enumerate(insts) if i is inst)
        return all(i.note != inst.note for i in insts[max(0, at - 1) : at + 2] if i is not inst)

    def _called(self, inst: Inst) -> str:
        return self.variables.get(inst.dst.id, "") if inst.dst is not None else ""

    def render(self) -> list[str]:
        """Return the statements, loads to stores."""
        note = ""
        self._find_padded()
        if self.body.program.insts:
            # scratch and row tiles carry over from the section or the tile before
            self.lines.append("PipeBarrier<PIPE_V>();")
        for inst in self.body.program.insts:
            statements = self._statement(inst)
            if not statements:
                continue
            self._barrier(inst)
            said = self._note(inst)
            if said and said != note:
                self.lines.append(f"// {said}")
            note = said
            self.lines.extend(statements)
            self._track(inst)
        return self.lines

    def _accesses(self, inst: Inst) -> tuple[set[Place], set[Place]]:
        """Numbers of rows go through ``rowBlocks`` where they are joined with a box."""
        reads, writes = super()._accesses(inst)
        if inst.op == "Reduce" and _pairwise(inst):
            writes = writes | {_BLOCKS}
        if any(isinstance(a, Val) and a.extent == "row" for a in inst.args):
            writes |= {_BLOCKS} if inst.op in ("Apply", "Expand") else set()
        return reads, writes

    def _track(self, inst: Inst) -> None:
        if inst.op in _MERGED or inst.op == "Apply":
            # building blocks wait for themselves, and with that for everything before them
            self._read.clear()
            self._written.clear()
        elif self._in_place_load(inst):
            reads, writes = self._accesses(inst)
            self._read |= reads
            self._written |= writes
        else:
            super()._track(inst)

    def _in_place_load(self, inst: Inst) -> bool:
        """Whether a load is one instruction: an operand with every element of the box."""
        return inst.op == "Load" and inst.mode in self.covering and inst.dst is not None

    def name(self, value: Val, kind: str = "") -> str:
        """Return the variable for a value, read as ``kind`` (default: its own)."""
        place = self.body.placement.place(value)
        if place.role == "kept":
            return f"{place.name}Kept"
        return super().name(value, kind)

    def _statement(self, inst: Inst) -> list[str]:
        if inst.op == "Apply":
            assert inst.dst is not None
            tail = self._fill_tail(inst.dst)
            return [self._apply(inst), *([tail] if tail else [])]
        if inst.op == "AddExpSum" or inst.op == "AddVariance":
            return [self._gather(inst)]
        if inst.op == "Index" and inst.dst is not None and inst.dst.extent == "row":
            return [f"opgen::CountRow({self.name(inst.dst)}, {inst.mode}Walk, part);"]
        if inst.op == "MoveExpSum":
            names = [self.operand(a) for a in inst.args] + [self.name(inst.temps[0])]
            return [f"opgen::MoveExpSum({', '.join(names)}, rowCount);"]
        if inst.op == "Load" and inst.dst is not None and inst.dst.extent == "kept":
            return []
        return super()._statement(inst)

    def _apply(self, inst: Inst) -> str:
        """An instruction that reads one operand by stride."""
        first, second = (a for a in inst.args if isinstance(a, Val))
        swapped = first.extent != "full"
        whole, other = (second, first) if swapped else (first, second)
        options = f"opgen::k{inst.mode}{', false' if swapped else ''}"
        assert inst.dst is not None
        dst, base, name = self.name(inst.dst), self.name(whole), self.name(other)
        if other.extent == "kept":
            walk = f"{self.body.placement.place(other).name}Walk"
            return f"opgen::ApplyKept<{options}>({dst}, {base}, {name}, {walk}, part);"
        return f"opgen::ApplyRow<{options}>({dst}, {base}, {name}, rowBlocks, part);"

    def _gather(self, inst: Inst) -> str:
        assert inst.dst is not None and self.accumulators is not None
        names = [self.name(v) for v in self.accumulators[inst.dst.id]]
        names += [self.operand(inst.args[0]), self.name(inst.temps[-1]), "spare", "rowLength"]
        last = ", first" if inst.op == "AddVariance" else ""
        return f"opgen::{inst.op}({', '.join(names)}, rowBlocks, part{last});"

    def _row_statement(self, inst: Inst) -> str:
        assert inst.dst is not None
        dst = self.name(inst.dst)
        if inst.op == "Position":
            return f"opgen::Position({dst}, part);"
        source = self.operand(inst.args[0])
        if inst.op == "Expand":
            value = inst.args[0]
            assert isinstance(value, Val)
            if value.extent == "kept":
                walk = f"{self.body.placement.place(value).name}Walk"
                return f"opgen::ExpandKept({dst}, {source}, {walk}, part);"
            return f"opgen::ExpandRow({dst}, {source}, rowBlocks, part);"
        kind = f"opgen::k{inst.mode.capitalize()}"
        call = "Accumulate" if self.streamed else "Reduce"
        call += "Pairwise" if _pairwise(inst) else ""
        given = [dst, *(["partial"] if self.streamed else []), source]
        if inst.temps:
            given.append(self.name(inst.temps[0]))
        else:
            call += "InPlace"
        if _pairwise(inst):
            given.append("rowBlocks")
        return f"opgen::{call}<{kind}>({', '.join(given)}, part);"

    def _index(self, inst: Inst) -> str:
        return super()._index(inst).replace("<kBroadcast>", "<true>")

    def _load(self, inst: Inst) -> str:
        assert inst.dst is not None
        name, kind = inst.mode, inst.dst.kind
        if inst.dst.extent == "row":
            call = "WidenRowMask" if kind == MASK else "WidenRow"
            return (
                f"opgen::{call}({self.name(inst.dst)}, {name}Local, rowBlocks, bytes, {name}Walk, "
                "part);"
            )
        if name not in self.covering:
            return super()._load(inst).replace("<kBroadcast>", "<true>")
        if kind == MASK:
            return f"opgen::WidenMask({self.name(inst.dst)}, {name}Local, bytes, count);"
        bytes_ = "bytes, " if self.small else ""
        text = f"opgen::Widen({self.name(inst.dst)}, {name}Local, {bytes_}count);"
        tail = self._fill_tail(inst.dst)
        return f"{text}\nPipeBarrier<PIPE_V>();\n{tail}" if tail else text

    def _store(self, inst: Inst) -> str:
        text = super()._store(inst)
        small = self.small or "NarrowMask" in text
        return text if small else text.replace(", bytes, ", ", ")

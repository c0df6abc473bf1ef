"""C++ text of the parts of a row program: reductions, row values and kept operands."""

from __future__ import annotations

from dataclasses import dataclass

from msopgen_wrap.render.program_text import ProgramText
from msopgen_wrap.schedule.buffers import Place
from msopgen_wrap.schedule.program import I32, MASK, Inst, Val

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
        streamed: reductions add to an accumulator.
        accumulators: merged instruction -> what it gathers, by the id of its result.
    """

    streamed: bool = False
    accumulators: dict[int, tuple[Val, ...]] | None = None
    boxed: str = "true"

    def _note(self, inst: Inst) -> str:
        return "" if inst.op in _MERGED else super()._note(inst)

    def _accesses(self, inst: Inst) -> tuple[set[Place], set[Place]]:
        """Numbers of rows go through ``rowBlocks`` where they are joined with a box."""
        reads, writes = super()._accesses(inst)
        if inst.op == "Reduce" and _pairwise(inst):
            writes = writes | {_BLOCKS}
        if any(isinstance(a, Val) and a.extent == "row" for a in inst.args):
            writes |= {_BLOCKS} if inst.op in ("Apply", "Expand") else set()
        return reads, writes

    def _waits(self, inst: Inst) -> bool:
        return inst.op in _MERGED or inst.op == "Apply" or super()._waits(inst)

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
        if inst.op in ("Expand", "Position"):
            assert inst.dst is not None
            tail = self._fill_tail(inst.dst)
            return [self._row_statement(inst), *([tail] if tail else [])]
        if inst.op == "Reduce":
            return [self._row_statement(inst)]
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

    def _load(self, inst: Inst) -> list[str]:
        assert inst.dst is not None
        if inst.dst.extent != "row":
            return super()._load(inst)
        name = inst.mode
        call = "WidenRowMask" if inst.dst.kind == MASK else "WidenRow"
        given = [self.name(inst.dst), f"{name}Local", "rowBlocks", "bytes", f"{name}Walk", "part"]
        return [f"opgen::{call}({', '.join(given)});"]

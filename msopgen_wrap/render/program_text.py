"""C++ text of a vector program: one AscendC call per instruction, barriers where data flows."""

from __future__ import annotations

import math
import textwrap
from dataclasses import dataclass, field

from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule.buffers import Place
from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.schedule.program import (
    F32,
    I32,
    MASK,
    OPS,
    Inst,
    Operand,
    Scalar,
    Val,
)
from msopgen_wrap.spec.taken_names import cpp_local

_BIT_OPS = {"BitAnd", "BitOr", "BitNot"}
_MASK_OPS = {"MaskAnd", "MaskOr", "MaskNot"}
_FLOAT_SELECT = "SELMODE::VSEL_TENSOR_TENSOR_MODE"
_SCALAR_SELECT = "SELMODE::VSEL_TENSOR_SCALAR_MODE"


def device_number(value: float | int, kind: str) -> str:
    """Format a literal for the kernel."""
    if kind == I32:
        return f"static_cast<int32_t>({int(value)})"
    number = float(value)
    if math.isnan(number):
        return "opgen::kNan"
    if math.isinf(number):
        return "opgen::kInf" if number > 0 else "-opgen::kInf"
    text = repr(number)
    if "e" not in text and "." not in text:
        text += ".0"
    if abs(number) > 3.4028234663852886e38:
        return "opgen::kInf" if number > 0 else "-opgen::kInf"
    return f"{text}f"


@dataclass
class ProgramText:
    """Renders the compute part of a body.

    Attributes:
        body: the kernel class.
        scalar_names: tiling field per scalar operand.
        streamed: reductions add to an accumulator (row family).
        turnable: operands that boxes may hold transposed.
        output_names: member name of each output (an in-place one is not called like its input).
        lines: statements produced so far.
        padded: ids of values computed on whole 256-byte repeats, past the end of the tile.
        aliases: reinterpreted views of working tiles that the statements use, name -> declaration.
        variables: value id -> variable, for values in slots of their own (default: the slot's).
        tiles: the variables of slots that the statements name -> the slot.
    """

    body: Body
    scalar_names: dict[Scalar, str]
    output_names: dict[str, str] = field(default_factory=dict)
    streamed: bool = False
    turnable: frozenset[str] = frozenset()
    base_kinds: dict[Place, str] = field(default_factory=dict)
    lines: list[str] = field(default_factory=list)
    aliases: dict[str, str] = field(default_factory=dict)
    padded: set[int] = field(default_factory=set)
    variables: dict[int, str] = field(default_factory=dict)
    tiles: dict[str, Place] = field(default_factory=dict)
    _read: set[Place] = field(default_factory=set)
    _written: set[Place] = field(default_factory=set)

    def render(self) -> list[str]:
        """Return the statements, loads to stores."""
        note = ""
        self._find_padded()
        if self.body.program.insts:
            # scratch and row tiles carry over from the section or the tile before
            self.lines.append("PipeBarrier<PIPE_V>();")
        for inst in self.body.program.insts:
            self._barrier(inst)
            if inst.note and inst.note != note:
                self.lines.append(f"// {inst.note}")
                note = inst.note
            self.lines.extend(self._statement(inst))
            self._track(inst)
        return self.lines

    def _find_padded(self) -> None:
        """Find the values whose elements past the tile are read: what comparisons depend on."""
        for inst in reversed(self.body.program.insts):
            if inst.dst is None:
                continue
            whole = inst.dst.kind == MASK or inst.op.startswith("opgen::")
            if whole or inst.dst.id in self.padded:
                self.padded.add(inst.dst.id)
                self.padded.update(a.id for a in inst.args if isinstance(a, Val))

    def _count(self, inst: Inst) -> str:
        assert inst.dst is not None
        if inst.dst.extent == "row":
            return "rowCount"
        whole = inst.dst.id in self.padded and self.body.program.uses_masks
        return "lanes" if whole else "count"

    def _fill_tail(self, value: Val) -> str:
        if value.id not in self.padded or not self.body.program.uses_masks:
            return ""
        return f"opgen::FillTail({self.name(value)}, part.count, {device_number(0, value.kind)});"

    # ---- barriers ------------------------------------------------------------------------------

    def _places(self, values: tuple[Operand | None, ...]) -> set[Place]:
        return {self._memory(self.body.placement.place(v)) for v in values if isinstance(v, Val)}

    def _memory(self, place: Place) -> Place:
        """Return the place that stands for the memory: an output may lie on an input's slot."""
        shared = self.body.placement.shared
        return shared.get(place.name, place) if place.role == "output" else place

    def _accesses(self, inst: Inst) -> tuple[set[Place], set[Place]]:
        """Return what an instruction reads and writes."""
        writes = self._places((inst.dst, *inst.temps))
        if inst.op == "Store":
            writes |= {Place("output", inst.mode), Place("bytes", "bytes")}
        if inst.op == "Load" and inst.dst is not None and inst.dst.kind == MASK:
            writes.add(Place("bytes", "bytes"))
        return self._places(inst.args), writes

    def _barrier(self, inst: Inst) -> None:
        reads, writes = self._accesses(inst)
        hazard = reads & self._written or writes & self._written or writes & self._read
        if hazard:
            self.lines.append("PipeBarrier<PIPE_V>();")
            self._read.clear()
            self._written.clear()

    def _track(self, inst: Inst) -> None:
        if inst.op in ("Load", "Index", "Reduce", "Expand", "Position", "Polynomial") or (
            inst.op.startswith("opgen::") and inst.op != "opgen::RoundTo"
        ):
            # building blocks wait for themselves, and with that for everything before them
            self._read.clear()
            self._written.clear()
            return
        self._read |= self._places(inst.args)
        self._written |= self._places((inst.dst, *inst.temps))
        if inst.op == "Store":
            self._written |= {Place("output", inst.mode), Place("bytes", "bytes")}

    # ---- names ---------------------------------------------------------------------------------

    def name(self, value: Val, kind: str = "") -> str:
        """Return the variable for a value, read as ``kind`` (default: its own)."""
        place = self.body.placement.place(value)
        wanted = kind or value.kind
        scratch = place.role in ("word", "row")
        base = self.base_kinds.setdefault(place, F32 if scratch else value.kind)
        variable = self.variables.get(value.id, place.name)
        if scratch:
            self.tiles[variable] = place
        if place.role == "output":
            variable = self.output_names.get(variable, variable)
        if place.role in ("input", "output"):
            variable = cpp_local(variable)
        if wanted == base:
            return variable
        suffix = {F32: "Float", I32: "Int", "int16_t": "Words", "uint16_t": "Words"}[wanted]
        alias = variable + suffix
        cpp = {F32: "float", I32: "int32_t"}.get(wanted, wanted)
        self.aliases[alias] = (
            f"LocalTensor<{cpp}> {alias} = {variable}.template ReinterpretCast<{cpp}>();"
        )
        return alias

    def operand(self, operand: Operand) -> str:
        """Return an operand as C++."""
        if isinstance(operand, Val):
            return self.name(operand)
        if isinstance(operand.expr, Const):
            return device_number(operand.expr.value, operand.kind)
        return self.scalar_names[operand]

    # ---- statements ----------------------------------------------------------------------------

    def _statement(self, inst: Inst) -> list[str]:
        op = inst.op
        if op == "Load":
            return [self._load(inst)]
        if op == "Store":
            return [self._store(inst)]
        if op == "Index":
            tail = self._fill_tail(inst.dst) if inst.dst is not None else ""
            return [self._index(inst), *([tail] if tail else [])]
        assert inst.dst is not None
        count = self._count(inst)
        if op in ("Expand", "Position"):
            tail = self._fill_tail(inst.dst)
            return [self._row_statement(inst), *([tail] if tail else [])]
        if op == "Reduce":
            return [self._row_statement(inst)]
        if op == "Polynomial":
            return self._polynomial(inst, count)
        if op.startswith("opgen::"):
            call = f"{op}<{inst.mode}>" if inst.mode else op
            parts = [self.name(inst.dst), *map(self.operand, inst.args)]
            parts += [self.name(t) for t in inst.temps]
            return [f"{call}({', '.join(parts)}, {count});"]
        if op in _BIT_OPS:
            parts = [self.name(inst.dst, "int16_t")]
            parts += [self.name(a, "int16_t") for a in inst.args if isinstance(a, Val)]
            return [f"{OPS[op].call}({', '.join(parts)}, {count} * 2);"]
        if op in _MASK_OPS:
            parts = [self.name(inst.dst, "uint16_t")]
            parts += [self.name(a, "uint16_t") for a in inst.args if isinstance(a, Val)]
            return [f"{OPS[op].call}({', '.join(parts)}, {count} / 16);"]
        if op == "Select":
            mask, first, second = inst.args
            assert isinstance(first, Val) and isinstance(second, Val)
            names = [self.name(v, F32) for v in (inst.dst, first, second)]
            return [
                f"Select({names[0]}, {self.operand(mask)}, {names[1]}, {names[2]}, "
                f"{_FLOAT_SELECT}, {count});"
            ]
        if op == "Selects":
            chosen, yes, no = map(self.operand, inst.args)
            return [
                f"Select({self.name(inst.dst)}, {chosen}, {yes}, {no}, {_SCALAR_SELECT}, {count});"
            ]
        if op in ("Compare", "Compares"):
            left, right = map(self.operand, inst.args)
            return [
                f"{OPS[op].call}({self.name(inst.dst)}, {left}, {right}, "
                f"CMPMODE::{inst.mode}, {count});"
            ]
        if op == "Cast":
            number = self.operand(inst.args[0])
            return [f"Cast({self.name(inst.dst)}, {number}, RoundMode::{inst.mode}, {count});"]
        if op == "Bits":
            source = inst.args[0]
            assert isinstance(source, Val)
            if self.body.placement.place(source) == self.body.placement.place(inst.dst):
                return []
            return [
                f"Muls({self.name(inst.dst, I32)}, {self.name(source, I32)}, "
                f"static_cast<int32_t>(1), {count});"
            ]
        if op == "ShiftRightLogical":
            return [
                f"opgen::ShiftRightLogical({self.name(inst.dst)}, {self.operand(inst.args[0])}, "
                f"{self.operand(inst.args[1])}, {count});"
            ]
        parts = [self.name(inst.dst), *map(self.operand, inst.args), count]
        return [f"{OPS[op].call}({', '.join(parts)});"]

    def _polynomial(self, inst: Inst, count: str) -> list[str]:
        """Return a block of its own, as the coefficients are a named array there."""
        assert inst.dst is not None
        numbers = [device_number(float(c), F32) for c in inst.mode.split(", ")]
        listed = textwrap.wrap(", ".join(numbers), 80)
        first = "    constexpr float kFit[] = {"
        return [
            "{",
            *(f"{first if i == 0 else '        '}{row}" for i, row in enumerate(listed[:-1])),
            f"{first if len(listed) == 1 else '        '}{listed[-1]}}};",
            f"    opgen::Polynomial({self.name(inst.dst)}, {self.operand(inst.args[0])}, kFit, "
            f"{count});",
            "}",
        ]

    def _row_statement(self, inst: Inst) -> str:
        assert inst.dst is not None
        dst = self.name(inst.dst)
        if inst.op == "Position":
            return f"opgen::Position({dst}, part);"
        if inst.op == "Expand":
            return f"opgen::Spread({dst}, {self.operand(inst.args[0])}, stage, part);"
        source, scratch = self.operand(inst.args[0]), self.name(inst.temps[0])
        kind = f"opgen::k{inst.mode.capitalize()}"
        if self.streamed:
            return f"opgen::Accumulate<{kind}>({dst}, partial, {source}, {scratch}, part);"
        return f"opgen::Reduce<{kind}>({dst}, {source}, {scratch}, part);"

    def _index(self, inst: Inst) -> str:
        assert inst.dst is not None
        return f"opgen::CountIndex<kBroadcast>({self.name(inst.dst)}, {inst.mode}Walk, part);"

    def _load(self, inst: Inst) -> str:
        assert inst.dst is not None
        name = inst.mode
        if inst.dst.extent == "row":
            kind = inst.dst.kind
            call = "BringRowMask" if kind == MASK else "BringRow"
            stage = {F32: "stage", I32: "stageInt", MASK: "stageHalf"}[kind]
            return (
                f"opgen::{call}({self.name(inst.dst)}, {name}Local, {stage}, bytes, {name}Walk, "
                "part);"
            )
        if inst.dst.kind == MASK:
            mask = self.name(inst.dst)
            return (
                f"opgen::BringMask<kBroadcast>({mask}, {name}Local, stageHalf, bytes, "
                f"{name}Walk, part);"
            )
        variable = self.name(inst.dst)
        stage = "stage" if inst.dst.kind == F32 else "stageInt"
        call = "BringTurnable" if name in self.turnable else "Bring"
        text = (
            f"opgen::{call}<kBroadcast>({variable}, {name}Local, {stage}, bytes, {name}Walk, part);"
        )
        tail = self._fill_tail(inst.dst)
        return f"{text}\n{tail}" if tail else text

    def _store(self, inst: Inst) -> str:
        value = inst.args[0]
        assert isinstance(value, Val)
        name = inst.mode
        member = self.output_names.get(name, name)
        if value.extent == "row":
            call = "NarrowMask" if value.kind == MASK else "NarrowCopy"
            return f"opgen::{call}({member}Local, {self.name(value)}, bytes, rowElements);"
        if value.kind == MASK:
            return f"opgen::NarrowMask({member}Local, {self.name(value)}, bytes, part.count);"
        lives_there = self.body.placement.place(value) == Place("output", name)
        call = "Narrow" if lives_there else "NarrowCopy"
        return f"opgen::{call}({member}Local, {self.name(value)}, bytes, part.count);"

"""C++ text of a vector program: one AscendC call per instruction, barriers where data flows."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field

from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.schedule.buffers import Place
from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.schedule.program import (
    F32,
    I32,
    MASK,
    OPS,
    WORD_LOADS,
    Inst,
    Operand,
    Program,
    Scalar,
    Val,
)
from msopgen_wrap.spec.names import cpp_local

_BIT_OPS = {"BitAnd", "BitOr", "BitNot"}
_MASK_OPS = {"MaskAnd", "MaskOr", "MaskNot"}
_FLOAT_SELECT = "SELMODE::VSEL_TENSOR_TENSOR_MODE"
_SCALAR_SELECT = "SELMODE::VSEL_TENSOR_SCALAR_MODE"
# Notes that say no more than the instruction beside them.
_PLAIN = {"to every element", "load", "store"}


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


def scan_names(program: Program) -> dict[int, str]:
    """Return the members that keep what goes from box to box, by the value that a scan makes."""
    names: dict[int, str] = {}
    for inst in program.insts:
        if inst.op == "Scan" and inst.dst is not None:
            base = f"{inst.mode[:1].lower()}{inst.mode[1:]}Scan"
            taken = sum(name.rstrip("0123456789") == base for name in names.values())
            names[inst.dst.id] = f"{base}{taken + 1}" if taken else base
    return names


def _with_fit(fit: str, statement: str) -> list[str]:
    """Return a block of its own for a call, as the coefficients are a named array there."""
    numbers = ", ".join(device_number(float(c), F32) for c in fit.split(", "))
    return ["{", f"    constexpr float kFit[] = {{{numbers}}};", f"    {statement}", "}"]


def _counts(inst: Inst) -> bool:
    """Whether a block counts its first operand itself, by the walk that its mode names."""
    full = inst.dst is not None and inst.dst.extent == "full"
    return inst.op == "opgen::Philox" and bool(inst.mode) and full


@dataclass
class ProgramText:
    """Renders the compute part of a body.

    Attributes:
        body: the kernel class.
        scalar_names: tiling field per scalar operand.
        output_names: member name of each output (an in-place one is not called like its input).
        covering: operands that have every element of the tile.
        transposable: operands that boxes may hold transposed.
        direct: what is computed in the tiles of its queue, by role and name.
        filled: operands whose tiles hold a number past their end, too, and keep it.
        small: whether 8-bit tensors are converted through the half tile ``bytes``.
        staged: whether operands of a box are widened in ``stage`` before they are expanded.
        coefficients: polynomials whose coefficients UB holds -> the first block of each.
        boxed: the template argument that says whether tiles are boxes.
        lines: statements produced so far.
        padded: ids of values computed on whole 256-byte repeats, past the end of the tile.
        aliases: other names and reinterpreted views of tiles that the statements use, name ->
            declaration.
        variables: value id -> variable, for values in slots of their own (default: the slot's) and
            those that lie where an operand was.
        tiles: the variables of slots that the statements name -> the slot.
    """

    body: Body
    scalar_names: dict[Scalar, str]
    output_names: dict[str, str] = field(default_factory=dict)
    covering: frozenset[str] = frozenset()
    transposable: frozenset[str] = frozenset()
    direct: frozenset[tuple[str, str]] = frozenset()
    filled: frozenset[str] = frozenset()
    small: bool = False
    staged: bool = True
    coefficients: Mapping[str, int] = field(default_factory=dict)
    boxed: str = "kBroadcast"
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

    def _note(self, inst: Inst) -> str:
        """What the comment before an instruction says; empty where the instruction says it."""
        note = inst.note.removeprefix("aten.")
        name = note.rsplit(".", 1)[-1].split(" ")[0]
        if note in _PLAIN or name in _PLAIN or inst.op.startswith("opgen::"):
            return ""
        said = name in (inst.op.removesuffix("s").lower(), self._called(inst))
        if inst.op == "Index" or (name == note and (said or self._alone(inst))):
            return ""
        return note

    def _alone(self, inst: Inst) -> bool:
        """Whether an operator is this one instruction."""
        insts = self.body.program.insts
        at = next(n for n, i in enumerate(insts) if i is inst)
        beside = [i for i in insts[max(0, at - 1) : at + 2] if i is not inst and i.op != "Index"]
        return all(i.note != inst.note for i in beside)

    def _called(self, inst: Inst) -> str:
        return self.variables.get(inst.dst.id, "") if inst.dst is not None else ""

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
        writes = self._places((inst.dst, *inst.temps, *(inst.args[:1] if _counts(inst) else ())))
        if inst.op == "opgen::JoinByScalar":
            writes |= self._places(inst.args[-1:])
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
        if self._waits(inst):
            # building blocks wait for themselves, and with that for everything before them
            self._read.clear()
            self._written.clear()
            return
        reads, writes = self._accesses(inst)
        self._read |= reads
        self._written |= writes

    def _waits(self, inst: Inst) -> bool:
        """Whether the text of an instruction ends with a barrier."""
        if inst.op == "Load":
            # zeros behind the tile are the last that is written
            tail = bool(self._load_tail(inst)) and inst.mode not in self.filled
            return inst.mode not in self.covering or tail
        return inst.op in (
            *WORD_LOADS,
            "Index",
            "Reduce",
            "Expand",
            "Position",
            "Polynomial",
            "Scan",
        ) or (inst.op.startswith("opgen::") and inst.op != "opgen::RoundTo")

    # ---- names ---------------------------------------------------------------------------------

    def name(self, value: Val, kind: str = "") -> str:
        """Return the variable for a value, read as ``kind`` (default: its own)."""
        place = self.body.placement.place(value)
        wanted = kind or value.kind
        scratch = place.role in ("word", "row")
        base = self.base_kinds.setdefault(place, F32 if scratch else value.kind)
        variable = self.variables.get(value.id, place.name if scratch else "")
        if scratch:
            self.tiles[variable] = place
        elif variable:
            cpp = {F32: "float", I32: "int32_t"}.get(base, base)
            self.aliases[variable] = f"LocalTensor<{cpp}> {variable} = {self._tile(place)};"
        else:
            variable = self._tile(place)
        if wanted == base:
            return variable
        suffix = {F32: "Float", I32: "Int", "int16_t": "Words", "uint16_t": "Words"}[wanted]
        alias = variable + suffix
        cpp = {F32: "float", I32: "int32_t"}.get(wanted, wanted)
        self.aliases[alias] = (
            f"LocalTensor<{cpp}> {alias} = {variable}.template ReinterpretCast<{cpp}>();"
        )
        return alias

    def _tile(self, place: Place) -> str:
        """Return the variable of the tile of an operand or output, or of a mask."""
        variable = place.name
        if place.role == "output":
            variable = self.output_names.get(variable, variable)
        if (place.role, place.name) in self.direct:
            return f"{variable}Local"
        return cpp_local(variable) if place.role in ("input", "output") else variable

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
            return self._load(inst)
        if op in WORD_LOADS:
            return self._load_words(inst)
        if op == "Store":
            return self._store(inst)
        if op == "Room":
            return []
        if op == "Index" and self._counted_later(inst):
            return []
        if op == "Index":
            tail = self._fill_tail(inst.dst) if inst.dst is not None else ""
            return [self._index(inst), *([tail] if tail else [])]
        assert inst.dst is not None
        count = self._count(inst)
        if op == "Polynomial":
            return self._polynomial(inst, count)
        if op == "Scan":
            tiles = [inst.dst, *inst.args, *inst.temps]
            names = [self.name(v) for v in tiles if isinstance(v, Val)]
            return [f"{scan_names(self.body.program)[inst.dst.id]}.Next({', '.join(names)}, part);"]
        if _counts(inst):
            parts = [self.name(inst.dst), self.operand(inst.args[0]), f"{inst.mode}Walk", "part"]
            parts += [*map(self.operand, inst.args[1:]), *(self.name(t) for t in inst.temps)]
            return [f"opgen::PhiloxCounted<{self.boxed}>({', '.join(parts)}, {count});"]
        if op.startswith("opgen::"):
            plain = not inst.mode or op == "opgen::Philox"
            call = op if plain else f"{op}<{inst.mode}>"
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
        if op in ("Bits", "Beside"):
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

    def _counted_later(self, index: Inst) -> bool:
        """Whether blocks that count the numbers themselves are all that reads them."""
        readers = [i for i in self.body.program.insts if index.dst in i.args]
        return all(_counts(i) for i in readers)

    def _polynomial(self, inst: Inst, count: str) -> list[str]:
        assert inst.dst is not None
        parts = [self.name(inst.dst), self.operand(inst.args[0]), "kFit"]
        parts += [self._blocks(inst.mode)] if inst.mode in self.coefficients else []
        return _with_fit(inst.mode, f"opgen::Polynomial({', '.join([*parts, count])});")

    def _blocks(self, fit: str) -> str:
        """Return the tile in UB that holds the coefficients of a polynomial."""
        first = self.coefficients[fit]
        return f"coefficients[{first} * opgen::kBlockFloats]" if first else "coefficients"

    def coefficient_statements(self) -> list[str]:
        """Return the statements that write the coefficients of all polynomials to UB."""
        return [
            line
            for fit in self.coefficients
            for line in _with_fit(fit, f"opgen::SetCoefficients({self._blocks(fit)}, kFit);")
        ]

    def _index(self, inst: Inst) -> str:
        assert inst.dst is not None
        return f"opgen::CountIndex<{self.boxed}>({self.name(inst.dst)}, {inst.mode}Walk, part);"

    def _load(self, inst: Inst) -> list[str]:
        assert inst.dst is not None
        name, dst = inst.mode, self.name(inst.dst)
        bytes_ = ["bytes"] if self.small or inst.dst.kind == MASK else []
        tail = self._load_tail(inst)
        if name not in self.covering:
            return [self._widen_operand(inst, name, dst, bytes_), *([tail] if tail else [])]
        if inst.dst.kind == MASK:
            return [f"opgen::WidenMask({dst}, {name}Local, bytes, count);"]
        lines = []
        if ("input", name) not in self.direct:
            count = "lanes" if tail and name in self.filled else "count"
            lines.append(f"opgen::Widen({', '.join([dst, f'{name}Local', *bytes_, count])});")
        if name in self.filled:
            return lines
        if tail and lines:
            lines.append("PipeBarrier<PIPE_V>();")
        return [*lines, *([tail] if tail else [])]

    def _load_words(self, inst: Inst) -> list[str]:
        assert inst.dst is not None
        name, dst = inst.mode, self.name(inst.dst)
        word = "opgen::kLowWord" if inst.op == "LoadLow" else "opgen::kHighWord"
        if name in self.covering:
            call = f"opgen::SplitWords<{word}>({dst}, {name}Local, count);"
        else:
            given = f"{dst}, {name}Local, {name}Walk, part, stageInt"
            call = f"opgen::WordsOfOperand<{self.boxed}, {word}>({given});"
        tail = self._load_tail(inst)
        return [call, *([tail] if tail else [])]

    def _load_tail(self, inst: Inst) -> str:
        return "" if inst.dst is None or inst.dst.kind == MASK else self._fill_tail(inst.dst)

    def _widen_operand(self, inst: Inst, name: str, dst: str, bytes_: list[str]) -> str:
        """An operand of a box, which may have fewer elements."""
        assert inst.dst is not None
        stage = {F32: "stage", I32: "stageInt", MASK: "stageHalf"}[inst.dst.kind]
        given = [dst, f"{name}Local", f"{name}Walk", "part"]
        if self.staged or inst.dst.kind == MASK:
            given += [stage, *bytes_]
        call = "WidenOperandMask" if inst.dst.kind == MASK else "WidenOperand"
        if name in self.transposable and inst.dst.kind != MASK:
            call = "WidenTransposable"
        return f"opgen::{call}<{self.boxed}>({', '.join(given)});"

    def _store(self, inst: Inst) -> list[str]:
        value = inst.args[0]
        assert isinstance(value, Val)
        name = inst.mode
        count = "rowElements" if value.extent == "row" else "part.count"
        local = f"{self.output_names.get(name, name)}Local"
        if len(inst.args) > 1:
            tiles = [value, *inst.args[1:], *inst.temps]
            names = ", ".join(self.name(v) for v in tiles if isinstance(v, Val))
            return [f"opgen::JoinWords({local}, {names}, {count});"]
        lives_there = self.body.placement.place(value) == Place("output", name)
        if value.kind == MASK:
            call = "NarrowMask"
        elif lives_there and value.extent != "row":
            if ("output", name) in self.direct:
                return []
            call = "Narrow"
        else:
            call = "NarrowCopy"
        bytes_ = ["bytes"] if self.small or value.kind == MASK else []
        return [f"opgen::{call}({', '.join([local, self.name(value), *bytes_, count])});"]

"""The methods of a row kernel: what each dequeues, declares, computes and enqueues."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.families.row.body import RowBody, compute_kinds, covers, expands_operands
from msopgen_wrap.families.row.online import Pair
from msopgen_wrap.families.row.passes import Piece
from msopgen_wrap.render.kernel import bytes_lines, constant, mask_tile, member_name, type_name
from msopgen_wrap.render.program_text import ProgramText
from msopgen_wrap.render.value_names import ValueNames, variables
from msopgen_wrap.schedule.buffers import Place, Placement
from msopgen_wrap.schedule.program import (
    COMPUTE_KIND,
    I32,
    MASK,
    STORED_KIND,
    Inst,
    Program,
    Scalar,
    Val,
)
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.spec.names import cpp_local

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
        columns: the sums of columns, in the order of their accumulators.
        spread: the kept operands that come through a queue.
    """

    streamed: bool = False
    accumulators: dict[int, tuple[Val, ...]] | None = None
    boxed: str = "true"
    columns: tuple[TensorParam, ...] = ()
    spread: tuple[str, ...] = ()

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
        if inst.op == "Load" and inst.dst is not None and inst.dst.extent == "kept":
            return False
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
            taken = f"{inst.mode}Kept.Take({inst.mode}Walk, part);"
            return [taken] if inst.mode in self.spread else []
        if inst.op in ("Expand", "Position"):
            assert inst.dst is not None
            tail = self._fill_tail(inst.dst)
            return [self._row_statement(inst), *([tail] if tail else [])]
        if inst.op == "Reduce":
            return [self._row_statement(inst)]
        if inst.op == "AddColumns":
            number = [p.name for p in self.columns].index(inst.mode)
            return [f"columnSums.Add({number}, {self.operand(inst.args[0])}, count);"]
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
        last = ", before" if inst.op == "AddVariance" else ""
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


@dataclass
class Section:
    """One method.

    Attributes:
        operands, outputs: that the method takes from and puts into queues, and kept ones.
        lines: its statements.
        copy_in, keep: the methods that load its operands.
        counts: whether it is told how many elements the chunks before it have.
        held: whether its operands are taken from their queues before it is called.
        frees: whether it frees them.
        names: what its values are called, by value id.
    """

    operands: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    lines: list[str] = field(default_factory=list)
    copy_in: str = ""
    keep: str = ""
    counts: bool = False
    held: bool = False
    frees: bool = True
    names: dict[int, str] = field(default_factory=dict)

    @property
    def streamed(self) -> list[dict[str, Any]]:
        """The operands that come through a queue."""
        return [o for o in self.operands if not o["kept"]]

    @property
    def kept(self) -> list[dict[str, Any]]:
        """The operands that stay from box to box."""
        return [o for o in self.operands if o["kept"]]


def storage_tensors(
    spec: OpSpec, operands: list[dict[str, Any]], outputs: list[dict[str, Any]]
) -> list[dict[str, str]]:
    """Return the tensors in GM: the inputs that are read, then the outputs."""
    used = {str(o["tensor"]) for o in operands}
    gm = [{"name": p.name, "type": type_name(p, False, spec)} for p in spec.inputs]
    gm = [g for g in gm if g["name"] in used]
    gm += [{"name": o["name"], "type": o["type"]} for o in outputs]
    return [{**row, "argument": cpp_local(row["name"])} for row in gm]


@dataclass
class SectionMaker:
    """Makes the methods of one kernel class."""

    spec: OpSpec
    body: RowBody
    names: dict[Scalar, str]
    operands: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    small: str
    value_names: ValueNames

    def __call__(
        self,
        insts: list[Inst],
        placement: Placement,
        pairs: list[Pair] | None = None,
        held: bool = False,
    ) -> Section:
        """Return the method of some instructions.

        Args:
            pairs: of a pass over chunks.
            held: ``Process`` takes the operands from their queues before it calls the method, and
                frees them where the method only reduces.
        """
        text = RowText(
            Piece(Program(insts, dict(self.body.program.scalars)), placement),  # type: ignore[arg-type]
            self.names,
            {o["param"]: o["name"] for o in self.outputs},
            streamed=pairs is not None,
            columns=self.body.columns,
            spread=tuple(self.body.spread),
            covering=self.body.covering,
            accumulators={p.merged.dst.id: p.accumulators for p in pairs or () if p.merged.dst},
            small=bool(self.small),
            staged=any(expands_operands(self.spec, self.body, c) for c in self.body.combos),
        )
        text.variables = variables(insts, placement, self.value_names)
        combo = self.body.combos[0]
        for place in placement.of.values():
            if place.role == "output":
                param = next(p for p in self.spec.outputs if p.name == place.name)
                text.base_kinds[place] = STORED_KIND[param.dtypes[combo]]
            elif place.role == "input":
                dtype = self.spec.param(self.body.operands[place.name].tensor).dtypes[combo]
                text.base_kinds[place] = COMPUTE_KIND[dtype]
        statements = [s for line in text.render() for s in line.split("\n") if s]
        loads = {i.mode for i in insts if i.op == "Load"}
        stores = {i.mode for i in insts if i.op == "Store"}
        section = Section(
            [o for o in self.operands if o["name"] in loads],
            [o for o in self.outputs if o["param"] in stores],
            counts="before" in re.findall(r"\w+", "\n".join(statements)),
            held=held,
        )
        section.frees = not held or bool(section.outputs)
        section.names = text.variables
        section.lines = self._lines(section, insts, placement, text, statements)
        return section

    def _lines(
        self,
        section: Section,
        insts: list[Inst],
        placement: Placement,
        text: RowText,
        statements: list[str],
    ) -> list[str]:
        freed, made = section.streamed, section.outputs
        lines = []
        for o in freed:
            n, t = o["name"], o["type"]
            taken = f"{n}Local = {n}Queue.template DeQue<{t}>();"
            if not self.body.holds or o["row"]:
                lines.append(f"LocalTensor<{t}> {taken}")
            elif not section.held:
                lines.append(taken)
        for o in made:
            n, t = o["name"], o["type"]
            lines.append(f"LocalTensor<{t}> {n}Local = {n}Queue.template AllocTensor<{t}>();")
        lines += self._declare(section, insts, placement, text, statements)
        if lines and statements:
            lines.append("")
        lines += statements
        if not section.frees:
            freed = []
        spread = [o for o in section.kept if o["spread"]]
        if freed or made or spread:
            lines.append("")
        lines += [f"{o['name']}Queue.EnQue({o['name']}Local);" for o in made]
        lines += [f"{o['name']}Queue.FreeTensor({o['name']}Local);" for o in freed]
        return lines + [f"{o['name']}Kept.Free();" for o in spread]

    def _declare(
        self,
        section: Section,
        insts: list[Inst],
        placement: Placement,
        text: RowText,
        statements: list[str],
    ) -> list[str]:
        aliases = [text.aliases[a] for a in sorted(text.aliases)]
        joined = "\n".join([*statements, *aliases]).replace("part.count", "")

        def used(name: str) -> bool:
            return re.search(rf"\b{name}\b", joined) is not None

        lines = [line for name, line in _COUNTS.items() if used(name)]
        if used("bytes"):
            lines += bytes_lines(self.small)
        lines += self._stages(used)
        lines += self._tiles(section, used)
        for name, place in sorted(
            text.tiles.items(), key=lambda item: (item[1].role, item[1].name)
        ):
            slot = int(re.sub(r"\D", "", place.name))
            first = f"kTmpSlot + {slot}" if slot else "kTmpSlot"
            where = f"Scratch({first})" if place.role == "word" else f"Row({slot})"
            lines.append(f"LocalTensor<float> {name} = {where};")
        if used("partial"):
            lines.append(f"LocalTensor<float> partial = Row({self.body.row_words});")
        if used("spare"):
            lines.append(
                "LocalTensor<float> spare = rowBuf.template Get<float>()"
                f"[{self.body.row_words} * rowLength];"
            )
        if used("rowBlocks"):
            lines.append("LocalTensor<float> rowBlocks = rowBlockBuf.template Get<float>();")
        masks = (
            ("mask", "maskBuf", "tileLength", self.body.placement.masks),
            ("rowMask", "rowMaskBuf", "rowLength", self.body.row_masks),
        )
        for base, buffer, length, slots in masks:
            for slot in range(slots):
                if used(f"{base}{slot}"):
                    lines.append(mask_tile(f"{base}{slot}", buffer, length, slot, slots))
        return lines + aliases

    def _stages(self, used: Any) -> list[str]:
        kinds = {"stage": "float", "stageInt": "int32_t", "stageHalf": "half"}
        wanted = {n: c for n, c in kinds.items() if used(n)}
        lines = [f"LocalTensor<{c}> {n};" for n, c in wanted.items()]
        # where no dtype of the kernel is converted there is no such slot
        if not any(expands_operands(self.spec, self.body, c) for c in self.body.combos):
            return lines
        fill = []
        for n, c in wanted.items():
            suffix = "" if c == "float" else f".template ReinterpretCast<{c}>()"
            fill.append(f"    {n} = Scratch(kStageSlot){suffix};")
        return [*lines, "if constexpr (kSlots > kStageSlot) {", *fill, "}"]

    def _tiles(self, section: Section, used: Any) -> list[str]:
        """The tiles that operands and outputs are computed in."""
        lines = []
        present = {("input", o["name"]) for o in section.streamed}
        present |= {("output", o["param"]) for o in section.outputs}
        for (role, name), cpp in compute_kinds(self.spec, self.body).items():
            if (role, name) not in present:
                continue
            param = next((p for p in self.spec.outputs if p.name == name), None)
            member = name
            if role == "output":
                assert param is not None
                member = member_name(param, True, self.spec)
            variable = cpp_local(member)
            if not used(variable):
                continue
            given = f"{member}Local, scratch, {constant(member)}Slot, tileLength"
            call = f"opgen::ComputeTile<{cpp}>({given})"
            if role == "input" and not covers(self.body, name):
                call = f"opgen::OperandTile<true, {cpp}>({given}, {member}Walk)"
            lines.append(f"LocalTensor<{cpp}> {variable} = {call};")
        return lines


_COUNTS = {
    "count": "const uint32_t count = part.count;",
    "lanes": "const uint32_t lanes = opgen::AlignLanes(part.count);",
    "rowCount": "const uint32_t rowCount = opgen::AlignLanes(opgen::RowCount(part));",
    "rowElements": "const uint32_t rowElements = opgen::RowElements(part);",
}

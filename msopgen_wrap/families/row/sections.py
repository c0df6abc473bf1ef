"""The methods of a row kernel: what each dequeues, declares, computes and enqueues."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.families.row.body import RowBody, covers, expands_operands
from msopgen_wrap.families.row.online import Pair
from msopgen_wrap.families.row.passes import Piece
from msopgen_wrap.families.row.slots import compute_kinds
from msopgen_wrap.families.row.text import RowText
from msopgen_wrap.render.bytes_tile import bytes_lines
from msopgen_wrap.render.kernel import constant, mask_tile, member_name, type_name
from msopgen_wrap.render.value_names import ValueNames, variables
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.program import COMPUTE_KIND, STORED_KIND, Inst, Program, Scalar
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.taken_names import cpp_local


@dataclass
class Section:
    """One method.

    Attributes:
        operands, outputs: that the method takes from and puts into queues, and kept ones.
        lines: its statements.
        copy_in, keep: the methods that load its operands.
        first: whether it is told which chunk is the first.
        held: whether its operands are taken from their queues before it is called.
        frees: whether it frees them.
        names: what its values are called, by value id.
    """

    operands: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    lines: list[str] = field(default_factory=list)
    copy_in: str = ""
    keep: str = ""
    first: bool = False
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
            first="first" in re.findall(r"\w+", "\n".join(statements)),
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
        if freed or made:
            lines.append("")
        lines += [f"{o['name']}Queue.EnQue({o['name']}Local);" for o in made]
        return lines + [f"{o['name']}Queue.FreeTensor({o['name']}Local);" for o in freed]

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

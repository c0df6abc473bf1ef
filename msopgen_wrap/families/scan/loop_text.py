"""C++ text of a program with a loop: the instructions of a step work on one row of the tiles."""

from __future__ import annotations

import re
from dataclasses import dataclass

from msopgen_wrap.families.scan.loops import (
    KINDS,
    next_values,
    row_section,
    start_section,
    state_values,
)
from msopgen_wrap.render.program_text import ProgramText
from msopgen_wrap.schedule.program import MASK, Inst, Operand, Val

_BARRIER = "PipeBarrier<PIPE_V>();"
_INDENT = "    "


def state_members(count: int) -> list[str]:
    """Return the members of a kernel class that keep the states of a loop."""
    return ["stateOfLoop"] if count == 1 else [f"state{n}OfLoop" for n in range(1, count + 1)]


@dataclass
class LoopText(ProgramText):
    """Renders the compute part of a body that may have a loop.

    Attributes:
        backwards: whether the loop goes from the last row to the first.
        in_row: whether an instruction of the loop is rendered.
        in_start: whether an instruction is that makes the states before the first step.
    """

    backwards: bool = False
    in_row: bool = False
    in_start: bool = False

    def render(self) -> list[str]:
        """Return the statements, loads to stores."""
        self._rows = {id(inst) for inst in row_section(self.body.program)}
        self._start = {id(inst) for inst in start_section(self.body.program)}
        self._states = state_values(self.body.program)
        self._opened = False
        self._members = state_members(len(self._states))
        return super().render()

    def name(self, value: Val, kind: str = "") -> str:
        """Return the variable for a value: in the loop, of its row."""
        if value in self._states:
            state = self._before(self._states.index(value))
            wanted = KINDS.get(kind, kind)
            same = kind in ("", value.kind)
            return state if same else f"{state}.template ReinterpretCast<{wanted}>()"
        name = super().name(value, kind)
        if not self.in_row or value.kind == MASK:
            return name  # a mask of a row does not outlive its step
        return f"{name}[2 * at]" if kind in ("int16_t", "uint16_t") else f"{name}[at]"

    def _before(self, number: int) -> str:
        return "before" if len(self._states) == 1 else f"before{number + 1}"

    def _count(self, inst: Inst) -> str:
        return "part.pitch" if self.in_row or self.in_start else super()._count(inst)

    def _statement(self, inst: Inst) -> list[str]:
        if inst.op == "LoopBefore":
            return self._begin(inst)
        if inst.op == "LoopAfter":
            return self._end()
        self.in_row, self.in_start = id(inst) in self._rows, id(inst) in self._start
        if inst.op == "Move" and isinstance(inst.args[0], Val) and inst.dst is not None:
            source = self.name(inst.args[0])
            statements = [f"DataCopy({self.name(inst.dst)}, {source}, {self._count(inst)});"]
        else:
            statements = super()._statement(inst)
        if self.in_start:  # one row of them is read
            statements = [re.sub(r"\bpart\b", "row", s) for s in statements]
        return [_INDENT + s for s in statements] if self.in_row or self.in_start else statements

    def _barrier(self, inst: Inst) -> None:
        self._open_start(inst)
        if inst.op in ("LoopBefore", "LoopAfter"):
            return  # their blocks wait
        lines = len(self.lines)
        super()._barrier(inst)
        if id(inst) in self._rows | self._start:
            self.lines[lines:] = [_INDENT + line for line in self.lines[lines:]]

    def _open_start(self, inst: Inst) -> None:
        """Begin the branch of the first box, before what is first in it."""
        if self._opened or (inst.op != "LoopBefore" and id(inst) not in self._start):
            return
        self._opened = True
        self.lines.append("if (begins) {")
        if self._start:
            self.lines.append(f"{_INDENT}const opgen::Tile row = opgen::FirstRow(part);")
            self.lines.append(_INDENT + _BARRIER)

    def _note(self, inst: Inst) -> str:
        note = super()._note(inst)
        return (
            "" if inst.op in ("LoopBefore", "LoopAfter", "Move") or self._in_branch(inst) else note
        )

    def _in_branch(self, inst: Inst) -> bool:
        return id(inst) in self._rows or id(inst) in self._start

    def _begin(self, inst: Inst) -> list[str]:
        """Return the start of a state; behind the last one, the loop begins."""
        assert inst.dst is not None
        number = self._states.index(inst.dst)
        self.in_start = False
        call = f"{self._members[number]}.Begin({self.operand(inst.args[0])}, part);"
        lines = [_INDENT + call]
        if number < len(self._states) - 1:
            return lines
        lines.append("}")
        lines.append("for (uint32_t step = 0; step < part.rows; ++step) {")
        row = "part.rows - 1 - step" if self.backwards else "step"
        at = f"({row})" if self.backwards else row
        inside = [f"const uint32_t at = {at} * part.pitch;"]
        for index, (state, value) in enumerate(
            zip(self._states, next_values(self.body.program), strict=True)
        ):
            call = f"{self._members[index]}.Before({super().name(value)}, step, part)"
            kind = KINDS[state.kind]
            inside.append(f"const LocalTensor<{kind}> {self._before(index)} = {call};")
        inside.append(_BARRIER)
        return [*lines, *(_INDENT + line for line in inside)]

    def _end(self) -> list[str]:
        """Return the end of the loop: the next box begins with the states after its last step."""
        self.in_row = False
        values: list[Operand] = list(next_values(self.body.program))
        lines = [
            f"{member}.End({self.operand(value)}, part);"
            for member, value in zip(self._members, values, strict=True)
        ]
        return ["}", *lines]

    def _waits(self, inst: Inst) -> bool:
        return inst.op in ("LoopBefore", "LoopAfter") or super()._waits(inst)

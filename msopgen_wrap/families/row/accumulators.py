"""What passes over chunks gather: row tiles that start with a number and are joined by cores."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.families.row.body import RowBody
from msopgen_wrap.schedule.program import I32, Inst, Val

_JOINS = {"AddExpSum": "opgen::JoinExpSums", "AddVariance": "opgen::JoinVariances"}
# The first number of what a merged instruction gathers first; the others start with 0.
_FIRST = {"AddExpSum": "opgen::Identity<opgen::kMax>()", "AddVariance": "0.0f"}


@dataclass
class Accumulators:
    """Template values of the accumulators of one pass.

    Attributes:
        body: the kernel class.
        names: what values are called, by value id.
    """

    body: RowBody
    names: dict[int, str]

    def reduction(self, inst: Inst) -> dict[str, str]:
        """Return the accumulator of a reduction."""
        assert inst.dst is not None
        kind = f"opgen::k{inst.mode.capitalize()}"
        identity = f"{kind}, int32_t" if inst.dst.kind == I32 else kind
        return {
            "slot": self._row(inst.dst),
            "kind": kind,
            "first": f"opgen::Identity<{identity}>()",
            "name": self.names.get(inst.dst.id, ""),
        }

    def pair(self, op: str, values: tuple[Val, ...]) -> dict[str, Any]:
        """Return the accumulators of a merged instruction."""
        return {
            "join": _JOINS[op],
            "rows": [self._row(v) for v in values],
            "first": [_FIRST[op], *["0.0f"] * (len(values) - 1)],
            "names": [self.names.get(v.id, "") for v in values],
        }

    def published(
        self, reduces: list[dict[str, str]], pairs: list[dict[str, Any]]
    ) -> list[tuple[str, str]]:
        """Return row and name of what cores exchange, in the order of the slots."""
        rows = [(r["slot"], r["name"]) for r in reduces]
        for pair in pairs:
            rows += zip(pair["rows"], pair["names"], strict=True)
        return rows

    def start(self, reduces: list[dict[str, str]], pairs: list[dict[str, Any]]) -> list[str]:
        """Return the statements that give accumulators their first numbers, neighbours at once."""
        names = dict(self.published(reduces, pairs))
        first = {r["slot"]: r["first"] for r in reduces}
        for pair in pairs:
            first.update(zip(pair["rows"], pair["first"], strict=True))
        lines: list[str] = []
        runs: list[tuple[list[int], str]] = []
        for row, number in sorted(first.items()):
            if not (slot := re.fullmatch(r"Row\((\d+)\)", row)):
                lines.append(_said(f"Duplicate({row}, {number}, rowLength);", names[row]))
            elif runs and runs[-1][1] == number and runs[-1][0][-1] + 1 == int(slot[1]):
                runs[-1][0].append(int(slot[1]))
            else:
                runs.append(([int(slot[1])], number))
        for slots, number in runs:
            row, length = f"Row({slots[0]})", "rowLength"
            if len(slots) > 1:
                at = f"[{slots[0]} * rowLength]" if slots[0] else ""
                row = f"rowBuf.template Get<float>(){at}"
                length = f"{len(slots)} * rowLength"
            called = [names[f"Row({slot})"] for slot in slots]
            note = ", ".join(called) if all(called) else ""
            lines.append(_said(f"Duplicate({row}, {number}, {length});", note))
        return lines

    def _row(self, value: Val) -> str:
        slot = self.body.placement.place(value).name.removeprefix("row")
        suffix = ".template ReinterpretCast<int32_t>()" if value.kind == I32 else ""
        return f"Row({slot}){suffix}"


def _said(statement: str, name: str) -> str:
    return f"{statement}  // {name}" if name else statement

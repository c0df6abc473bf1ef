"""Render kernels with reductions from their plan."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.families.row.body import RowBody, RowPlan, slot_lines, spare_rows
from msopgen_wrap.families.row.sections import Section, SectionMaker, storage_tensors
from msopgen_wrap.render.entry_values import entry_values
from msopgen_wrap.render.files import GeneratedFile, include_blocks
from msopgen_wrap.render.kernel import (
    KernelClass,
    KernelPart,
    class_bodies,
    class_values,
    entry_branches,
    member_name,
    type_name,
)
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.render.value_names import ValueNames
from msopgen_wrap.schedule.plan import RESIDENT, STREAMED
from msopgen_wrap.schedule.program import I32, Inst, Val
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.templating import environment, render_block

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


@dataclass(kw_only=True)
class RowKernel(KernelClass):
    """Template values of one kernel class.

    Attributes:
        slots: where scratch tiles lie.
        double: whether queues have two copies.
        sections: the methods.
        columns: the outputs that are sums of columns.
        atomic: whether cores add to these in any order.
    """

    slots: list[str]
    double: bool
    sections: dict[str, Any] = field(default_factory=dict)
    columns: list[dict[str, str]] = field(default_factory=list)
    atomic: bool = False


def render_kernel(plan: RowPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    template = environment("row").get_template("kernel.cpp.jinja")
    text = tidy(close_up(template.render(_values(plan, style))))
    return [GeneratedFile(f"op_kernel/{plan.spec.name}.cpp", include_blocks(text))]


def kernel_part(plan: RowPlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    values = _values(plan, style)
    classes = render_block("row", "kernel.cpp.jinja", "classes", values)
    return KernelPart(close_up(classes), values["dispatch"], workspace=True)


def _values(plan: RowPlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    # a class with sums of columns has one mode
    flagged = "" if plan.columns else RESIDENT
    branches = entry_branches(replace(plan, spec=plan.whole_spec), plan.modes, flagged)
    return {
        **entry_values(spec, style, branches),
        "kernels": [kernel_values(spec, plan, body) for body in class_bodies(plan)],
    }


def close_up(text: str) -> str:
    """Drop empty lines at the ends of blocks, which empty parts of the template leave."""
    lines: list[str] = []
    for line in text.splitlines():
        if not line.strip() and lines and lines[-1].endswith("{"):
            continue
        if line.strip() == "}" and lines and not lines[-1].strip():
            lines.pop()
        lines.append(line)
    return "\n".join(lines) + "\n"


def kernel_values(spec: OpSpec, plan: RowPlan, body: RowBody) -> RowKernel:
    """Return the template values of one kernel class.

    Args:
        spec: the op.
        plan: its plan.
        body: the body that the class is made of.
    """
    resident, streamed, pieces = body.resident, body.streamed, body.pieces
    operands = [
        {
            "name": name,
            "tensor": view.tensor,
            "type": type_name(spec.param(view.tensor), False, spec),
            "row": name in body.row_operands,
            "kept": name in body.kept,
            "spread": name in body.spread,
            "placed": view.placed,
        }
        for name, view in body.operands.items()
    ]
    outputs = [
        {
            "name": member_name(p, True, spec),
            "param": p.name,
            "type": type_name(p, True, spec),
            "row": p.name in body.row_outputs,
        }
        for p in spec.outputs
    ]
    whole_spec = plan.whole_spec
    columns = [
        {"name": member_name(p, True, whole_spec), "type": type_name(p, True, whole_spec)}
        for p in body.columns
    ]
    gm = storage_tensors(spec, operands, [*outputs, *columns])
    shared = class_values(spec, plan, body, gm, operands, outputs)
    tensors = [*(str(o["name"]) for o in (*operands, *outputs)), *body.program.scalars]
    gathered = [i for piece in pieces for i in piece.program.insts]
    rows = [i for after in streamed.rows for i in after]
    names = ValueNames([*gathered, *rows, *body.program.insts], tensors)
    make = SectionMaker(spec, body, plan.scalar_names, operands, outputs, shared["bytes"], names)
    row_only = {id(i) for i in (*resident.prologue, *resident.late, *resident.row_stores)}
    whole = make([i for i in body.program.insts if id(i) not in row_only], body.placement)
    holds = body.holds
    gathers = [_gather(body, make, number) for number in range(len(pieces) - 1)]
    last = pieces[-1] if pieces else None
    writes = last is not None and bool(last.program.insts)
    write = make(last.program.insts, last.placement, [], holds) if last and writes else None
    copies: list[Section] = [whole, *(g["gather"] for g in gathers), *([write] if write else [])]
    stores = [make([*p.late, *p.row_stores], body.placement) for p in (resident, streamed)]
    finals = [s for p in (resident, streamed) for s in (*p.late, *p.row_stores)]
    sections = {
        "prologue": make(streamed.prologue, body.placement) if streamed.prologue else None,
        "prologue_always": _stores_read(streamed.prologue, finals, body.program.insts),
        "whole": whole,
        "gathers": gathers,
        "write": write,
        "held": whole.streamed if holds else [],
        "copies": _copies(copies),
        "stores": stores if finals else [],
        "row_outputs": bool(streamed.row_stores),
        "full_outputs": any(not o["row"] for o in outputs),
        "row_words": body.row_words,
        "row_masks": body.row_masks,
        "spare": spare_rows(body, STREAMED),
        "slots": max((len(g["published"]) for g in gathers), default=1),
    }
    return RowKernel(
        **shared,
        slots=slot_lines(spec, body),
        double=body.buffers_in_flight() > 1,
        sections=sections,
        columns=columns,
        atomic=not spec.deterministic,
    )


def _gather(body: RowBody, make: SectionMaker, number: int) -> dict[str, Any]:
    """Return the methods of a pass over chunks that gathers row values."""
    piece, pairs = body.pieces[number], body.streamed.pairs[number]
    gather = make(piece.program.insts, piece.placement, pairs, body.holds)
    held = Accumulators(body, gather.names)
    reduces = [held.reduction(i) for i in piece.program.insts if i.op == "Reduce"]
    joined = [held.pair(p.merged.op, p.accumulators) for p in pairs]
    return {
        "suffix": str(number + 1) if len(body.pieces) > 2 else "",
        "gather": gather,
        "finish": make(body.streamed.rows[number], body.placement),
        "start": held.start(reduces, joined),
        "published": held.published(reduces, joined),
        "reduces": reduces,
        "pairs": joined,
    }


def _copies(sections: list[Section]) -> list[dict[str, Any]]:
    """Name the methods that load: sections with the same operands share one.

    Sets ``copy_in`` and ``keep`` of every section to the method's name, empty for none.
    """
    methods: list[dict[str, Any]] = []
    for kind in ("copy_in", "keep"):
        named: dict[tuple[str, ...], str] = {}
        for section in sections:
            rows = section.kept if kind == "keep" else section.streamed
            key = tuple(o["name"] for o in rows)
            if not key:
                continue
            if key not in named:
                base = "Keep" if kind == "keep" else "CopyIn"
                named[key] = base if not named else f"{base}{len(named)}"
                methods.append({"name": named[key], "kept": kind == "keep", "operands": rows})
            setattr(section, kind, named[key])
    return methods


def _stores_read(prologue: list[Inst], stores: list[Inst], insts: list[Inst]) -> bool:
    """Whether row outputs take values of the prologue, other than through a reduction."""
    defined = {i.dst.id: i for i in insts if i.dst is not None}
    first = {id(i) for i in prologue}
    pending, seen = list(stores), set()
    while pending:
        inst = pending.pop()
        if id(inst) in first:
            return True
        if inst.op == "Reduce" or id(inst) in seen:
            continue
        seen.add(id(inst))
        pending += [defined[a.id] for a in inst.args if isinstance(a, Val) and a.id in defined]
    return False

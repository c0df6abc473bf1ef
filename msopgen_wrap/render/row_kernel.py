"""Render kernels of the row family."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.render.absent_inputs import absent_types
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    KernelSources,
    KernelText,
    choose_type,
    doc_lines,
    kernel_args,
    member_name,
    slots,
    summary,
    tidy,
    type_name,
    working_tiles,
)
from msopgen_wrap.render.program_text import ProgramText
from msopgen_wrap.schedule.plan import Body, OpPlan
from msopgen_wrap.schedule.program import COMPUTE_KIND, F32, I32, Inst, Program, Scalar, Val
from msopgen_wrap.schedule.row import MODES, ROW_SHARE, Passes, Piece
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.taken_names import cpp_local
from msopgen_wrap.templating import environment


@dataclass
class Section:
    """Statements of one method: what it dequeues, declares, computes and enqueues."""

    operands: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    declarations: list[str]
    statements: list[str]
    counts: list[str] = field(default_factory=list)


def render_row(spec: OpSpec, plan: OpPlan, style: str) -> KernelSources:
    """Render ``op_kernel/<op>.cpp`` and the tiling of an op with reductions."""
    from msopgen_wrap.render.row_tiling import render_row_tiling
    from msopgen_wrap.render.tiling import host_headers

    names: dict[Scalar, str] = plan.details["scalar_names"]
    kernels = [_kernel(spec, plan, body, names) for body in plan.bodies]
    branches = _dispatch(spec, plan)
    text = (
        environment("op_kernel")
        .get_template("row.cpp.jinja")
        .render(
            spec=spec,
            style=style,
            source=f"specs/{spec.name}.yaml",
            doc=doc_lines(spec),
            kernels=kernels,
            entry=kernel_args(spec),
            dispatch=branches,
            absent_types=absent_types(spec, " ".join(b["type"] for b in branches)),
            row_share=ROW_SHARE,
            copy_in=_copy_in,
            compute=_compute,
        )
    )
    files = [GeneratedFile(f"op_kernel/{spec.name}.cpp", tidy(text)), *host_headers()]
    return KernelSources(files, render_row_tiling(spec, plan, style))


def _kernel(spec: OpSpec, plan: OpPlan, body: Body, names: dict[Scalar, str]) -> KernelText:
    passes: Passes = body.details["passes"]
    pieces: list[Piece] = body.details["pieces"]
    row_outputs = body.details["row_outputs"]
    row_operands = body.details["row_operands"]
    # with fewer dimensions than the others: the same for many rows
    most = max(view.rank for view in body.operands.values())
    kept = {n for n, v in body.operands.items() if v.rank < most and n not in row_operands}
    operands: list[dict[str, Any]] = [
        {
            "name": name,
            "tensor": view.tensor,
            "type": type_name(spec.param(view.tensor), False, spec),
            "row": name in row_operands,
            "kept": name in kept,
        }
        for name, view in body.operands.items()
    ]
    outputs: list[dict[str, Any]] = [
        {
            "name": member_name(p, True, spec),
            "param": p.name,
            "type": type_name(p, True, spec),
            "row": p.name in row_outputs,
        }
        for p in spec.outputs
    ]
    used = {str(o["tensor"]) for o in operands}
    gm: list[dict[str, str]] = [
        {"name": p.name, "type": type_name(p, False, spec)} for p in spec.inputs if p.name in used
    ] + [{"name": o["name"], "type": o["type"]} for o in outputs]
    gm = [{**row, "argument": cpp_local(row["name"])} for row in gm]
    small = any(b.name == "bytes" for budget in body.budgets.values() for b in budget.buffers)
    make = _SectionMaker(spec, body, names, operands, outputs, small)
    row_only = {id(i) for i in (*passes.prologue, *passes.late, *passes.row_stores)}
    whole = [i for i in body.program.insts if id(i) not in row_only]
    sections: list[dict[str, Any]] = []
    for number, piece in enumerate(pieces, 1):
        final = number == len(pieces)
        if final and not piece.program.insts:
            continue
        sections.append(
            {
                "number": number,
                "final": final,
                "full": make(piece.program.insts, piece, streamed=True),
                "rows": make(passes.rows[number - 1], body) if not final else None,
                "reduces": [_reduce(i, passes) for i in piece.program.insts if i.op == "Reduce"],
            }
        )
    stores = [*passes.late, *passes.row_stores]
    extra = {
        "prologue": make(passes.prologue, body) if passes.prologue else None,
        "prologue_always": _stores_read(passes.prologue, stores, body.program.insts),
        "whole": make(whole, body),
        "passes": sections,
        "stores": make(stores, body) if stores else None,
        "row_outputs": bool(passes.row_stores),
        "full_outputs": any(not o["row"] for o in outputs),
        "row_words": passes.row_words,
        "row_masks": passes.row_masks,
        "slots": max((len(s["reduces"]) for s in sections), default=1) or 1,
    }
    return KernelText(
        body.class_name,
        summary(spec, plan, body),
        [g["type"] for g in gm],
        gm,
        operands,
        outputs,
        [
            {"name": name, "type": "float" if s.kind == F32 else "int32_t"}
            for name, s in body.program.scalars.items()
        ],
        [],
        [],
        [line for line in slots(spec, body, gm, small) if "kStages" not in line],
        body.buffers_in_flight(),
        body.placement.words,
        body.placement.masks,
        small,
        extra=extra,
    )


def _reduce(inst: Inst, passes: Passes) -> dict[str, str]:
    assert inst.dst is not None
    slot = int(passes.row_places[inst.dst.id].name.removeprefix("row"))
    return {
        "slot": f"opgen::Slot<float>(rowBuf, {slot}, rowLength)",
        "kind": f"opgen::k{inst.mode.capitalize()}",
    }


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


@dataclass
class _SectionMaker:
    spec: OpSpec
    body: Body
    names: dict[Scalar, str]
    operands: list[dict[str, Any]]
    outputs: list[dict[str, Any]]
    small: bool

    def __call__(self, insts: list[Inst], placed: Any, streamed: bool = False) -> Section:
        members = {o["param"]: o["name"] for o in self.outputs}
        program = Program(list(insts), dict(self.body.program.scalars))
        text = ProgramText(
            Piece(program, placed.placement),  # type: ignore[arg-type]
            self.names,
            members,
            streamed,
        )
        combo = self.body.combos[0]
        for place in placed.placement.of.values():
            if place.role == "output":
                param = next(p for p in self.spec.outputs if p.name == place.name)
                text.base_kinds[place] = {**COMPUTE_KIND, "int64": I32}[param.dtypes[combo]]
            elif place.role == "input":
                dtype = self.spec.param(self.body.operands[place.name].tensor).dtypes[combo]
                text.base_kinds[place] = COMPUTE_KIND[dtype]
        statements = [s for line in text.render() for s in line.split("\n") if s]
        loads = {i.mode for i in insts if i.op == "Load"}
        stores = {i.mode for i in insts if i.op == "Store"}
        return Section(
            [o for o in self.operands if o["name"] in loads],
            [o for o in self.outputs if o["param"] in stores],
            self._declare(program, placed, text, statements),
            statements,
            self._counts(program, statements),
        )

    def _counts(self, program: Program, statements: list[str]) -> list[str]:
        joined = "\n".join(statements)
        lines = []
        if re.search(r"\bcount\b", joined.replace("part.count", "")):
            lines.append("const uint32_t count = part.count;")
        if re.search(r"\blanes\b", joined):
            lines.append("const uint32_t lanes = opgen::AlignLanes(part.count);")
        if re.search(r"\browCount\b", joined):
            lines.append("const uint32_t rowCount = opgen::AlignLanes(opgen::RowCount(part));")
        if re.search(r"\browElements\b", joined):
            lines.append("const uint32_t rowElements = part.lanes ? part.rows : part.cols;")
        return lines

    def _declare(
        self, program: Program, placed: Any, text: ProgramText, statements: list[str]
    ) -> list[str]:
        joined = "\n".join(statements)

        def used(name: str) -> bool:
            return re.search(rf"\b{name}\b", joined) is not None or any(
                re.search(rf"= {name}\.", text.aliases[a]) for a in text.aliases
            )

        lines = []
        if used("bytes"):
            lines.append("LocalTensor<half> bytes;")
            if self.small:
                lines += [
                    "if constexpr (kBytes) {",
                    "    bytes = bytesBuf.template Get<half>();",
                    "}",
                ]
        for name, cpp in (("stage", "float"), ("stageInt", "int32_t"), ("stageHalf", "half")):
            if used(name):
                suffix = "" if cpp == "float" else f".template ReinterpretCast<{cpp}>()"
                lines.append(
                    f"LocalTensor<{cpp}> {name} = opgen::Slot<float>(scratch, kSlots, "
                    f"tileLength){suffix};"
                )
        lines += [
            line
            for variable, line in working_tiles(self.spec, self.body)
            if used(variable) and self._present(program, placed, variable, line)
        ]
        for slot in range(self.body.placement.words):
            if used(f"tmp{slot}"):
                lines.append(
                    f"LocalTensor<float> tmp{slot} = opgen::Slot<float>(scratch, {slot}, "
                    "tileLength);"
                )
        passes: Passes = self.body.details["passes"]
        for slot in range(passes.row_words):
            if used(f"row{slot}"):
                lines.append(
                    f"LocalTensor<float> row{slot} = opgen::Slot<float>(rowBuf, {slot}, rowLength);"
                )
        if used("partial"):
            lines.append(
                f"LocalTensor<float> partial = opgen::Slot<float>(rowBuf, {passes.row_words}, "
                "rowLength);"
            )
        for slot in range(self.body.placement.masks):
            if used(f"mask{slot}"):
                lines.append(
                    f"LocalTensor<uint8_t> mask{slot} = maskBuf.template GetWithOffset<uint8_t>("
                    f"tileLength / 8, {slot} * tileLength / 8);"
                )
        for slot in range(passes.row_masks):
            if used(f"rowMask{slot}"):
                lines.append(
                    f"LocalTensor<uint8_t> rowMask{slot} = rowMaskBuf.template "
                    f"GetWithOffset<uint8_t>(rowLength / 8, {slot} * rowLength / 8);"
                )
        return lines + [text.aliases[a] for a in sorted(text.aliases)]

    def _present(self, program: Program, placed: Any, variable: str, line: str) -> bool:
        """A working tile needs its queue tile, so only sections that load or store it have one."""
        local = re.search(r"\((\w+)Local,", line)
        assert local is not None
        names = {o["name"] for o in self.operands if o["name"] in {i.mode for i in program.loads}}
        names |= {o["name"] for o in self.outputs if o["param"] in {i.mode for i in program.stores}}
        return local.group(1) in names


def _copy_in(kernel: KernelText, section: Section) -> str:
    lines = []
    for o in section.operands:
        n, t = o["name"], o["type"]
        if o["kept"]:
            lines.append(f"{n}Kept.Load({n}Queue, {o['tensor']}Gm, {n}Walk, part);")
            continue
        lines.append(f"LocalTensor<{t}> {n}Local = {n}Queue.template AllocTensor<{t}>();")
        call = "LoadRow" if o["row"] else "LoadBox"
        lines.append(f"opgen::{call}({n}Local, {o['tensor']}Gm, {n}Walk, part);")
        lines.append(f"{n}Queue.EnQue({n}Local);")
    return "\n".join(f"        {line}" for line in lines)


def _compute(kernel: KernelText, section: Section) -> str:
    lines = []
    for o in section.operands:
        n, t = o["name"], o["type"]
        source = f"{n}Kept.Get()" if o["kept"] else f"{n}Queue.template DeQue<{t}>()"
        lines.append(f"LocalTensor<{t}> {n}Local = {source};")
    for o in section.outputs:
        n, t = o["name"], o["type"]
        lines.append(f"LocalTensor<{t}> {n}Local = {n}Queue.template AllocTensor<{t}>();")
    lines += section.counts + section.declarations
    if lines and section.statements:
        lines.append("")
    lines += section.statements
    freed = [o for o in section.operands if not o["kept"]]
    if freed or section.outputs:
        lines.append("")
    lines += [f"{o['name']}Queue.EnQue({o['name']}Local);" for o in section.outputs]
    lines += [f"{o['name']}Queue.FreeTensor({o['name']}Local);" for o in freed]
    return "\n".join(f"        {line}".rstrip() for line in lines)


def _dispatch(spec: OpSpec, plan: OpPlan) -> list[dict[str, Any]]:
    branches = []
    names = {p.name for p in spec.inputs}
    for index, variant in enumerate(plan.variants):
        bodies = [b for b in plan.bodies if b.variant == index]
        used = {v.tensor for v in bodies[0].operands.values()}
        actual = [p.name for p in spec.inputs if p.name in used]
        actual += [f"{p.name}_ref" if p.name in names else p.name for p in spec.outputs]
        for mode, digit in MODES.items():
            types = []
            for body in bodies:
                read = {v.tensor for v in body.operands.values()}
                args = [
                    f"opgen::StorageOf<DTYPE_{p.name.upper()}>"
                    for p in spec.inputs
                    if p.name in read
                ]
                args += [f"opgen::StorageOf<DTYPE_{p.name.upper()}>" for p in spec.outputs]
                args += ["true" if mode == "resident" else "false"]
                types.append(f"{spec.name}_kernel::{body.class_name}<{', '.join(args)}>")
            label = variant.label()
            branches.append(
                {
                    "key": 10 * index + digit,
                    "type": choose_type(spec, bodies, types),
                    "args": actual,
                    "note": f"{label}, {mode}" if label else mode,
                }
            )
    return branches


__all__ = ["Val", "render_row"]

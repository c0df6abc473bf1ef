"""Render kernels of the elementwise family and of tensor lists."""

from __future__ import annotations

import re
from typing import Any

from msopgen_wrap.families.elementwise.plan import MODES, ElementwisePlan
from msopgen_wrap.render.absent_inputs import absent_types
from msopgen_wrap.render.building_blocks import include_blocks
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    MAX_TENSORS,
    KernelPart,
    KernelText,
    constant,
    doc_lines,
    entry_branches,
    kernel_args,
    member_name,
    output_param,
    slots,
    summary,
    type_name,
    working_tiles,
)
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.render.program_text import ProgramText
from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.schedule.program import F32, STORED_KIND
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.taken_names import cpp_local
from msopgen_wrap.templating import environment, render_block


def render_kernel(plan: ElementwisePlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    text = environment("elementwise").get_template("kernel.cpp.jinja").render(_values(plan, style))
    return [GeneratedFile(f"op_kernel/{plan.spec.name}.cpp", include_blocks(tidy(text)))]


def kernel_part(plan: ElementwisePlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    values = _values(plan, style)
    classes = render_block("elementwise", "kernel.cpp.jinja", "classes", values)
    return KernelPart(classes, values["dispatch"], workspace=False)


def _values(plan: ElementwisePlan, style: str) -> dict[str, Any]:
    spec, broadcast = plan.spec, plan.broadcasts()
    kernels = [_kernel(spec, plan, body, broadcast) for body in plan.bodies]
    modes = MODES if broadcast else {"flat": MODES["flat"]}
    branches = entry_branches(plan, modes, "broadcast")
    return {
        "spec": spec,
        "style": style,
        "source": f"specs/{spec.name}.yaml",
        "doc": doc_lines(spec),
        "kernels": kernels,
        "broadcast": broadcast,
        "foreach": plan.lists,
        "max_tensors": MAX_TENSORS,
        "entry": kernel_args(spec),
        "dispatch": branches,
        "absent_types": absent_types(spec, " ".join(b["type"] for b in branches)),
    }


def _kernel(spec: OpSpec, plan: ElementwisePlan, body: Body, broadcast: bool) -> KernelText:
    members = {p.name: member_name(p, True, spec) for p in spec.outputs}
    turnable = frozenset(name for name, view in body.operands.items() if view.turnable)
    text = ProgramText(body, plan.scalar_names, members, turnable=turnable)
    combo = body.combos[0]
    for place in body.placement.of.values():
        if place.role == "output":
            dtype = output_param(spec, place.name).dtypes[combo]
            text.base_kinds[place] = STORED_KIND[dtype]
    statements = [part for line in text.render() for part in line.split("\n")]
    statements = [s for s in statements if s]
    operands: list[dict[str, Any]] = [
        {
            "name": name,
            "tensor": view.tensor,
            "type": type_name(spec.param(view.tensor), False, spec),
            "placed": view.placed,
            "turnable": name in turnable,
        }
        for name, view in body.operands.items()
    ]
    used = {o["tensor"] for o in operands}
    inputs = [p for p in spec.inputs if p.name in used]
    outputs: list[dict[str, Any]] = [
        {"name": member_name(p, True, spec), "type": type_name(p, True, spec)} for p in spec.outputs
    ]
    for packed, tensors in ((body.packs_operands, operands), (body.packs_outputs, outputs)):
        _place_tiles(tensors, packed)
    gm = [{"name": p.name, "type": type_name(p, False, spec)} for p in inputs] + outputs
    gm = [{**row, "argument": cpp_local(row["name"])} for row in gm]
    small = any(b.name == "bytes" for budget in body.budgets.values() for b in budget.buffers)
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
        _declarations(spec, body, text, broadcast, small),
        statements,
        slots(spec, body, gm, small),
        body.buffers_in_flight(),
        body.placement.words,
        body.placement.masks,
        small,
        _counts(statements),
        list(body.indices),
        body.packs_operands,
        body.packs_outputs,
    )


def _place_tiles(tensors: list[dict[str, Any]], packed: bool) -> None:
    """Say where tiles lie that share a buffer: a constant, and the bytes per element before it.

    Both are empty for tensors that have queues of their own.
    """
    before = "0"
    for tensor in tensors:
        tensor["at"] = f"{constant(tensor['name'])}At" if packed else ""
        tensor["before"] = before if packed else ""
        before = f"{tensor['at']} + sizeof({tensor['type']})"


def _counts(statements: list[str]) -> list[str]:
    """Declare the element counts that the statements name."""
    joined = "\n".join(statements)
    lines = []
    if re.search(r"(?<!part\.)\bcount\b", joined):
        lines.append("const uint32_t count = part.count;")
    if re.search(r"\blanes\b", joined):
        lines.append(
            "const uint32_t lanes = opgen::AlignLanes(part.count);"
            "  // comparisons work on whole repeats"
        )
    return lines


def _declarations(
    spec: OpSpec, body: Body, text: ProgramText, broadcast: bool, small: bool
) -> list[str]:
    """Return the working tiles of Compute."""
    lines = []
    statements = "\n".join(text.lines)
    if small:
        lines += [
            "LocalTensor<half> bytes;",
            "if constexpr (kBytes) {",
            "    bytes = bytesBuf.template Get<half>();",
            "}",
        ]
    else:
        lines.append("LocalTensor<half> bytes;  // only 8-bit tensors need it")
    names = {"stage": "float", "stageInt": "int32_t", "stageHalf": "half"}
    used = {n: c for n, c in names.items() if f", {n}, " in statements}
    if used:
        lines += [f"LocalTensor<{c}> {n};" for n, c in used.items()]
        lines.append("if constexpr (kStages > 0) {")
        for n, c in used.items():
            lines.append(
                f"    {n} = opgen::Slot<float>(scratch, kSlots, tileLength)"
                f".template ReinterpretCast<{c}>();"
            )
        lines.append("}")
    lines += [line for _, line in working_tiles(spec, body)]
    for slot in range(body.placement.words):
        lines.append(
            f"LocalTensor<float> tmp{slot} = opgen::Slot<float>(scratch, {slot}, tileLength);"
        )
    for slot in range(body.placement.masks):
        lines.append(
            f"LocalTensor<uint8_t> mask{slot} = maskBuf.template GetWithOffset<uint8_t>("
            f"tileLength / 8, {slot} * tileLength / 8);"
        )
    lines += [text.aliases[a] for a in sorted(text.aliases)]
    return lines

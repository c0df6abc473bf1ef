"""Kernel and tiling of an op of several parts: each part runs, and is tiled, by its own plan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from msopgen_wrap.families.parts.loop_text import (
    kernel_loop,
    loop_attrs,
    loop_fields,
    looped_text,
    parts_of,
    tiling_loop,
)
from msopgen_wrap.families.parts.plan import PartsPlan
from msopgen_wrap.render.call_reading import attr_loads, bytes_expr, variant_lines
from msopgen_wrap.render.files import GeneratedFile, include_blocks
from msopgen_wrap.render.kernel import KernelPart, absent_types, doc_lines, kernel_args
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.render.tiling_text import TilingText, standard_includes, tiling_struct
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import TensorParam
from msopgen_wrap.templating import environment

# Classes of vector cores that a mode has besides its own: at the same time, and when all cores are
# through with that.
_ADDED = ("beside", "then")


def render_kernel(plan: PartsPlan, kernels: list[KernelPart], style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        kernels: the classes of each part.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec = plan.spec
    branches = [branch for kernel in kernels for branch in kernel.branches]
    branches += [branch[key] for branch in branches for key in _ADDED if key in branch]
    types = " ".join(branch["type"] for branch in branches)
    text = (
        environment("parts")
        .get_template("kernel.cpp.jinja")
        .render(
            spec=spec,
            style=style,
            source=f"specs/{spec.name}.yaml",
            doc=doc_lines(spec),
            classes=[kernel.classes for kernel in kernels],
            entry=kernel_args(spec),
            workspace=bool(plan.temporaries) or any(kernel.workspace for kernel in kernels),
            waits=any(plan.waits) or bool(plan.loops),
            mixed=any(kernel.cube for kernel in kernels),
            temporaries=[{"name": p.name, "doc": p.doc} for p, _, _ in _placed(plan)],
            slabs=plan.slabs,
            joined=_joined_text(plan.slabs),
            looped=looped_text(plan),
            variants=[_calls(plan, kernels, index) for index in range(len(plan.variants))],
            absent_types=absent_types(spec, types),
        )
    )
    return [GeneratedFile(f"op_kernel/{spec.name}.cpp", include_blocks(tidy(text)))]


def _joined_text(slabs: Sequence[TensorParam]) -> list[str]:
    """Return which outputs are joined of what parts write, a line for each."""
    pieces: dict[str, list[str]] = {}
    for param in slabs:
        pieces.setdefault(param.tensor, []).append(param.name)
    return [f"{', '.join(names)}: slabs of {output}" for output, names in pieces.items()]


def _calls(plan: PartsPlan, kernels: list[KernelPart], variant: int) -> dict[str, Any]:
    """Return what the entry runs for a variant: per part its modes."""
    rows: list[dict[str, Any]] = []
    counts: list[int] = []
    for part, kernel, waits in zip(plan.parts, kernels, plan.waits, strict=True):
        if variant not in part.served:
            continue
        modes = [b for b in kernel.branches if b["variant"] == variant]
        rows.append(
            {
                "field": part_field(part.part),
                "outputs": ", ".join(p.name for p in part.writes),
                "instead": [],
                "modes": [_mode(branch, kernel) for branch in modes],
                "workspace": kernel.workspace,
                "waits": waits,
                "loop": part.spec.loop,
                "overwrites": any(p.inplace for p in part.spec.outputs)
                and not part.temporaries_read(),
            }
        )
        counts.append(len(part.instead))
    for at, count in reversed(list(enumerate(counts))):
        rows[at]["instead"] = rows[at + 1 : at + 1 + count]
        rows[at]["waits"] |= any(row["waits"] for row in rows[at]["instead"][:1])
        del rows[at + 1 : at + 1 + count]
    return {
        "key": 10 * variant,
        "note": plan.variants[variant].label(),
        "blocks": _blocks(plan, rows),
    }


def _blocks(plan: PartsPlan, rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return what the entry runs in groups: the parts of a step of a loop, and those between."""
    blocks: list[dict[str, Any]] = []
    loop: int | None = None
    for row in rows:
        number = row["loop"]
        if not blocks or number != loop:
            blocks.append({"parts": [], "behind": bool(blocks) and loop is not None, "steps": ""})
            loop = number
        blocks[-1]["parts"].append(row)
    for block in blocks:
        number = block["parts"][0]["loop"]
        if number is not None:
            modes = [mode for row in block["parts"] for mode in row["modes"]]
            modes += [mode[key] for mode in modes for key in _ADDED if key in mode]
            used = {name for mode in modes for name in mode["args"]}
            block |= kernel_loop(plan.spec, plan.loops[number], used)
    return blocks


def _mode(branch: dict[str, Any], kernel: KernelPart) -> dict[str, Any]:
    """Return a branch with the cores that run it in a kernel for both kinds."""
    cube = kernel.cube and not branch.get("vector")
    return {**branch, "core": "ASCEND_IS_AIC" if cube else "ASCEND_IS_AIV"}


def part_field(part: str) -> str:
    """Return the field of the tiling struct that holds the tiling of a part."""
    return part[:1].lower() + part[1:] + "Part"


def render_tiling(
    plan: PartsPlan, kernels: list[KernelPart], tilings: list[TilingText], style: str
) -> TilingText:
    """Return a TilingFunc that tiles every part and launches as many cores as the largest needs.

    Args:
        plan: the plan.
        kernels: the classes of each part.
        tilings: the tiling of each part; its function fills the part's struct.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec = plan.spec
    loops = [
        tiling_loop(plan, loop, _condition(plan, parts_of(plan, loop)[0].served))
        for loop in plan.loops
    ]
    parts: list[dict[str, Any]] = [
        {
            "name": part.part,
            "field": part_field(part.part),
            "struct": tiling_struct(spec.op, part.part),
            "namespace": f"{part_field(part.part)}_tiling",
            "outputs": ", ".join(p.name for p in part.writes),
            "instead": [part_field(p.part) for p in part.instead],
            "taken": _taken(plan, part),
            "functions": tiling.functions.strip("\n"),
            "fields": tiling.fields,
            "modes": len({b["mode"] for b in kernel.branches}) > 1,
            "workspace": kernel.workspace,
            "cube": kernel.cube,
            "temporaries": bool(part.spec.temporaries),
            "condition": _condition(plan, part.served),
            "opens": _at_end(plan, loops, part, 0),
            "closes": _at_end(plan, loops, part, -1),
        }
        for part, kernel, tiling in zip(plan.parts, kernels, tilings, strict=True)
    ]
    grouped = any(len(part.served) < len(plan.variants) for part in plan.parts)
    variant_attrs = {name for name, _ in plan.variants[0].attrs}
    values = {
        "spec": spec,
        "style": style,
        "source": f"specs/{spec.name}.yaml",
        "struct": tiling_struct(spec.op),
        "guard": f"{spec.name.upper()}_TILING_H",
        "parts": parts,
        "temporaries": [
            {
                "name": p.name,
                "view": view,
                "bytes": bytes_expr(spec, p),
                "doc": p.doc,
                "condition": _condition(plan, served),
            }
            for p, view, served in _placed(plan)
        ],
        "shaped": [{"name": p.name, "doc": p.doc} for p in _shaped(plan)],
        "loops": loops,
        "loop_fields": [field for loop in plan.loops for field in loop_fields(spec, loop)],
        "mixed": any(kernel.cube for kernel in kernels),
        "structs": any(f.get("struct") for tiling in tilings for f in tiling.fields),
        "waits": _waits(plan),
        "grouped": grouped,
        "attrs": attr_loads(spec, {*(variant_attrs if grouped else ()), *loop_attrs(plan.loops)}),
        "variant_lines": variant_lines(spec, plan) if grouped else [],
    }
    text = environment("parts").get_template("tiling.cpp.jinja").render(values)
    header = environment("parts").get_template("tiling.h.jinja").render(values)
    includes = {line for tiling in tilings for line in tiling.includes}
    return TilingText(
        includes=tuple(sorted({*includes, *standard_includes(text), '"opgen_part_use.h"'})),
        functions=tidy(text),
        tiling_func_name="TilingFunc",
        header_text=tidy(header),
    )


def _placed(plan: PartsPlan) -> list[tuple[TensorParam, str, Sequence[int]]]:
    """Return what the workspace has room for, the value of its shape, and the variants that use it.

    Of results of a step there is room for those of all steps.
    """
    stacks = {r.param.name: r.stack for loop in plan.loops for r in loop.results}
    found: list[tuple[TensorParam, str, Sequence[int]]] = []
    for part in plan.parts:
        for param in part.spec.outputs:
            if param.site is not None and not part.instead:
                placed = stacks.get(param.name, param)
                found.append((placed, placed.name, part.served))
    for loop in plan.loops:
        served = parts_of(plan, loop)[0].served
        for state in loop.states:
            if state.value is not None:
                start = replace(state.before, name=state.start, doc=f"{state.before.name} at first")
                found.append((start, state.before.name, served))
    return found


def _shaped(plan: PartsPlan) -> list[TensorParam]:
    """Return the temporaries whose shapes parts hand on."""
    return [*plan.temporaries, *(p for loop in plan.loops for p in loop.temporaries)]


def _at_end(
    plan: PartsPlan, texts: Sequence[dict[str, Any]], part: OpPlan[Any], end: int
) -> list[dict[str, Any]]:
    """Return the loop, if any, of whose step a part is the first (0) or the last (-1)."""
    number = part.spec.loop
    if number is None or parts_of(plan, plan.loops[number])[end] is not part:
        return []
    return [texts[number]]


def _taken(plan: PartsPlan, part: OpPlan[Any]) -> int | None:
    """Return the position of the part that may run in place of another one."""
    places = (n for n, p in enumerate(plan.parts) if any(part is other for other in p.instead))
    return next(places, None)


def _condition(plan: PartsPlan, served: Sequence[int]) -> str:
    """Return the condition in C++ that a call is one of some variants, "" for all variants."""
    if len(served) == len(plan.variants):
        return ""
    return " || ".join(f"variant == {index}" for index in served)


def _waits(plan: PartsPlan) -> str:
    """Return the condition in C++ that cores wait for one another between the parts of a call."""
    waiting = {
        i for part, waits in zip(plan.parts, plan.waits, strict=True) if waits for i in part.served
    }
    return _condition(plan, sorted(waiting)) or "true" if waiting else "false"

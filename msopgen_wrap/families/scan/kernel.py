"""Render kernels of the scan family."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.families.elementwise.kernel import kernel_values
from msopgen_wrap.families.scan.loop_text import LoopText, state_members
from msopgen_wrap.families.scan.loops import KINDS, is_looped, start_section, state_values
from msopgen_wrap.families.scan.plan import MODES, ScanPlan
from msopgen_wrap.render.entry_values import entry_values
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    KernelPart,
    class_bodies,
    entry_branches,
)
from msopgen_wrap.render.kernel_files import classes_part, kernel_file
from msopgen_wrap.render.program_text import scan_names
from msopgen_wrap.schedule.plan import Body


@dataclass(frozen=True)
class ScanMember:
    """What a scan or a loop keeps from box to box.

    Attributes:
        name: the member of the kernel class.
        block: the C++ type of the member.
        sizes: the fields of the tiling that it is made with.
    """

    name: str
    block: str
    sizes: tuple[str, ...]


def scan_members(body: Body, backwards: bool) -> list[ScanMember]:
    """Return the scans of a body, or the states of its loop, in order."""
    names = scan_names(body.program)
    way = "true" if backwards else "false"
    sizes = ("tiling.rowLength", "tiling.blockRows")
    scans = [
        ScanMember(
            names[i.dst.id],
            f"opgen::Scan<opgen::{i.mode}Scan, {i.temps[0].kind}, {way}>",
            sizes,
        )
        for i in body.program.insts
        if i.op == "Scan" and i.dst is not None
    ]
    states = state_values(body.program)
    return scans + [
        ScanMember(member, f"opgen::LoopState<{KINDS[value.kind]}, {way}>", sizes[:1])
        for member, value in zip(state_members(len(states)), states, strict=True)
    ]


def render_kernel(plan: ScanPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("scan", plan.spec.name, _values(plan, style))


def kernel_part(plan: ScanPlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    return classes_part("scan", _values(plan, style))


def _values(plan: ScanPlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    branches = entry_branches(plan, MODES, "")
    return {
        **entry_values(spec, style, branches),
        "kernels": [_class_values(plan, body) for body in class_bodies(plan)],
        "backwards": plan.backwards,
        "looped": any(is_looped(body.program) for body in plan.bodies),
    }


def _class_values(plan: ScanPlan, body: Body) -> dict[str, Any]:
    text_of = functools.partial(LoopText, backwards=plan.backwards)
    k = kernel_values(
        plan.spec,
        plan,
        body,
        broadcast=True,
        transposes=False,
        keeps_coefficients=False,
        text_of=text_of,
    )
    first = {i.mode for i in start_section(body.program) if i.op == "Load"}
    for operand in k.operands:
        operand["start"] = operand["name"] in first  # read in the first box of an item only
    return {"k": k, "scans": scan_members(body, plan.backwards)}

"""Render kernels of the scan family."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msopgen_wrap.families.elementwise.kernel import kernel_values
from msopgen_wrap.families.scan.plan import MODES, ScanPlan
from msopgen_wrap.render.entry_values import entry_values
from msopgen_wrap.render.files import GeneratedFile, include_blocks
from msopgen_wrap.render.kernel import (
    KernelPart,
    class_bodies,
    entry_branches,
)
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.render.program_text import scan_names
from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.templating import environment, render_block


@dataclass(frozen=True)
class ScanMember:
    """What a scan keeps from box to box.

    Attributes:
        name: the member of the kernel class.
        join: the block that joins an element with what is before it.
        kind: the C++ type that it is computed in.
    """

    name: str
    join: str
    kind: str


def scan_members(body: Body) -> list[ScanMember]:
    """Return the scans of a body, in order."""
    names = scan_names(body.program)
    return [
        ScanMember(names[i.dst.id], f"{i.mode}Scan", i.temps[0].kind)
        for i in body.program.insts
        if i.op == "Scan" and i.dst is not None
    ]


def render_kernel(plan: ScanPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    text = environment("scan").get_template("kernel.cpp.jinja").render(_values(plan, style))
    return [GeneratedFile(f"op_kernel/{plan.spec.name}.cpp", include_blocks(tidy(text)))]


def kernel_part(plan: ScanPlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    values = _values(plan, style)
    classes = render_block("scan", "kernel.cpp.jinja", "classes", values)
    return KernelPart(classes, values["dispatch"], workspace=False)


def _values(plan: ScanPlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    branches = entry_branches(plan, MODES, "")
    return {
        **entry_values(spec, style, branches),
        "kernels": [
            {
                "k": kernel_values(spec, plan, body, broadcast=True, transposes=False),
                "scans": scan_members(body),
            }
            for body in class_bodies(plan)
        ],
        "backwards": plan.backwards,
    }

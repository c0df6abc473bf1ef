"""Render a kernel that runs the plans of its parts one after another."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.parts.plan import PartsPlan
from msopgen_wrap.render.absent_inputs import absent_types
from msopgen_wrap.render.building_blocks import include_blocks
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import KernelPart, doc_lines, kernel_args
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.templating import environment


def render_kernel(plan: PartsPlan, kernels: list[KernelPart], style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        kernels: the classes of each part.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec = plan.spec
    types = " ".join(b["type"] for kernel in kernels for b in kernel.branches)
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
            waits=any(plan.waits),
            temporaries=plan.temporaries,
            variants=[_calls(plan, kernels, index) for index in range(len(plan.variants))],
            absent_types=absent_types(spec, types),
        )
    )
    return [GeneratedFile(f"op_kernel/{spec.name}.cpp", include_blocks(tidy(text)))]


def _calls(plan: PartsPlan, kernels: list[KernelPart], variant: int) -> dict[str, Any]:
    """Return what the entry runs for a variant: per part its modes."""
    rows = []
    for part, kernel, waits in zip(plan.parts, kernels, plan.waits, strict=True):
        if variant not in part.served:
            continue
        modes = [b for b in kernel.branches if b["variant"] == variant]
        rows.append(
            {
                "field": part_field(part.part),
                "outputs": ", ".join(p.name for p in part.spec.outputs),
                "modes": modes,
                "workspace": kernel.workspace,
                "waits": waits,
                "overwrites": any(p.inplace for p in part.spec.outputs)
                and not part.temporaries_read(),
            }
        )
    return {"key": 10 * variant, "note": plan.variants[variant].label(), "parts": rows}


def part_field(part: str) -> str:
    """Return the field of the tiling struct that holds the tiling of a part."""
    return part[:1].lower() + part[1:] + "Part"

"""Render kernels of convolutions from their plan."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.convolution.plan import MODES, ZEROS, ConvolutionPlan
from msopgen_wrap.render.entry_values import entry_values, tensor_members
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    KernelPart,
    class_bodies,
    entry_branches,
    member_name,
    storage_type,
    summary,
)
from msopgen_wrap.render.kernel_files import kernel_file, zeros_branch
from msopgen_wrap.schedule.cube import CubeBody
from msopgen_wrap.templating import render_block


def render_kernel(plan: ConvolutionPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("convolution", plan.spec.name, _values(plan, style))


def kernel_part(plan: ConvolutionPlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    values = _values(plan, style)
    classes = render_block("convolution", "kernel.cpp.jinja", "classes", values)
    branches = [row for branch in values["dispatch"] for row in _with_zeros(plan, branch)]
    return KernelPart(classes, branches, workspace=True, cube=True)


def _with_zeros(plan: ConvolutionPlan, branch: dict[str, Any]) -> list[dict[str, Any]]:
    """Return a branch, and beside it that of sums of nothing where the plan has one."""
    if "zeros" not in plan.modes:
        return [branch]
    return [branch, zeros_branch(plan.spec, branch, ZEROS["zeros"])]


def _values(plan: ConvolutionPlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    branches = entry_branches(plan, MODES, "")
    image = plan.operands()[plan.call.image].tensor
    for branch in branches:
        branch["note"] = plan.variants[branch["variant"]].label()
        branch["beside"] = {
            "type": f"opgen::ConvolutionColumns<{storage_type(spec.param(image), spec)}>",
            "args": [image],
        }
    return {
        **entry_values(spec, style, branches),
        "kernels": [_kernel(plan, body) for body in class_bodies(plan)],
    }


def _kernel(plan: ConvolutionPlan, body: CubeBody) -> dict[str, Any]:
    spec, call = plan.spec, plan.call
    image = spec.param(body.operands[call.image].tensor)
    filters = spec.param(body.operands[call.filters].tensor)
    output = spec.outputs[0]
    used = {view.tensor for view in body.operands.values()}
    gm = tensor_members(spec, used, [output])
    by_name = {g["name"]: g for g in gm}
    return {
        "name": body.class_name,
        "summary": summary(spec, plan, body),
        "gm": gm,
        "image": by_name[image.name],
        "filters": by_name[filters.name],
        "output": by_name[member_name(output, True, spec)],
    }

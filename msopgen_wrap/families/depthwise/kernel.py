"""Render kernels of depthwise convolutions."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.depthwise.call import BY_FILTERS, BY_INPUT
from msopgen_wrap.families.depthwise.plan import DepthwisePlan
from msopgen_wrap.render.entry_values import entry_values, tensor_members
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import KernelPart, class_bodies, entry_branches, summary
from msopgen_wrap.render.kernel_files import classes_part, kernel_file, note_variants
from msopgen_wrap.schedule.plan import Body


def render_kernel(plan: DepthwisePlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("depthwise", plan.spec.name, _values(plan, style))


def kernel_part(plan: DepthwisePlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    return classes_part("depthwise", _values(plan, style))


def _values(plan: DepthwisePlan, style: str) -> dict[str, Any]:
    branches = note_variants(plan, entry_branches(plan, plan.modes, ""))
    return {
        **entry_values(plan.spec, style, branches),
        "gradient": plan.call.read == BY_INPUT,
        "of_filters": plan.call.read == BY_FILTERS,
        "kernels": [_kernel(plan, body) for body in class_bodies(plan)],
    }


def _kernel(plan: DepthwisePlan, body: Body) -> dict[str, Any]:
    spec, call = plan.spec, plan.call
    roles = {"image": call.image, "filters": call.filters, "bias": call.bias}
    tensors = {role: body.operands[name].tensor for role, name in roles.items() if name}
    gm = tensor_members(spec, {*tensors.values()}, spec.outputs)
    by_name = {g["name"]: g for g in gm[:-1]}
    return {
        "name": body.class_name,
        "summary": summary(spec, plan, body),
        "gm": gm,
        "bias": None,
        **{role: by_name[name] for role, name in tensors.items()},
        "result": gm[-1],
    }

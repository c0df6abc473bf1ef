"""Render kernels of depthwise convolutions."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.depthwise.call import BY_FILTERS, BY_INPUT
from msopgen_wrap.families.depthwise.plan import DepthwisePlan
from msopgen_wrap.render.entry_values import entry_values, tensor_members
from msopgen_wrap.render.files import GeneratedFile, include_blocks
from msopgen_wrap.render.kernel import KernelPart, class_bodies, entry_branches, summary
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.schedule.plan import Body
from msopgen_wrap.templating import environment, render_block

_TEMPLATE = "kernel.cpp.jinja"


def render_kernel(plan: DepthwisePlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    text = environment("depthwise").get_template(_TEMPLATE).render(_values(plan, style))
    return [GeneratedFile(f"op_kernel/{plan.spec.name}.cpp", include_blocks(tidy(text)))]


def kernel_part(plan: DepthwisePlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    values = _values(plan, style)
    classes = render_block("depthwise", _TEMPLATE, "classes", values)
    return KernelPart(classes, values["dispatch"], workspace=False)


def _values(plan: DepthwisePlan, style: str) -> dict[str, Any]:
    branches = entry_branches(plan, plan.modes, "")
    for branch in branches:
        branch["note"] = plan.variants[branch["variant"]].label()
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

"""Render kernels that sort."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.order.plan import MODES, OrderBody, OrderPlan
from msopgen_wrap.render.entry_values import entry_values, tensor_members
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    KernelPart,
    class_bodies,
    entry_branches,
    summary,
)
from msopgen_wrap.render.kernel_files import classes_part, kernel_file

# What a row gives, as opgen/order.h calls it.
_PICKS = {"range": "kFirst", "median": "kMedian", "nanmedian": "kNanMedian"}


def render_kernel(plan: OrderPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("order", plan.spec.name, _values(plan, style))


def kernel_part(plan: OrderPlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    return classes_part("order", _values(plan, style), workspace=True)


def _values(plan: OrderPlan, style: str) -> dict[str, Any]:
    branches = entry_branches(plan, plan.modes, "")
    for branch in branches:
        if branch["mode"] == MODES["workspace"]:
            branch["type"] = branch["type"].replace("<", "Workspace<", 1)
    return {
        **entry_values(plan.spec, style, branches),
        "kernels": [_kernel(plan, body) for body in class_bodies(plan)],
    }


def _kernel(plan: OrderPlan, body: OrderBody) -> dict[str, Any]:
    spec, call = plan.spec, plan.call
    source = spec.param(body.operands[call.tensor].tensor)
    gm = tensor_members(spec, {source.name}, spec.outputs)
    written = dict(zip((p.name for p in spec.outputs), gm[1:], strict=True))
    pick = _PICKS[call.pick]
    return {
        "name": body.class_name,
        "summary": summary(spec, plan, body),
        "gm": gm,
        "source": gm[0],
        "results": [
            {**written[name], "places": bool(number)}
            for number, name in enumerate((call.values, call.places))
            if name
        ],
        "descending": body.descending,
        "pick": "kChosen" if pick == "kFirst" and call.chooses else pick,
    }

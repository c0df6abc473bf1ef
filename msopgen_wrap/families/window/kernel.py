"""Render kernels over windows."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.window.call import WindowCall
from msopgen_wrap.families.window.plan import WindowPlan
from msopgen_wrap.render.entry_values import entry_values, tensor_members
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    KernelPart,
    class_bodies,
    entry_branches,
    summary,
)
from msopgen_wrap.render.kernel_files import classes_part, kernel_file, note_variants
from msopgen_wrap.schedule.plan import Body


def render_kernel(plan: WindowPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("window", plan.spec.name, _values(plan, style))


def kernel_part(plan: WindowPlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    return classes_part("window", _values(plan, style))


def _values(plan: WindowPlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    branches = note_variants(plan, entry_branches(plan, plan.modes, ""))
    return {
        **entry_values(spec, style, branches),
        "call": plan.call,
        "kernels": [_kernel(plan, body) for body in class_bodies(plan)],
    }


def _kernel(plan: WindowPlan, body: Body) -> dict[str, Any]:
    spec, call = plan.spec, plan.call
    source = spec.param(body.operands[call.tensor].tensor)
    places = spec.param(body.operands[call.places].tensor) if call.places else None
    used = {source.name} | ({places.name} if places else set())
    gm = tensor_members(spec, used, spec.outputs)
    by_name = {g["name"]: g for g in gm[: len(used)]}
    written = dict(zip((p.name for p in spec.outputs), gm[len(used) :], strict=True))
    return {
        "name": body.class_name,
        "summary": summary(spec, plan, body),
        "gm": gm,
        "source": by_name[source.name],
        "places": by_name[places.name] if places else None,
        "widens": any(dtype != "float32" for dtype in source.dtypes),
        "results": [
            {**written[name], "number": number}
            for number, name in enumerate((call.values, call.positions))
            if name
        ],
        "windows": _class(call),
    }


def _class(call: WindowCall) -> str:
    """Return the C++ class that goes through the windows of a tile."""
    if call.sizes:
        return "opgen::MaxGradient" if call.places else "opgen::AverageGradient"
    kind = "AverageWindow" if call.kind == "average" else "MaxWindow"
    return f"opgen::Windows<opgen::{'MaxPosition' if call.positions else kind}>"

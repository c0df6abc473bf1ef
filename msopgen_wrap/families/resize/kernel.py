"""Render kernels that resample planes."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.resize.plan import ResizePlan
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

_MODES = {"nearest": "kNearest", "nearest-exact": "kNearestExact"}
_MODES |= {"linear": "kLinear", "cubic": "kCubic"}


def render_kernel(plan: ResizePlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("resize", plan.spec.name, _values(plan, style))


def kernel_part(plan: ResizePlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    return classes_part("resize", _values(plan, style))


def _values(plan: ResizePlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    branches = note_variants(plan, entry_branches(plan, plan.modes, ""))
    return {
        **entry_values(spec, style, branches),
        "call": plan.call,
        "kernels": [_kernel(plan, body) for body in class_bodies(plan)],
    }


def _kernel(plan: ResizePlan, body: Body) -> dict[str, Any]:
    spec, call = plan.spec, plan.call
    source = spec.param(body.operands[call.tensor].tensor)
    gm = tensor_members(spec, {source.name}, spec.outputs)
    mode = f"opgen::ResizeMode::{_MODES[call.mode]}"
    return {
        "name": body.class_name,
        "summary": summary(spec, plan, body),
        "gm": gm,
        "source": gm[0],
        "result": gm[1],
        "narrows": any(dtype != "float32" for dtype in spec.outputs[0].dtypes),
        "resizer": f"opgen::Resizer<{mode}, {len(call.lengths)}, {gm[0]['type']}>",
    }

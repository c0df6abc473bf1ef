"""Render kernels that move elements by index."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msopgen_wrap.families.index.call import COMBINES
from msopgen_wrap.families.index.plan import LONG, IndexBody, IndexPlan, by_element
from msopgen_wrap.render.entry_values import entry_values, tensor_members
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    KernelPart,
    class_bodies,
    entry_branches,
    summary,
)
from msopgen_wrap.render.kernel_files import classes_part, kernel_file, note_variants
from msopgen_wrap.schedule.program import DTYPE_BYTES

# What a scatter does with the rows that items name.
_VERBS = {
    "copy": "writes over",
    "add": "adds to",
    "multiply": "multiplies",
    "largest": "takes the largest of its values and",
    "smallest": "takes the smallest of its values and",
}


def render_kernel(plan: IndexPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("index", plan.spec.name, _values(plan, style), _template(plan))


def kernel_part(plan: IndexPlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    return classes_part("index", _values(plan, style), _template(plan))


def _template(plan: IndexPlan) -> str:
    return "scatter.cpp.jinja" if plan.call.combine else "gather.cpp.jinja"


def _values(plan: IndexPlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    branches = _branches(plan)
    return {
        **entry_values(spec, style, branches),
        "by_elements": "elements" in plan.modes,
        "by_columns": "columns" in plan.modes,
        "call": plan.call,
        "initial": plan.scalar_names.get(plan.call.numbers[0], "") if plan.call.numbers[0] else "",
        "verb": " or ".join(dict.fromkeys(_VERBS[b.combine] for b in plan.bodies if b.combine)),
        "kernels": [_kernel(plan, body) for body in class_bodies(plan)],
    }


def _branches(plan: IndexPlan) -> list[dict[str, Any]]:
    """Return the branches of the entry; each mode has kernel classes of its own."""
    branches: list[dict[str, Any]] = []
    for mode, digit in plan.modes.items():
        # a body without a class for a mode has no calls of it
        names = [_class_of(plan, b, mode) or b.class_name for b in plan.bodies]
        bodies = [replace(b, class_name=n) for b, n in zip(plan.bodies, names, strict=True)]
        branches += entry_branches(replace(plan, bodies=bodies), {mode: digit}, "")
    if len(plan.modes) == 1:
        note_variants(plan, branches)
    return sorted(branches, key=lambda branch: branch["key"])


def _class_of(plan: IndexPlan, body: IndexBody, mode: str) -> str:
    """Return the kernel class of a body for a mode; empty where it has none."""
    if mode not in plan.modes or (mode == "columns" and body.compute == LONG):
        return ""
    return body.class_name + ("" if mode == "rows" else mode.title())


def _kernel(plan: IndexPlan, body: IndexBody) -> dict[str, Any]:
    spec, call = plan.spec, plan.call
    used = {view.tensor for view in body.operands.values()}
    output = spec.outputs[0]
    gm = tensor_members(spec, used, [output])
    tensors = {row["name"]: row for row in gm}
    named = {name: tensors[view.tensor] for name, view in body.operands.items()}
    dtypes = {
        (spec.param(body.operands[call.table].tensor).dtypes[c], output.dtypes[c])
        for c in (body.combos if call.table else ())
    }
    sizes = {(DTYPE_BYTES[source], DTYPE_BYTES[target]) for source, target in dtypes}
    moved = (named.get(call.table), named.get(call.values), gm[-1])
    return {
        "name": body.class_name,
        "elements": _class_of(plan, body, "elements"),
        "columns": _class_of(plan, body, "columns"),
        "summary": summary(spec, plan, body),
        "gm": gm,
        # each once: values may be those of the table
        "moved": [row for row in gm if any(row is other for other in moved)],
        "table": named.get(call.table),
        "indices": [named[name] for name in call.indices],
        "source": named.get(call.values),
        "output": gm[-1],
        "wraps": call.wraps,
        "instruction": COMBINES.get(body.combine, ""),
        "compute": body.compute or gm[-1]["type"],
        "by_element": by_element(body),
        "converts": body.converts,
        "long": body.compute == LONG,
        "bytes": body.converts and any(1 in pair for pair in sizes),
        "narrows": any(target < source for source, target in sizes),
    }

"""Render kernels that reduce every tensor of a list."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.row.body import RowBody, RowPlan
from msopgen_wrap.families.row.kernel import close_up, kernel_values
from msopgen_wrap.render.absent_inputs import absent_types
from msopgen_wrap.render.building_blocks import include_blocks
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    MAX_TENSORS,
    class_bodies,
    doc_lines,
    entry_branches,
    kernel_args,
)
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.templating import environment


def render_reductions(plan: RowPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    spec = plan.spec
    branches = [_of_one_mode(plan, b) for b in entry_branches(plan, plan.modes, "")]
    values = {
        "spec": spec,
        "style": style,
        "source": f"specs/{spec.name}.yaml",
        "doc": doc_lines(spec),
        "kernels": [_values(plan, body) for body in class_bodies(plan)],
        "max_tensors": MAX_TENSORS,
        "entry": kernel_args(spec),
        "dispatch": branches,
        "absent_types": absent_types(spec, " ".join(b["type"] for b in branches)),
    }
    text = environment("foreach").get_template("reduction_kernel.cpp.jinja").render(values)
    return [GeneratedFile(f"op_kernel/{spec.name}.cpp", include_blocks(tidy(close_up(text))))]


def _values(plan: RowPlan, body: RowBody) -> Any:
    values = kernel_values(plan.spec, plan, body)
    # the class has no template argument that chooses between modes
    values.slots = [_streamed(line) for line in values.slots]
    return values


def _streamed(line: str) -> str:
    """Return a constant of a row kernel as it is where rows stream through."""
    name, value = line.split(" = ", 1)
    if "kResident ? " in value:
        value = value.split(" : ", 1)[1]
    return f"{name} = {value.replace('kResident || ', '')}"


def _of_one_mode(plan: RowPlan, branch: dict[str, Any]) -> dict[str, Any]:
    """Return a branch of the entry without the mode, of which there is one."""
    note = plan.variants[branch["variant"]].label()
    return {**branch, "type": branch["type"].replace(", false>", ">"), "note": note}

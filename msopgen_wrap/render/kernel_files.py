"""Kernels of the families: files and classes from templates, and what their branches are for."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.render.files import GeneratedFile, include_blocks
from msopgen_wrap.render.kernel import KernelPart, storage_type
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.templating import environment, render_block

_TEMPLATE = "kernel.cpp.jinja"


def kernel_file(
    folder: str, name: str, values: dict[str, Any], template: str = _TEMPLATE
) -> list[GeneratedFile]:
    """Return ``op_kernel/<name>.cpp``, a template of a family filled with values."""
    text = environment(folder).get_template(template).render(values)
    return [GeneratedFile(f"op_kernel/{name}.cpp", include_blocks(tidy(text)))]


def classes_part(
    folder: str,
    values: dict[str, Any],
    template: str = _TEMPLATE,
    *,
    workspace: bool = False,
    cube: bool = False,
) -> KernelPart:
    """Return the kernel classes of a template, for a kernel of several plans."""
    classes = render_block(folder, template, "classes", values)
    return KernelPart(classes, values["dispatch"], workspace=workspace, cube=cube)


def zeros_branch(spec: OpSpec, branch: dict[str, Any], mode: int) -> dict[str, Any]:
    """Return the branch of the entry, beside another one, for sums of no elements.

    Args:
        spec: the op, which has one output.
        branch: what computes other sums.
        mode: last digit of the tiling key.
    """
    return {
        **{name: value for name, value in branch.items() if name != "beside"},
        "key": branch["key"] + mode,
        "mode": mode,
        "vector": True,
        "type": f"opgen::Zeros<{storage_type(spec.outputs[0], spec)}>",
        "args": branch["args"][-1:],
        "note": joined_notes(branch["note"], "sums of no elements"),
    }


def joined_notes(*notes: str) -> str:
    """Return what a branch is for, of several notes that may be empty."""
    return ", ".join(filter(None, notes))


def note_variants(plan: OpPlan[Any], branches: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the branches of an entry, each with a note of the variant that it is for."""
    for branch in branches:
        branch["note"] = plan.variants[branch["variant"]].label()
    return branches

"""Render kernels of matrix products from their plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msopgen_wrap.families.contract.body import ProductBody, ProductPlan
from msopgen_wrap.families.contract.plan import MODES
from msopgen_wrap.render.entry_values import entry_values, tensor_members
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    KernelPart,
    class_bodies,
    class_type,
    entry_branches,
    member_name,
    output_param,
    storage_type,
    summary,
    type_name,
)
from msopgen_wrap.render.kernel_files import (
    classes_part,
    joined_notes,
    kernel_file,
    note_variants,
    zeros_branch,
)
from msopgen_wrap.spec.model import OpSpec


@dataclass
class ProductKernel:
    """Template values of one kernel class.

    Attributes:
        name, summary: the name of the class, and what it serves.
        gm: its tensors in global memory.
        left, right, output: operands and result, as comments name them.
        left_gm, right_gm, output_gm: what the members of their tensors start with.
        output_argument: the argument of Init that is the result.
        left_type, right_type, output_type: their template parameters.
    """

    name: str
    summary: str
    gm: list[dict[str, str]]
    left: str
    right: str
    output: str
    left_gm: str
    right_gm: str
    output_gm: str
    output_argument: str
    left_type: str
    right_type: str
    output_type: str

    @property
    def type_params(self) -> list[str]:
        """The template parameters: the storage types."""
        return [g["type"] for g in self.gm]


def render_kernel(plan: ProductPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("contract", plan.spec.name, _values(plan, style))


def kernel_part(plan: ProductPlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    return classes_part("contract", _values(plan, style), workspace=True, cube=True)


def _values(plan: ProductPlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    branches = _branches(plan)
    return {
        **entry_values(spec, style, branches),
        "kernels": [_kernel(plan, body) for body in class_bodies(plan)],
    }


def _branches(plan: ProductPlan) -> list[dict[str, Any]]:
    """Return the branches of the entry: the product, zeros where K is 0, and K in pieces."""
    found = []
    branches = note_variants(plan, entry_branches(plan, {"cube": MODES["cube"]}, ""))
    for body, branch in zip(plan.bodies, branches, strict=True):
        zeros = zeros_branch(plan.spec, branch, MODES["zeros"])
        zeros["task"] = "KERNEL_TYPE_AIV_ONLY"
        found += [branch, zeros, _in_pieces(plan.spec, body, branch)]
    return found


def _in_pieces(spec: OpSpec, body: ProductBody, branch: dict[str, Any]) -> dict[str, Any]:
    """Return the branch for a K in pieces: a class of the cube that writes sums, and their sum."""
    left = spec.param(body.operands[body.products[0].left].tensor)
    sums = f"opgen::CubeSums<{storage_type(left, spec)}>"
    return {
        **branch,
        "key": branch["key"] + MODES["pieces"],
        "mode": MODES["pieces"],
        "task": "KERNEL_TYPE_MIX_AIC_1_2",
        "type": class_type(spec, body, results=[sums]),
        "note": joined_notes(branch["note"], "K in pieces"),
        "then": {
            "type": f"opgen::ProductPieces<{storage_type(spec.outputs[0], spec)}, {sums}>",
            "args": branch["args"][-1:],
            "note": "The sums of all pieces are in the workspace.",
        },
    }


def _kernel(plan: ProductPlan, body: ProductBody) -> ProductKernel:
    spec, product = plan.spec, body.products[0]
    tensors = {name: spec.param(view.tensor) for name, view in body.operands.items()}
    output = output_param(spec, product.output)
    used = {p.name for p in tensors.values()}
    gm = tensor_members(spec, used, [output])
    left, right = tensors[product.left], tensors[product.right]
    return ProductKernel(
        body.class_name,
        summary(spec, plan, body),
        gm,
        _text(spec, body, product.left),
        _text(spec, body, product.right),
        product.output,
        left.name,
        right.name,
        member_name(output, True, spec),
        gm[-1]["argument"],
        type_name(left, False, spec),
        type_name(right, False, spec),
        type_name(output, True, spec),
    )


def _text(spec: OpSpec, body: ProductBody, name: str) -> str:
    """Return an operand as a comment shows it: the input, and that it is a view."""
    view = body.operands[name]
    return f"(a view of {view.tensor})" if view.steps else view.tensor

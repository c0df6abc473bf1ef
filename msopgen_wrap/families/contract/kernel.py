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
    entry_branches,
    member_name,
    output_param,
    storage_type,
    summary,
    type_name,
)
from msopgen_wrap.render.kernel_files import classes_part, kernel_file
from msopgen_wrap.spec.model import OpSpec


@dataclass
class ProductKernel:
    """Template values of one kernel class.

    Attributes:
        name, summary: the name of the class, and what it serves.
        gm: its tensors in global memory.
        left, right, output: operands and result, as comments name them.
        left_gm, right_gm, output_gm: what the members of their tensors start with.
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
    return classes_part("contract", _values(plan, style), cube=True)


def _values(plan: ProductPlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    branches = _branches(plan)
    return {
        **entry_values(spec, style, branches),
        "kernels": [_kernel(plan, body) for body in class_bodies(plan)],
    }


def _branches(plan: ProductPlan) -> list[dict[str, Any]]:
    """Return the branches of the entry: the product, and zeros where K is 0."""
    found = []
    for branch in entry_branches(plan, {"cube": MODES["cube"]}, ""):
        note = plan.variants[branch["variant"]].label()
        found.append({**branch, "note": note, "vector": False})
        output = plan.spec.outputs[0]
        zeros = MODES["zeros"]
        found.append(
            {
                **branch,
                "key": branch["key"] - branch["mode"] + zeros,
                "mode": zeros,
                "vector": True,
                "type": f"opgen::Zeros<{storage_type(output, plan.spec)}>",
                "args": branch["args"][-1:],
                "note": ", ".join(t for t in (note, "sums of no elements") if t),
            }
        )
    return found


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
        type_name(left, False, spec),
        type_name(right, False, spec),
        type_name(output, True, spec),
    )


def _text(spec: OpSpec, body: ProductBody, name: str) -> str:
    """Return an operand as a comment shows it: the input, and that it is a view."""
    view = body.operands[name]
    return f"(a view of {view.tensor})" if view.steps else view.tensor

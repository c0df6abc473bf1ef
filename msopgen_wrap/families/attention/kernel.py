"""Render kernels of attentions from their plan."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.families.attention.plan import AttentionBody, AttentionPlan, literal
from msopgen_wrap.families.attention.scores import (
    ADD,
    ADD_WHERE,
    FILL,
    FILL_ABOVE,
    ONE,
    SCALE,
    ScoreStep,
)
from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.render.entry_values import entry_values, tensor_members
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import (
    KernelPart,
    absent_types,
    class_bodies,
    entry_branches,
    member_name,
    output_param,
    storage_type,
    summary,
    type_name,
)
from msopgen_wrap.render.kernel_files import classes_part, kernel_file


def render_kernel(plan: AttentionPlan, style: str) -> list[GeneratedFile]:
    """Render ``op_kernel/<op>.cpp``.

    Args:
        plan: the plan.
        style: ``8.1`` or ``9.x`` project layout.
    """
    return kernel_file("attention", plan.spec.name, _values(plan, style))


def kernel_part(plan: AttentionPlan, style: str) -> KernelPart:
    """Return the kernel classes of a plan that is one of several in a kernel."""
    return classes_part("attention", _values(plan, style), workspace=True, cube=True)


def _values(plan: AttentionPlan, style: str) -> dict[str, Any]:
    spec = plan.spec
    branches = entry_branches(plan, plan.modes, "")
    by_variant = {body.variant: body for body in plan.bodies}
    names = {p.name for p in spec.inputs}
    outputs = [f"{p.name}_ref" if p.name in names else p.name for p in spec.outputs]
    for branch in branches:
        body = by_variant[branch["variant"]]
        own = body.attention
        products = {body.operands[n].tensor for n in (own.query, own.key, own.value)}
        masks = {body.operands[n].tensor for n in own.masks.values()}
        branch["note"] = plan.variants[branch["variant"]].label()
        branch["type"] = _type(plan, body, products, "")
        branch["args"] = [p.name for p in spec.inputs if p.name in products]
        branch["beside"] = {
            "type": _type(plan, body, masks, "Rows"),
            "args": [p.name for p in spec.inputs if p.name in masks] + outputs,
        }
    types = [t for branch in branches for t in (branch["type"], branch["beside"]["type"])]
    return {
        **entry_values(spec, style, branches),
        "absent_types": absent_types(spec, " ".join(types)),
        "kernels": [_kernel(plan, body) for body in class_bodies(plan)],
    }


def _type(plan: AttentionPlan, body: AttentionBody, tensors: set[str], suffix: str) -> str:
    """Return the class of cube or vector cores with the storage types of a call."""
    spec = plan.spec
    params = [p for p in spec.inputs if p.name in tensors]
    params += spec.outputs if suffix else []
    if suffix and _is_wide(plan):
        params.append(spec.param(body.operands[body.attention.query].tensor))
    types = ", ".join(storage_type(p, spec) for p in params)
    return f"{spec.name}_kernel::{body.class_name}{suffix}<{types}>"


def _is_wide(plan: AttentionPlan) -> bool:
    """Whether the result has more digits than the operands in some call."""
    body = plan.bodies[0]
    operand = plan.spec.param(body.operands[body.attention.query].tensor)
    return operand.dtypes != plan.spec.outputs[0].dtypes


def _kernel(plan: AttentionPlan, body: AttentionBody) -> dict[str, Any]:
    spec, own = plan.spec, body.attention
    names = {
        "query": body.operands[own.query].tensor,
        "key": body.operands[own.key].tensor,
        "value": body.operands[own.value].tensor,
    }
    output = output_param(spec, own.output)
    products = tensor_members(spec, set(names.values()), [])
    by_name = {row["name"]: row for row in products}
    masks = dict.fromkeys(own.masks.values())
    tensors = {body.operands[name].tensor for name in masks}
    numbers = plan.masks()
    rows = []
    for name in masks:
        param = spec.param(body.operands[name].tensor)
        argument = next(
            r["argument"] for r in tensor_members(spec, {param.name}, []) if r["name"] == param.name
        )
        rows.append(
            {
                "name": f"{name}Mask",
                "type": type_name(param, False, spec),
                "argument": argument,
                "walk": f"mask{numbers[name]}Walk",
            }
        )
    result = tensor_members(spec, set(), [output])[0]
    steps = [_step(plan, own.masks.get(i, ""), s) for i, s in enumerate(own.steps)]
    return {
        "name": body.class_name,
        "summary": summary(spec, plan, body),
        "products": products,
        **{role: by_name[name] for role, name in names.items()},
        "masks": rows,
        "mask_tensors": tensor_members(spec, tensors, []),
        "result": {**result, "member": member_name(output, True, spec)},
        "steps": steps,
        "numbers": _numbers(plan, body),
        "bits": any(s.kind in (ADD_WHERE, FILL) for s in own.steps),
        "adds": any(s.kind == ADD for s in own.steps),
        "safe": own.safe,
        "wide": _is_wide(plan),
    }


def _numbers(plan: AttentionPlan, body: AttentionBody) -> list[dict[str, str]]:
    """Return the numbers of the tiling struct that a class keeps."""
    found: dict[str, str] = {}
    for step in body.attention.steps:
        if not literal(step.number):
            found[plan.number(step)] = "float"
        if step.kind == FILL_ABOVE:
            found[plan.diagonal(step)] = "int32_t"
    return [{"name": name, "type": cpp} for name, cpp in found.items()]


def _step(plan: AttentionPlan, operand: str, step: ScoreStep) -> str:
    """Return the statements of a step."""
    number = _literal(step) if literal(step.number) else plan.number(step)
    mask = f"{operand}Mask"
    where = "true" if step.where else "false"
    if step.kind == SCALE:
        return f"Muls(scores, scores, {number}, box.count);\nopgen::VectorBarrier();"
    if step.kind == ADD:
        return f"{mask}.Add(scores, {number}, wide, scratch, box);"
    if step.kind == ADD_WHERE:
        return f"{mask}.template AddWhere<{where}>(scores, {number}, bits, wide, box);"
    if step.kind == FILL:
        return f"{mask}.template Fill<{where}>(scores, {number}, bits, wide, box);"
    assert step.kind == FILL_ABOVE
    return f"opgen::FillAbove(scores, {plan.diagonal(step)}, {number}, box);"


def _literal(step: ScoreStep) -> str:
    assert isinstance(step.number, Const)
    if step.number == ONE:
        return "1.0f"
    return "opgen::kInf" if step.number.value > 0 else "-opgen::kInf"

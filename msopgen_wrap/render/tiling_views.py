"""How TilingFunc sees the inputs: statements that read shapes and replay the steps of views."""

from __future__ import annotations

from msopgen_wrap.graph.host_text import to_cpp
from msopgen_wrap.schedule.views import Step, View
from msopgen_wrap.spec.model import OpSpec, ParamKind


def shape_getter(spec: OpSpec, tensor: str) -> str:
    """Return the expression for an input's ``const gert::StorageShape*``."""
    position = [p.name for p in spec.inputs].index(tensor)
    kind = spec.inputs[position].kind
    if kind is ParamKind.OPTIONAL:
        return f"context->GetOptionalInputShape({position})"
    if kind is ParamKind.DYNAMIC:
        return f"context->GetDynamicInputShape({position}, 0)"
    return f"context->GetRequiredInputShape({position})"


def input_shape_lines(spec: OpSpec, tensor: str) -> list[str]:
    """Return the statements that define ``<tensor>Shape`` (an ``opgen::View``)."""
    if spec.param(tensor).site is not None:
        return [f"const opgen::View {tensor}Shape = temporaries.{tensor};"]
    getter = shape_getter(spec, tensor)
    if spec.param(tensor).kind is ParamKind.OPTIONAL:
        return [
            f"const gert::StorageShape* {tensor}Storage = {getter};",
            f"const opgen::View {tensor}Shape = {tensor}Storage == nullptr ? opgen::View() : "
            f"opgen::View::Of({tensor}Storage->GetStorageShape());",
        ]
    return [
        f'OPGEN_CHECK(context, {getter} != nullptr, "{tensor} has no shape");',
        f"const opgen::View {tensor}Shape = opgen::View::Of({getter}->GetStorageShape());",
    ]


def size_check(tensor: str) -> str:
    """Return the check that 64-bit offsets reach all elements of an input."""
    shape = f"{tensor}Shape.dim"
    return (
        f'OPGEN_CHECK(context, opgen::Addressable({shape}), "64-bit offsets do not reach all '
        f'elements of {tensor} of shape %s", opgen::ShapeText({shape}).c_str());'
    )


def view_lines(name: str, view: View) -> list[str]:
    """Return the statements that define ``<name>View`` from the input's shape."""
    lines = [f"opgen::View {name}View = {view.tensor}Shape;"]
    return lines + step_lines(f"{name}View", view, f"{view.tensor}Shape")


def step_lines(variable: str, view: View, shape: str) -> list[str]:
    """Return the statements that replay the steps of a view; ``shape`` is what messages show."""
    return [
        f'OPGEN_CHECK(context, {variable}.{step_call(step)}, "{step.op} is out of range for '
        f'{view.tensor} of shape %s", opgen::ShapeText({shape}.dim).c_str());'
        for step in view.steps
    ]


def step_call(step: Step) -> str:
    """Return the call of ``opgen::View`` that replays a step."""
    if step.op == "slice":
        return f"Slice({step.axis}, {to_cpp(step.start)}, {to_cpp(step.length)})"
    if step.op == "every":
        return f"Every({step.axis}, {to_cpp(step.length)})"
    if step.op == "diagonal":
        return f"Diagonal({step.axes[0]}, {step.axes[1]}, {to_cpp(step.start)})"
    if step.op == "unfold":
        return f"Unfold({step.axis}, {to_cpp(step.length)}, {to_cpp(step.start)})"
    if step.op == "place":
        sizes = (step.start, step.length, *step.shape)
        return f"Place({step.axis}, {', '.join(to_cpp(size) for size in sizes)})"
    if step.op == "select":
        return f"Select({step.axis}, {to_cpp(step.start)})"
    if step.op == "reshape":
        return f"Reshape({{{', '.join(to_cpp(size) for size in step.shape)}}})"
    if step.op == "permute":
        return f"Permute({{{', '.join(map(str, step.axes))}}})"
    return f"{step.op.capitalize()}({step.axis})"

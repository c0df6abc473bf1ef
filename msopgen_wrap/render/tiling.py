"""What the tilings of all families share: struct, shapes, views, dtypes of a call."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.graph.host_text import has_checks, simplified, to_cpp
from msopgen_wrap.graph.scalars import ScalarExpr, describe, tensors_of
from msopgen_wrap.render.call_reading import (
    attr_loads,
    attrs_of,
    input_shape_lines,
    size_check,
    step_call,
    step_lines,
    variant_lines,
    view_lines,
)
from msopgen_wrap.render.kernel import member_name
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.render.tiling_text import TilingText, standard_includes
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES, Scalar, sources
from msopgen_wrap.schedule.views import SQUEEZED, Span, StoredShape, View
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.templating import environment


def setters(style: str) -> dict[str, Any]:
    """Return the template functions that store into the tiling struct of a style."""

    def set_field(name: str, value: str) -> str:
        if style == "8.1":
            return f"tiling.set_{name}({value});"
        return f"tiling->{name} = {value};"

    def set_array(name: str, source: str, count: str) -> str:
        if style == "8.1":
            return f"tiling.set_{name}({source});"
        return f"std::copy({source}, {source} + {count}, tiling->{name});"

    return {"set": set_field, "set_array": set_array}


def header_text(
    spec: OpSpec, style: str, fields: list[dict[str, Any]], doc: list[str] | None = None
) -> str:
    """Return the tiling header: struct ``<Op>TilingData`` with the given fields."""
    return (
        environment("tiling")
        .get_template("header.h.jinja")
        .render(
            spec=spec,
            style=style,
            source=f"specs/{spec.name}.yaml",
            doc=doc or [f"What {spec.op}'s kernel needs to know about this call."],
            struct=f"{spec.op}TilingData",
            guard=f"{spec.name.upper()}_TILING_H",
            fields=fields,
        )
    )


def tiling_text(
    spec: OpSpec,
    style: str,
    text: str,
    values: dict[str, Any],
    fields: list[dict[str, Any]],
    headers: Sequence[str],
) -> TilingText:
    """Return the tiling of a family from its rendered TilingFunc.

    Args:
        spec: the op.
        style: ``8.1`` or ``9.x`` project layout.
        text: the functions.
        values: the template values that all tilings have (``shared_values``).
        fields: rows of the tiling struct.
        headers: that the functions need, besides those of all tilings.
    """
    return TilingText(
        includes=(
            *standard_includes(text),
            *headers,
            *shared_headers(values),
            '"tiling/platform/platform_ascendc.h"',
        ),
        functions=tidy(text),
        tiling_func_name="TilingFunc",
        header_text=tidy(header_text(spec, style, fields, [f"Tiling data of {spec.op}."])),
        fields=tuple(fields),
    )


def _span_lines(plan: OpPlan[Any], variant: int, span: Span) -> list[str]:
    """Return the statements that extend the iteration space to what a tensor is expanded to."""
    sizes = (
        f"{span.tensor}Shape.dim" if span.tensor else f"{{{', '.join(map(to_cpp, span.sizes))}}}"
    )
    text = "an operand does not broadcast to the sizes that it is expanded to, %s"
    check = (
        f"OPGEN_CHECK(context, opgen::BroadcastDims(dims, {sizes}), "
        f'"{text}", opgen::ShapeText({sizes}).c_str());'
    )
    if len(plan.served) == 1:
        return [check]
    return [f"if (variant == {variant}) {{", f"    {check}", "}"]


_WHOLE_CHECK = (
    'OPGEN_CHECK(context, whole.fit, "a number made of sizes and attrs does not fit 64 bits, or is '
    'divided by 0");'
)


def dtype_getters(spec: OpSpec, plan: OpPlan[Any]) -> tuple[list[str], list[str]]:
    """Return the params whose dtypes identify a combination, and how TilingFunc reads them.

    Optional inputs are left out: they may be absent. So are temporaries, whose dtypes follow.
    """
    names, getters = [], []
    for position, param in enumerate(p for p in spec.inputs if p.site is None):
        if param.kind is ParamKind.REQUIRED:
            names.append(param.name)
            getters.append(f"context->GetRequiredInputDesc({position})->GetDataType()")
        elif param.kind is ParamKind.DYNAMIC:
            names.append(param.name)
            getters.append(f"context->GetDynamicInputDesc({position}, 0)->GetDataType()")
    for param in (p for p in spec.outputs if p.site is None):
        position = spec.output_position(param.name)
        if param.kind is ParamKind.REQUIRED:
            names.append(member_name(param, True, spec))
            getters.append(f"context->GetOutputDesc({position})->GetDataType()")
    return names, getters


def combo_dtypes(spec: OpSpec, combo: int) -> list[str]:
    """Return the ge dtypes of the params of ``dtype_getters`` for a combination."""
    params = [p for p in spec.inputs if p.kind is not ParamKind.OPTIONAL]
    params += [p for p in spec.outputs if p.kind is ParamKind.REQUIRED]
    params = [p for p in params if p.site is None]
    return [BY_NAME[p.dtypes[combo]].ge_cpp for p in params]


def field_row(cpp: str, name: str, count: int, doc: str) -> dict[str, Any]:
    """Return one field of a tiling struct; ``count`` 0 for a single number."""
    return {"type": cpp, "name": name, "count": count, "doc": doc}


TILE_LENGTH = field_row("uint32_t", "tileLength", 0, "elements a tile holds")
BOX_FIELDS = (
    field_row("uint32_t", "boxRows", 0, "rows per tile"),
    field_row("uint32_t", "boxCols", 0, "columns per tile"),
    field_row("uint32_t", "pitchUnit", 0, "rows of a tile start at multiples of this"),
)


def walk_fields(walks: Iterable[str], placed: Iterable[str]) -> list[dict[str, Any]]:
    """Return the fields that say where the elements of a box lie.

    Args:
        walks: operands, outputs and counted numbers.
        placed: the operands that lie inside a larger space.
    """
    strides = [
        field_row("int64_t", f"{w}Walk", 9, f"strides and offset of {w}, elements") for w in walks
    ]
    bounds = [
        field_row("int64_t", f"{name}Bounds", 16, f"where {name} begins and ends in the space")
        for name in placed
    ]
    return [*strides, *bounds]


def shared_headers(values: dict[str, Any]) -> list[str]:
    """Return the includes that a TilingFunc with these template values needs in any family."""
    headers = ['"opgen_tiling_buffer.h"'] if values["style"] == "8.1" else []
    return [*headers, '"opgen_whole_numbers.h"'] if values["whole"] else headers


def shared_values(
    spec: OpSpec,
    plan: OpPlan[Any],
    style: str,
    used: dict[str, Scalar],
    *,
    all_views: bool = False,
) -> dict[str, Any]:
    """Return the template values that the tilings of all families need.

    Args:
        spec: the op.
        plan: its plan.
        style: ``8.1`` or ``9.x`` project layout.
        used: numbers that kernels take, by field name.
        all_views: whether every operand has a view of its own; otherwise one without steps is the
            shape of its input.
    """
    operands = plan.operands()
    stored = plan.output_views()
    indices = plan.indices()
    views = (*operands.values(), *stored.values(), *indices.values())
    bounds = [e for view in views for e in view.scalars()]
    narrow = plan.narrow
    spans = plan.spans()
    stored_shapes = plan.stored_shapes()
    numbers = [*(s.expr for s in used.values()), *(e for _, s in spans for e in s.sizes)]
    numbers += [e for shape in stored_shapes.values() for e in shape.sizes]
    bounds += narrow
    expressions = [*numbers, *bounds]
    wanted = {a for e in expressions for a in attrs_of(e)}
    wanted |= {name for name, _ in plan.variants[0].attrs if len(plan.served) > 1}
    wanted |= plan.tiling_attrs()
    tensors = list(dict.fromkeys(v.tensor for v in operands.values()))
    for expr in expressions:
        tensors += [t for t in sorted(tensors_of(expr)) if t not in tensors]
    tensors += [s.tensor for _, s in spans if s.tensor and s.tensor not in tensors]
    # The check of the iteration space covers the inputs that it has all dimensions of.
    whole_inputs = {v.tensor for v in operands.values() if not v.steps}
    shapes = [
        {"lines": input_shape_lines(spec, t) + ([] if t in whole_inputs else [size_check(t)])}
        for t in tensors
    ]
    shapes += [
        {"lines": _guarded(spec, view.tensor, view_lines(name, view))}
        for name, view in operands.items()
        if view.steps or all_views
    ]
    shapes += [{"lines": _index_lines(plan, name, view)} for name, view in indices.items()]
    whole_bounds = any(has_checks(e) for e in bounds)
    if whole_bounds:
        shapes.append({"lines": [_WHOLE_CHECK]})
    whole_fields = any(has_checks(e) for e in numbers)
    param_names, getters = dtype_getters(spec, plan)
    places = {getter: f"dtypes[{i}]" for i, getter in enumerate(getters)}

    def bytes_of(getter: str) -> str:
        return f"ge::GetSizeByDataType({places.get(getter, getter)})"

    return {
        "spec": spec,
        "style": style,
        "struct": f"{spec.op}{plan.part}TilingData",
        "part": plan.part,
        "dtype_params": param_names,
        "dtype_getters": getters,
        "dtype_casts": [f"static_cast<int>(dtypes[{i}])" for i in range(len(getters))],
        "spans": [line for variant, s in spans for line in _span_lines(plan, variant, s)],
        "attrs": attr_loads(spec, wanted),
        "whole": whole_bounds or whole_fields,
        "whole_check": _WHOLE_CHECK if whole_fields else "",
        "variant_lines": variant_lines(spec, plan),
        "only_variant": plan.served[0],
        "shapes": shapes,
        "operands": [
            {
                "name": name,
                "view": f"{name}View" if view.steps else f"{view.tensor}Shape",
                "transposable": view.transposable,
                "bytes": bytes_of(_dtype_expr(spec, view.tensor)),
                "condition": f"{view.tensor}Storage != nullptr"
                if spec.param(view.tensor).kind is ParamKind.OPTIONAL
                else "",
            }
            for name, view in operands.items()
        ],
        "outputs": [
            {
                "name": p.name,
                "member": member_name(p, True, spec),
                "index": i,
                "bytes": bytes_of(f"context->GetOutputDesc({i})->GetDataType()"),
                "steps": _output_steps(spec, p, stored.get(p.name)),
            }
            for i, p in ((spec.output_position(p.name), p) for p in spec.outputs if p.site is None)
        ],
        "temporaries": bool(spec.temporaries),
        "written": [
            {
                "name": p.name,
                "bytes": DTYPE_BYTES[p.dtypes[0]],
                "checks": _reach_checks(plan, p.name),
                **_stored_sizes(stored_shapes.get(p.name)),
            }
            for p in spec.outputs
            if p.site is not None
        ],
        "indices": list(indices),
        "narrow": [_narrow_check(expr) for expr in narrow],
        "inputs": [
            {"name": p.name, "index": i, "list": p.kind is ParamKind.DYNAMIC}
            for i, p in enumerate(spec.inputs)
        ],
    }


def _stored_sizes(shape: StoredShape | None) -> dict[str, list[str]]:
    """Return the sizes in C++ of a temporary that is written in another shape than it has."""
    if shape is None:
        return {"written": [], "own": []}
    return {"written": [*map(to_cpp, shape.written)], "own": [*map(to_cpp, shape.own)]}


def _index_lines(plan: OpPlan[Any], name: str, view: View) -> list[str]:
    """Return the statements that define the view of numbers counted from the index."""
    counted = view.counted
    assert counted is not None
    ends = ", ".join(to_cpp(e) for e in (counted.length, counted.start, counted.step))
    made = f"opgen::View::Counted({ends})"
    variable = f"{name}View"
    steps = [
        f'OPGEN_CHECK(context, {variable}.{step_call(step)}, "{step.op} is out of range");'
        for step in view.steps
    ]
    used = sorted({body.variant for body in plan.bodies if name in body.indices})
    if len(used) == len(plan.served):
        fixed = "" if steps or view.extent == SQUEEZED else "const "
        return [f"{fixed}opgen::View {variable} = {made};", *steps]
    condition = " || ".join(f"variant == {index}" for index in used)
    return [
        f"opgen::View {variable};",
        f"if ({condition}) {{",
        f"    {variable} = {made};",
        *(f"    {line}" for line in steps),
        "}",
    ]


def _narrow_check(expr: ScalarExpr) -> str:
    """Return the check of a 64-bit integer that the kernel computes in int32."""
    text = describe(simplified(expr)).replace("%", "%%")
    return (
        f'OPGEN_CHECK(context, opgen::FitsInt32({to_cpp(expr)}), "{text} is %lld, which '
        f'int32 cannot hold", static_cast<long long>({to_cpp(expr)}));'
    )


def _output_steps(spec: OpSpec, param: TensorParam, view: View | None) -> list[str]:
    """Return the statements that bring an output to the shape it is written in."""
    name = f"{member_name(param, True, spec)}View"
    return step_lines(name, view, name) if view is not None else []


def _guarded(spec: OpSpec, tensor: str, lines: list[str]) -> list[str]:
    """View steps of an optional input only run when it is there."""
    if spec.param(tensor).kind is not ParamKind.OPTIONAL or len(lines) == 1:
        return lines
    return [
        lines[0],
        f"if ({tensor}Storage != nullptr) {{",
        *(f"    {line}" for line in lines[1:]),
        "}",
    ]


def _reach_checks(plan: OpPlan[Any], name: str) -> list[str]:
    """Return the checks that the operands behind a temporary have the sizes of all operands.

    Else its shape would not be that of the space, whose other sizes it must not be repeated over.
    """
    lines: list[str] = []
    for body in plan.bodies:
        behind = sources(body.program, name)
        if behind >= set(body.operands) or not behind:
            continue
        parts = [f"opgen::BroadcastDims(own, {n}View.dim)" for n in body.operands if n in behind]
        condition = f"variant != {body.variant} || " if len(plan.served) > 1 else ""
        check = [
            "{",
            "    std::vector<int64_t> own;",
            f"    OPGEN_CHECK(context, {condition}({' && '.join(parts)} && "
            f'opgen::SameDims(own, dims)), "{", ".join(sorted(behind))} of shape %s must have the '
            'sizes of the other tensors, %s", opgen::ShapeText(own).c_str(), '
            "opgen::ShapeText(dims).c_str());",
            "}",
        ]
        lines += [] if check == lines[-len(check) :] else check
    return lines


def _dtype_expr(spec: OpSpec, tensor: str) -> str:
    if spec.param(tensor).site is not None:
        return BY_NAME[spec.param(tensor).dtypes[0]].ge_cpp
    position = [p.name for p in spec.inputs].index(tensor)
    kind = spec.inputs[position].kind
    if kind is ParamKind.OPTIONAL:
        return (
            f"context->GetOptionalInputDesc({position}) == nullptr ? ge::DT_FLOAT : "
            f"context->GetOptionalInputDesc({position})->GetDataType()"
        )
    if kind is ParamKind.DYNAMIC:
        return f"context->GetDynamicInputDesc({position}, 0)->GetDataType()"
    return f"context->GetRequiredInputDesc({position})->GetDataType()"

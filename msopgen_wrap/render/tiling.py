"""What the tilings of all families share: struct, shapes, views, dtypes of a call."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, TypeVar

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.graph.host_text import has_checks, simplified, to_cpp
from msopgen_wrap.graph.scalars import ScalarExpr, describe, tensors_of
from msopgen_wrap.render.call_reading import (
    attr_loads,
    attrs_of,
    bytes_expr,
    dtype_expr,
    dtype_getters,
    guarded,
    index_lines,
    input_shape_lines,
    lengths_read,
    operand_condition,
    size_check,
    span_lines,
    step_lines,
    variant_lines,
    view_lines,
    view_name,
)
from msopgen_wrap.render.kernel import member_name
from msopgen_wrap.render.line_wrapping import tidy
from msopgen_wrap.render.schedule_text import schedule_function, schedule_header
from msopgen_wrap.render.tiling_text import TilingText, standard_includes, tiling_struct
from msopgen_wrap.schedule.demands import Demand
from msopgen_wrap.schedule.plan import Body, Budget, OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES, Scalar, sources
from msopgen_wrap.schedule.views import StoredShape, View
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.templating import cpp_string, environment

Key = TypeVar("Key")


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
            struct=tiling_struct(spec.op),
            guard=f"{spec.name.upper()}_TILING_H",
            fields=fields,
            structs=any(f.get("struct") for f in fields),
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


_WHOLE_CHECK = (
    'OPGEN_CHECK(context, whole.fit, "a number made of sizes and attrs does not fit 64 bits, or is '
    'divided by 0");'
)


def combo_dtypes(spec: OpSpec, combo: int) -> list[str]:
    """Return the ge dtypes of the params of ``dtype_getters`` for a combination."""
    params = [p for p in spec.inputs if p.kind is not ParamKind.OPTIONAL]
    params = [p for p in params if p.site is None]
    params += [p for p in spec.tensors_written if p.kind is ParamKind.REQUIRED]
    return [BY_NAME[p.dtypes[combo]].ge_cpp for p in params]


def budget_rows(
    plan: OpPlan[Any], mode: str, tensor: str, rates_of: Callable[[Budget, int], Iterable[float]]
) -> list[dict[str, Any]]:
    """Return the table of what each kernel needs of UB, for families with one mode.

    Args:
        plan: the plan.
        mode: by which its budgets are known.
        tensor: the operand that tiles are of.
        rates_of: returns the bytes per unit of each kind, from a budget and its combination.
    """
    return [
        {
            "dtypes": combo_dtypes(plan.spec, combo),
            "variant": body.variant,
            "bytes": ", ".join(f"{n:g}" for n in rates_of(body.budgets[combo, mode], combo)),
            "reserved": body.budgets[combo, mode].fixed,
            "element": DTYPE_BYTES[plan.spec.param(tensor).dtypes[combo]],
        }
        for body in plan.bodies
        for combo in body.combos
    ]


def joined_needs(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the budgets of kernels, the largest needs of those that tiling cannot tell apart.

    Tiling finds a budget by the dtypes of the params that a call always has. Combinations that
    differ in the dtype of an optional input only take tiles that fit the widest of them.

    Args:
        rows: ``dtypes`` and ``variant`` of each kernel, and its needs: numbers and lists of them.
    """
    needs: dict[Any, dict[str, Any]] = {}
    for row in rows:
        key = (tuple(row["dtypes"]), row["variant"])
        before = needs.get(key, row)
        needs[key] = {name: _larger(before[name], value) for name, value in row.items()}
    return [dict(needs[tuple(row["dtypes"]), row["variant"]]) for row in rows]


def _larger(one: Any, other: Any) -> Any:
    if isinstance(one, (list, tuple)):
        return [_larger(a, b) for a, b in zip(one, other, strict=True)]
    return one if one == other else max(one, other)


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
    if values["schedule"]:
        headers.append(schedule_header(values["spec"]))
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
    operands, stored, indices = plan.operands(), plan.output_views(), plan.indices()
    views = (*operands.values(), *stored.values(), *indices.values())
    spans, narrow = plan.spans(), plan.narrow
    stored_shapes = plan.stored_shapes()
    numbers = [*(s.expr for s in used.values()), *(e for _, s in spans for e in s.sizes)]
    numbers += [e for shape in stored_shapes.values() for e in shape.sizes]
    demands: dict[Demand, list[int]] = {}
    for index, known in plan.demands.items():
        for demand in known:
            demands.setdefault(demand, []).append(index)
    bounds = [*(e for view in views for e in view.scalars()), *narrow]
    bounds += [side for demand in demands for side in (demand.left, demand.right)]
    expressions = [*numbers, *bounds]
    whole_bounds, whole_fields = any(map(has_checks, bounds)), any(map(has_checks, numbers))
    read, viewed = _shape_lines(spec, plan, expressions, all_views=all_views)
    demand_checks = [_demand_check(plan, demand, asked) for demand, asked in demands.items()]
    checks = [demand_checks] if demands else []
    if whole_bounds:
        shapes = [*read, *viewed, [_WHOLE_CHECK], *checks]
    else:  # before views are made of shapes that compute does not accept
        shapes = [*read, *checks, *viewed]
    param_names, getters = dtype_getters(spec, plan)
    places = {getter: f"dtypes[{i}]" for i, getter in enumerate(getters)}

    def bytes_of(getter: str) -> str:
        return f"ge::GetSizeByDataType({places.get(getter, getter)})"

    return {
        "spec": spec,
        "style": style,
        "schedule": schedule_function(spec),
        "struct": tiling_struct(spec.op, plan.part),
        "part": plan.part,
        "dtype_params": param_names,
        "dtype_getters": getters,
        "dtype_casts": [f"static_cast<int>(dtypes[{i}])" for i in range(len(getters))],
        "spans": [line for variant, s in spans for line in span_lines(plan, variant, s)],
        "attrs": attr_loads(spec, _attrs_read(plan, expressions), lengths_read(expressions)),
        "whole": whole_bounds or whole_fields,
        "whole_check": _WHOLE_CHECK if whole_fields else "",
        "variant_lines": variant_lines(spec, plan),
        "only_variant": plan.served[0],
        "demands": demand_checks,
        "shapes": [{"lines": lines} for lines in shapes],
        "operands": [_operand_row(plan, name, view, bytes_of) for name, view in operands.items()],
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
                "bytes": bytes_expr(spec, p),
                "checks": _reach_checks(plan, p.name, all_views),
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


def _attrs_read(plan: OpPlan[Any], expressions: Iterable[ScalarExpr]) -> set[str]:
    """Return the attrs that a TilingFunc reads: for numbers, for the variant, for the family."""
    wanted = {a for e in expressions for a in attrs_of(e)} | plan.tiling_attrs()
    if len(plan.served) > 1:
        wanted |= {name for name, _ in plan.variants[0].attrs}
    return wanted


def _shape_lines(
    spec: OpSpec, plan: OpPlan[Any], expressions: list[ScalarExpr], *, all_views: bool
) -> tuple[list[list[str]], list[list[str]]]:
    """Return the statements that read the shapes of inputs, and those that define views of them."""
    operands = plan.operands()
    tensors = list(dict.fromkeys(v.tensor for v in operands.values()))
    for expr in expressions:
        tensors += [t for t in sorted(tensors_of(expr)) if t not in tensors]
    others = [s.tensor for _, s in plan.spans() if s.tensor]
    for view in (*operands.values(), *plan.output_views().values(), *plan.indices().values()):
        others += sorted(view.shapes)
    tensors += [t for t in dict.fromkeys(others) if t not in tensors]
    # The check of the iteration space covers the inputs that it has all dimensions of.
    whole = {v.tensor for v in operands.values() if not v.steps}
    read = [input_shape_lines(spec, t) + ([] if t in whole else [size_check(t)]) for t in tensors]
    viewed = [
        guarded(operand_condition(plan, name, view), view_lines(name, view))
        for name, view in operands.items()
        if view.steps or all_views
    ]
    viewed += [index_lines(plan, name, view) for name, view in plan.indices().items()]
    return read, viewed


def _operand_row(
    plan: OpPlan[Any], name: str, view: View, bytes_of: Callable[[str], str]
) -> dict[str, Any]:
    return {
        "name": name,
        "view": view_name(name, view),
        "transposable": view.transposable,
        "bytes": bytes_of(dtype_expr(plan.spec, view.tensor)),
        "condition": operand_condition(plan, name, view),
    }


def _stored_sizes(shape: StoredShape | None) -> dict[str, list[str]]:
    """Return the sizes in C++ of a temporary that is written in another shape than it has."""
    if shape is None:
        return {"written": [], "own": []}
    return {"written": [*map(to_cpp, shape.written)], "own": [*map(to_cpp, shape.own)]}


def _demand_check(plan: OpPlan[Any], demand: Demand, asked: list[int]) -> str:
    """Return the check of what compute asks of the sizes and attrs of a call.

    Args:
        asked: the variants that ask it.
    """
    others = [i for i in plan.served if i not in asked]
    condition = "".join(f"variant == {i} || " for i in others)
    tensors = demand.tensors
    if not demand.asserted:  # PyTorch cuts a tensor without elements into pieces of any size
        condition += "".join(f"opgen::Numel({t}Shape) == 0 || " for t in tensors)
    text = "".join(f", {t} has shape %s" for t in tensors)
    values = "".join(f", opgen::ShapeText({t}Shape.dim).c_str()" for t in tensors)
    said = cpp_string(f"{plan.spec.op} needs {demand.text}".replace("%", "%%") + text)
    return (
        f"OPGEN_CHECK(context, {condition}{to_cpp(demand.left)} {demand.operator} "
        f"{to_cpp(demand.right)}, {said}{values});"
    )


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


def _reach_checks(plan: OpPlan[Any], name: str, all_views: bool) -> list[str]:
    """Return the checks that what is behind a temporary has the sizes of all operands.

    Else its shape would not be that of the space, whose other sizes it must not be repeated over.
    Numbers that are counted along an axis have that axis.
    """
    lines: list[str] = []
    for body in plan.bodies:
        behind = sources(body.program, name)
        if behind >= set(body.operands) or not behind:
            continue
        counted = sources(body.program, name, ("Index",))
        views = [
            view_name(n, v, all_views=all_views) for n, v in body.operands.items() if n in behind
        ]
        views += [f"{n}View" for n in body.indices if n in counted]
        parts = [f"opgen::BroadcastDims(own, {view}.dim)" for view in views]
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


def variant_conditions(
    found: Iterable[tuple[Key, int]], bodies: Sequence[Body]
) -> list[tuple[Key, str]]:
    """Return what some variants have, with conditions on ``variant`` in C++.

    Args:
        found: what a variant has, and the variant; several may have the same.
        bodies: those of all variants.

    Returns:
        What was found, each once and in order; the condition is empty where all variants have it.
    """
    held: dict[Key, set[int]] = {}
    for key, variant in found:
        held.setdefault(key, set()).add(variant)
    every = {body.variant for body in bodies}
    return [
        (key, " && ".join(f"variant != {v}" for v in sorted(every - own)))
        for key, own in held.items()
    ]

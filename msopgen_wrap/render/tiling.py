"""Tiling struct and TilingFunc of elementwise ops; parts shared with the row family."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jinja2

from msopgen_wrap.graph.scalars import ScalarExpr, to_cpp
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.kernel import MAX_TENSORS, has_broadcast, member_name, tidy
from msopgen_wrap.render.tiling_text import TilingText
from msopgen_wrap.resources import data_dir
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES, F32, Scalar
from msopgen_wrap.schedule.views import Step, View
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind

GE_DTYPE = {
    "float16": "ge::DT_FLOAT16",
    "bfloat16": "ge::DT_BF16",
    "float32": "ge::DT_FLOAT",
    "int8": "ge::DT_INT8",
    "int16": "ge::DT_INT16",
    "int32": "ge::DT_INT32",
    "int64": "ge::DT_INT64",
    "uint8": "ge::DT_UINT8",
    "bool": "ge::DT_BOOL",
}


def host_headers() -> list[GeneratedFile]:
    """Return the headers that TilingFunc includes, beside op_host sources."""
    folder = data_dir("ascendc_kernels") / "include" / "opgen" / "host"
    return [
        GeneratedFile(f"op_host/opgen_{path.name}", path.read_text(encoding="utf-8"))
        for path in sorted(folder.glob("*.h"))
    ]


@lru_cache(maxsize=1)
def environment() -> jinja2.Environment:
    """Return the environment of ``templates/tiling``."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_dir("templates") / "tiling"),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    env.filters["percent_d"] = lambda name: f"{name} %d"
    return env


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
        environment()
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


def scalar_fields(names: dict[Scalar, str], used: dict[str, Scalar]) -> list[dict[str, Any]]:
    """Return tiling fields for the scalar operands of all kernels."""
    from msopgen_wrap.graph.scalars import describe

    return [
        {
            "type": "float" if scalar.kind == F32 else "int32_t",
            "name": name,
            "count": 0,
            "doc": describe(scalar.expr),
        }
        for scalar, name in names.items()
        if name in used
    ]


def scalar_values(names: dict[Scalar, str], used: dict[str, Scalar]) -> list[dict[str, str]]:
    """Return name and host expression of the scalar fields."""
    return [
        {
            "name": name,
            "value": f"static_cast<{'float' if s.kind == F32 else 'int32_t'}>({to_cpp(s.expr)})",
        }
        for s, name in names.items()
        if name in used
    ]


# ---- attrs and variants ------------------------------------------------------------------------

_ATTR_GET = {
    "int": ("int64_t", "GetInt"),
    "float": ("float", "GetFloat"),
    "bool": ("bool", "GetBool"),
    "str": ("char", "GetStr"),
    "dtype": ("int64_t", "GetInt"),
}


def attr_loads(spec: OpSpec, wanted: set[str]) -> list[dict[str, str]]:
    """Return the statements that fetch attrs into variables called like them."""
    rows = []
    for index, attr in enumerate(spec.attrs):
        if attr.name not in wanted:
            continue
        pointer = f"{attr.name}Attr"
        if attr.type in ("list_int", "list_float"):
            getter = "GetListInt" if attr.type == "list_int" else "GetListFloat"
            load = (
                f"const auto* {pointer} = context->GetAttrs()->{getter}({index});\n"
                f'    OPGEN_CHECK(context, {pointer} != nullptr, "attr {attr.name} is missing");\n'
                f"    const auto* {attr.name} = {pointer}->GetData();"
            )
        else:
            cpp, getter = _ATTR_GET[attr.type]
            load = (
                f"const {cpp}* {pointer} = context->GetAttrs()->{getter}({index});\n"
                f'    OPGEN_CHECK(context, {pointer} != nullptr, "attr {attr.name} is missing");\n'
            )
            if attr.type == "str":
                load += f"    const std::string {attr.name}({pointer});"
            else:
                load += f"    const {cpp} {attr.name} = *{pointer};"
        rows.append({"name": attr.name, "load": load})
    return rows


def attr_test(attr: Attr, value: Any) -> str:
    """Return the C++ condition that an attr has a value."""
    if attr.type == "bool":
        return attr.name if value else f"!{attr.name}"
    if attr.type == "str":
        return f'{attr.name} == "{value}"'
    if attr.type == "dtype":
        return f"{attr.name} == static_cast<int64_t>({GE_DTYPE[value]})"
    if attr.type == "float":
        return f"{attr.name} == static_cast<float>({value!r})"
    if attr.type in ("list_int", "list_float"):
        raise NotImplementedError("list attrs with allowed values")
    return f"{attr.name} == {value}"


def variant_lines(spec: OpSpec, plan: OpPlan) -> list[str]:
    """Return the statements that find the variant index."""
    if len(plan.variants) == 1:
        return []
    lines = []
    for index, variant in enumerate(plan.variants):
        tests = [attr_test(spec.attr(name), value) for name, value in variant.attrs]
        for position, param in enumerate(spec.inputs):
            if param.kind is ParamKind.OPTIONAL:
                sign = "!=" if param.name in variant.present else "=="
                tests.append(f"context->GetOptionalInputShape({position}) {sign} nullptr")
        keyword = "if" if index == 0 else "} else if"
        lines.append(f"{keyword} ({' && '.join(tests)}) {{")
        lines.append(f"    variant = {index};")
    lines.append("} else {")
    names = ", ".join(name for name, _ in plan.variants[0].attrs)
    lines.append(f'    OPGEN_CHECK(context, false, "no kernel for this value of {names}");')
    lines.append("}")
    return lines


def attrs_of(expr: ScalarExpr) -> set[str]:
    """Return the attrs an expression reads."""
    from msopgen_wrap.graph.scalars import AttrRef, Binary, Unary

    if isinstance(expr, AttrRef):
        return {expr.name}
    if isinstance(expr, Unary):
        return attrs_of(expr.arg)
    if isinstance(expr, Binary):
        return attrs_of(expr.left) | attrs_of(expr.right)
    return set()


def dims_of(expr: ScalarExpr) -> set[str]:
    """Return the inputs whose sizes an expression reads."""
    from msopgen_wrap.graph.scalars import Binary, DimRef, Unary

    if isinstance(expr, DimRef):
        return {expr.tensor}
    if isinstance(expr, Unary):
        return dims_of(expr.arg)
    if isinstance(expr, Binary):
        return dims_of(expr.left) | dims_of(expr.right)
    return set()


# ---- operands ----------------------------------------------------------------------------------


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


def view_lines(name: str, view: View) -> list[str]:
    """Return the statements that define ``<name>View`` from the input's shape."""
    lines = [f"opgen::View {name}View = {view.tensor}Shape;"]
    for step in view.steps:
        call = _step_call(step)
        lines.append(
            f'OPGEN_CHECK(context, {name}View.{call}, "{step.op} is out of range for {view.tensor} '
            f'of shape %s", opgen::ShapeText({view.tensor}Shape.dim).c_str());'
        )
    return lines


def _step_call(step: Step) -> str:
    if step.op == "slice":
        return f"Slice({step.axis}, {to_cpp(step.start)}, {to_cpp(step.length)})"
    if step.op == "select":
        return f"Select({step.axis}, {to_cpp(step.start)})"
    if step.op == "permute":
        return f"Permute({{{', '.join(map(str, step.axes))}}})"
    return f"{step.op.capitalize()}({step.axis})"


def dtype_getters(spec: OpSpec, plan: OpPlan) -> tuple[list[str], list[str]]:
    """Return the params whose dtypes identify a combination, and how TilingFunc reads them.

    Optional inputs are left out: they may be absent.
    """
    names, getters = [], []
    for position, param in enumerate(spec.inputs):
        if param.kind is ParamKind.REQUIRED:
            names.append(param.name)
            getters.append(f"context->GetRequiredInputDesc({position})->GetDataType()")
        elif param.kind is ParamKind.DYNAMIC:
            names.append(param.name)
            getters.append(f"context->GetDynamicInputDesc({position}, 0)->GetDataType()")
    for position, param in enumerate(spec.outputs):
        if param.kind is ParamKind.REQUIRED:
            names.append(member_name(param, True, spec))
            getters.append(f"context->GetOutputDesc({position})->GetDataType()")
    return names, getters


def combo_dtypes(spec: OpSpec, combo: int) -> list[str]:
    """Return the ge dtypes of the params of ``dtype_getters`` for a combination."""
    params = [p for p in spec.inputs if p.kind is not ParamKind.OPTIONAL]
    params += [p for p in spec.outputs if p.kind is ParamKind.REQUIRED]
    return [GE_DTYPE[p.dtypes[combo]] for p in params]


def render_elementwise_tiling(spec: OpSpec, plan: OpPlan, style: str) -> TilingText:
    """Return the tiling of the elementwise and foreach families."""
    broadcast = has_broadcast(plan)
    names: dict[Scalar, str] = plan.details["scalar_names"]
    used = plan.scalars()
    operands = plan.operands()
    walks = [*operands, *(member_name(p, True, spec) for p in spec.outputs)]
    fields: list[dict[str, Any]] = [
        {"type": "uint64_t", "name": "total", "count": 0, "doc": "elements of the output"}
    ]
    if broadcast:
        fields += [
            _field("int64_t", "outerDims", 6, "sizes before the last two of the collapsed space"),
            _field("uint64_t", "rowCount", 0, "last size but one"),
            _field("uint64_t", "colCount", 0, "last size"),
        ]
        fields += [
            _field("int64_t", f"{w}Walk", 9, f"strides and offset of {w}, elements") for w in walks
        ]
        fields += [
            _field("uint32_t", "boxRows", 0, "rows per tile"),
            _field("uint32_t", "boxCols", 0, "columns per tile"),
            _field("uint32_t", "pitchUnit", 0, "rows of a tile start at multiples of this"),
        ]
    fields.append(_field("uint32_t", "tileLength", 0, "elements a tile holds"))
    fields += scalar_fields(names, used)
    template = "foreach.cpp.jinja" if plan.family == "foreach" else "elementwise.cpp.jinja"
    text = (
        environment()
        .get_template(template)
        .render(
            **setters(style),
            **_elementwise_values(spec, plan, style, broadcast, used),
            scalars=scalar_values(names, used),
            walks=walks,
        )
    )
    if plan.family == "foreach":
        fields = [
            _field("uint64_t", "lengths", MAX_TENSORS, "elements of each tensor of the lists"),
            _field("uint64_t", "units", 0, "256-element units of all tensors"),
            _field("uint32_t", "tensors", 0, "tensors per list"),
            *fields[-1 - len(scalar_fields(names, used)) :],
        ]
    return TilingText(
        includes=(
            "<algorithm>",
            "<cmath>",
            "<string>",
            "<vector>",
            '"opgen_iteration_space.h"',
            '"tiling/platform/platform_ascendc.h"',
        ),
        functions=tidy(text),
        tiling_func_name="TilingFunc",
        header_text=tidy(header_text(spec, style, fields, [f"Tiling data of {spec.op}."])),
    )


def _field(cpp: str, name: str, count: int, doc: str) -> dict[str, Any]:
    return {"type": cpp, "name": name, "count": count, "doc": doc}


def _elementwise_values(
    spec: OpSpec, plan: OpPlan, style: str, broadcast: bool, used: dict[str, Scalar]
) -> dict[str, Any]:
    operands = plan.operands()
    expressions = [s.expr for s in used.values()]
    for view in operands.values():
        for step in view.steps:
            expressions += [step.start, step.length]
    wanted = {a for e in expressions for a in attrs_of(e)}
    wanted |= {name for name, _ in plan.variants[0].attrs if len(plan.variants) > 1}
    tensors = list(dict.fromkeys(v.tensor for v in operands.values()))
    for expr in expressions:
        tensors += [t for t in sorted(dims_of(expr)) if t not in tensors]
    shapes = [{"lines": input_shape_lines(spec, t)} for t in tensors]
    shapes += [
        {"lines": _guarded(spec, view.tensor, view_lines(name, view))}
        for name, view in operands.items()
    ]
    param_names, getters = dtype_getters(spec, plan)
    budgets = []
    for body in plan.bodies:
        for combo in body.combos:
            flat, box = body.budgets[combo, "flat"], body.budgets[combo, "broadcast"]
            sizes = [DTYPE_BYTES[p.dtypes[combo]] for p in (*spec.inputs, *spec.outputs)]
            budgets.append(
                {
                    "dtypes": combo_dtypes(spec, combo),
                    "variant": body.variant,
                    "flat": flat.bytes_per_element,
                    "box": box.bytes_per_element,
                    "reserved": max(flat.fixed, box.fixed),
                    "pitch": 32 // min(sizes),
                }
            )
    sizes = [f"ge::GetSizeByDataType({_dtype_expr(spec, v.tensor)})" for v in operands.values()]
    sizes += [
        f"ge::GetSizeByDataType(context->GetOutputDesc({i})->GetDataType())"
        for i in range(len(spec.outputs))
    ]
    return {
        "spec": spec,
        "style": style,
        "struct": f"{spec.op}TilingData",
        "broadcast": broadcast,
        "dtype_params": param_names,
        "dtype_getters": getters,
        "dtype_casts": [f"static_cast<int>(dtypes[{i}])" for i in range(len(getters))],
        "budgets": budgets,
        "attrs": attr_loads(spec, wanted),
        "variant_lines": variant_lines(spec, plan),
        "shapes": shapes,
        "operands": [
            {
                "name": name,
                "condition": f"{view.tensor}Storage != nullptr"
                if spec.param(view.tensor).kind is ParamKind.OPTIONAL
                else "",
            }
            for name, view in operands.items()
        ],
        "outputs": [
            {"name": p.name, "member": member_name(p, True, spec), "index": i}
            for i, p in enumerate(spec.outputs)
        ],
        "sizes": sizes,
        "max_tensors": MAX_TENSORS,
        "inputs": [
            {"name": p.name, "index": i, "list": p.kind is ParamKind.DYNAMIC}
            for i, p in enumerate(spec.inputs)
        ],
    }


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


def _dtype_expr(spec: OpSpec, tensor: str) -> str:
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

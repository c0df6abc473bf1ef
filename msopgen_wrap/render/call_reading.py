"""What TilingFunc reads of a call: attrs, the variant, shapes, views of the inputs, numbers."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.graph.host_text import attr_variable, simplified, to_cpp
from msopgen_wrap.graph.sample import sample_attrs
from msopgen_wrap.graph.scalars import AttrRef, Binary, ScalarExpr, Unary, describe, is_word
from msopgen_wrap.render.kernel import like_input, member_name
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES, F32, Scalar
from msopgen_wrap.schedule.views import SQUEEZED, Span, Step, View
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind, TensorParam
from msopgen_wrap.templating import cpp_float, cpp_int, cpp_string

_ATTR_GET = {
    "int": ("int64_t", "GetInt"),
    "float": ("float", "GetFloat"),
    "bool": ("bool", "GetBool"),
    "str": ("char", "GetStr"),
    "dtype": ("int64_t", "GetInt"),
}


def attr_loads(
    spec: OpSpec, wanted: set[str], lengths: Mapping[str, int] | None = None
) -> list[dict[str, str]]:
    """Return the statements that fetch attrs into their variables (``attr_variable``).

    Args:
        spec: the op.
        wanted: which attrs.
        lengths: how many numbers a list must have at least, for lists whose elements are read.
    """
    rows = []
    least = lengths or {}
    for index, attr in enumerate(spec.attrs):
        if attr.name not in wanted:
            continue
        pointer, variable = f"{attr.name}Attr", attr_variable(attr.name)
        if attr.type in ("list_int", "list_float"):
            getter = "GetListInt" if attr.type == "list_int" else "GetListFloat"
            load = (
                f"const auto* {pointer} = context->GetAttrs()->{getter}({index});\n"
                f'    OPGEN_CHECK(context, {pointer} != nullptr, "attr {attr.name} is missing");\n'
                f"    const auto* {variable} = {pointer}->GetData();"
            )
            check = ""
            if attr.type == "list_float" and not attr.allowed:
                reads = len(sample_attrs(spec)[attr.name])
                check = f'== {reads}, "{attr.name} has %zu numbers, the kernel is made for {reads}'
            elif attr.name in least:
                reads = least[attr.name]
                check = f'>= {reads}, "{attr.name} has %zu numbers, the kernel reads {reads}'
            if check:
                load = load.replace(
                    f"    const auto* {variable} =",
                    f'    OPGEN_CHECK(context, {pointer}->GetSize() {check}", '
                    f"{pointer}->GetSize());\n    const auto* {variable} =",
                )
        else:
            cpp, getter = _ATTR_GET[attr.type]
            load = (
                f"const {cpp}* {pointer} = context->GetAttrs()->{getter}({index});\n"
                f'    OPGEN_CHECK(context, {pointer} != nullptr, "attr {attr.name} is missing");\n'
            )
            if attr.type == "str":
                load += f"    const std::string {variable}({pointer});"
            else:
                load += f"    const {cpp} {variable} = *{pointer};"
        rows.append({"name": attr.name, "load": load})
    return rows


def attr_test(attr: Attr, value: Any) -> str:
    """Return the C++ condition that an attr has a value."""
    name = attr_variable(attr.name)
    if attr.type == "bool":
        return name if value else f"!{name}"
    if attr.type == "str":
        return f"{name} == {cpp_string(value)}"
    if attr.type == "dtype":
        return f"{name} == static_cast<int64_t>({BY_NAME[value].ge_cpp})"
    if attr.type in ("list_int", "list_float"):
        items = [_number_test(f"{name}[{i}]", v, attr.type) for i, v in enumerate(value)]
        return " && ".join([f"{attr.name}Attr->GetSize() == {len(value)}", *items])
    return _number_test(name, value, attr.type)


def _number_test(place: str, value: Any, kind: str) -> str:
    """Return the C++ condition that a number has a value; floats are compared as float32."""
    if kind.endswith("float"):
        return f"{place} == {cpp_float(value)}"
    return f"{place} == {cpp_int(value)}"


def variant_lines(spec: OpSpec, plan: OpPlan[Any]) -> list[str]:
    """Return the statements that find the variant index among those that a plan serves."""
    if len(plan.served) == 1:
        return []
    lines: list[str] = []
    for index in plan.served:
        variant = plan.variants[index]
        tests = [attr_test(spec.attr(name), value) for name, value in variant.attrs]
        for position, param in enumerate(spec.inputs):
            if param.kind is ParamKind.OPTIONAL:
                sign = "!=" if param.name in variant.present else "=="
                tests.append(f"context->GetOptionalInputShape({position}) {sign} nullptr")
        keyword = "} else if" if lines else "if"
        lines.append(f"{keyword} ({' && '.join(tests)}) {{")
        lines.append(f"    variant = {index};")
    lines.append("} else {")
    names = ", ".join(name for name, _ in plan.variants[0].attrs)
    lines.append(f'    OPGEN_CHECK(context, false, "no kernel for this value of {names}");')
    lines.append("}")
    return lines


def lengths_read(expressions: Iterable[ScalarExpr]) -> dict[str, int]:
    """Return how many numbers expressions read of lists at least, by attr."""
    found: dict[str, int] = {}
    for expr in expressions:
        if isinstance(expr, AttrRef) and expr.index is not None:
            found[expr.name] = max(found.get(expr.name, 0), expr.index + 1)
        below = [expr.arg] if isinstance(expr, Unary) else []
        below = [expr.left, expr.right] if isinstance(expr, Binary) else below
        for name, length in lengths_read(below).items():
            found[name] = max(found.get(name, 0), length)
    return found


def attrs_of(expr: ScalarExpr) -> set[str]:
    """Return the attrs an expression reads."""
    if isinstance(expr, AttrRef):
        return {expr.name}
    if isinstance(expr, Unary):
        return attrs_of(expr.arg)
    if isinstance(expr, Binary):
        return attrs_of(expr.left) | attrs_of(expr.right)
    return set()


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


def view_name(name: str, view: View, *, all_views: bool = False) -> str:
    """Return what the view of an operand is called: ``<name>View``, or the shape of the input.

    Args:
        all_views: whether every operand has a view of its own; otherwise one without steps is the
            input's shape.
    """
    return f"{name}View" if view.steps or all_views else f"{view.tensor}Shape"


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
    if step.op in ("slice", "slab"):
        name = step.op.capitalize()
        return f"{name}({step.axis}, {to_cpp(step.start)}, {to_cpp(step.length)})"
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
        shape = f"{{{', '.join(to_cpp(size) for size in step.shape)}}}"
        if step.axis > 0:
            return f"ReshapeFirst({step.axis}, {shape})"
        return f"ReshapeLast({-step.axis}, {shape})" if step.axis else f"Reshape({shape})"
    if step.op == "behind":
        return f"Behind({step.tensor}Shape.Rank() + {to_cpp(step.start)})"
    if step.named:
        assert isinstance(step.start, AttrRef)
        return f"PermuteAll({attr_variable(step.start.name)}, {step.start.name}Attr->GetSize())"
    if step.op == "permute":
        parts = [step.axes[: step.axis], step.axes[step.axis :]] if step.axis else [step.axes]
        lists = ", ".join("{" + ", ".join(map(str, axes)) + "}" for axes in parts)
        return f"Permute({lists})"
    return f"{step.op.capitalize()}({step.axis})"


def scalar_fields(names: dict[Scalar, str], used: dict[str, Scalar]) -> list[dict[str, Any]]:
    """Return tiling fields for the scalar operands of all kernels."""
    return [
        {
            "type": "float" if scalar.kind == F32 else "int32_t",
            "name": name,
            "count": 0,
            "doc": describe(simplified(scalar.expr)),
        }
        for scalar, name in names.items()
        if name in used
    ]


def scalar_values(names: dict[Scalar, str], used: dict[str, Scalar]) -> list[dict[str, str]]:
    """Return name and host expression of the scalar fields.

    ``whole`` is the 64-bit expression of a field that is 32 bits wide: it may not fit.
    """
    return [
        {
            "name": name,
            "whole": "" if s.kind == F32 or is_word(s.expr) else to_cpp(s.expr),
            "doc": describe(simplified(s.expr)).replace("%", "%%"),
            "value": to_cpp(s.expr)
            if is_word(s.expr)
            else f"static_cast<{'float' if s.kind == F32 else 'int32_t'}>({to_cpp(s.expr)})",
        }
        for s, name in names.items()
        if name in used
    ]


def span_sizes(span: Span) -> str:
    """Return the sizes of a span in C++."""
    return f"{span.tensor}Shape.dim" if span.tensor else f"{{{', '.join(map(to_cpp, span.sizes))}}}"


def span_lines(plan: OpPlan[Any], variant: int, span: Span, dims: str = "dims") -> list[str]:
    """Return the statements that extend a shape to what a tensor is expanded to.

    Args:
        plan: the plan.
        variant: the one that expands it.
        span: the sizes that it is expanded to.
        dims: the variable of the shape; that of the iteration space without it.
    """
    sizes = span_sizes(span)
    text = "an operand does not broadcast to the sizes that it is expanded to, %s"
    check = (
        f"OPGEN_CHECK(context, opgen::BroadcastDims({dims}, {sizes}), "
        f'"{text}", opgen::ShapeText({sizes}).c_str());'
    )
    if len(plan.served) == 1:
        return [check]
    return [f"if (variant == {variant}) {{", f"    {check}", "}"]


def index_lines(plan: OpPlan[Any], name: str, view: View) -> list[str]:
    """Return the statements that define the view of numbers counted from the index."""
    counted = view.counted
    assert counted is not None
    ends = ", ".join(to_cpp(e) for e in (counted.length, counted.start, counted.step))
    made = f"opgen::View::Counted({ends})"
    if counted.shape:
        ends = ", ".join(to_cpp(e) for e in (counted.start, counted.step))
        made = f"opgen::View::CountedIn({counted.shape}Shape.dim, {ends})"
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


def reading_variants(plan: OpPlan[Any], name: str, view: View) -> str:
    """Return the C++ test of the variants that read an operand, where presence does not decide it.

    An operand that the kernel of a variant does not read has no say in the shapes of the call, and
    its view may not exist: it may take sizes of an absent input, or be another variant's reshape.
    """
    optional = plan.spec.param(view.tensor).kind is ParamKind.OPTIONAL
    reading = {body.variant for body in plan.bodies if name in body.operands}
    expected = {
        index
        for index in plan.served
        if not optional or view.tensor in plan.variants[index].present
    }
    if reading == expected or not reading:
        return ""
    return " || ".join(f"variant == {index}" for index in sorted(reading))


def operand_condition(plan: OpPlan[Any], name: str, view: View) -> str:
    """Return the C++ test of the calls that read an operand, empty where all do."""
    optional = plan.spec.param(view.tensor).kind is ParamKind.OPTIONAL
    present = f"{view.tensor}Storage != nullptr" if optional else ""
    return reading_variants(plan, name, view) or present


def guarded(condition: str, lines: list[str]) -> list[str]:
    """Return the statements of a view whose steps only run where a condition holds."""
    if not condition or len(lines) == 1:
        return lines
    return [lines[0], f"if ({condition}) {{", *(f"    {line}" for line in lines[1:]), "}"]


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
    for param in spec.tensors_written:
        position = spec.output_position(param.name)
        if param.kind is ParamKind.REQUIRED:
            names.append(param.tensor if param.slab else member_name(param, True, spec))
            getters.append(f"context->GetOutputDesc({position})->GetDataType()")
    return names, getters


def bytes_expr(spec: OpSpec, param: TensorParam) -> str:
    """Return the expression for the bytes of an element of a temporary."""
    if len(set(param.dtypes)) == 1:
        return str(DTYPE_BYTES[param.dtypes[0]])
    like = like_input(spec, param.dtypes)
    if like.dtypes != param.dtypes:
        return str(DTYPE_BYTES["float32"])
    return f"ge::GetSizeByDataType({dtype_expr(spec.whole or spec, like.name)})"


def dtype_expr(spec: OpSpec, tensor: str) -> str:
    """Return the expression for the ``ge::DataType`` of an input."""
    param = spec.param(tensor)
    if param.site is not None and len(set(param.dtypes)) > 1:
        like = like_input(spec, param.dtypes)
        # what is computed has as many bytes in each combination
        return dtype_expr(spec, like.name) if like.dtypes == param.dtypes else "ge::DT_FLOAT"
    if param.site is not None:
        return BY_NAME[param.dtypes[0]].ge_cpp
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

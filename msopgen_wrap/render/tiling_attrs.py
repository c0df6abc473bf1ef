"""How TilingFunc reads attrs and finds the variant of a call."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.graph.host_text import attr_variable
from msopgen_wrap.graph.sample import sample_attrs
from msopgen_wrap.graph.scalars import AttrRef, Binary, ScalarExpr, Unary
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind
from msopgen_wrap.templating import cpp_float, cpp_int, cpp_string

_ATTR_GET = {
    "int": ("int64_t", "GetInt"),
    "float": ("float", "GetFloat"),
    "bool": ("bool", "GetBool"),
    "str": ("char", "GetStr"),
    "dtype": ("int64_t", "GetInt"),
}


def attr_loads(spec: OpSpec, wanted: set[str]) -> list[dict[str, str]]:
    """Return the statements that fetch attrs into their variables (``attr_variable``)."""
    rows = []
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
            if attr.type == "list_float" and not attr.allowed:
                length = len(sample_attrs(spec)[attr.name])
                load = load.replace(
                    f"    const auto* {variable} =",
                    f"    OPGEN_CHECK(context, {pointer}->GetSize() == {length}, "
                    f'"{attr.name} has %zu numbers, the kernel is made for {length}", '
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


def attrs_of(expr: ScalarExpr) -> set[str]:
    """Return the attrs an expression reads."""
    if isinstance(expr, AttrRef):
        return {expr.name}
    if isinstance(expr, Unary):
        return attrs_of(expr.arg)
    if isinstance(expr, Binary):
        return attrs_of(expr.left) | attrs_of(expr.right)
    return set()

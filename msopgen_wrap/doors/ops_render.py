"""Render ``ops.h``: the ops of a project in C++ that knows no framework.

A door includes it, implements ``Frame`` and ``AttrSource`` of ``templates/doors/csrc/op_call.h``
for its framework, and finds everything else in the table ``kernels::Ops()``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind, TensorParam
from msopgen_wrap.templating import cpp_comment, cpp_int, cpp_string, render_template, static_text
from msopgen_wrap.torch_ext.binding_render import SHARED_HEADERS, fresh_output_lines
from msopgen_wrap.torch_ext.signature import aclnn_name, fresh_outputs

#: The headers of every door, in ``templates/doors/csrc``.
HEADERS = (*SHARED_HEADERS, "op_call.h")

_KINDS = {
    ParamKind.REQUIRED: ("Required", "Array"),
    ParamKind.OPTIONAL: ("Optional", "OptionalArray"),
    ParamKind.DYNAMIC: ("List", "ArrayList"),
}

ATTR_TYPES = {
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "std::string",
    "list_int": "Sizes",
    "list_float": "std::vector<double>",
    "dtype": "Dtype",
}


@dataclass(frozen=True)
class _Op:
    """What the template needs of one op; lines and rows are C++ text."""

    type: str
    name: str
    aclnn: str
    doc: str
    inputs: list[str]
    attrs: list[str]
    outputs: list[str]
    arguments: str
    dtype_attrs: str
    input_rows: list[str]
    output_rows: list[str]
    attr_rows: list[str]
    dtype_rows: list[str]


def dtype_text(name: str) -> str:
    """Return the C++ value of a dtype, ``Dtype::kFloat32``."""
    return f"Dtype::k{name.capitalize()}"


def _float_text(value: float) -> str:
    number = float(value)
    if number != number:
        return '__builtin_nan("")'
    if number in (float("inf"), float("-inf")):
        return "__builtin_inf()" if number > 0 else "-__builtin_inf()"
    return repr(number)


def _value_text(attr: Attr, value: Any) -> str:
    """Return an attr's value as C++ of the attr's own type."""
    kind = ATTR_TYPES[attr.type]
    if attr.type == "dtype":
        return dtype_text(str(value))
    if attr.type == "str":
        return f"{kind}({cpp_string(str(value))})"
    if attr.type == "bool":
        return "true" if value else "false"
    if attr.type == "float":
        return _float_text(value)
    if attr.type == "int":
        return f"{kind}({cpp_int(value)})"
    text = map(cpp_int if attr.type == "list_int" else _float_text, value)
    return f"{kind}{{{', '.join(text)}}}"


_EMPTY = {
    "int": 0,
    "float": 0.0,
    "bool": False,
    "str": "",
    "list_int": (),
    "list_float": (),
    "dtype": "float32",
}


def _attr_row(attr: Attr) -> str:
    value = _value_text(attr, _EMPTY[attr.type] if attr.required else attr.default)
    allowed = ", ".join(f"AttrValue({_value_text(attr, v)})" for v in attr.allowed or ())
    required = "true" if attr.required else "false"
    return f"{{{cpp_string(attr.name)}, {required}, AttrValue({value}), {{{allowed}}}}}"


def _param_row(spec: OpSpec, param: TensorParam) -> str:
    names = [p.name for p in spec.inputs]
    inplace = -1 if param.inplace is None else names.index(param.inplace)
    kind = f"Kind::k{_KINDS[param.kind][0]}"
    return f"{{{cpp_string(param.name)}, {kind}, {param.min_rank}, {param.max_rank}, {inplace}}}"


def _output_lines(spec: OpSpec) -> list[str]:
    lines: list[str] = []
    for i, o in enumerate(spec.outputs):
        if o.inplace is not None:
            kind = _KINDS[spec.param(o.inplace).kind][1]
            lines.append(
                f"const {kind} {_written(o.inplace)} = opgen_call.InPlace({i}, {o.inplace});"
            )
            continue

        def call(rule: str, item: str, output: int = i) -> str:
            return f"opgen_call.Output({', '.join(filter(None, (str(output), rule, item)))})"

        lines += fresh_output_lines(spec, o, ("Array", "ArrayList"), call)
    return lines


def _written(name: str) -> str:
    """Return the variable of the memory that an in-place op writes instead of its input's."""
    return f"opgen_written_{name}"


def _op(spec: OpSpec) -> _Op:
    inplace = {o.inplace for o in spec.outputs if o.inplace is not None}
    given = [_written(p.name) if p.name in inplace else p.name for p in spec.inputs]
    inputs = [
        f"const {_KINDS[p.kind][1]} {p.name} = opgen_call.{_KINDS[p.kind][0]}({i});"
        for i, p in enumerate(spec.inputs)
    ]
    attrs = [
        f"const auto& {a.name} = std::get<{ATTR_TYPES[a.type]}>(opgen_attrs[{i}]);"
        for i, a in enumerate(spec.attrs)
    ]
    dtype_attrs = [a.name for a in spec.attrs if a.type == "dtype"]
    columns = (*spec.inputs, *spec.outputs)
    return _Op(
        type=spec.op,
        name=spec.name,
        aclnn=aclnn_name(spec),
        doc=cpp_comment(" ".join(spec.doc.split())) or spec.op,
        inputs=inputs,
        attrs=attrs,
        outputs=_output_lines(spec),
        arguments=", ".join(
            [*given, *(a.name for a in spec.attrs), *(o.name for o in fresh_outputs(spec))]
        ),
        dtype_attrs=f"{{{', '.join(dtype_attrs)}}}" if dtype_attrs else "",
        input_rows=[_param_row(spec, p) for p in spec.inputs],
        output_rows=[_param_row(spec, o) for o in spec.outputs],
        attr_rows=[_attr_row(a) for a in spec.attrs],
        dtype_rows=[
            "{" + ", ".join(dtype_text(p.dtypes[i]) for p in columns) + "}"
            for i in range(spec.combos)
        ],
    )


def render_door_sources(specs: Sequence[OpSpec], vendor: str) -> list[GeneratedFile]:
    """Return ``ops.h`` and the headers it needs, side by side.

    Args:
        specs: the ops.
        vendor: whose package a door looks for; also the name in its error texts.

    Raises:
        OpgenError: OPG321, an output list whose length no input gives.
    """
    text = render_template(
        "doors/ops.h",
        source=", ".join(f"specs/{s.name}.yaml" for s in specs),
        vendor=vendor,
        ops=[_op(spec) for spec in specs],
        cpp_string=cpp_string,
    )
    head = "// generated by opgen from its own templates; do not edit\n"
    headers = [GeneratedFile(n, head + static_text(f"doors/csrc/{n}")) for n in HEADERS]
    return [GeneratedFile("ops.h", text), *headers]

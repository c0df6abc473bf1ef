"""Render ``csrc/binding.cpp``: one C++ source that gives every op its CPU and NPU kernel."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.model import OpSpec, ParamKind, ShapeBroadcast, ShapeRule, TensorParam
from msopgen_wrap.templating import cpp_comment, cpp_string, render_template, static_text
from msopgen_wrap.torch_ext.shape_code import CppShapes
from msopgen_wrap.torch_ext.signature import aclnn_name, fresh_outputs, torch_schema

STATIC = (
    "autograd_entry.cpp",
    "torch_api.h",
    "torch_npu_functions.h",
    "allocation.h",
    "device_launch.h",
    "aclnn_call.h",
)

# What the bindings of all frameworks share (templates/doors/csrc).
SHARED_HEADERS = ("checks.h", "shapes.h", "opapi_library.h", "dtypes.h", "arguments.h")

# (parameter type, type of the value in an OpInfo call)
_ATTR_TYPES = {
    "int": "int64_t",
    "float": "double",
    "bool": "bool",
    "str": "std::string",
    "list_int": "Sizes",
    "list_float": "std::vector<double>",
    "dtype": "ScalarType",
}


@dataclass(frozen=True)
class _Op:
    """What the template needs of one op."""

    spec: OpSpec
    doc: str
    schema: str
    aclnn: str
    names: str
    rows: tuple[str, ...]
    returns: str
    params: str
    inputs: tuple[TensorParam, ...]
    dtype_attrs: str
    outputs: tuple[str, ...]
    arguments: str
    result: str


def output_rule(spec: OpSpec, param: TensorParam) -> ShapeRule:
    """Return the shape rule of an output; without one all inputs are broadcast."""
    if param.shape is not None:
        return param.shape
    return ShapeBroadcast(tuple(p.name for p in spec.inputs))


def list_source(spec: OpSpec, param: TensorParam) -> str:
    """Return the list input that gives a list output its length."""
    for p in spec.inputs:
        if p.kind is ParamKind.DYNAMIC:
            return p.name
    raise OpgenError(
        Diagnostic(
            "OPG321",
            f"output '{param.name}' of {spec.op} is a list, but no input is",
            param.location,
            why="the length of a list output is that of the first list input",
            fix="make an input a list, or the output a plain tensor",
        )
    )


def _cpp_type(param: TensorParam) -> str:
    if param.kind is ParamKind.DYNAMIC:
        return "TensorList"
    return "OptionalTensor" if param.kind is ParamKind.OPTIONAL else "Tensor"


def fresh_output_lines(
    spec: OpSpec, output: TensorParam, types: tuple[str, str], call: Callable[[str, str], str]
) -> list[str]:
    """Return the C++ statements that make an output, or one per item of the list input.

    Args:
        types: of a tensor and of a list.
        call: C++ of one output, of its shape and of the item's number, empty where it is no list.
    """
    rule = CppShapes(spec, "[opgen_item]").rule(output_rule(spec, output))
    tensor, tensors = types
    if output.kind is not ParamKind.DYNAMIC:
        return [f"const {tensor} {output.name} = {call(rule, '')};"]
    source = list_source(spec, output)
    return [
        f"{tensors} {output.name};",
        f"for (size_t opgen_item = 0; opgen_item < {source}.size(); ++opgen_item) {{",
        f"    {output.name}.push_back({call(rule, 'opgen_item')});",
        "}",
    ]


def _output_lines(spec: OpSpec) -> tuple[str, ...]:
    lines: list[str] = []
    for column, o in enumerate(spec.outputs, start=len(spec.inputs)):
        if o.inplace is None:

            def call(rule: str, item: str, column: int = column) -> str:
                return f"opgen_call.Output({rule}, {column})"

            lines += fresh_output_lines(spec, o, ("Tensor", "TensorList"), call)
    return tuple(lines)


def _op(spec: OpSpec) -> _Op:
    fresh = fresh_outputs(spec)
    types = [_cpp_type(o) for o in fresh]
    if not types:
        returns, result = "void", ""
    elif len(types) == 1:
        returns, result = types[0], fresh[0].name
    else:
        returns = f"std::tuple<{', '.join(types)}>"
        result = "{" + ", ".join(o.name for o in fresh) + "}"
    params = [f"{_cpp_type(p)} {p.name}" for p in spec.inputs]
    params += [f"{_ATTR_TYPES[a.type]} {a.name}" for a in spec.attrs]
    columns = (*spec.inputs, *spec.outputs)
    rows = tuple(
        ", ".join(f"ScalarType::{BY_NAME[p.dtypes[i]].scalar_name}" for p in columns)
        for i in range(spec.combos)
    )
    names = [p.name for p in spec.inputs] + [a.name for a in spec.attrs] + [o.name for o in fresh]
    dtype_attrs = [a.name for a in spec.attrs if a.type == "dtype"]
    return _Op(
        spec=spec,
        doc=cpp_comment(" ".join(spec.doc.split())),
        schema=torch_schema(spec),
        aclnn=aclnn_name(spec),
        names=", ".join(f'"{p.name}"' for p in columns),
        rows=rows,
        returns=returns,
        params=", ".join(params),
        inputs=spec.inputs,
        dtype_attrs=f"{{{', '.join(dtype_attrs)}}}" if dtype_attrs else "",
        outputs=_output_lines(spec),
        arguments=", ".join(names),
        result=result,
    )


def render_binding(specs: Sequence[OpSpec], vendor: str) -> list[GeneratedFile]:
    """Return ``torch_ext/<vendor>/csrc/``: ``binding.cpp``, its headers, autograd's entry."""
    folder = f"torch_ext/{vendor}/csrc"
    source = ", ".join(f"specs/{s.name}.yaml" for s in specs)
    ops = [_op(s) for s in specs]
    text = render_template(
        "torch_ext/csrc/binding.cpp", source=source, vendor=vendor, ops=ops, cpp_string=cpp_string
    )
    files = [GeneratedFile(f"{folder}/binding.cpp", text)]
    header = "// generated by opgen from its own templates; do not edit\n"
    sources = [f"torch_ext/csrc/{name}" for name in STATIC]
    sources += [f"doors/csrc/{name}" for name in SHARED_HEADERS]
    files += [
        GeneratedFile(f"{folder}/{name.rpartition('/')[2]}", header + static_text(name))
        for name in sources
    ]
    return files

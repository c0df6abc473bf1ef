"""How an op looks to its callers: torch schema, aclnn parameters, order of arguments."""

from __future__ import annotations

import math
from dataclasses import dataclass

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.names import aclnn_attr, aclnn_input, aclnn_output
from msopgen_wrap.templating import cpp_string

_SCHEMA_ATTRS = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "list_int": "int[]",
    "list_float": "float[]",
    "dtype": "ScalarType",
}

_ACLNN_ATTRS = {
    "int": "int64_t ",
    "float": "double ",
    "bool": "bool ",
    "str": "char* ",
    "list_int": "const aclIntArray* ",
    "list_float": "const aclFloatArray* ",
    # OpDef has no dtype attr; it is an int holding a ge::DataType.
    "dtype": "int64_t ",
}


def mutated_input(spec: OpSpec, param: TensorParam) -> bool:
    """Whether an in-place output writes the memory of input ``param``."""
    return any(o.inplace == param.name for o in spec.outputs)


def fresh_outputs(spec: OpSpec) -> tuple[TensorParam, ...]:
    """Outputs that the op allocates (all but the in-place ones)."""
    return tuple(o for o in spec.outputs if o.inplace is None)


def is_functional(spec: OpSpec) -> bool:
    """Whether the op writes none of its inputs."""
    return all(o.inplace is None for o in spec.outputs)


def defaulted(spec: OpSpec) -> frozenset[str]:
    """Names of arguments that get a default in schema and Python.

    A torch schema allows defaults only from some argument on: an optional input before a required
    tensor must be passed as None, an attr with a default before a required attr must be passed.
    """
    names: list[str] = []
    for attr in reversed(spec.attrs):
        if attr.required:
            return frozenset(names)
        names.append(attr.name)
    for param in reversed(spec.inputs):
        if param.kind is not ParamKind.OPTIONAL:
            break
        names.append(param.name)
    return frozenset(names)


def torch_schema(spec: OpSpec) -> str:
    """Return the torch schema, without namespace: ``op(Tensor x, *, ...) -> Tensor``.

    Inputs come first, then attrs, all positional. In-place inputs carry alias annotations and
    their outputs are not returned (``auto_functionalized`` refuses returned aliases).
    """
    with_default = defaulted(spec)
    parts = []
    alias = iter("abcdefghijklmnopqrstuvwxyz")
    for p in spec.inputs:
        mark = f"({next(alias)}!)" if mutated_input(spec, p) else ""
        if p.kind is ParamKind.DYNAMIC:
            text = f"Tensor{mark}[] {p.name}"
        elif p.kind is ParamKind.OPTIONAL:
            text = f"Tensor{mark}? {p.name}"
        else:
            text = f"Tensor{mark} {p.name}"
        parts.append(text + ("=None" if p.name in with_default else ""))
    for a in spec.attrs:
        text = f"{_SCHEMA_ATTRS[a.type]} {a.name}"
        parts.append(text + (f"={_schema_default(a)}" if a.name in with_default else ""))
    returns = ["Tensor[]" if o.kind is ParamKind.DYNAMIC else "Tensor" for o in fresh_outputs(spec)]
    result = returns[0] if len(returns) == 1 else f"({', '.join(returns)})"
    return f"{spec.name}({', '.join(parts)}) -> {result}"


def _schema_default(attr: Attr) -> str:
    value = attr.default
    if attr.type == "dtype":
        # The schema parser knows no dtype names except a few; numbers always work.
        return str(BY_NAME[str(value)].scalar)
    if attr.type == "bool":
        return "True" if value else "False"
    if attr.type == "str":
        return cpp_string(str(value))
    if attr.type in ("list_int", "list_float"):
        return "[" + ", ".join(repr(v) for v in value) + "]"
    if attr.type == "float":
        return _float_text(float(value))
    return repr(value)


def _float_text(value: float) -> str:
    if math.isinf(value):
        return "inf" if value > 0 else "-inf"
    return "nan" if math.isnan(value) else repr(value)


# ---- aclnn -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class AclnnParam:
    """One parameter of ``aclnn<Op>GetWorkspaceSize``.

    Attributes:
        declaration: C text, ``const aclTensor* x``.
        name: its C name.
        spec_name: name in the spec.
    """

    declaration: str
    name: str
    spec_name: str


def aclnn_name(spec: OpSpec) -> str:
    """Return the phase-2 function's name."""
    return f"aclnn{spec.op}"


def aclnn_inputs(spec: OpSpec) -> list[AclnnParam]:
    """Parameters of the inputs; in-place ones are not const and end in ``Ref``."""
    result = []
    for p in spec.inputs:
        inplace = mutated_input(spec, p)
        name = aclnn_input(p, inplace)
        kind = "aclTensorList* " if p.kind is ParamKind.DYNAMIC else "aclTensor* "
        result.append(AclnnParam(("" if inplace else "const ") + kind + name, name, p.name))
    return result


def aclnn_attrs(spec: OpSpec) -> list[AclnnParam]:
    """Parameters of the attrs; optional text and lists end in ``Optional``, numbers do not."""
    result = []
    for a in spec.attrs:
        name = aclnn_attr(a)
        result.append(AclnnParam(_ACLNN_ATTRS[a.type] + name, name, a.name))
    return result


def aclnn_outputs(spec: OpSpec) -> list[AclnnParam]:
    """Parameters of the outputs that are not in-place: ``out`` if there is one output, else
    ``<name>Out``."""
    result = []
    for o in fresh_outputs(spec):
        name = aclnn_output(o, len(spec.outputs) == 1)
        kind = "aclTensorList* " if o.kind is ParamKind.DYNAMIC else "aclTensor* "
        result.append(AclnnParam("const " + kind + name, name, o.name))
    return result


def aclnn_params(spec: OpSpec) -> list[AclnnParam]:
    """All parameters before ``workspaceSize``, in order: inputs, attrs, outputs."""
    return [*aclnn_inputs(spec), *aclnn_attrs(spec), *aclnn_outputs(spec)]

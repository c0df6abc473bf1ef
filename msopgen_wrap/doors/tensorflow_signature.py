"""How an op looks in TensorFlow: the arguments and attrs of ``REGISTER_OP``.

TensorFlow has no optional inputs: one becomes a list of 0 or 1 tensors. Names of arguments are in
small letters there. Dtypes are attrs, one for all tensors whose dtypes go together.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.project.tf_plugin import length_attr
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind, TensorParam

#: dtypes of a spec -> TensorFlow's names
TYPES = {
    "float16": "half",
    "bfloat16": "bfloat16",
    "float32": "float",
    "int8": "int8",
    "int16": "int16",
    "int32": "int32",
    "int64": "int64",
    "uint8": "uint8",
    "bool": "bool",
}
_ENUM = {"float16": "DT_HALF", "float32": "DT_FLOAT"}

_ATTRS = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "string",
    "list_int": "list(int)",
    "list_float": "list(float)",
    "dtype": "type",
}


@dataclass(frozen=True)
class Argument:
    """An input or output as ``REGISTER_OP`` declares it.

    Attributes:
        param: the tensor of the spec.
        name: its name in TensorFlow.
        type: a type of TensorFlow, or the attr that holds it.
        length: the attr of the length of a list; "" for a tensor.
    """

    param: TensorParam
    name: str
    type: str
    length: str

    @property
    def declaration(self) -> str:
        """The text for ``.Input()`` or ``.Output()``, ``xs: N_xs * T``."""
        return f"{self.name}: {self.length + ' * ' if self.length else ''}{self.type}"


@dataclass(frozen=True)
class Signature:
    """An op in TensorFlow.

    Attributes:
        inputs, outputs: the arguments, in the spec's order.
        types: the type attrs, each with the column of dtypes that it stands for.
        chosen: those of ``types`` that no input determines: a caller has to give them.
        attrs: the texts for ``.Attr()``: types, lengths, then the spec's own.
    """

    inputs: tuple[Argument, ...]
    outputs: tuple[Argument, ...]
    types: dict[str, tuple[str, ...]]
    chosen: tuple[str, ...]
    attrs: tuple[str, ...]


def enum_name(dtype: str) -> str:
    """Return the C++ name of a dtype, ``DT_HALF``."""
    return _ENUM.get(dtype, f"DT_{TYPES[dtype].upper()}")


def signature(spec: OpSpec) -> Signature:
    """Return how TensorFlow sees an op."""
    taken = {a.name for a in spec.attrs}
    types: dict[str, tuple[str, ...]] = {}
    inputs = [_argument(p, spec, types, taken) for p in spec.inputs]
    given = set(types)
    names = {a.name for a in inputs}
    outputs = []
    for p in spec.outputs:
        argument = _argument(p, spec, types, taken)
        name = _free(argument.name, names, "_out")
        names.add(name)
        outputs.append(Argument(p, name, argument.type, argument.length))
    lengths = dict.fromkeys(a.length for a in inputs if a.length)
    attrs = [_type_text(name, column) for name, column in types.items()]
    attrs += [f"{name}: int >= 0" for name in lengths]
    attrs += [attr_text(a) for a in spec.attrs]
    chosen = tuple(name for name in types if name not in given)
    return Signature(tuple(inputs), tuple(outputs), types, chosen, tuple(attrs))


def _free(name: str, taken: Iterable[str], suffix: str) -> str:
    while name in taken:
        name += suffix
    return name


def _argument(
    p: TensorParam, spec: OpSpec, types: dict[str, tuple[str, ...]], taken: set[str]
) -> Argument:
    length = ""
    if p.kind is not ParamKind.REQUIRED:
        # A list of outputs is as long as the first list of inputs.
        first = next((q.name for q in spec.inputs if q.kind is ParamKind.DYNAMIC), p.name)
        length = length_attr(first if p in spec.outputs else p.name)
    if len(set(p.dtypes)) == 1:
        return Argument(p, p.name.lower(), TYPES[p.dtypes[0]], length)
    for name, column in types.items():
        if column == p.dtypes:
            return Argument(p, p.name.lower(), name, length)
    name = _free("T" if not types else f"T_{p.name}", taken | set(types), "_")
    types[name] = p.dtypes
    return Argument(p, p.name.lower(), name, length)


def _type_text(name: str, column: tuple[str, ...]) -> str:
    allowed = dict.fromkeys(TYPES[d] for d in column)
    # A default makes a call possible that gives none of the tensors (optional ones, empty lists).
    default = "float32" if "float32" in column else column[0]
    return f"{name}: {{{', '.join(allowed)}}} = {enum_name(default)}"


def attr_text(attr: Attr) -> str:
    """Return an attr of the spec as ``.Attr()`` takes it, ``alpha: float = 1.5``."""
    kind = _ATTRS[attr.type]
    if attr.type == "dtype":
        names = attr.allowed or TYPES
        kind = f"{{{', '.join(dict.fromkeys(TYPES[d] for d in names))}}}"
    return f"{attr.name}: {kind}" + (
        "" if attr.required else f" = {_value(attr.type, attr.default)}"
    )


def _value(kind: str, value: Any) -> str:
    if kind == "dtype":
        return enum_name(str(value))
    if kind == "bool":
        return "true" if value else "false"
    if kind == "str":
        return "'" + "".join(_character(c) for c in str(value).encode()) + "'"
    if kind == "float":
        return _number(value)
    if kind in ("list_int", "list_float"):
        one = _number if kind == "list_float" else str
        return "[" + ", ".join(one(v) for v in value) + "]"
    return str(value)


def _number(value: float) -> str:
    number = float(value)
    if math.isnan(number):
        return "nan"
    if math.isinf(number):
        return "inf" if number > 0 else "-inf"
    return repr(number)


def _character(byte: int) -> str:
    """Return a byte in a quoted text of TensorFlow."""
    return chr(byte) if 32 <= byte < 127 and byte not in b"'\\" else f"\\{byte:03o}"

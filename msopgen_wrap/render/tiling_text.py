"""The tiling part of op_host, as a schedule hands it to the frame of ``op_host/<op>.cpp``.

A handwritten kernel that brings no tiling gets one that passes core count, shapes and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.render.infer_shape import workspace_lines
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.names import cpp_local
from msopgen_wrap.templating import cpp_string, environment


@dataclass(frozen=True)
class TilingText:
    """Tiling struct and TilingFunc as C++ text.

    Attributes:
        includes: operands of ``#include`` the functions need (``<algorithm>``,
            ``"tiling/platform/platform_ascendc.h"``); the frame adds the op registry,
            ``opgen_log.h``, ``opgen_shape.h`` and the tiling header itself.
        functions: definitions, put into ``namespace optiling``. They log failed checks with
            ``OPGEN_LOGE(context, format, ...)`` or ``OPGEN_CHECK(context, condition, format, ...)``
            of ``opgen_log.h``; ``opgen::ToString(shape).c_str()`` prints shapes.
        tiling_func_name: the function ``ge::graphStatus NAME(gert::TilingContext* context)``.
        fields: rows of the tiling struct (``field_row``), for kernels of several parts.
        header_text: whole text of the tiling header (``op_host/<op>_tiling.h`` in 8.1 style,
            ``op_kernel/<op>_tiling.h`` in 9.x style); "" when there is none.
    """

    includes: tuple[str, ...]
    functions: str
    tiling_func_name: str
    header_text: str
    fields: tuple[dict[str, Any], ...] = ()


# Standard headers, and the names of namespace std that TilingFuncs take from them.
_STANDARD = {
    "<algorithm>": ("copy", "equal", "max", "min"),
    "<cmath>": (),  # all others
    "<string>": ("string", "to_string"),
    "<vector>": ("vector",),
}
_STD_NAME = re.compile(r"\bstd::(\w+)")


def standard_includes(text: str) -> list[str]:
    """Return the standard headers that the text of a TilingFunc needs.

    What is none of the containers and algorithms that tilings use is a function of ``<cmath>``:
    attrs and sizes make numbers through them.
    """
    by_name = {name: header for header, names in _STANDARD.items() for name in names}
    names: Sequence[str] = _STD_NAME.findall(text)
    return sorted({by_name.get(name, "<cmath>") for name in names})


MAX_RANK = 8
_ATTRS = {
    "int": ("int64_t", "GetInt", "int64_t"),
    "dtype": ("int64_t", "GetInt", "int64_t"),
    "float": ("float", "GetFloat", "float"),
    "bool": ("bool", "GetBool", "int64_t"),
}
_LISTS = {
    "list_int": ("int64_t", "GetListInt"),
    "list_float": ("float", "GetListFloat"),
}
MAX_LIST = 8


def tiling_struct(op: str, part: str = "") -> str:
    """Return the name of the tiling struct of an op, or of a part of it.

    No op's struct can have the name of a part's, nor two parts of different ops one name:
    ``CrossEntropy`` may have a part ``Loss`` beside an op ``CrossEntropyLoss``.
    """
    return f"{op}TilingData" + (f"Of{part}" if part else "")


def default_tiling(spec: OpSpec, style: str) -> TilingText:
    """Return a tiling whose struct ``<Op>TilingData`` has these fields.

    ``coreNum`` (int64), per parameter ``<name>Rank`` (int64, -1 when absent) and
    ``<name>Shape[8]`` (int64), per int, float, bool and dtype attribute its value under its name,
    per list ``<name>Size`` (int64) and ``<name>[8]``, and per string with ``allowed`` values its
    place among them (int64). Other strings are not passed. A spec with ``workspace`` gets as many
    bytes, and all cores at once.
    """
    struct = tiling_struct(spec.op)
    fields: list[dict[str, Any]] = [{"type": "int64_t", "name": "coreNum", "count": 0}]
    for param in _params(spec):
        fields.append({"type": "int64_t", "name": f"{param.name}Rank", "count": 0})
        fields.append({"type": "int64_t", "name": f"{param.name}Shape", "count": MAX_RANK})
    attrs = []
    lists = []
    choices = []
    for index, attr in enumerate(spec.attrs):
        if attr.type in _LISTS:
            kind, getter = _LISTS[attr.type]
            fields.append({"type": "int64_t", "name": f"{attr.name}Size", "count": 0})
            fields.append({"type": kind, "name": attr.name, "count": MAX_LIST})
            lists.append({"name": attr.name, "type": kind, "getter": getter, "index": index})
        if attr.type == "str" and attr.allowed:
            fields.append({"type": "int64_t", "name": attr.name, "count": 0})
            values = [cpp_string(str(value)) for value in attr.allowed]
            choices.append({"name": attr.name, "index": index, "values": values})
        if attr.type not in _ATTRS:
            continue
        kind, getter, field = _ATTRS[attr.type]
        fields.append({"type": field, "name": attr.name, "count": 0})
        cast, end = ("static_cast<int64_t>(", ")") if attr.type == "bool" else ("", "")
        row = {"name": attr.name, "type": kind, "getter": getter, "index": index}
        attrs.append({**row, "cast": cast, "end": end})
    context = {
        "spec": spec,
        "style": style,
        "struct": struct,
        "source": f"specs/{spec.name}.yaml",
        "guard": f"{spec.name.upper()}_TILING_H",
        "fields": fields,
        "tensors": _tensors(spec),
        "attrs": attrs,
        "lists": lists,
        "choices": choices,
        "list_room": MAX_LIST,
        "workspace": workspace_lines(spec, "userBytes"),
    }
    return TilingText(
        includes=(
            *("<algorithm>", *(["<string>"] if choices else [])),
            '"tiling/platform/platform_ascendc.h"',
        ),
        functions=environment("op_host").get_template("default_tiling.cpp.jinja").render(context),
        tiling_func_name="TilingFunc",
        header_text=environment("op_host").get_template("default_tiling.h.jinja").render(context),
    )


def _params(spec: OpSpec) -> list[TensorParam]:
    """Return inputs and outputs; an in-place output with the name of its input comes once."""
    names = {p.name for p in spec.inputs}
    return [*spec.inputs, *(p for p in spec.outputs if p.name not in names)]


def _tensors(spec: OpSpec) -> list[dict[str, str]]:
    getters = {
        ParamKind.REQUIRED: "context->GetRequiredInputShape({})",
        ParamKind.OPTIONAL: "context->GetOptionalInputShape({})",
        ParamKind.DYNAMIC: "context->GetDynamicInputShape({}, 0)",
    }
    rows = [
        {"name": p.name, "getter": getters[p.kind].format(i)} for i, p in enumerate(spec.inputs)
    ]
    # Outputs are counted flat; those behind an output list cannot be found by a constant.
    rows += [
        {"name": p.name, "getter": f"context->GetOutputShape({i})"}
        for i, p in enumerate(spec.outputs)
        if p in _params(spec)
    ]
    return [{**row, "local": cpp_local(row["name"])} for row in rows]

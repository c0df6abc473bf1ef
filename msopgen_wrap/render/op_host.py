"""Render ``op_host/<op>.cpp``: OpDef, InferShape, InferDataType around the tiling text."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import jinja2

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.platforms import platform
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.render.infer_shape import infer_data_type_body, infer_shape_body
from msopgen_wrap.render.tiling_text import TilingText, default_tiling
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind, TensorParam
from msopgen_wrap.templating import cpp_float, cpp_int, cpp_string, environment

__all__ = ["TilingText", "render_op_host", "tiling_header_path"]

_KINDS = {
    ParamKind.REQUIRED: "REQUIRED",
    ParamKind.OPTIONAL: "OPTIONAL",
    ParamKind.DYNAMIC: "DYNAMIC",
}
_SETTERS = {
    "int": "Int",
    "float": "Float",
    "bool": "Bool",
    "str": "String",
    "list_int": "ListInt",
    "list_float": "ListFloat",
    # OpDef has no dtype attribute; the number of the ge::DataType travels instead.
    "dtype": "Int",
}
_TILING_FUNC = re.compile(
    r"(?:ge::)?graphStatus\s+(\w+)\s*\(\s*gert::TilingContext\s*\*\s*(?:const\s+)?\w*\s*\)"
)


def tiling_header_path(spec: OpSpec, style: str) -> str:
    """Return where the tiling struct lies: op_host in 8.1 style, op_kernel in 9.x style."""
    folder = "op_host" if style == "8.1" else "op_kernel"
    return f"{folder}/{spec.name}_tiling.h"


def render_op_host(
    spec: OpSpec, tiling: TilingText | None, style: str = "8.1"
) -> list[GeneratedFile]:
    """Return the op_host sources of one op.

    Args:
        tiling: the tiling struct and TilingFunc; None for a handwritten kernel, whose tiling is
            the spec's ``tiling:`` file, or a default that passes shapes and attributes.
        style: CANN project style, ``8.1`` or ``9.x``.

    Raises:
        OpgenError: OPG501 (unknown SoC), OPG503 (the tiling file has no tiling function).
    """
    includes = ["<cstdint>", "<string>", '"register/op_def_registry.h"']
    includes += ['"opgen_log.h"', '"opgen_shape.h"']
    files = [_static("opgen_log.h"), _static("opgen_shape.h")]
    if tiling is None and spec.tiling is not None:
        function = _own_tiling_function(spec)
        includes.append(f'"{Path(spec.tiling).name}"')
        functions = ""
    else:
        text = tiling if tiling is not None else default_tiling(spec, style)
        function = text.tiling_func_name
        functions = text.functions.strip("\n")
        path = tiling_header_path(spec, style)
        includes += [line for line in text.includes if line not in includes]
        if text.header_text:
            files.append(GeneratedFile(path, text.header_text.rstrip("\n") + "\n"))
            name = Path(path).name
            includes.append(f'"{name}"' if style == "8.1" else f'"../{path}"')
    body = _template("op_host.cpp").render(
        spec=spec,
        source=f"specs/{spec.name}.yaml",
        includes=sorted(includes, key=_include_order),
        functions=functions,
        infer_shape=infer_shape_body(spec),
        infer_data_type=infer_data_type_body(spec),
        params=[_param(p, "Input") for p in spec.inputs]
        + [_param(p, "Output") for p in spec.outputs],
        attrs=[_attr(a) for a in spec.attrs],
        tiling_func=function,
        socs=_families(spec),
    )
    files.append(GeneratedFile(f"op_host/{spec.name}.cpp", body))
    return files


def _include_order(line: str) -> tuple[int, str]:
    return (0 if line.startswith("<") else 1 if "/" in line and ".." not in line else 2, line)


def _families(spec: OpSpec) -> list[str]:
    return list(dict.fromkeys(platform(name).family for name in spec.soc))


def _own_tiling_function(spec: OpSpec) -> str:
    assert spec.tiling is not None
    path = Path(spec.path).parent / spec.tiling
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise OpgenError(
            Diagnostic("OPG051", f"cannot read tiling file: {error}", Location(str(path)))
        ) from error
    names = _TILING_FUNC.findall(text)
    if not names:
        raise OpgenError(
            Diagnostic(
                "OPG503",
                f"{spec.tiling} defines no tiling function",
                Location(str(path), 1, 1),
                why="op_host/<op>.cpp includes the file and registers its last function with the "
                "signature ge::graphStatus NAME(gert::TilingContext* context)",
                fix="define it in namespace optiling; it may be static or inline",
            )
        )
    return str(names[-1])


# ---- parts of the template ---------------------------------------------------------------------


def _param(param: TensorParam, direction: str) -> dict[str, Any]:
    return {
        "direction": direction,
        "name": param.name,
        "kind": _KINDS[param.kind],
        "dtypes": [f"ge::{BY_NAME[d].ge_name}" for d in param.dtypes],
        "formats": ", ".join(["ge::FORMAT_ND"] * len(param.dtypes)),
        # Non-contiguous tensors are made dense by the generated aclnn function.
        "contiguous": direction == "Input",
    }


def _attr(attr: Attr) -> dict[str, str]:
    setter = _SETTERS[attr.type]
    value = "" if attr.required else _literal(attr)
    kind = "REQUIRED" if attr.required else "OPTIONAL"
    return {"name": attr.name, "kind": kind, "setter": f"{setter}({value})"}


def _literal(attr: Attr) -> str:
    value = attr.default
    if attr.type == "dtype":
        return str(BY_NAME[str(value).removeprefix("torch.")].ge)
    if attr.type == "bool":
        return "true" if value else "false"
    if attr.type == "int":
        return cpp_int(value)
    if attr.type == "float":
        return cpp_float(value)
    if attr.type == "str":
        return cpp_string(str(value))
    convert = cpp_int if attr.type == "list_int" else cpp_float
    return "{" + ", ".join(convert(v) for v in value) + "}"


def _static(name: str) -> GeneratedFile:
    return GeneratedFile(f"op_host/{name}", _template(name).render())


def _template(name: str) -> jinja2.Template:
    return environment("op_host").get_template(name + ".jinja")

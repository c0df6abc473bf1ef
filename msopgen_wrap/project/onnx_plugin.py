"""The ONNX parser plugin of an op: how ATC turns a node of an ONNX model into the CANN op."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.project.msopgen_json import cpp_default
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind
from msopgen_wrap.templating import environment

# The documentation names opsets 9-15; built-in plugins of 8.1 register up to 18, torch's exporters
# write 17 to 20 and more. A key that no ATC looks up costs nothing, a missing one is error E19010.
OPSETS = tuple(range(9, 24))
# Versions of a custom domain; exporters write 1.
DOMAIN_VERSIONS = (1,)


def onnx_keys(op_type: str, vendor: str = "opgen") -> list[str]:
    """Return every ``domain::version::Type`` under which ATC may look the node up.

    The exporter puts nodes into the domain ``vendor``; ``npu`` is the domain torch_npu uses and
    ``ai.onnx`` is what ATC assumes for a node without a domain.
    """
    keys = [f"{vendor}::{v}::{op_type}" for v in DOMAIN_VERSIONS]
    if vendor != "npu":
        keys += [f"npu::{v}::{op_type}" for v in DOMAIN_VERSIONS]
    keys += [f"ai.onnx::{v}::{op_type}" for v in OPSETS]
    return keys


@dataclass(frozen=True)
class _PluginAttr:
    """An attr as the template needs it: reader call and C++ type of the parsed value."""

    name: str
    cpp_type: str
    reader: str
    required: bool
    default: str


_READERS = {
    "int": ("int64_t", "ReadInt"),
    "float": ("float", "ReadFloat"),
    "bool": ("bool", "ReadBool"),
    "str": ("ge::AscendString", "ReadString"),
    "list_int": ("std::vector<int64_t>", "ReadInts"),
    "list_float": ("std::vector<float>", "ReadFloats"),
    "dtype": ("ge::DataType", "ReadDataType"),
}


def _plugin_attr(attr: Attr) -> _PluginAttr:
    cpp_type, reader = _READERS[attr.type]
    default = ""
    if not attr.required:
        default = cpp_default(attr)
        if attr.type == "str":
            default = f'ge::AscendString("{default}")'
        elif attr.type == "dtype":
            default = BY_NAME[str(attr.default)].ge_cpp
        elif attr.type == "float":
            default += "f"
        elif attr.type == "list_float":
            default = "{" + ", ".join(f"{v}f" for v in default[1:-1].split(",") if v) + "}"
        elif attr.type == "list_int":
            default = default.replace(",", ", ")
    return _PluginAttr(attr.name, cpp_type, reader, attr.required, default)


def render_onnx_plugin(
    specs: Sequence[OpSpec], vendor: str = "opgen", style: str = "8.1"
) -> list[GeneratedFile]:
    """Return ``framework/onnx_plugin/``: plugins, and the attribute reader if one uses it.

    Args:
        specs: the ops of the project.
        vendor: ONNX domain of exported nodes.
        style: ``8.1`` or ``9.x``; only the CMakeLists.txt differ.
    """
    env = environment()
    plugin = env.get_template("cann/onnx_plugin.cpp.jinja")
    folder = "framework/onnx_plugin"
    files = []
    for spec in specs:
        text = plugin.render(
            spec=spec,
            source=f"specs/{spec.name}.yaml",
            keys=onnx_keys(spec.op, vendor),
            attrs=[_plugin_attr(a) for a in spec.attrs],
            dynamic_inputs=[p.name for p in spec.inputs if p.kind is ParamKind.DYNAMIC],
            plain_inputs=sum(p.kind is not ParamKind.DYNAMIC for p in spec.inputs),
            dynamic_outputs=[p.name for p in spec.outputs if p.kind is ParamKind.DYNAMIC],
        )
        files.append(GeneratedFile(f"{folder}/{spec.name}_plugin.cpp", text))
    if any('#include "onnx_attributes.h"' in file.text for file in files):
        reader = env.get_template("cann/onnx_attributes.h.jinja").render(dtypes=_onnx_dtypes())
        files.append(GeneratedFile(f"{folder}/onnx_attributes.h", reader))
    family = "cann9" if style == "9.x" else "cann81"
    files.append(
        GeneratedFile(
            f"{folder}/CMakeLists.txt",
            env.get_template(f"{family}/framework/onnx_plugin/CMakeLists.txt.jinja").render(),
        )
    )
    return files


def _onnx_dtypes() -> list[tuple[int, str]]:
    """ONNX ``TensorProto.DataType`` numbers of the dtypes a spec can name."""
    rows = sorted((row for row in BY_NAME.values() if row.onnx), key=lambda row: row.onnx)
    return [(row.onnx, row.ge_name) for row in rows]

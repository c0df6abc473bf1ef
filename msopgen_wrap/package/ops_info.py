"""The JSON files and the op proto header that CANN reads from an installed package.

Layouts follow what opbuild and CANN's packing scripts write for 8.1; the files of a CPU-target
package have the same content as those of an NPU package, except that the binaries they name are
emulated kernels.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from typing import Any

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.project.msopgen_json import cpp_default
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind, TensorParam

_FORMAT_ND = 2
# coreType of a binary: CANN's 0 MIX, 1 AiCore, 2 VectorCore.
_CORE_VECTOR = 2

_ATTR_TYPES = {
    "int": "int",
    "float": "float",
    "bool": "bool",
    "str": "str",
    "list_int": "listInt",
    "list_float": "listFloat",
    "dtype": "int",  # CANN hands a dtype attr to a kernel as its number
}


def ops_info(specs: Sequence[OpSpec]) -> str:
    """Return ``aic-<soc>-ops-info.json``: what the graph engine knows of each op."""
    return _dump({spec.op: _op_info(spec) for spec in specs})


def _op_info(spec: OpSpec) -> dict[str, Any]:
    info: dict[str, Any] = {
        "dynamicCompileStatic": {"flag": "true"},
        "dynamicFormat": {"flag": "true"},
        "dynamicRankSupport": {"flag": "true"},
        "dynamicShapeSupport": {"flag": "true"},
        "needCheckSupport": {"flag": "false"},
        "opFile": {"value": spec.name},
        "opInterface": {"value": spec.name},
        "precision_reduce": {"flag": "true"},
        "aclnnSupport": {"value": "support_aclnn"},
    }
    for prefix, params in (("input", spec.inputs), ("output", spec.outputs)):
        for index, param in enumerate(params):
            formats = ",".join(["ND"] * len(param.dtypes))
            info[f"{prefix}{index}"] = {
                "name": param.name,
                "paramType": param.kind.value,
                "dtype": ",".join(param.dtypes),
                "format": formats,
                "unknownshape_format": formats,
                "shape": "all",
            }
    if spec.attrs:
        info["attr"] = {"list": ",".join(a.name for a in spec.attrs)}
        for attr in spec.attrs:
            entry = {
                "type": _ATTR_TYPES[attr.type],
                "value": "all",
                "paramType": "required" if attr.required else "optional",
            }
            if not attr.required:
                entry["defaultValue"] = _attr_text(attr)
            info[f"attr_{attr.name}"] = entry
    return info


def _attr_text(attr: Attr) -> str:
    value = attr.default
    if attr.type == "bool":
        return "true" if value else "false"
    if attr.type == "dtype":
        return str(BY_NAME[str(value)].ge)
    if attr.type in ("list_int", "list_float"):
        return "[" + ",".join(str(v) for v in value) + "]"
    return str(value)


def supported_ops(specs: Sequence[OpSpec]) -> str:
    """Return ``npu_supported_ops.json``."""
    return _dump({spec.op: {"isGray": False, "isHeavy": False} for spec in specs})


def binary_name(spec: OpSpec, combo: int) -> str:
    """Return ``<Op>_<hash of dtypes>``, the stem of a kernel binary; stable over builds."""
    text = ",".join(p.dtypes[combo] for p in (*spec.inputs, *spec.outputs))
    return f"{spec.op}_{hashlib.sha256(text.encode()).hexdigest()[:16]}"


def simplified_keys(spec: OpSpec, combo: int) -> list[str]:
    """Return the keys CANN looks a binary up by: op, determinism, precision, dtype and format."""
    params = "/".join(
        f"{BY_NAME[p.dtypes[combo]].ge},{_FORMAT_ND}" for p in (*spec.inputs, *spec.outputs)
    )
    return [f"{spec.op}/d={d},p={p}/{params}" for d in (0, 1) for p in (1, 0)]


def binary_info_config(specs: Sequence[OpSpec], unit: str, suffix: str) -> str:
    """Return ``binary_info_config.json``: which binary serves which dtype combination.

    Args:
        specs: the ops of the package.
        unit: compute unit; binaries lie in ``kernel/<unit>/<op>/``.
        suffix: ``.o`` (device binary) or ``.so`` (emulated kernel).
    """
    config = {}
    for spec in specs:
        params: dict[str, Any] = {
            "inputs": [_param(i, p) for i, p in enumerate(spec.inputs)],
            "outputs": [_param(i, p) for i, p in enumerate(spec.outputs)],
        }
        if spec.attrs:
            params["attrs"] = [{"name": a.name} for a in spec.attrs]
        binaries = []
        for combo in range(spec.combos):
            stem = f"{unit}/{spec.name}/{binary_name(spec, combo)}"
            binaries.append(
                {
                    "coreType": _CORE_VECTOR,
                    "simplifiedKey": simplified_keys(spec, combo),
                    "binPath": stem + suffix,
                    "jsonPath": stem + ".json",
                }
            )
        config[spec.op] = {
            "dynamicRankSupport": True,
            "simplifiedKeyMode": 0,
            "optionalInputMode": "gen_placeholder",
            "optionalOutputMode": "gen_placeholder",
            "params": params,
            "binaryList": binaries,
        }
    return _dump(config)


def _param(index: int, param: TensorParam) -> Any:
    entry = {"name": param.name, "index": index, "paramType": param.kind.value}
    # CANN writes a dynamic parameter as a list of one.
    return [entry] if param.kind is ParamKind.DYNAMIC else entry


def kernel_json(spec: OpSpec, combo: int, suffix: str, sha256: str) -> str:
    """Return the ``.json`` beside a kernel binary.

    Args:
        spec, combo: the op and its dtype combination.
        suffix: the binary's suffix.
        sha256: of the binary, hexadecimal.
    """
    name = binary_name(spec, combo)

    def tensor(index: int, param: TensorParam) -> Any:
        entry = {
            "name": param.name,
            "index": index,
            "dtype": param.dtypes[combo],
            "format": "ND",
            "paramType": param.kind.value,
            "shape": [-2],
        }
        return [entry] if param.kind is ParamKind.DYNAMIC else entry

    info = {
        "binFileName": name,
        "binFileSuffix": suffix,
        "kernelName": spec.name,
        "coreType": "VectorCore",
        "sha256": sha256,
        "supportInfo": {
            "opMode": "dynamic",
            "optionalInputMode": "gen_placeholder",
            "optionalOutputMode": "gen_placeholder",
            "deterministic": "ignore",
            "simplifiedKeyMode": 0,
            "simplifiedKey": simplified_keys(spec, combo),
            "inputs": [tensor(i, p) for i, p in enumerate(spec.inputs)],
            "outputs": [tensor(i, p) for i, p in enumerate(spec.outputs)],
            "attrs": [{"name": a.name, "dtype": _ATTR_TYPES[a.type]} for a in spec.attrs],
        },
    }
    return _dump(info)


def op_proto_header(specs: Sequence[OpSpec]) -> str:
    """Return ``op_proto.h``, the graph-mode prototype of every op (for an NPU opbuild does)."""
    lines = [
        "// generated by opgen; edit the op specs instead",
        "// SPDX-License-Identifier: Apache-2.0",
        "#ifndef OP_PROTO_H_",
        "#define OP_PROTO_H_",
        "",
        '#include "graph/operator_reg.h"',
        '#include "register/op_impl_registry.h"',
        "",
        "namespace ge {",
    ]
    macros = {
        ParamKind.REQUIRED: ("INPUT", "OUTPUT"),
        ParamKind.OPTIONAL: ("OPTIONAL_INPUT", "OUTPUT"),
        ParamKind.DYNAMIC: ("DYNAMIC_INPUT", "DYNAMIC_OUTPUT"),
    }
    for spec in specs:
        lines += ["", f"REG_OP({spec.op})"]
        for position, params in enumerate((spec.inputs, spec.outputs)):
            for param in params:
                dtypes = ", ".join(BY_NAME[d].ge_name for d in dict.fromkeys(param.dtypes))
                macro = macros[param.kind][position]
                lines.append(f"    .{macro}({param.name}, TensorType({{{dtypes}}}))")
        for attr in spec.attrs:
            lines.append(_proto_attr(attr))
        lines.append(f"    .OP_END_FACTORY_REG({spec.op})")
    lines += ["", "}  // namespace ge", "", "#endif  // OP_PROTO_H_"]
    return "\n".join(lines) + "\n"


_PROTO_TYPES = {
    "int": "Int",
    "float": "Float",
    "bool": "Bool",
    "str": "String",
    "list_int": "ListInt",
    "list_float": "ListFloat",
    "dtype": "Int",
}


def _proto_attr(attr: Attr) -> str:
    kind = _PROTO_TYPES[attr.type]
    if attr.required:
        return f"    .REQUIRED_ATTR({attr.name}, {kind})"
    default = cpp_default(attr)
    if attr.type == "str":
        default = f'"{default}"'
    return f"    .ATTR({attr.name}, {kind}, {default})"


def _dump(value: Any) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False) + "\n"

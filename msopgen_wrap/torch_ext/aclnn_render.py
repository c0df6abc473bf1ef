"""Render ``op_api/``: the aclnn functions of the CPU target (opbuild writes them for an NPU)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

from msopgen_wrap.dtypes import BY_NAME
from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.templating import cpp_comment, render_template
from msopgen_wrap.torch_ext.signature import (
    aclnn_attrs,
    aclnn_inputs,
    aclnn_name,
    aclnn_outputs,
    aclnn_params,
)

_ATTR_CALLS = {
    "int": "AttrInt",
    "float": "AttrFloat",
    "bool": "AttrBool",
    "str": "AttrStr",
    "list_int": "AttrListInt",
    "list_float": "AttrListFloat",
    "dtype": "AttrDtype",
}


@dataclass(frozen=True)
class _Step:
    """One line ``.Input("x", x)`` of the generated call."""

    method: str
    name: str
    argument: str


def _steps(spec: OpSpec) -> list[_Step]:
    by_name = {p.spec_name: p.name for p in aclnn_inputs(spec)}
    steps = [
        _Step("OptionalInput" if p.kind is ParamKind.OPTIONAL else "Input", p.name, by_name[p.name])
        for p in spec.inputs
    ]
    outputs = {p.spec_name: p.name for p in aclnn_outputs(spec)}
    for attr, param in zip(spec.attrs, aclnn_attrs(spec), strict=True):
        steps.append(_Step(_ATTR_CALLS[attr.type], attr.name, param.name))
    for o in spec.outputs:
        argument = by_name[o.inplace] if o.inplace is not None else outputs[o.name]
        steps.append(_Step("Output", o.name, argument))
    return steps


def dtype_rows(spec: OpSpec) -> list[tuple[tuple[int, ...], tuple[str, ...]]]:
    """Return the op's dtype combinations as (aclDataType numbers, torch names)."""
    params = (*spec.inputs, *spec.outputs)
    rows = []
    for i in range(spec.combos):
        names = tuple(p.dtypes[i] for p in params)
        rows.append((tuple(BY_NAME[n].ge for n in names), names))
    return rows


def render_aclnn(specs: Sequence[OpSpec], options: object = None) -> list[GeneratedFile]:
    """Return ``op_api/aclnn_<op>.h`` and ``.cpp`` for every spec.

    The sources compile against the emulation's ``aclnn/opgen_call.h`` and are linked with
    ``runtime/nnopbase`` into ``libcust_opapi.so`` (:mod:`msopgen_wrap.build.operators`). The
    headers have the parameters that opbuild gives the op on a machine with CANN.

    Args:
        specs: the ops of the project.
        options: unused; here so that every area's renderer is called the same way.
    """
    files = []
    for spec in specs:
        values = {
            "spec": spec,
            "doc": cpp_comment(" ".join(spec.doc.split())),
            "source": f"specs/{spec.name}.yaml",
            "api": aclnn_name(spec),
            "params": aclnn_params(spec),
            "steps": _steps(spec),
            "rows": dtype_rows(spec),
            "guard": re.sub(r"[^A-Z0-9]", "_", f"ACLNN_{spec.name}_H".upper()),
        }
        for suffix in ("h", "cpp"):
            text = render_template(f"op_api/aclnn_op.{suffix}", **values)
            files.append(GeneratedFile(f"op_api/aclnn_{spec.name}.{suffix}", text))
    return files

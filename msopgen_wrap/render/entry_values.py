"""Values that the templates of kernels take in every family: the entry and its tensors."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from msopgen_wrap.render.kernel import (
    absent_types,
    doc_lines,
    kernel_args,
    member_name,
    type_name,
)
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.spec.names import cpp_local


def entry_values(spec: OpSpec, style: str, branches: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the values of the file's head and of the kernel's entry.

    Args:
        spec: the op.
        style: ``8.1`` or ``9.x`` project layout.
        branches: of the entry, as :func:`msopgen_wrap.render.kernel.entry_branches` makes them.
    """
    return {
        "spec": spec,
        "style": style,
        "source": f"specs/{spec.name}.yaml",
        "doc": doc_lines(spec),
        "entry": kernel_args(spec),
        "dispatch": branches,
        "absent_types": absent_types(spec, " ".join(b["type"] for b in branches)),
    }


def tensor_members(
    spec: OpSpec, used: Collection[str], outputs: Sequence[TensorParam]
) -> list[dict[str, str]]:
    """Return the tensors in global memory of a kernel class: inputs in the spec's order, outputs.

    Args:
        spec: the op.
        used: names of the inputs that the class reads.
        outputs: those that it writes.
    """
    rows = [(p, False) for p in spec.inputs if p.name in used]
    return [
        {
            "name": member_name(p, is_output, spec),
            "type": type_name(p, is_output, spec),
            "argument": cpp_local(member_name(p, is_output, spec)),
        }
        for p, is_output in rows + [(p, True) for p in outputs]
    ]

"""Instantiate a template kernel (ASCENDC_TPL_*) for one tiling key, as CANN's compiler does."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msopgen_wrap.build import cache
from msopgen_wrap.build.source_text import blank_comments
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.run.dtypes import BY_GE
from msopgen_wrap.run.op_project import KernelSource, loose_name

_DECLARATION = re.compile(r"\bASCENDC_TPL_ARGS_DECL\s*\(\s*(\w+)")

# ASCENDC_TPL_* kernel types of a combination and the macro that declares them in a kernel.
_KERNEL_TYPES = {
    0: "KERNEL_TYPE_AIV_ONLY",
    1: "KERNEL_TYPE_AIC_ONLY",
    4: "KERNEL_TYPE_MIX_AIV_1_0",
    5: "KERNEL_TYPE_MIX_AIC_1_0",
    6: "KERNEL_TYPE_MIX_AIC_1_1",
    7: "KERNEL_TYPE_MIX_AIC_1_2",
}


def declared_name(kernel_dir: Path, op_type: str) -> str:
    """Return the name under which the headers beside a kernel declare its template parameters.

    It should be the op type; CANN does not ask for that, because a kernel sees one declaration.
    """
    names: list[str] = []
    for path in sorted(kernel_dir.rglob("*.h")):
        text = path.read_text(encoding="utf-8", errors="replace")
        names += _DECLARATION.findall(blank_comments(text))
    same = [n for n in names if loose_name(n) == loose_name(op_type)]
    found = list(dict.fromkeys(same or names))
    return op_type if op_type in found or len(found) != 1 else found[0]


def template_instance(
    source: KernelSource, entry: str, template: Mapping[str, Any], num_args: int
) -> Path:
    """Write a source whose plain entry calls the kernel with the template arguments of a key.

    Args:
        source: the kernel.
        entry: symbol of the new entry.
        template: ``OpRuntime.template()``.
        num_args: kernel parameters, workspace and tiling included.

    Raises:
        OpgenError: OPG519, an argument is a dtype kernels have no type for.
    """
    arguments = ", ".join(_argument(source, arg) for arg in template["args"])
    names = [f"arg{i}" for i in range(num_args)]
    kind = _KERNEL_TYPES.get(template["kernel_type"])
    lines = [
        f'#include "{source.path.absolute()}"',
        f'extern "C" __global__ __aicore__ void {entry}('
        + ", ".join(f"GM_ADDR {name}" for name in names)
        + ")",
        "{",
        # As for the key: KERNEL_TASK_TYPE_DEFAULT in the kernel has no effect on the device either.
        *([f"    KERNEL_TASK_TYPE(TILING_KEY_VAR, {kind});"] if kind else []),
        f"    {source.entry}<{arguments}>({', '.join(names)});",
        "}",
    ]
    text = "\n".join(lines) + "\n"

    def build(folder: Path) -> list[Path]:
        (folder / f"{entry}.cpp").write_text(text, encoding="utf-8")
        return []

    folder, _ = cache.cached("template", cache.text_hash(text), source.path.name, build)
    return folder / f"{entry}.cpp"


def _argument(source: KernelSource, argument: Mapping[str, Any]) -> str:
    value = int(argument["value"])
    if argument["kind"] != "datatype":
        return str(value)
    if value not in BY_GE:
        raise OpgenError(
            Diagnostic(
                "OPG519",
                f"template parameter {argument['name']} is ge::DataType {value}, which kernels of "
                "this emulation have no type for",
                Location(str(source.path)),
            )
        )
    return BY_GE[value].kernel

"""A vendor folder for this machine only, so that torch can call ops before they are packaged."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

from msopgen_wrap.spec.model import OpSpec

KERNEL_LIST = "opgen_kernels.txt"


def build_local_vendor(
    project: Path,
    specs: Sequence[OpSpec],
    out: Path,
    *,
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Compile a project for this CPU and return a folder ``ASCEND_CUSTOM_OPP_PATH`` can name.

    Only ``op_api/lib/`` is filled: the library, and beside it the list of the host library and the
    kernels, which stay in the build cache. ``opgen build`` makes the folder that can be moved.

    Args:
        project: root of the generated project.
        specs: its ops.
        out: the vendor folder; its name should be the vendor's.
        progress: called with a short text per step.

    Raises:
        OpgenError: a source does not compile, there is no compiler, or (OPG653) the kit's sources
            changed meanwhile.
    """
    from msopgen_wrap.build.operators import build_opapi, build_operators
    from msopgen_wrap.package.layout import check_one_runtime

    built = build_operators(specs, project, progress=progress)
    progress("aclnn library")
    library = build_opapi(project, specs)
    kernels = [path for by_key in built.kernels.values() for path in by_key.values()]
    check_one_runtime([built.host, library, *kernels])
    folder = out / "op_api" / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    # A new file, not an overwritten one: a process may have the old one loaded.
    partial = folder / ".libcust_opapi.so"
    shutil.copyfile(library, partial)
    partial.replace(folder / "libcust_opapi.so")
    lines = [f"host {built.host}"]
    for spec in specs:
        for key, kernel in built.kernels[spec.op].items():
            lines.append(f"{spec.op} * {key} {kernel} {spec.name}")
    (folder / KERNEL_LIST).write_text("\n".join(lines) + "\n", encoding="utf-8")
    return out

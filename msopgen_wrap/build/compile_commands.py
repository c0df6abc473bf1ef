"""How the sources of a project are compiled here, for editors: ``compile_commands.json``.

The format is clang's compilation database. Paths are those of this machine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..spec.model import OpSpec
from . import emulation
from .emulation_library import include_dirs
from .operators import KernelVariant, kernel_defines, nnopbase_dir, tiling_headers
from .toolchain import find_toolchain

NAME = "compile_commands.json"


def source_commands(
    spec: OpSpec, project: Path, variants: Sequence[KernelVariant]
) -> list[tuple[Path, list[str]]]:
    """Return the kernel, host and aclnn sources of an op, each with its own compiler flags.

    Args:
        project: root of the tree; the paths are below it.
        variants: the kernel is there once for each.
    """
    own = [f"-I{project / folder}" for folder in ("op_host", "op_kernel", "op_api")]
    own += [f"-isystem{folder}" for folder in (*include_dirs(), nnopbase_dir())]
    device = [*own, *emulation.kernel_defines(), *emulation.PRELUDE]
    kernel = project / "op_kernel" / f"{spec.name}.cpp"
    host = project / "op_host" / f"{spec.name}.cpp"
    aclnn = project / "op_api" / f"aclnn_{spec.name}.cpp"
    kernels = [
        (kernel, [*device, *(f"-D{d}" for d in kernel_defines(spec, v.combo, v.absent))])
        for v in variants
    ]
    return [*kernels, (host, own), (aclnn, own)]


def write_compile_commands(specs: Sequence[OpSpec], project: Path) -> Path:
    """Write the commands of every C++ source of a project's ops; return the file.

    A kernel has the macros of its first dtype combination. In style 8.1 op_host is compiled for
    it, because a kernel's tiling struct comes from there.

    Args:
        specs: the ops.
        project: root of the tree.

    Raises:
        OpgenError: op_host does not compile, or there is no compiler.
    """
    root = project.absolute()
    headers = tiling_headers(specs, project)
    base = [find_toolchain().cxx, "-std=c++17", "-fsyntax-only"]
    rows = []
    for spec in specs:
        header = headers.get(spec.op)
        struct = ["-include", str(header)] if header else []
        (kernel, *others) = source_commands(spec, root, [KernelVariant(0)])
        for source, flags in ((kernel[0], [*kernel[1], *struct]), *others):
            file = str(source)
            arguments = [*base, *flags, file]
            rows.append({"directory": str(root), "file": file, "arguments": arguments})
    path = project / NAME
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return path

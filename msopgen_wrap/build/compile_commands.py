"""How the sources of a project are compiled here, for editors: ``compile_commands.json``.

The format is clang's compilation database. Paths are those of this machine.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from ..spec.model import OpSpec
from . import emulation
from .aclnn_library import nnopbase_dir
from .emulation_library import include_dirs
from .operators import kernel_defines, tiling_headers
from .toolchain import find_toolchain

NAME = "compile_commands.json"


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
    base += [f"-I{root / folder}" for folder in ("op_host", "op_kernel", "op_api")]
    base += [f"-isystem{folder}" for folder in (*include_dirs(), nnopbase_dir())]
    rows = []
    for spec in specs:
        header = headers.get(spec.op)
        kernel = [*emulation.kernel_defines(), *emulation.PRELUDE]
        kernel += [f"-D{define}" for define in kernel_defines(spec, 0)]
        kernel += ["-include", str(header)] if header else []
        sources = {
            f"op_kernel/{spec.name}.cpp": kernel,
            f"op_host/{spec.name}.cpp": [],
            f"op_api/aclnn_{spec.name}.cpp": [],
        }
        for name, flags in sources.items():
            file = str(root / name)
            rows.append({"directory": str(root), "file": file, "arguments": [*base, *flags, file]})
    path = project / NAME
    path.write_text(json.dumps(rows, indent=1) + "\n", encoding="utf-8")
    return path

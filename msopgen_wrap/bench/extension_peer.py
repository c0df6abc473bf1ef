"""The C++ extension of an op, compiled and loaded into this process, to be timed beside the op."""

from __future__ import annotations

import sysconfig
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from msopgen_wrap.build import cache
from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_cpp.extension import render_extension
from msopgen_wrap.torch_import import torch

# The options of the generated setup.py.
_FLAGS = ("-std=c++20", "-O3", "-fopenmp", "-fPIC", "-shared")


def extension_op(spec: OpSpec) -> Callable[..., Any]:
    """Return the op of ``opgen new --backend torch-cpp``, which takes what the torch op takes.

    Its loops are compiled with the options of the extension's own setup.py, once per cache. The
    gradient is left out.

    Raises:
        OpgenError: OPG570 to OPG572, the formula has no loops; OPG303, they do not compile.
    """
    forward = replace(spec, backward="none")
    names = ("csrc/library.cpp", f"csrc/{spec.name}.cpp")
    draft = {f.path: f.text for f in render_extension([forward], "timed")}
    tool = find_toolchain()
    sources = [text for path, text in sorted(draft.items()) if path.startswith("csrc/")]
    key = cache.text_hash(*sources, *_FLAGS, tool.identity, torch.__version__)
    # torch has one namespace per library, and a process may time several ops.
    package = f"timed_{key[:12]}"

    def build(folder: Path) -> list[Path]:
        for file in render_extension([forward], package):
            if file.path.startswith("csrc/"):
                path = folder / file.path
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(file.text, encoding="utf-8")
        unit = folder / "unit.cpp"
        unit.write_text("".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
        command = [tool.cxx, *_FLAGS, *_includes(), str(unit), "-o", str(folder / "peer.so")]
        run_compiler([*command, *_libraries()], unit)
        return []

    folder = cache.cached("timed", key, f"C++ extension of {spec.op}", build)[0]
    torch.ops.load_library(str(folder / "peer.so"))
    return getattr(getattr(torch.ops, package), spec.name).default  # type: ignore[no-any-return]


def _torch_folder() -> Path:
    return Path(torch.__file__).parent


def _includes() -> list[str]:
    root = _torch_folder() / "include"
    folders = (root, root / "torch/csrc/api/include", Path(sysconfig.get_paths()["include"]))
    return [part for folder in folders for part in ("-isystem", str(folder))]


def _libraries() -> list[str]:
    folder = _torch_folder() / "lib"
    return [f"-L{folder}", f"-Wl,-rpath,{folder}", "-ltorch_cpu", "-lc10", "-ltorch"]

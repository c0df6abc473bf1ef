"""Check that everything generated for some specs compiles, without making code of it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msopgen_wrap.build.emulation import PRELUDE
from msopgen_wrap.build.emulation import kernel_defines as arch_defines
from msopgen_wrap.build.emulation_library import include_dirs
from msopgen_wrap.build.operators import kernel_defines, nnopbase_dir
from msopgen_wrap.build.toolchain import find_toolchain
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.spec.model import OpSpec


def write(specs: Sequence[OpSpec], vendor: str, folder: Path, style: str = "9.x") -> None:
    for file in render_project(specs, ProjectOptions(vendor=vendor, style=style)):
        path = folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")


def problems(specs: Sequence[OpSpec], vendor: str, folder: Path, style: str = "9.x") -> list[str]:
    """Render the project and return every source that is not valid, with its first error.

    In style 8.1 kernels are left out: what they include comes from running op_host.
    """
    write(specs, vendor, folder, style)
    found = _python(folder) + _json(folder) + _schemas(specs)
    with ThreadPoolExecutor(max_workers=2) as pool:
        found += [p for p in pool.map(_cpp, _commands(specs, vendor, folder, style)) if p]
    return found


def _python(folder: Path) -> list[str]:
    found = []
    for path in sorted(folder.rglob("*.py")):
        try:
            compile(path.read_text(encoding="utf-8"), str(path), "exec")
        except SyntaxError as error:
            found.append(f"{path.name}: {error}")
    return found


def _json(folder: Path) -> list[str]:
    for path in sorted(folder.rglob("*.json")):
        json.loads(path.read_text(encoding="utf-8"))
    return []


def _schemas(specs: Sequence[OpSpec]) -> list[str]:
    import torch

    from msopgen_wrap.torch_ext.signature import torch_schema

    found = []
    for spec in specs:
        try:
            schema = torch._C.parse_schema(torch_schema(spec))
        except RuntimeError as error:
            found.append(f"schema of {spec.op}: {str(error)[:200]}")
            continue
        names = [a.name for a in schema.arguments]
        assert names == [p.name for p in (*spec.inputs, *spec.attrs)], names
        for attr in spec.attrs:
            if attr.type == "str" and not attr.required:
                argument = schema.arguments[names.index(attr.name)]
                assert argument.default_value in (None, attr.default), argument
    return found


def _commands(specs: Sequence[OpSpec], vendor: str, folder: Path, style: str) -> list[list[str]]:
    import torch
    from torch.utils.cpp_extension import include_paths

    assert torch
    base = [find_toolchain().cxx, "-std=gnu++17", "-fsyntax-only", "-Wno-unused"]
    emulation = [f"-I{folder}" for folder in include_dirs()]
    commands = []
    for spec in specs:
        host = folder / "op_host" / f"{spec.name}.cpp"
        commands.append([*base, *emulation, f"-I{folder / 'op_host'}", str(host)])
        kernel = folder / "op_kernel" / f"{spec.name}.cpp"
        defines = [f"-D{d}" for d in kernel_defines(spec, 0)]
        options = [*PRELUDE, *arch_defines(2201), *defines, f"-I{folder / 'op_kernel'}"]
        if style != "8.1":
            commands.append([*base, *options, *emulation, str(kernel)])
        aclnn = folder / "op_api" / f"aclnn_{spec.name}.cpp"
        places = [f"-I{nnopbase_dir()}", f"-I{folder / 'op_api'}"]
        commands.append([*base, *emulation, *places, str(aclnn)])
    binding = folder / "torch_ext" / vendor / "csrc" / "binding.cpp"
    if binding.is_file():
        commands.append([*base, *(f"-I{p}" for p in include_paths()), str(binding)])
    return commands


def _cpp(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return ""
    lines = [line for line in done.stderr.splitlines() if "error" in line]
    return "\n".join(lines[:3]) or done.stderr[:400]

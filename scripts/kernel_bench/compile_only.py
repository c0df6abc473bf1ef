"""Foreign kernels that come without data: how far they compile, as a row of a conformance table."""

from __future__ import annotations

import time
from pathlib import Path

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.example_project import ExampleResult
from msopgen_wrap.foreign.extensions import python_headers
from msopgen_wrap.foreign.program_runner import ProgramOptions, compile_program
from msopgen_wrap.foreign.project_runner import ProjectRunner

# What is linked to a kernel file that has no main of its own.
_MAIN = "int main() { return 0; }\n"

# The op is not configured for the SoC.
_OTHER_SOC = "OPG513"


def is_op_project(folder: Path) -> bool:
    """Whether a folder has the two parts of an op project."""
    return (folder / "op_host").is_dir() and (folder / "op_kernel").is_dir()


def compile_op_project(folder: Path, *, soc: str | None = None) -> ExampleResult:
    """Compile op_host and the kernels of every dtype combination of every op.

    Kernels that are templates over a tiling key need a call to know the key; they are left out and
    counted in ``detail``, as are ops that are not configured for the SoC. A project all of whose
    ops are for other SoCs does not compile.
    """
    result = ExampleResult(folder.name, detail="compiled only: no data is listed")
    started = time.perf_counter()
    try:
        runner = ProjectRunner(folder, soc=soc)
        missing, others = 0, list[OpgenError]()
        for op in runner.ops:
            try:
                missing += runner.kernels.compile_all(runner.declaration(op))
            except OpgenError as error:
                if error.diagnostics[0].code != _OTHER_SOC:
                    raise
                others.append(error)
        if others and len(others) == len(runner.ops):
            raise others[0]
        result.compiles = True
        if missing:
            result.detail += f"; {missing} kernels by tiling key not compiled"
        if others:
            result.detail += f"; {len(others)} of {len(runner.ops)} ops are for other SoCs"
    except OpgenError as error:
        result.compiles = False
        result.detail = _first(error)
    result.compile_seconds = time.perf_counter() - started
    return result


def compile_source(source: Path, scratch: Path, *, soc: str = "ascend910b3") -> ExampleResult:
    """Compile a program, or a file of kernels and their launches, and link it."""
    result = ExampleResult(source.stem, detail="compiled only: it is no whole program")
    started = time.perf_counter()
    stub = scratch / "main.cpp"
    stub.write_text(_MAIN, encoding="utf-8")
    text = source.read_text(encoding="utf-8", errors="replace")
    whole = " main(" in text or python_headers([text])
    sources = () if whole else (stub,)
    try:
        compile_program(source, ProgramOptions(soc=soc, sources=sources))
        result.compiles = True
    except OpgenError as error:
        result.compiles = False
        result.detail = _first(error)
    result.compile_seconds = time.perf_counter() - started
    return result


def _first(error: OpgenError) -> str:
    first = error.diagnostics[0]
    place = f"{Path(first.location.file).name}:{first.location.line}: " if first.location else ""
    return f"{place}{first.code}: {first.what}"

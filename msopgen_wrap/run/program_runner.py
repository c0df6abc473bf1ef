"""Compile and run a self-contained AscendC program (``.asc`` or ``.cpp``) on the CPU."""

from __future__ import annotations

import json
import os
import re
import subprocess
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msopgen_wrap.build import cache
from msopgen_wrap.build.emulation import emulation_library, include_dirs, kernel_defines
from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.run.launch_source import kernel_kinds, rewrite

_QUOTED_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)


@dataclass(frozen=True)
class ProgramOptions:
    """How a program is compiled and run.

    Attributes:
        soc: exact or family name of the SoC.
        mode: ``fast`` or ``check``.
        defines: ``NAME`` or ``NAME=VALUE`` macros.
        include_dirs: further include folders.
        opt: optimisation flag of the program (the emulation library has its own).
        timeout: seconds after which the program is stopped, None for never.
    """

    soc: str = "ascend910b3"
    mode: str = "check"
    defines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    opt: str = "-O1"
    timeout: float | None = None


@dataclass
class ProgramResult:
    """What a program did.

    Attributes:
        exit_code: of the program itself; negative for a signal, 124 after a timeout.
        launches, failures: kernels launched, and those that trapped or deadlocked.
        findings: the sanitizer's findings as dicts.
        reported: whether the program lived to write its report.
    """

    exit_code: int
    launches: int = 0
    failures: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    reported: bool = False
    output: str = ""

    @property
    def clean(self) -> bool:
        """Whether the program ended well, with every kernel run and no error found."""
        return self.exit_code == 0 and self.reported and not self.failures and not self.errors

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The findings that are more than a warning."""
        return [f for f in self.findings if f.get("severity") != "warning"]


def compile_program(source: Path, options: ProgramOptions) -> Path:
    """Compile ``source`` to an executable in the cache.

    Raises:
        OpgenError: OPG905 (broken launch), OPG906 (no such file), OPG307 (does not compile).
    """
    source = source.resolve()
    if not source.is_file():
        raise OpgenError(
            Diagnostic(
                "OPG906", f"{source} is not a file", fix="name a .asc or .cpp program to run"
            )
        )
    library = emulation_library()
    tool = find_toolchain()
    runtime = runtime_libraries()
    sources = _local_sources(source, options.include_dirs)
    kinds = kernel_kinds(list(sources.values()))
    rewritten = {path: rewrite(text, kinds, path) for path, text in sources.items()}
    flags = ["-std=c++17", options.opt, "-w", "-fpermissive", "-pthread", *kernel_defines()]
    flags += [f"-D{d}" for d in options.defines]
    flags += ["-DOPGEN_PROGRAM", "-include", "ascendc_emu/program.h"]
    text = "\0".join(f"{p}\0{t}" for p, t in rewritten.items())
    headers = cache.text_hash(*(cache.file_hash(p) for p in _header_files()))
    extra = [str(d) for d in options.include_dirs]
    key = cache.text_hash(
        tool.identity, *flags, *extra, text, headers, str(library.path), *map(str, runtime)
    )

    def build(folder: Path) -> list[Path]:
        with tempfile.TemporaryDirectory(prefix="opgen-program-") as scratch:
            main = _write_overlay(Path(scratch), source, rewritten)
            overlay = [f"-I{d}" for d in _overlay_dirs(Path(scratch), rewritten)]
            searched = [*dict.fromkeys(p.parent for p in sources), *options.include_dirs]
            command = [tool.cxx, *flags, *overlay, *(f"-I{d}" for d in searched)]
            command += [f"-I{d}" for d in include_dirs()]
            command += ["-x", "c++", str(main), "-x", "none", "-o", str(folder / "program")]
            for path in (library.path, *runtime):
                command += [str(path), f"-Wl,-rpath,{path.parent}"]
            command += ["-ldl"]
            run_compiler(command, source, code="OPG307", what=f"{source.name} does not compile")
        return []

    folder, _ = cache.cached("program", key, source.name, build)
    return folder / "program"


def runtime_libraries() -> tuple[Path, ...]:
    """Return the emulated CANN runtime (``libascendcl.so``) that programs link against."""
    from msopgen_wrap.npu.runtime_build import build_runtime

    return build_runtime().libraries[:1]


def run_program(
    source: Path, arguments: Sequence[str], options: ProgramOptions, *, cwd: Path | None = None
) -> ProgramResult:
    """Compile and run a program; its output goes to ours unless ``cwd`` runs capture it.

    Args:
        source: the program.
        arguments: passed to its ``main``.
        cwd: folder to run in (default: the current one); when given, output is captured.

    Raises:
        OpgenError: it does not compile.
    """
    program = compile_program(source, options)
    with tempfile.TemporaryDirectory(prefix="opgen-run-") as scratch:
        report = Path(scratch) / "report.json"
        environment = {
            **os.environ,
            "OPGEN_SOC": options.soc,
            "OPGEN_EMULATION": options.mode,
            "OPGEN_PROGRAM_REPORT": str(report),
        }
        output = ""
        try:
            done = subprocess.run(
                [str(program), *arguments],
                cwd=cwd,
                env=environment,
                timeout=options.timeout,
                stdout=subprocess.PIPE if cwd else None,
                stderr=subprocess.STDOUT if cwd else None,
                text=True,
                errors="replace",
            )
            code, output = done.returncode, done.stdout or ""
        except subprocess.TimeoutExpired as expired:
            code = 124
            raw = expired.stdout or b""
            output = raw.decode(errors="replace") if isinstance(raw, bytes) else raw
        result = ProgramResult(code, output=output)
        if report.is_file():
            data = json.loads(report.read_text(encoding="utf-8"))
            result.launches, result.failures = data["launches"], data["failures"]
            result.findings = data["findings"]
            result.reported = True
        return result


def _header_files() -> list[Path]:
    return sorted(p for d in include_dirs() for p in d.rglob("*") if p.is_file())


def _local_sources(source: Path, folders: Sequence[Path]) -> dict[Path, str]:
    """The program and the quoted headers it reaches, by absolute path."""
    found: dict[Path, str] = {}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        if path in found:
            continue
        try:
            found[path] = path.read_text(encoding="utf-8", errors="surrogateescape")
        except OSError as error:
            raise OpgenError(
                Diagnostic("OPG906", f"cannot read {path}: {error.strerror}", Location(str(path)))
            ) from error
        for name in _QUOTED_INCLUDE.findall(found[path]):
            for folder in (path.parent, source.parent, *folders):
                candidate = (folder / name).resolve()
                if candidate.is_file():
                    waiting.append(candidate)
                    break
    return found


def _write_overlay(scratch: Path, source: Path, rewritten: dict[Path, str]) -> Path:
    """Mirror the rewritten files under ``scratch`` so that relative includes find each other."""
    for path, text in rewritten.items():
        target = _mirror(scratch, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", errors="surrogateescape")
    return _mirror(scratch, source)


def _mirror(scratch: Path, path: Path) -> Path:
    return scratch / path.relative_to(path.anchor)


def _overlay_dirs(scratch: Path, rewritten: dict[Path, str]) -> list[Path]:
    return list(dict.fromkeys(_mirror(scratch, p).parent for p in rewritten))

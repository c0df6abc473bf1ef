"""Compile and run a self-contained AscendC program (``.asc`` or ``.cpp``) on the CPU."""

from __future__ import annotations

import json
import os
import shlex
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from msopgen_wrap.build import cache
from msopgen_wrap.build.child_processes import run_watched
from msopgen_wrap.build.core_kinds import (
    CorePass,
    compile_passes,
    link_passes,
)
from msopgen_wrap.build.emulation import kernel_defines, process_end_flags
from msopgen_wrap.build.emulation_library import emulation_library, include_dirs
from msopgen_wrap.build.rewriting.kernel_sources import (
    dialect_flags,
    mirrored,
    overlay_flags,
    write_overlay,
)
from msopgen_wrap.build.rewriting.source_text import blank_comments
from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.compile_options import read_options
from msopgen_wrap.foreign.extensions import Extension, extension, script_command
from msopgen_wrap.foreign.launch_source import add_launchers, cube_kind
from msopgen_wrap.foreign.program_sources import (
    TWIN_DEFINES,
    SourceKind,
    architecture_macros,
    cmake_includes,
    framework_libraries,
    has_main,
    is_twin,
    program_texts,
    reached_texts,
    require_files,
)
from msopgen_wrap.foreign.repository_sources import program_folders
from msopgen_wrap.platforms import platform
from msopgen_wrap.run.run_environment import check_options


@dataclass(frozen=True)
class ProgramOptions:
    """How a program is compiled and run.

    Attributes:
        soc: exact or family name of the SoC.
        mode: ``fast`` or ``check``.
        defines: ``NAME`` or ``NAME=VALUE`` macros.
        undefines: macros that are not to be set, of ours or of the compiler.
        include_dirs: further include folders.
        include_files: headers that every source sees first.
        sources: further sources, linked with the first one.
        libraries: names of libraries to link, without ``lib``; a test framework that the sources
            include (gtest, gmock) need not be named.
        library_dirs: folders with such libraries.
        registering: shared libraries that are linked although the program calls nothing of them:
            ops register themselves.
        shared: make a shared library of kernels that another program launches.
        place: folder to run in; None for the current one.
        opt: optimisation flag of the program (the emulation library has its own).
        timeout: seconds after which the program is stopped, None for never.
        limit: seconds that one launch, or the host between two launches, may take; 0: any time,
            None: ``$OPGEN_TIMEOUT``, or the library's default.
    """

    soc: str = "ascend910b3"
    mode: str = "check"
    defines: tuple[str, ...] = ()
    undefines: tuple[str, ...] = ()
    include_dirs: tuple[Path, ...] = ()
    include_files: tuple[Path, ...] = ()
    sources: tuple[Path, ...] = ()
    libraries: tuple[str, ...] = ()
    library_dirs: tuple[Path, ...] = ()
    registering: tuple[Path, ...] = ()
    shared: bool = False
    place: Path | None = None
    opt: str = "-O1"
    timeout: float | None = None
    limit: float | None = None


@dataclass
class ProgramResult:
    """What a program did.

    Attributes:
        exit_code: of the program itself; negative for a signal, 124 after a timeout.
        launches, failures: kernels launched, and those that trapped or deadlocked.
        findings: the sanitizer's findings as dicts.
        reported: whether the program lived to write its report.
        crash: of a program that a signal or the time limit ended, where
            (``opgen_last_crash_json``).
        late: launches that the time limit ended, ``{"kernel", "crash"}``.
        stopped: whether the program stopped itself (SIGSTOP) and was killed.
    """

    exit_code: int
    launches: int = 0
    failures: int = 0
    findings: list[dict[str, Any]] = field(default_factory=list)
    reported: bool = False
    output: str = ""
    crash: dict[str, Any] | None = None
    late: list[dict[str, Any]] = field(default_factory=list)
    stopped: bool = False

    @property
    def clean(self) -> bool:
        """Whether the program ended well, with every kernel run and no error found."""
        return self.exit_code == 0 and self.reported and not self.failures and not self.errors

    @property
    def errors(self) -> list[dict[str, Any]]:
        """The findings that are more than a warning."""
        return [f for f in self.findings if f.get("severity") != "warning"]


# Reads, then compiles, then links: all that the two inner functions share is read here once, and
# handing it on by name would take a dozen parameters.
def compile_program(source: Path, options: ProgramOptions) -> Path:
    """Compile ``source`` and ``options.sources`` to an executable in the cache.

    Sources with headers of PyTorch, pybind11 or Python and without ``main`` become a shared library
    instead, which lies in its folder under every name that a script may load it by.

    A program that includes ``tikicpulib.h`` is compiled as CANN's CPU twin builds are: with
    ``__CCE_KT_TEST__``, ``ASCENDC_CPU_DEBUG`` and ``ASCENDC_DEBUG``.

    Raises:
        OpgenError: OPG905 (broken launch), OPG906 (no such file), OPG307 (does not compile),
            OPG531 (a Python package whose headers are included is missing).
    """
    sources = [p.resolve() for p in (source, *options.sources)]
    require_files((*sources, *options.include_files))
    folders = (*options.include_dirs, *cmake_includes(source.resolve().parent))
    options = replace(options, include_dirs=tuple(dict.fromkeys(folders)))
    near = program_folders(sources, [*folders, *include_dirs()])
    readable = (*options.include_dirs, *near)
    library = emulation_library()
    tool = find_toolchain()
    runtime = runtime_libraries()
    forced = [p.resolve() for p in options.include_files]
    reached = {path: reached_texts([path, *forced], readable) for path in sources}
    texts = {p: t for files in reached.values() for p, t in files.items()}
    with_launchers, launch_headers = add_launchers(texts)
    texts.update(with_launchers)
    for files in reached.values():
        files.update({p: t for p, t in with_launchers.items() if p in files})
    all_texts = list(texts.values())
    twin = is_twin(all_texts)
    roles = {p: SourceKind.of(files.values()) for p, files in reached.items()}
    host_files = {f for p in sources if roles[p].host for f in reached[p]}
    rewritten, launches = program_texts(texts, host_files, keeps=options.shared)
    arch = platform(options.soc).arch
    named = [d.partition("=")[0] for d in (*options.defines, *options.undefines)]
    defines = [*kernel_defines(arch), *architecture_macros(all_texts, arch, named)]
    if twin:
        defines += [*map("-D{}".format, TWIN_DEFINES), f"-DOPGEN_TWIN_KIND={cube_kind(all_texts)}"]
    flags = ["-std=c++17", options.opt, "-g1", "-w", "-fpermissive", "-pthread", "-fPIC", *defines]
    flags += ["-fno-gnu-unique", "-ffunction-sections"] if tool.family == "gcc" else []
    flags += [f"-D{d}" for d in options.defines] + [f"-U{d}" for d in options.undefines]
    plain_texts = [blank_comments(t) for t in all_texts]
    python = extension(source, [blank_comments(t, strings=False) for t in all_texts])
    extends = python is not None and not has_main(plain_texts)
    output = python.names[0] if python and extends else "program"
    flags += python.flags if python else ()
    flags += [*dialect_flags(plain_texts), *shlex.split(os.environ.get("OPGEN_CXXFLAGS", ""))]
    link = _link_arguments(options, python, extends, all_texts)
    text = "\0".join(f"{p}\0{t}" for p, t in rewritten.items())
    headers = cache.text_hash(*(cache.file_hash(p) for p in _header_files()))
    extra = [*map(str, readable), *map(str, forced), *map(str, sources), *link]
    key = cache.text_hash(
        tool.identity, *flags, *extra, text, headers, str(library.path), *map(str, runtime)
    )

    def build(folder: Path) -> list[Path]:
        with tempfile.TemporaryDirectory(prefix="opgen-program-") as scratch_name:
            scratch = Path(scratch_name)
            write_overlay(scratch, rewritten)
            generated = scratch / "launch_headers"
            generated.mkdir()
            for name, header_text in launch_headers.items():
                (generated / name).write_text(header_text, encoding="utf-8")

            def compile_one(path: Path, core: CorePass) -> Path:
                out = scratch / f"{sources.index(path)}_{core.value}.o"
                command = [tool.cxx, *flags, *core.defines]
                command += roles[path].flags(twin=twin, single=len(sources) == 1)
                for header in forced:
                    command += ["-include", str(mirrored(scratch, header))]
                command += overlay_flags(scratch, path, options.include_dirs)
                command += [f"-I{d}" for d in (generated, *include_dirs())]
                # Last, folders that only build files name.
                for folder in dict.fromkeys([*near, *(p.parent for p in (*reached[path], *texts))]):
                    command += [f"-I{mirrored(scratch, folder)}", f"-I{folder}"]
                command += ["-x", "c++", "-c", str(mirrored(scratch, path)), "-o", str(out)]
                run_compiler(command, path, code="OPG307", what=f"{path.name} does not compile")
                return out

            device = [p for p in sources if roles[p].device]
            objects = _compile_passes(compile_one, sources, device, [] if twin else plain_texts)
            objects = link_passes(objects, len(sources), launches, scratch)
            command = [tool.cxx, "-pthread", *map(str, objects), "-o", str(folder / output)]
            command += link
            # The memory of a program without kernels is that of kernels which it loads later.
            command += ["-Wl,--no-as-needed", str(library.path), "-Wl,--as-needed"]
            command += map(str, runtime)
            command += [f"-Wl,-rpath,{path.parent}" for path in (library.path, *runtime)]
            what = f"{source.name} does not link"
            run_compiler([*command, "-ldl"], source, code="OPG307", what=what)
            for name in python.names[1:] if python and extends else ():
                (folder / name).symlink_to(output)
        return []

    folder, _ = cache.cached("program", key, source.name, build)
    return folder / output


def _link_arguments(
    options: ProgramOptions, python: Extension | None, extends: bool, texts: Sequence[str]
) -> list[str]:
    """Return the arguments of the linker driver, besides objects and the kit's libraries.

    Args:
        python: what headers of Python packages ask for.
        extends: whether the result is a library that Python loads.
        texts: of the sources and headers.
    """
    link = [*process_end_flags(), *(f"-L{d.resolve()}" for d in options.library_dirs)]
    link += [f"-Wl,-rpath,{d.resolve()}" for d in options.library_dirs]
    for path in options.registering:
        link += ["-Wl,--no-as-needed", str(path), f"-Wl,-rpath,{path.parent}", "-Wl,--as-needed"]
    if extends or options.shared:
        link.append("-shared")
    elif python is not None:
        link += python.python
    link += python.link if python else ()
    given = list(options.libraries)
    given += [n for n in framework_libraries(texts) if n not in given]
    return [*link, *(f"-l{name}" for name in given)]


def _compile_passes(
    compile_one: Callable[[Path, CorePass], Path],
    sources: Sequence[Path],
    device: Sequence[Path],
    texts: Sequence[str],
) -> list[Path]:
    """Compile the sources once, or once per core kind when their kernels need that.

    Args:
        device: those with device code or launches; the others would do what their static objects
            do (registering tests, say) twice if they were compiled for both kinds.
        texts: of the sources and headers, comments blanked; none: once in any case.
    """

    def compile_all(*passes: CorePass) -> list[Path]:
        with ThreadPoolExecutor(max_workers=2) as pool:
            jobs = [
                pool.submit(compile_one, path, core)
                for core in passes
                for path in (device if core is CorePass.AIC else sources)
            ]
            return [job.result() for job in jobs]

    return compile_passes(compile_all, texts)


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
    if program.suffix == ".so":
        return _run_extension(source, program, arguments, options, cwd=cwd)
    return _run(source, [str(program), *arguments], {}, options, cwd=cwd)


def _run_extension(
    source: Path,
    library: Path,
    arguments: Sequence[str],
    options: ProgramOptions,
    *,
    cwd: Path | None,
) -> ProgramResult:
    """Run the Python script that comes first among the arguments with an extension."""
    if not arguments or Path(arguments[0]).suffix != ".py":
        raise OpgenError(
            Diagnostic(
                "OPG532",
                f"{source.name} is a Python extension, and no script runs it",
                Location(str(source)),
                why=f"it has headers of Python packages and no main; built: {library}",
                fix=f"opgen run {source.name} SCRIPT.py, with the script that loads it",
            )
        )
    command, environment = script_command(
        Path(arguments[0]), arguments[1:], library, soc=options.soc, check=options.mode == "check"
    )
    with tempfile.TemporaryDirectory(prefix="opgen-extension-") as scratch:
        # Where scripts look for what their build has made.
        (Path(scratch) / "build").symlink_to(".")
        for path in library.parent.glob("*.so"):
            (Path(scratch) / path.name).symlink_to(path)
        place = Path(scratch)
        return _run(
            source, command, environment, options, cwd=place, captured=cwd is not None, script=True
        )


def _run(
    source: Path,
    command: Sequence[str],
    variables: Mapping[str, str],
    options: ProgramOptions,
    *,
    cwd: Path | None,
    captured: bool | None = None,
    script: bool = False,
) -> ProgramResult:
    captured = cwd is not None if captured is None else captured
    with tempfile.TemporaryDirectory(prefix="opgen-run-") as scratch:
        report, crash = Path(scratch) / "report.json", Path(scratch) / "crash.json"
        environment = {
            **os.environ,
            **variables,
            "OPGEN_SOC": options.soc,
            "OPGEN_EMULATION": options.mode,
            "OPGEN_PROGRAM_REPORT": str(report),
            "OPGEN_PROGRAM_SOURCE": str(source),
            "OPGEN_CRASH_REPORT": str(crash),
            "OPGEN_PYTHON": sys.executable,
        }
        if checks := check_options(not read_options(source.resolve().parent).auto_sync):
            environment["OPGEN_CHECK"] = checks
        if options.limit is not None:
            environment["OPGEN_TIMEOUT"] = f"{options.limit:g}"
        if not script:  # which may take its time between two launches
            environment["OPGEN_PROGRAM_LIMIT"] = "1"
        done = run_watched(
            command,
            cwd=cwd or options.place,
            env=environment,
            timeout=options.timeout,
            captured=captured,
        )
        result = ProgramResult(done.code, output=done.output, stopped=done.stopped)
        data = _report(report)
        if data is not None:
            result.launches, result.failures = data["launches"], data["failures"]
            result.findings = data["findings"]
            result.late = data["late"]
            result.reported = True
        if crash.is_file():
            result.crash = json.loads(crash.read_text(encoding="utf-8", errors="replace"))
        return result


def _report(path: Path) -> dict[str, Any] | None:
    """Return a program's report; None when it did not live to write all of it."""
    try:
        data: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return data


def _header_files() -> list[Path]:
    return sorted({p for d in include_dirs() for p in d.rglob("*") if p.is_file()})

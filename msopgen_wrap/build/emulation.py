"""Compile kernels and host sources against the emulation library."""

from __future__ import annotations

import os
import shlex
from collections.abc import Collection, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from msopgen_wrap.build.rewriting.kernel_sources import kernel_sources

from ..diagnostics import Diagnostic, OpgenError
from ..platforms import architectures, emulated_architectures
from . import cache
from .compiled_objects import compile_object, link_objects, relative_names
from .core_kinds import (
    AIC_PREFIX,
    KIND_PREFIX,
    CorePass,
    compile_passes,
    inferred_kinds,
)
from .emulation_library import emulation_library
from .object_file import ObjectGroup
from .precompiled_header import PrecompiledHeader
from .toolchain import common_flags, find_toolchain, warnings_as_errors

# half, int32_t, __aicore__, EVENT_ID0 and the like are the device compiler's own: known before any
# include.
COMPILER_ENUMS = ("-include", "ascendc_emu/compiler_enums.h")
PRELUDE = ("-include", "ascendc_emu/macros.h", "-include", "ascendc_emu/types.h", *COMPILER_ENUMS)
# What generated kernels include first.
_KERNEL_HEADERS = (*PRELUDE[1::2], "kernel_operator.h")


def _define_flags(defines: dict[str, object] | Iterable[str] | None) -> list[str]:
    if defines is None:
        return []
    if isinstance(defines, dict):
        return [f"-D{k}" if v in (None, "") else f"-D{k}={v}" for k, v in defines.items()]
    return [d if d.startswith("-D") else f"-D{d}" for d in defines]


def kernel_defines(arch: int = 2201) -> list[str]:
    """Return what a kernel for ``arch`` is compiled with: the macros CANN's compiler predefines.

    ``OPGEN_INSTRUCTIONS``, ``OPGEN_LIBRARY_WORKSPACE`` and ``OPGEN_UNIFIED_CORES`` tell the
    emulation's headers what ``architectures.csv`` says.
    """
    known = architectures().get(arch)
    if known is None:
        raise OpgenError(
            Diagnostic(
                "OPG306",
                f"architecture {arch} is not emulated",
                why=emulated_architectures(),
                fix="choose a SoC of one of these families",
            )
        )
    return [f"-D{macro}" for macro in known.macros]


def compile_kernel(
    source: Path,
    *,
    defines: dict[str, object] | Iterable[str] | None = None,
    include_dirs: Sequence[Path] = (),
    output_name: str | None = None,
    opt: str = "-O2",
    arch: int = 2201,
    portable: bool = False,
    flags: Sequence[str] = (),
    own: bool = False,
) -> Path:
    """Compile one kernel source to a shared object whose entry is ``extern "C" void op(...)``.

    Args:
        source: kernel file.
        defines: macros, as a dict or ``NAME=VALUE`` strings (``DTYPE_X=half``...).
        include_dirs: additional include folders, searched first.
        output_name: file name of the result; default ``lib<stem>.so``.
        opt: optimisation flag.
        arch: NPU architecture whose predefined macros are set.
        portable: for a package: no line tables and no folder of this machine in the result.
        flags: further compiler flags.
        own: the source is the kit's: warnings are errors. Foreign code is compiled without any.

    Raises:
        OpgenError: OPG303 with the first true error at the kernel's line.
    """
    sources = kernel_sources(source, include_dirs)

    def objects(*passes: CorePass) -> list[Path]:
        def one(core: CorePass) -> Path:
            macros = [*kernel_defines(arch), *core.defines]
            functions = ["-fvisibility=hidden", "-ffunction-sections"]
            arguments = _arguments(
                [sources.main],
                defines=[*macros, *_define_flags(defines)],
                include_dirs=include_dirs,
                opt=opt,
                portable=portable,
                flags=[*PRELUDE, *functions, *flags],
                first_flags=sources.flags,
                own=own,
            )
            header = None
            if own and not portable and not sources.flags:
                header = _shared_header("device", _KERNEL_HEADERS, opt, [*macros, *functions])
            return compile_object(sources.main, arguments, header=header)

        with ThreadPoolExecutor(max_workers=2) as pool:
            return list(pool.map(one, passes))

    # Without cores of two kinds there is one pass.
    separate = architectures()[arch].cores == "separate"
    built = compile_passes(objects, sources.texts if separate else ())
    return _link_shared(
        _core_objects(built),
        output_name=output_name or f"lib{source.stem}.so",
        portable=portable,
        label=source.name,
    )


def _core_objects(built: Sequence[Path]) -> list[Path]:
    """Return what is linked for the objects of one or two passes."""
    vector = ObjectGroup.read(built[:1])
    cube = ObjectGroup.read(built[1:]) if len(built) == 2 else vector
    kinds = inferred_kinds(vector, cube)
    result = list(built)
    if cube is not vector:
        (renamed,) = cube.renamed(AIC_PREFIX)
        key = cache.text_hash("renamed", AIC_PREFIX, cache.file_hash(built[1]))
        result[1] = cache.stored("object", key, "cube cores", "out.o", renamed)
    if kinds:
        text = "".join(
            f'extern "C" __attribute__((visibility("default"))) const int {KIND_PREFIX}{entry} = '
            f"{kind};\n"
            for entry, kind in kinds.items()
            if entry.isidentifier()
        )
        data = text.encode("utf-8")
        table = cache.stored("source", cache.text_hash(text), "core kinds", "kinds.cpp", data)
        result.append(compile_object(table, []))
    return result


def compile_shared(
    sources: Sequence[Path],
    *,
    defines: dict[str, object] | Iterable[str] | None = None,
    include_dirs: Sequence[Path] = (),
    libs: Sequence[Path | str] = (),
    output_name: str = "libout.so",
    opt: str = "-O2",
    portable: bool = False,
    flags: Sequence[str] = (),
    link_flags: Sequence[str] = (),
    code: str = "OPG303",
    own: Collection[Path] = (),
    begin: tuple[str, ...] = (),
) -> Path:
    """Compile sources to one shared object linked with the emulation library.

    Args:
        sources: C++ files.
        libs: further libraries, as paths or ``-l`` names without the prefix.
        link_flags: given to the linker driver as they are.
        own: those of the sources that are the kit's: warnings in them are errors.
        begin: headers that all of ``own`` include before anything else.
        Other arguments as for :func:`compile_kernel`.

    Returns:
        Path in the cache; copy it to keep it.
    """
    objects = compile_objects(
        sources,
        defines=defines,
        include_dirs=include_dirs,
        opt=opt,
        portable=portable,
        flags=flags,
        code=code,
        own=own,
        begin=begin,
    )
    return _link_shared(
        objects,
        output_name=output_name,
        portable=portable,
        label=", ".join(Path(s).name for s in sources),
        libs=libs,
        link_flags=link_flags,
        code=code,
    )


def compile_objects(
    sources: Sequence[Path],
    *,
    defines: dict[str, object] | Iterable[str] | None = None,
    include_dirs: Sequence[Path] = (),
    opt: str = "-O2",
    portable: bool = False,
    flags: Sequence[str] = (),
    code: str = "OPG303",
    own: Collection[Path] = (),
    begin: tuple[str, ...] = (),
) -> list[Path]:
    """Compile sources side by side; arguments as for :func:`compile_shared`.

    Returns:
        Paths of the objects in the cache, in the order of the sources.
    """
    foreign, strict = (
        _arguments(
            sources,
            defines=defines,
            include_dirs=include_dirs,
            opt=opt,
            portable=portable,
            flags=flags,
            own=mine,
        )
        for mine in (False, True)
    )

    shared = begin and not portable and not defines
    header = _shared_header("host", begin, opt, flags) if shared else None

    def compiled(source: Path) -> Path:
        if source in own:
            return compile_object(Path(source), strict, code=code, header=header)
        return compile_object(Path(source), foreign, code=code)

    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(compiled, sources))


def _shared_header(
    name: str, includes: tuple[str, ...], opt: str, flags: Sequence[str]
) -> PrecompiledHeader:
    """Return what generated sources of one kind begin with; ``flags`` are those they all have."""
    own = _arguments(
        [], defines=(), include_dirs=(), opt=opt, portable=False, flags=flags, own=True
    )
    return PrecompiledHeader(name, includes, (*common_flags(find_toolchain()), *own))


def _arguments(
    sources: Sequence[Path],
    *,
    defines: dict[str, object] | Iterable[str] | None,
    include_dirs: Sequence[Path],
    opt: str,
    portable: bool,
    flags: Sequence[str],
    first_flags: Sequence[str] = (),
    own: bool = False,
) -> list[str]:
    """Return the flags of one compilation; ``first_flags`` come before the include folders."""
    library = emulation_library()
    warnings = warnings_as_errors(find_toolchain().family) if own else ["-w"]
    arguments = [opt, "-fvisibility-inlines-hidden", *warnings, *first_flags]
    # Line tables name the line at which code crashes; they do not change the code.
    arguments += relative_names(sources) if portable else ["-g1"]
    arguments += [f"-I{Path(d).absolute()}" for d in include_dirs]
    # The emulation stands for CANN's headers: what they do is no finding about the code under test.
    arguments += [f"{'-isystem' if own else '-I'}{d}" for d in library.include_dirs]
    arguments += [*_define_flags(defines), *flags]
    return [*arguments, *shlex.split(os.environ.get("OPGEN_CXXFLAGS", ""))]


def process_end_flags() -> list[str]:
    """Return linker flags that send calls which end the process to the emulation library.

    A kernel or a function of an op that calls ``exit(0)`` is an error, and no success.
    """
    names = ("exit", "_exit", "_Exit", "quick_exit", "raise", "kill")
    return [f"-Wl,--wrap={name}" for name in names]


def _link_shared(
    objects: Sequence[Path],
    *,
    output_name: str,
    portable: bool,
    label: str,
    libs: Sequence[Path | str] = (),
    link_flags: Sequence[str] = (),
    code: str = "OPG303",
) -> Path:
    library = emulation_library()
    link = [str(lib) if isinstance(lib, Path) else f"-l{lib}" for lib in libs]
    link += [str(library.path), f"-Wl,-rpath,{library.path.parent}", "-Wl,-z,defs"]
    link += [*process_end_flags(), *link_flags]
    inputs = [library.path, *(lib for lib in libs if isinstance(lib, Path))]
    return link_objects(objects, output_name, link, inputs, label, code)

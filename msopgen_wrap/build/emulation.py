"""Build the prebuilt emulation library and compile kernels and host sources against it."""

from __future__ import annotations

import functools
import os
import re
import shlex
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic, Location, OpgenError
from ..platforms import EMULATED_ARCHITECTURES
from ..resources import data_dir
from . import cache
from .core_kinds import (
    AIC_PREFIX,
    KIND_PREFIX,
    CorePass,
    compile_passes,
    inferred_kinds,
)
from .kernel_sources import kernel_sources
from .object_file import ObjectGroup
from .toolchain import (
    Toolchain,
    common_flags,
    cpu_identity,
    find_toolchain,
    native_flags,
    run_compiler,
)

Progress = Callable[[str], None]
_LIBRARY = "ascendc_emulation"
# half, int32_t, __aicore__ and the like are the device compiler's own: known before any include.
_PRELUDE = ("-include", "ascendc_emu/macros.h", "-include", "ascendc_emu/types.h")


@dataclass(frozen=True)
class EmulationLibrary:
    """The built emulation.

    Attributes:
        path: ``libascendc_emulation-<hash>.so``; the file name is its SONAME.
        include_dirs: what kernels and host sources are compiled with.
        portable: built for the baseline CPU (packages) rather than this one.
    """

    path: Path
    include_dirs: tuple[Path, ...]
    portable: bool = False


def include_dirs() -> tuple[Path, ...]:
    """Return the emulation's include folders (no build).

    CANN 9 puts the headers of its op base library into the search path three times over: as
    ``op_common/op_host/util/math_util.h``, ``op_host/util/math_util.h`` and ``util/math_util.h``.
    Those of the basic and of the high-level API and the builders of contexts are found without
    their folder, too: ``kernel_operator_mm_intf.h``, ``pad/broadcast.h``,
    ``op_tiling_context_builder.h``.
    """
    root = data_dir("ascendc_kernels")
    own = root / "emulation" / "include"
    base = own / "op_common"
    api = (own / "basic_api", own / "lib", own / "base" / "context_builder")
    return (own, base, base / "op_host", *api, root / "include")


def _parse_depfile(path: Path) -> list[Path]:
    """Read a make-style dependency file as g++ writes it."""
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    names = re.split(r"(?<!\\)\s+", text.split(":", 1)[1].strip())
    return [Path(n.replace("\\ ", " ").replace("$$", "$")) for n in names if n]


def compile_object(
    source: Path,
    flags: Sequence[str],
    *,
    code: str = "OPG303",
    what: str = "",
    native: bool = True,
) -> Path:
    """Compile one source to a cached object file.

    Args:
        source: a C++ file.
        flags: all flags but ``-c``, ``-o`` and the common ones.
        code: diagnostic code on failure.
        what: text put before the compiler's message.
        native: whether the result depends on this CPU.

    Returns:
        Path of the object in the cache.
    """
    tool = find_toolchain()
    source = source.absolute()
    if not source.is_file():
        raise OpgenError(Diagnostic(code, f"no such source file: {source}", Location(str(source))))
    arguments = [*common_flags(tool), *flags]
    key = cache.text_hash(tool.identity, cpu_identity() if native else "", *arguments, str(source))

    def build(folder: Path) -> list[Path]:
        deps, out = folder / "deps.d", str(folder / "out.o")
        run_compiler(
            [tool.cxx, *arguments, "-MD", "-MF", str(deps), "-c", str(source), "-o", out],
            source,
            code=code,
            what=what,
        )
        inputs = _parse_depfile(deps)
        deps.unlink()
        # The compiler's own headers are covered by its version.
        return [p for p in inputs if not str(p).startswith("/usr/")]

    folder, _ = cache.cached("object", key, source.name, build)
    return folder / "out.o"


def _link(
    objects: Sequence[Path],
    output: str,
    arguments: Sequence[str],
    extra_inputs: Sequence[Path],
    label: str,
    code: str,
) -> Path:
    tool = find_toolchain()
    parts = [cache.file_hash(p) for p in [*objects, *extra_inputs]]
    key = cache.text_hash(tool.identity, output, *arguments, *parts)
    inputs = [*map(str, objects), *arguments]

    def build(folder: Path) -> list[Path]:
        run_compiler(
            [tool.cxx, "-shared", "-pthread", "-Wl,-Bsymbolic", f"-o{folder / output}", *inputs],
            None,
            code=code,
            what=f"linking {label} failed",
        )
        return []

    folder, _ = cache.cached("shared", key, label, build)
    return folder / output


def _optimisation(portable: bool, tool: Toolchain) -> list[str]:
    flags = ["-O3", "-fno-trapping-math", "-fvisibility-inlines-hidden"]
    return flags if portable else flags + native_flags(tool)


def _platform_table(root: Path) -> Path:
    """Write the tables of facts as C++ raw strings the library includes; return their folder."""
    tables = {
        name: (root / f"{name}.csv").read_text(encoding="utf-8")
        for name in ("platform_facts", "api_arch")
    }

    def build(folder: Path) -> list[Path]:
        for name, text in tables.items():
            body = f'R"__opgen__(\n{text})__opgen__"\n'
            (folder / f"{name}.inc").write_text(body, encoding="utf-8")
        return []

    key = cache.text_hash("\n".join(tables.values()))
    folder, _ = cache.cached("table", key, "platform facts", build)
    return folder


def _relative_names(sources: Sequence[Path]) -> list[str]:
    """Keep this machine's folders out of what is shipped: __FILE__ becomes ``op_host/x.cpp``."""
    folders = {Path(s).absolute().parent.parent for s in sources}
    flags = [f"-ffile-prefix-map={folder}/=" for folder in sorted(folders)]
    return [*flags, f"-ffile-prefix-map={data_dir('ascendc_kernels')}=ascendc_kernels"]


def emulation_library(
    *, portable: bool = False, progress: Progress | None = None
) -> EmulationLibrary:
    """Return the emulation library, building what is missing (two compilations at a time).

    Args:
        portable: for the baseline CPU of this architecture instead of this machine's.
        progress: called with a short text per step.

    Raises:
        OpgenError: OPG301/302 (compiler), OPG304 (the library does not compile).
    """
    tool = find_toolchain()
    root = data_dir("ascendc_kernels") / "emulation"
    sources = sorted((root / "src").glob("**/*.cpp"))
    table = _platform_table(root)
    flags = _optimisation(portable, tool)
    if portable:
        flags += _relative_names([])
    flags += [f"-I{d}" for d in include_dirs()] + [f"-I{root / 'src'}", f"-I{table}"]
    done = 0

    def one(source: Path) -> Path:
        nonlocal done
        result = compile_object(
            source,
            flags,
            code="OPG304",
            what="the emulation library does not compile",
            native=not portable,
        )
        done += 1
        if progress:
            progress(f"emulation library: {done}/{len(sources)} {source.stem}")
        return result

    with ThreadPoolExecutor(max_workers=min(2, os.cpu_count() or 1)) as pool:
        objects = list(pool.map(one, sources))
    digest = cache.text_hash(*(cache.file_hash(p) for p in objects))[:12]
    name = f"lib{_LIBRARY}-{digest}.so"
    path = _link(objects, name, [f"-Wl,-soname,{name}", "-ldl"], [], "emulation library", "OPG304")
    return EmulationLibrary(path, include_dirs(), portable)


def _define_flags(defines: dict[str, object] | Iterable[str] | None) -> list[str]:
    if defines is None:
        return []
    if isinstance(defines, dict):
        return [f"-D{k}" if v in (None, "") else f"-D{k}={v}" for k, v in defines.items()]
    return [d if d.startswith("-D") else f"-D{d}" for d in defines]


def kernel_defines(arch: int = 2201) -> list[str]:
    """Return the macros CANN's compiler predefines when it compiles a kernel for ``arch``."""
    known = {
        2201: ("220", "__DAV_C220__"),
        2002: ("200", "__DAV_M200__"),
        3002: ("300", "__DAV_M300__"),
    }
    if arch not in known:
        raise OpgenError(
            Diagnostic(
                "OPG306",
                f"architecture {arch} is not emulated",
                why=EMULATED_ARCHITECTURES,
                fix="choose a SoC of one of these families",
            )
        )
    number, dav = known[arch]
    return [f"-D__CCE_AICORE__={number}", f"-D__NPU_ARCH__={arch}", f"-D{dav}", "-D__CCE__=1"]


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
) -> Path:
    """Compile one kernel source to a shared object whose entry is ``extern "C" void op(...)``.

    Args:
        source: kernel file.
        defines: macros, as a dict or ``NAME=VALUE`` strings (``DTYPE_X=half``...).
        include_dirs: additional include folders, searched first.
        output_name: file name of the result; default ``lib<stem>.so``.
        opt: optimisation flag.
        arch: NPU architecture whose predefined macros are set.
        portable: link against the portable library and do not use this CPU's instructions.
        flags: further compiler flags.

    Raises:
        OpgenError: OPG303 with the first true error at the kernel's line.
    """
    sources = kernel_sources(source, include_dirs)

    def objects(*passes: CorePass) -> list[Path]:
        def one(core: CorePass) -> Path:
            arguments = _arguments(
                [sources.main],
                defines=[*kernel_defines(arch), *core.defines, *_define_flags(defines)],
                include_dirs=include_dirs,
                opt=opt,
                portable=portable,
                flags=[*_PRELUDE, "-fvisibility=hidden", "-ffunction-sections", *flags],
                first_flags=sources.flags,
            )
            return compile_object(sources.main, arguments, native=not portable)

        with ThreadPoolExecutor(max_workers=2) as pool:
            return list(pool.map(one, passes))

    # Unified cores have one kind only.
    built = compile_passes(objects, sources.texts if arch == 2201 else ())
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
        result.append(compile_object(table, [], native=False))
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
) -> Path:
    """Compile sources to one shared object linked with the emulation library.

    Args:
        sources: C++ files.
        libs: further libraries, as paths or ``-l`` names without the prefix.
        link_flags: given to the linker driver as they are.
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
) -> list[Path]:
    """Compile sources side by side; arguments as for :func:`compile_shared`.

    Returns:
        Paths of the objects in the cache, in the order of the sources.
    """
    arguments = _arguments(
        sources,
        defines=defines,
        include_dirs=include_dirs,
        opt=opt,
        portable=portable,
        flags=flags,
    )

    def compiled(source: Path) -> Path:
        return compile_object(Path(source), arguments, code=code, native=not portable)

    with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
        return list(pool.map(compiled, sources))


def _arguments(
    sources: Sequence[Path],
    *,
    defines: dict[str, object] | Iterable[str] | None,
    include_dirs: Sequence[Path],
    opt: str,
    portable: bool,
    flags: Sequence[str],
    first_flags: Sequence[str] = (),
) -> list[str]:
    """Return the flags of one compilation; ``first_flags`` come before the include folders."""
    tool = find_toolchain()
    library = emulation_library(portable=portable)
    arguments = [opt, "-fvisibility-inlines-hidden", "-w", *first_flags]
    # Line tables name the line at which code crashes; they do not change the code.
    arguments += _relative_names(sources) if portable else ["-g1", *native_flags(tool)]
    arguments += [f"-I{Path(d).absolute()}" for d in include_dirs]
    arguments += [f"-I{d}" for d in library.include_dirs]
    arguments += [*_define_flags(defines), *flags]
    return [*arguments, *shlex.split(os.environ.get("OPGEN_CXXFLAGS", ""))]


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
    library = emulation_library(portable=portable)
    link = [str(lib) if isinstance(lib, Path) else f"-l{lib}" for lib in libs]
    link += [str(library.path), f"-Wl,-rpath,{library.path.parent}", "-Wl,-z,defs", *link_flags]
    inputs = [library.path, *(lib for lib in libs if isinstance(lib, Path))]
    return _link(objects, output_name, link, inputs, label, code)


@functools.lru_cache(maxsize=1)
def load_emulation_library():
    """Load the (native) library into this process once, and return the ``ctypes.CDLL``."""
    import ctypes

    return ctypes.CDLL(str(emulation_library().path), mode=ctypes.RTLD_GLOBAL)

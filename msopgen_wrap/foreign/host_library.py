"""The host library of a project: its op_host sources, and what they need of their repository.

Op repositories link all their ops into one library, so an op may call what a neighbour or a source
for another architecture defines. A source is added when one of its symbols is missing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from pathlib import Path

from msopgen_wrap.build import cache
from msopgen_wrap.build.compiler_errors import missing_header
from msopgen_wrap.build.emulation import compile_objects, compile_shared
from msopgen_wrap.build.emulation_library import include_dirs as emulation_includes
from msopgen_wrap.build.object_file import read_object
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.foreign.extensions import python_headers
from msopgen_wrap.foreign.op_project import OpProject
from msopgen_wrap.foreign.repository_sources import (
    IncludeFinder,
    defines_one,
    defining_sources,
    for_other_arch,
    repository_root,
)

_OPT, _CODE = "-O1", "OPG514"
# CANN links OpDefs and tiling functions into different libraries; helpers that headers define in
# both are one here.
_LINK_FLAGS = ("-Wl,-z,muldefs", "-Wl,--no-demangle")
_UNDEFINED = re.compile(r"undefined reference to [`'](\w+)'")
_GUARD = re.compile(
    r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)\s*\n[ \t]*#[ \t]*define[ \t]+\1\b", re.MULTILINE
)
_BOOL_FUNCTION = re.compile(r"\bbool\s+(?:\w+::)*(\w+)\s*\(")
_REGISTERS_TILING = re.compile(r"\bIMPL_OP(?:_OPTILING)?\s*\(")
# CMake commands that take whatever lies in a folder.
_COLLECTS = re.compile(r"^[^#\n]*(?:\bGLOB(?:_RECURSE)?\b|\baux_source_directory\b)", re.MULTILINE)
_ROUNDS = 12
_ABSENT = "for another architecture or a part of CANN"
# Entries of a stand-in for a virtual table: more functions than any class of a repository has.
_VIRTUALS = 64


def build_host_library(
    project: OpProject,
    defines: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Compile and link a project's host sources.

    Functions and virtual classes that only sources of another architecture define, and which do not
    compile here, are replaced by ones that log their name and fail, and so is what only a
    neighbour's source calls: a part of CANN that its op has, and this one may never reach. A header
    for another architecture that includes what is not here is left out, and so is a source that
    does not compile without it. A source that lacks a header and that the project's build files,
    which name others, do not compile is left out, too.

    Raises:
        OpgenError: OPG514, a source does not compile or a symbol is defined nowhere.
    """
    sources = list(project.host_sources)
    own_sources = {p for p in sources if p.is_relative_to(project.root)}
    foreign = bool(project.other_arch_sources)
    candidates = [project.companions, project.other_arch_sources]
    tried: set[Path] = set()
    stubs: list[str] = []
    left_out: list[Path] = []  # headers
    unfit: list[Path] = []  # sources that do not compile without them
    for _ in range(_ROUNDS):
        try:
            return _link(project, [*sources, *_stub_source(project, stubs)], defines)
        except OpgenError as error:
            if guard := _foreign_header(error, defines):
                defines = (*defines, guard)
                left_out.append(_place(error))
                continue
            if _place(error) in sources and _includes(_place(error), left_out):
                sources.remove(_place(error))
                unfit.append(_place(error))
                project.other_arch_sources.append(_place(error))
                continue
            if missing_header(error.diagnostics[0].what) and _unlisted(project, _place(error)):
                sources.remove(_place(error))
                progress(f"leaving out {_place(error).name}: no build file of the op names it")
                continue
            missing = list(dict.fromkeys(_UNDEFINED.findall(error.diagnostics[0].why)))
            if not missing or set(missing) <= set(stubs):
                raise with_header_advice(error, project.root) from error
            take = _Taking(project, sources, missing, tried, defines, progress)
            # Compiling takes the time, so what only names a function comes last.
            added = (
                any(take.defining(group, _seems_to_define) for group in candidates)
                or take.neighbours()
                or any(take.defining(group, _may_define) for group in candidates)
            )
            if not added:
                elsewhere = foreign or any(for_other_arch(p) or p in unfit for p in tried)
                own = [] if elsewhere else [p for p in sources if p in own_sources]
                stand_ins = _replaceable(missing, own, project, defines)
                if not stand_ins:
                    raise
                stubs += stand_ins
    return _link(project, [*sources, *_stub_source(project, stubs)], defines)


def with_header_advice(error: OpgenError, project: Path) -> OpgenError:
    """Say where a missing header was looked for and how to name its folder."""
    first = error.diagnostics[0]
    header = missing_header(first.what)
    if not header:
        return error
    if python_headers([f"#include <{header}>"]):
        advice = replace(
            first,
            what=f"op_host includes {header}: it is code for PyTorch, not CANN's host library",
            why="an op project declares its ops with OP_ADD; a folder whose op_host launches the "
            "kernels from PyTorch is a Python extension",
            fix="opgen run OP_HOST.cpp KERNEL.cpp SCRIPT.py, with the script that loads it",
        )
        return OpgenError([advice, *error.diagnostics[1:]])
    advice = replace(
        first,
        what=f"header {header} is not found",
        why="it is in none of the project's folders, nowhere in its repository "
        f"({repository_root(project)}) and not among the CANN headers of the emulation",
        fix="name the folder it is relative to with -I (--include)",
    )
    return OpgenError([advice, *error.diagnostics[1:]])


def _place(error: OpgenError) -> Path:
    location = error.diagnostics[0].location
    return Path(location.file) if location is not None else Path()


def _includes(source: Path, headers: Sequence[Path]) -> bool:
    """Say whether a source itself includes one of some headers."""
    text = source.read_text(encoding="utf-8", errors="replace")
    return any(re.search(rf'#[ \t]*include[^\n]*\b{re.escape(h.name)}"', text) for h in headers)


def _unlisted(project: OpProject, source: Path) -> bool:
    """Say whether the build files name other host sources, and not this one.

    Without a source that registers a tiling function the op cannot be called, so that one counts.
    """
    files = [project.root / "CMakeLists.txt", project.root / "op_host" / "CMakeLists.txt"]
    text = "".join(p.read_text(encoding="utf-8", errors="replace") for p in files if p.is_file())
    if source not in project.host_sources or _COLLECTS.search(text):
        return False
    if _REGISTERS_TILING.search(source.read_text(encoding="utf-8", errors="replace")):
        return False
    named = [p for p in project.host_sources if re.search(rf"\b{re.escape(p.name)}\b", text)]
    return bool(named) and source not in named


def _foreign_header(error: OpgenError, defines: Sequence[str]) -> str:
    """Return the guard of a header for another architecture that lacks a header, else ""."""
    path = _place(error)
    if (
        not missing_header(error.diagnostics[0].what)
        or not for_other_arch(path)
        or path.suffix not in (".h", ".hpp")
        or not path.is_file()
    ):
        return ""
    match = _GUARD.search(path.read_text(encoding="utf-8", errors="replace"))
    return match[1] if match and match[1] not in defines else ""


def _link(project: OpProject, sources: Sequence[Path], defines: Sequence[str]) -> Path:
    return compile_shared(
        sources,
        include_dirs=project.include_dirs,
        defines=defines,
        output_name="libop_host.so",
        opt=_OPT,
        link_flags=_LINK_FLAGS,
        code=_CODE,
    )


def _replaceable(
    missing: Sequence[str], own: Sequence[Path], project: OpProject, defines: Sequence[str]
) -> list[str]:
    """Return the missing symbols that a stand-in may replace: none that sources in ``own`` use."""
    used = _undefined_in(own, project, defines) if own else set()
    return [m for m in missing if not m.startswith("_ZTS") and m not in used]


def _undefined_in(sources: Sequence[Path], project: OpProject, defines: Sequence[str]) -> set[str]:
    """Return the symbols that sources of a project refer to and do not define themselves."""
    compiled = compile_objects(
        sources,
        include_dirs=project.include_dirs,
        defines=defines,
        opt=_OPT,
        code=_CODE,
    )
    return {name for one in compiled for name in read_object(one).undefined()}


@dataclass
class _Taking:
    """Takes further sources into the library for the functions that are missing.

    Attributes:
        missing: symbols nothing defines yet.
        tried: the sources that were looked at; grows.
    """

    project: OpProject
    sources: list[Path]
    missing: Sequence[str]
    tried: set[Path]
    defines: Sequence[str]
    progress: Callable[[str], None]

    def defining(
        self, candidates: Sequence[Path], may_define: Callable[[Path, Sequence[str]], bool]
    ) -> bool:
        """Take those candidates that define a missing symbol; say whether there are any."""
        fresh = [p for p in candidates if p not in self.tried and may_define(p, self.missing)]
        return self._take(fresh, self.missing)

    def neighbours(self) -> bool:
        """Take the neighbours' sources that define a missing symbol; say whether there are any.

        What the project's own sources for another architecture may define is not looked for:
        neighbours have much of the same names.
        """
        wanted = [
            symbol
            for symbol in self.missing
            if not any(_may_define(path, [symbol]) for path in self.project.other_arch_sources)
        ]
        found = defining_sources(self.project.root, [_wanted(s) for s in wanted])
        beside = [path for path in found if path not in self.tried]
        _include_for(self.project, beside)
        return self._take(beside, wanted)

    def _take(self, paths: Sequence[Path], wanted: Sequence[str]) -> bool:
        self.tried.update(paths)
        with ThreadPoolExecutor(max_workers=len(os.sched_getaffinity(0))) as pool:
            useful = list(pool.map(lambda path: self._defines(path, wanted), paths))
        taken = [path for path, fits in zip(paths, useful, strict=True) if fits]
        self.sources += taken
        return bool(taken)

    def _defines(self, path: Path, wanted: Sequence[str]) -> bool:
        self.progress(f"compiling {path.name} for its functions")
        try:
            (compiled,) = compile_objects(
                [path],
                include_dirs=self.project.include_dirs,
                defines=self.defines,
                opt=_OPT,
                code=_CODE,
            )
        except OpgenError:
            return False
        return not read_object(compiled).shared().isdisjoint(wanted)


def _include_for(project: OpProject, sources: Sequence[Path]) -> None:
    """Add the folders of the headers that some sources need besides."""
    system = emulation_includes()
    known = [*project.include_dirs, *system]
    finder = IncludeFinder(repository_root(project.root), known, side="op_host")
    found = finder.folders(sources)
    project.include_dirs += [folder for folder in found if folder not in known]


def _seems_to_define(path: Path, symbols: Sequence[str]) -> bool:
    """Say whether a source reads as if it defines one of some mangled functions or classes."""
    return defines_one(path, [_wanted(symbol) for symbol in symbols])


def _wanted(symbol: str) -> tuple[str, ...]:
    """Return scopes and name: of a class whose tables are missing, any member will do."""
    table = symbol.startswith(("_ZTV", "_ZTI"))
    return (*_names(symbol), "") if table else _names(symbol)


def _may_define(path: Path, symbols: Sequence[str]) -> bool:
    """Say whether a source names one of some mangled functions or classes."""
    text = path.read_text(encoding="utf-8", errors="replace")
    names = {_last_name(symbol) for symbol in symbols}
    return any(re.search(rf"\b{re.escape(name)}\b", text) for name in names if name)


_NAME_START = re.compile(r"_Z(?:T[A-Z])?(?:N[KVRO]*)?(?:St)?")
_NAME_PART = re.compile(r"L?(\d+)")


def _last_name(symbol: str) -> str:
    """Return ``f`` of ``_ZN1a1fEv``, or the class of a member without a name (a constructor)."""
    names = _names(symbol)
    return names[-1] if names else ""


def _names(symbol: str) -> tuple[str, ...]:
    """Return the scopes and the name of a mangled symbol."""
    start = _NAME_START.match(symbol)
    if start is None:
        return (symbol,)
    names, at = [], start.end()
    while match := _NAME_PART.match(symbol, at):
        at = match.end() + int(match[1])
        names.append(symbol[match.end() : at])
        if not start[0].rstrip("KVRO").endswith("N"):
            break
    return tuple(names)


def _bool_functions(project: OpProject) -> set[str]:
    """Return the names of functions that headers of a project declare to return a bool."""
    headers = [*project.other_arch_sources]
    for folder in project.include_dirs:
        headers += sorted(folder.glob("*.h"))
    texts = (path.read_text(encoding="utf-8", errors="replace") for path in headers)
    return {name for text in texts for name in _BOOL_FUNCTION.findall(text)}


def _stub_source(project: OpProject, symbols: Sequence[str]) -> list[Path]:
    """Write stand-ins that fail: false where a header declares a bool, else a status."""
    if not symbols:
        return []
    flags = _bool_functions(project)
    lines = ['#include "ascendc_emu/host_log.h"']
    for number, symbol in enumerate(symbols):
        name = f"opgen_missing_{number}"
        if symbol.startswith("_ZTI"):  # a class that another one derives from: its type's name
            lines += [
                'extern "C" void *opgen_type_table[] asm("_ZTVN10__cxxabiv117__class_type_infoE");',
                f'extern "C" const void *const {name}[2] asm("{symbol}") = '
                f'{{opgen_type_table + 2, "{symbol[4:]}"}};',
            ]
            continue
        if symbol.startswith("_ZTV"):  # a class: every virtual function is the same
            lines += [
                f"static unsigned {name}() {{",
                f'    OPGEN_HOST_LOG_AT(kError, "%s is {_ABSENT}", "{symbol}");',
                "    return 0xffffffffU;",
                "}",
                f'extern "C" void *{name}_table[{_VIRTUALS}] asm("{symbol}");',
                f'extern "C" void *{name}_table[{_VIRTUALS}] = {{nullptr, nullptr, '
                + ", ".join([f"(void *)&{name}"] * (_VIRTUALS - 2))
                + "};",
            ]
            continue
        lines += [
            f'extern "C" unsigned {name}() asm("{symbol}");',
            f'extern "C" unsigned {name}() {{',
            f'    OPGEN_HOST_LOG_AT(kError, "%s is {_ABSENT}", "{symbol}");',
            f"    return {'0' if _last_name(symbol) in flags else '0xffffffff'}U;",
            "}",
        ]
    text = "\n".join(lines) + "\n"

    def build(folder: Path) -> list[Path]:
        (folder / "other_architecture.cpp").write_text(text, encoding="utf-8")
        return []

    folder, _ = cache.cached("host-stubs", cache.text_hash(text), "other architecture", build)
    return [folder / "other_architecture.cpp"]

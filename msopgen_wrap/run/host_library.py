"""The host library of a project: its op_host sources, and what they need of their repository.

Op repositories link all their ops into one library, so an op may call what a neighbour or a source
for another architecture defines. A source is added when one of its symbols is missing.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from msopgen_wrap.build import cache
from msopgen_wrap.build.emulation import compile_objects, compile_shared
from msopgen_wrap.build.emulation import include_dirs as emulation_includes
from msopgen_wrap.build.object_file import read_object
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.run.extensions import python_headers
from msopgen_wrap.run.include_finder import IncludeFinder, for_other_arch, repository_root
from msopgen_wrap.run.neighbour_sources import defining_sources
from msopgen_wrap.run.op_project import OpProject

_OPT, _CODE = "-O1", "OPG514"
# CANN links OpDefs and tiling functions into different libraries; helpers that headers define in
# both are one here.
_LINK_FLAGS = ("-Wl,-z,muldefs", "-Wl,--no-demangle")
_UNDEFINED = re.compile(r"undefined reference to [`'](\w+)'")
_NO_HEADER = re.compile(r"(?:.*: )?(\S+): No such file or directory")
_GUARD = re.compile(
    r"^[ \t]*#[ \t]*ifndef[ \t]+(\w+)\s*\n[ \t]*#[ \t]*define[ \t]+\1\b", re.MULTILINE
)
_ROUNDS = 12
# Entries of a stand-in for a virtual table: more functions than any class of a repository has.
_VIRTUALS = 64


def build_host_library(
    project: OpProject,
    defines: Sequence[str] = (),
    progress: Callable[[str], None] = lambda _: None,
) -> Path:
    """Compile and link a project's host sources.

    Functions and virtual classes that only sources of another architecture define, and which do not
    compile here, are replaced by ones that log their name and fail. A header for another
    architecture that includes what is not here is left out, and so is a source that does not
    compile without it.

    Raises:
        OpgenError: OPG514, a source does not compile or a symbol is defined nowhere.
    """
    sources = list(project.host_sources)
    foreign = bool(project.other_arch_sources)
    candidates = [project.companions, project.other_arch_sources]
    tried: set[Path] = set()
    stubs: list[str] = []
    left_out: list[Path] = []  # headers
    unfit: list[Path] = []  # sources that do not compile without them
    for _ in range(_ROUNDS):
        try:
            return _link(project, [*sources, *_stub_source(stubs)], defines)
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
            missing = list(dict.fromkeys(_UNDEFINED.findall(error.diagnostics[0].why)))
            if not missing or set(missing) <= set(stubs):
                raise with_header_advice(error, project.root) from error
            added = False
            for group in candidates:
                useful = [p for p in group if p not in tried and _may_define(p, missing)]
                tried.update(useful)
                if added := _add(project, sources, useful, defines, progress):
                    break
            if not added:
                added = _add_neighbours(project, sources, missing, tried, defines, progress)
            if not added:
                stand_ins = [m for m in missing if not m.startswith(("_ZTI", "_ZTS"))]
                elsewhere = foreign or any(for_other_arch(p) or p in unfit for p in tried)
                if not elsewhere or not stand_ins:
                    raise
                stubs += stand_ins
    return _link(project, [*sources, *_stub_source(stubs)], defines)


def with_header_advice(error: OpgenError, project: Path) -> OpgenError:
    """Say where a missing header was looked for and how to name its folder."""
    first = error.diagnostics[0]
    match = _NO_HEADER.match(first.what)
    if match is None:
        return error
    if python_headers([f"#include <{match[1]}>"]):
        advice = replace(
            first,
            what=f"op_host includes {match[1]}: it is code for PyTorch, not CANN's host library",
            why="an op project declares its ops with OP_ADD; a folder whose op_host launches the "
            "kernels from PyTorch is a Python extension",
            fix="opgen run OP_HOST.cpp KERNEL.cpp SCRIPT.py, with the script that loads it",
        )
        return OpgenError([advice, *error.diagnostics[1:]])
    advice = replace(
        first,
        what=f"header {match[1]} is not found",
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


def _foreign_header(error: OpgenError, defines: Sequence[str]) -> str:
    """Return the guard of a header for another architecture that lacks a header, else ""."""
    path = _place(error)
    if (
        _NO_HEADER.match(error.diagnostics[0].what) is None
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


def _add(
    project: OpProject,
    sources: list[Path],
    candidates: Sequence[Path],
    defines: Sequence[str],
    progress: Callable[[str], None],
) -> bool:
    """Append those candidates that compile; say whether there are any."""
    before = len(sources)
    for path in candidates:
        progress(f"compiling {path.name} for its functions")
        try:
            _link(project, [path], defines)
        except OpgenError as error:
            if not error.diagnostics[0].what.startswith("linking"):
                continue
        sources.append(path)
    return len(sources) > before


def _add_neighbours(
    project: OpProject,
    sources: list[Path],
    missing: Sequence[str],
    tried: set[Path],
    defines: Sequence[str],
    progress: Callable[[str], None],
) -> bool:
    """Append the neighbours' sources that define a missing symbol; say whether there are any.

    What the project's own sources for another architecture may define is not looked for: neighbours
    have much of the same names.
    """
    wanted = [
        symbol
        for symbol in missing
        if not any(_may_define(path, [symbol]) for path in project.other_arch_sources)
    ]
    # Of a class whose table of functions is missing, the source of any member will do.
    names = [(*_names(s), "") if s.startswith("_ZTV") else _names(s) for s in wanted]
    found = defining_sources(project.root, names)
    beside = [path for path in found if path not in tried]
    tried.update(beside)
    _include_for(project, beside)
    before = len(sources)
    for path in beside:
        progress(f"compiling {path.name} for its functions")
        try:
            (compiled,) = compile_objects(
                [path],
                include_dirs=project.include_dirs,
                defines=defines,
                opt=_OPT,
                code=_CODE,
            )
        except OpgenError:
            continue
        if read_object(compiled).shared() & set(wanted):
            sources.append(path)
    return len(sources) > before


def _include_for(project: OpProject, sources: Sequence[Path]) -> None:
    """Add the folders of the headers that some sources need besides."""
    system = emulation_includes()
    known = [*project.include_dirs, *system]
    finder = IncludeFinder(repository_root(project.root), known, side="op_host")
    found = finder.folders(sources)
    project.include_dirs += [folder for folder in found if folder not in known]


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


def _stub_source(symbols: Sequence[str]) -> list[Path]:
    if not symbols:
        return []
    lines = ['#include "ascendc_emu/host_log.h"']
    for number, symbol in enumerate(symbols):
        name = f"opgen_missing_{number}"
        if symbol.startswith("_ZTV"):  # a class: every virtual function is the same
            lines += [
                f"static unsigned {name}() {{",
                f'    OPGEN_HOST_LOG_AT(kError, "%s is for another architecture", "{symbol}");',
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
            f'    OPGEN_HOST_LOG_AT(kError, "%s is for another architecture", "{symbol}");',
            "    return 0xffffffffU;",
            "}",
        ]
    text = "\n".join(lines) + "\n"

    def build(folder: Path) -> list[Path]:
        (folder / "other_architecture.cpp").write_text(text, encoding="utf-8")
        return []

    folder, _ = cache.cached("host-stubs", cache.text_hash(text), "other architecture", build)
    return [folder / "other_architecture.cpp"]

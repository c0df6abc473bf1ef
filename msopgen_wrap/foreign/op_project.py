"""An op project in msopgen layout: where its sources are and how its kernels are compiled."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msopgen_wrap.build.emulation_library import include_dirs as emulation_includes
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.repository_sources import (
    IncludeFinder,
    for_other_arch,
    host_sources,
    registering_sources,
    repository_root,
)
from msopgen_wrap.platforms import families, is_soc
from msopgen_wrap.spec.names import snake_case

# Sources that need CANN's aclnn framework (op_api layers, execution of an op as another op's aclnn
# call); the op runtime stands in for them. Sources with functions of an op are no such layer, even
# when they include one of its headers.
_API_SOURCE = re.compile(
    r'#\s*include\s*[<"](?:(?:aclnn/)?(?:opdev/|aclnn_kernels/|aclnn/aclnn_base)|'
    r"(?:fallback/)?fallback(?:_comm)?\.h|exe_graph/runtime/op_execute_context)"
)
_FUNCTIONS = re.compile(r"\b(?:OP_ADD|IMPL_OP_OPTILING|IMPL_OP_INFERSHAPE)\s*\(")
_ENTRY = re.compile(
    r"__global__\s+__aicore__\s+void\s+(\w+)\s*\(|__aicore__\s+__global__\s+void\s+(\w+)"
)
_SKIP_DIRS = {"tests", "test", "ut", "st", "examples", "op_api", "build", "build_out", "op_graph"}

# Where repositories of many ops keep the headers that their ops share, and how far above an op.
_SHARED_FOLDERS = ("common/include", "common/inc", "utils/inc", "src/common/inc", "include")
_SHARED_LEVELS = 4
_SIDES = ("op_host", "op_kernel")


@dataclass(frozen=True)
class KernelSource:
    """A kernel file and the symbol of its entry."""

    path: Path
    entry: str


@dataclass
class OpProject:
    """Sources of a project.

    Attributes:
        root: the project's folder.
        host_sources: what makes the host library.
        skipped: host sources that belong to the aclnn layer and are not compiled.
        include_dirs, kernel_include_dirs: folders for host and for kernel compilation, the
            project's own first. A header that both sides of a repository have is the side's own.
        other_arch_sources: host sources for architectures without an emulation (``arch35/``).
        companions: sources beside headers that the project includes from its repository.
    """

    root: Path
    host_sources: list[Path] = field(default_factory=list)
    skipped: list[Path] = field(default_factory=list)
    include_dirs: list[Path] = field(default_factory=list)
    kernel_include_dirs: list[Path] = field(default_factory=list)
    other_arch_sources: list[Path] = field(default_factory=list)
    companions: list[Path] = field(default_factory=list)

    @property
    def kernel_dir(self) -> Path:
        """The folder with kernels."""
        return self.root / "op_kernel"

    def kernel(self, op_type: str, op_file: str = "") -> KernelSource:
        """Return the kernel of an op: ``op_kernel/<op_file or snake_case>.cpp`` or by its entry.

        Raises:
            OpgenError: OPG512, no file defines the entry.
        """
        names = [n for n in (op_file, snake_case(op_type), cann_snake_case(op_type)) if n]
        files = [p for p in sorted(self.kernel_dir.rglob("*.cpp")) if not _in_tests(p, self.root)]
        # The same file may exist once more for another architecture (op_kernel/arch35).
        files.sort(key=lambda p: for_other_arch(p.relative_to(self.root)))
        by_stem = {p.stem: p for p in reversed(files)}
        for name in names:
            if name in by_stem:
                entries = kernel_entries(by_stem[name])
                for entry in (*names, *entries):
                    if entry in entries:
                        return KernelSource(by_stem[name], entry)
        for path in files:
            for entry in kernel_entries(path):
                if entry in names or loose_name(entry) == loose_name(op_type):
                    return KernelSource(path, entry)
        raise OpgenError(
            Diagnostic(
                "OPG512",
                f"no kernel for op {op_type} below {self.kernel_dir}",
                Location(str(self.kernel_dir)),
                why=f"looked for {names[0]}.cpp and for an entry "
                f'extern "C" __global__ __aicore__ void {names[0]}(...)',
                fix="name the kernel file and its entry after the op in snake_case",
            )
        )


def open_project(root: Path, include_dirs: Sequence[Path] = ()) -> OpProject:
    """Find the sources of a project.

    Raises:
        OpgenError: OPG510, there is no op_host or op_kernel folder.
    """
    for folder in ("op_host", "op_kernel"):
        if not (root / folder).is_dir():
            raise OpgenError(
                Diagnostic(
                    "OPG510",
                    f"{root} is not an op project: it has no {folder} folder",
                    Location(str(root)),
                    why="an msopgen project has op_host/ (OpDef, tiling) and op_kernel/",
                    fix="give the project's root, or a .asc/.cpp program",
                )
            )
    project = OpProject(root)
    neighbours = _find_host_sources(project)
    for beside in dict.fromkeys(p.parent for p in neighbours):
        project.other_arch_sources += [
            p for p in host_sources(beside) if for_other_arch(p) and not _in_tests(p, beside)
        ]
    _find_include_dirs(project, neighbours, [*include_dirs, *_shared_headers(root)])
    return project


def _find_host_sources(project: OpProject) -> list[Path]:
    """Sort the sources of ``op_host`` into the project's lists; return those of neighbours.

    Raises:
        OpgenError: OPG511, there is none.
    """
    root = project.root
    texts: dict[Path, str] = {}
    for path in host_sources(root / "op_host"):
        if _in_tests(path, root):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        layer = _API_SOURCE.search(text) and not _FUNCTIONS.search(text)
        if path.name.startswith("fallback_") or layer:
            project.skipped.append(path)
        elif for_other_arch(path.relative_to(root)):
            project.other_arch_sources.append(path)
        else:
            project.host_sources.append(path)
            texts[path] = text
    if not project.host_sources:
        raise OpgenError(
            Diagnostic(
                "OPG511",
                f"{root / 'op_host'} has no host source",
                Location(str(root / "op_host")),
                fix="op_host needs at least the .cpp with the OpDef and the tiling function",
            )
        )
    neighbours = registering_sources(root, texts)
    project.host_sources += neighbours
    return neighbours


def _find_include_dirs(
    project: OpProject, neighbours: Sequence[Path], given: Sequence[Path]
) -> None:
    """Fill in the include folders of host sources and kernels, and companions of the headers.

    Args:
        neighbours: host sources of other ops.
        given: folders that come before those of the repository.
    """
    root = project.root
    kernels = [p for p in sorted(root.glob("op_kernel/**/*.cpp")) if not _in_tests(p, root)]
    hosts = [*project.host_sources, *project.other_arch_sources]
    own = {s: [root / s, *sorted({p.parent for p in root.glob(f"{s}/**/*.cpp")})] for s in _SIDES}
    system = list(emulation_includes())
    own["op_host"] += sorted({p.parent for p in neighbours})
    # Before the emulation's, whose op base library has a tiling_util.h, too.
    host_headers = [
        folder / "op_host"
        for folder in given
        if (folder / "op_host").is_dir() and _in_search_path(folder / "op_host")
    ]
    first = list(dict.fromkeys([*own["op_host"], *own["op_kernel"], root, *given, *host_headers]))
    finder = IncludeFinder(repository_root(root), [*first, *system], side="op_host")
    found = finder.folders(hosts)
    taken = {*project.host_sources, *project.other_arch_sources, *project.skipped}
    # A source beside a header may need another one's: until nothing new comes up.
    while more := [
        path
        for path in finder.companions()
        if path not in taken and path not in project.companions and not for_other_arch(path)
    ]:
        project.companions += more
        found = finder.folders(more)
    project.include_dirs = [*first, *found]
    first = list(dict.fromkeys([*own["op_kernel"], *own["op_host"], root, *given]))
    kernel_finder = finder.sibling([*first, *system], side="op_kernel")
    project.kernel_include_dirs = [*first, *kernel_finder.folders(kernels)]


def _shared_headers(root: Path) -> list[Path]:
    """Return header folders that op repositories keep above their ops (``common/include`` ...)."""
    found = []
    for parent in list(root.absolute().parents)[:_SHARED_LEVELS]:
        found += [parent / name for name in _SHARED_FOLDERS if (parent / name).is_dir()]
    return found


def _in_search_path(folder: Path) -> bool:
    """Say whether a repository's build files name a folder of headers; True where there are none.

    Where they do not, ``#include "tiling_util.h"`` is the op base library's, not the folder's.
    """
    repository = repository_root(folder)
    files = [repository / "CMakeLists.txt", *sorted(repository.glob("cmake/**/*.cmake"))]
    texts = [p.read_text(encoding="utf-8", errors="replace") for p in files if p.is_file()]
    named = re.escape(f"/{folder.relative_to(repository).as_posix()}")
    pattern = re.compile(rf"^[^#\n]*{named}(?![\w/])", re.MULTILINE)
    return not texts or any(pattern.search(text) for text in texts)


def kernel_entries(path: Path) -> list[str]:
    """Return the kernel entries a file defines, in order."""
    text = path.read_text(encoding="utf-8", errors="replace")
    return [a or b for a, b in _ENTRY.findall(text)]


def cann_snake_case(op_type: str) -> str:
    """Return CANN's file name for an op type: a ``_`` before every capital after a non-capital."""
    step = re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", op_type)
    return re.sub(r"([A-Z]+)([A-Z][a-z])", r"\1_\2", step).lower()


def loose_name(name: str) -> str:
    """Return what op types, entries and file names of one op have in common."""
    return name.replace("_", "").lower()


def _in_tests(path: Path, root: Path) -> bool:
    return any(part in _SKIP_DIRS for part in path.relative_to(root).parts[:-1])


# ---- dtype combinations ------------------------------------------------------------------------


def declaration_problems(
    declaration: Mapping[str, Any], undeclared: Sequence[str] = ()
) -> list[Diagnostic]:
    """Return what CANN's opbuild accepts silently and a user finds out on the board.

    Args:
        undeclared: op types that only functions are registered for; an op that misses one may
            be meant.
    """
    op = declaration["op"]
    place = Location()
    found = [Diagnostic("OPG520", f"op {op}: {text}", place) for text in declaration["problems"]]
    for config in declaration["socs"]:
        if not is_soc(config["soc"]):
            found.append(
                Diagnostic(
                    "OPG521",
                    f'op {op}: AddConfig("{config["soc"]}") names no known SoC',
                    place,
                    why="opbuild accepts any name; the op is then missing on the SoC meant",
                    fix=f"use one of {', '.join(families())}",
                    severity="warning",
                )
            )
    missing = [
        ("socs", "AICore().AddConfig()", "the op is built for no SoC", ""),
        ("has_tiling", "AICore().SetTiling()", "every call fails in tiling", "IMPL_OP_OPTILING"),
        (
            "has_infer_shape",
            "SetInferShape()",
            "the op cannot be used in a graph",
            "IMPL_OP_INFERSHAPE",
        ),
    ]
    for key, call, effect, macro in missing:
        # A shape that only the kernel knows may have bounds alone.
        bounded = key == "has_infer_shape" and declaration.get("has_infer_shape_range")
        if declaration["declared"] and not declaration[key] and not bounded:
            severity = "warning" if key == "has_infer_shape" else "error"
            fix = f"add {call} to the OpDef"
            if macro:
                fix += f", or {macro}({op})"
                if undeclared:
                    fix += f" (registered so far, and declared by no OP_ADD: {undeclared[0]})"
            found.append(
                Diagnostic(
                    "OPG522",
                    f"op {op} has no {call}",
                    place,
                    why=f"opbuild accepts that; {effect}",
                    fix=fix,
                    severity=severity,
                )
            )
    for side in ("inputs", "outputs"):
        names = [p["name"] for p in declaration[side]]
        for name in sorted({n for n in names if names.count(n) > 1}):
            found.append(
                Diagnostic(
                    "OPG523",
                    f"op {op} has two {side} called {name}",
                    place,
                    why="opbuild accepts that; the kernel gets two parameters of one name",
                    fix="rename one of them",
                )
            )
    return found

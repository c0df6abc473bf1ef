"""What an op project takes from its repository: headers, and host functions of neighbours.

Op repositories keep shared headers beside their ops (``common/inc``, ``norm/norm_common``) and the
build files add the folders op by op. Kernels are installed in a flat tree, one folder per op, and
include each other as ``../<other op>/<header>``. Both are found here from the includes themselves.

Ops of one family often share their tiling and InferShape: ``IMPL_OP_OPTILING(ForeachAddScalar)``
stands in ``foreach_utils/op_host``, or a second version's functions beside the first one's. An op
may also declare another op's tiling function itself and call it.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path, PurePosixPath

from msopgen_wrap.build import cache
from msopgen_wrap.build.rewriting.source_text import blank_comments

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*([<"])([^">\n]+)[">]', re.MULTILINE)
_SKIP = {"tests", "test", "docs", "examples", "build", "build_out", "third_party", "node_modules"}
_TEST_FOLDERS = {"tests", "test"}
# The endings that CMake's aux_source_directory, which CANN projects use, takes for C++.
HOST_SUFFIXES = (".cpp", ".cc", ".cxx")
_HEADERS = (".h", ".hpp", *HOST_SUFFIXES, ".inc", ".inl")
# Files at the root of a repository of ops. Folders between it and an op need none.
_REPOSITORY = (".git", "build.sh", "CMakePresets.json")
_LEVELS = 6
# Where headers of the C and C++ library and of the system lie.
_SYSTEM = (Path("/usr/include"), *sorted(Path("/usr/include").glob("*-linux-gnu")))
_COMPILER_HEADERS = {"stdarg.h", "stdbool.h", "stddef.h", "float.h", "iso646.h", "stdalign.h"}
# A folder with CANN's own headers, which are here.
_CANN_HEADER = "kernel_operator.h"
# arch32 is the one of Ascend910B, as arch22 is.
_OTHER_ARCH = re.compile(
    r"(?:\b|_)arch_?3(?!2)\d|(?:\b|_)v35\b|regbase|_apt\b|(?:\b|_)3510|(?:\b|_)simt"
)


def repository_root(project: Path) -> Path:
    """Return the root of the repository that holds a project; the project itself when it is one."""
    root = project.absolute()
    result = root
    for parent in list(root.parents)[:_LEVELS]:
        if parent in (Path.home(), Path(parent.anchor)):
            break
        if any((parent / name).exists() for name in _REPOSITORY):
            result = parent
    return result


def host_sources(folder: Path, pattern: str = "**/*") -> list[Path]:
    """Return the C++ sources among the files below a folder that a glob pattern names, in order."""
    return sorted(p for p in folder.glob(pattern) if p.suffix in HOST_SUFFIXES)


def in_repository(path: Path) -> bool:
    """Return whether a repository holds the path, so that its headers may be searched for."""
    root = repository_root(path)
    return any((root / name).exists() for name in _REPOSITORY)


def program_folders(sources: Sequence[Path], known: Sequence[Path]) -> list[Path]:
    """Return the folders of a repository that the sources of a program need beside ``known``.

    The build files of a repository add them for a whole library of programs. None outside of a
    repository: the folder of a single file may hold anything.
    """
    here = sources[0].resolve().parent
    if not in_repository(here):
        return []
    finder = IncludeFinder(repository_root(here), known, side="op_kernel", tests=True)
    found = finder.folders([s.resolve() for s in sources])
    return [folder for folder in found if not (folder / _CANN_HEADER).is_file()]


def for_other_arch(path: Path) -> bool:
    """Return whether a path says that the file is for an architecture without an emulation."""
    return bool(_OTHER_ARCH.search(str(path)))


class IncludeFinder:
    """Finds the folders that the includes of some sources need.

    Args:
        repository: folder to search; searched once, when an include is missing.
        known: include folders that are there anyway, the emulation's too.
        side: ``op_host`` or ``op_kernel``; a header that a repository has on both sides under one
            name is then that side's.
        tests: search the folders of tests, too; companions are then those of their headers only.
    """

    def __init__(
        self, repository: Path, known: Sequence[Path], *, side: str = "", tests: bool = False
    ):
        self.repository = repository
        self.side = side
        self.tests = tests
        self.known = [Path(d) for d in known]
        self._files: Mapping[str, list[str]] | None = None
        self._seen: set[Path] = set()
        self._found: list[Path] = []
        self._flat: dict[str, Path] = {}
        self._flat_depth = 1  # of "../" in what is included from an installed kernel tree

    def folders(self, sources: Iterable[Path]) -> list[Path]:
        """Return the folders to add for ``sources`` and all they include, in order of discovery.

        What is not found anywhere is left to the compiler, which knows whether it is needed.
        """
        todo = [Path(s) for s in sources]
        while todo:
            path = todo.pop()
            if path in self._seen:
                continue
            self._seen.add(path)
            text = path.read_text(encoding="utf-8", errors="replace")
            for quote, name in _INCLUDE.findall(text):
                target = self._resolve(path, quote == '"', name.strip())
                if target is not None and target.is_relative_to(self.repository):
                    todo.append(target)
        flat = _flat_tree(self._flat, self._flat_depth) if self._flat else []
        return [*self._found, *flat]

    def reached(self) -> list[Path]:
        """Return the files of the repository that :meth:`folders` has read."""
        return sorted(self._seen)

    def sibling(self, known: Sequence[Path], *, side: str) -> IncludeFinder:
        """Return a finder for other sources of the repository, which is not searched again."""
        other = IncludeFinder(self.repository, known, side=side)
        other._files = self._index()
        return other

    def companions(self) -> list[Path]:
        """Return the sources of the repository that belong to headers seen by :meth:`folders`.

        They lie beside the header, or in ``src`` where it lies in ``include`` or ``inc``.
        """
        headers = [p for p in sorted(self._seen) if p.suffix not in HOST_SUFFIXES]
        if self.tests:
            helpers = [p for p in headers if _TEST_FOLDERS & set(p.parts)]
            sources = [p.with_suffix(suffix) for p in helpers for suffix in HOST_SUFFIXES]
            return [p for p in sources if p.is_file()]
        return [s for p in headers for s in _sources_of(p) if s.is_file()]

    def _resolve(self, source: Path, quoted: bool, name: str) -> Path | None:
        folders = [*([source.parent] if quoted else []), *self.known, *self._found]
        for folder in folders:
            path = folder / name
            if path.is_file():
                return Path(os.path.normpath(path))
        if "." not in PurePosixPath(name).name or name in _COMPILER_HEADERS:
            return None  # a header of the C++ library
        if any((folder / name).is_file() for folder in _SYSTEM):
            return None
        parts = [p for p in PurePosixPath(name).parts if p not in ("..", ".")]
        up = name.startswith("../")
        if up and len(parts) > 1:
            installed = self._search([parts[0], "op_kernel", *parts[1:]], source)
            if installed is not None:
                self._flat.setdefault(parts[0], _above(installed, len(parts) - 1))
                self._flat_depth = max(self._flat_depth, name.count("../"))
                return installed
        found = self._search(parts, source)
        if found is not None:
            base = _above(found, len(parts))
            depth = name.count("../") if up else 0
            below = _below(base, parts, depth)
            if below is not None:
                self._found.append(below)
            else:  # nothing lies deep enough there
                self._flat.setdefault(parts[0], base / parts[0])
                self._flat_depth = max(self._flat_depth, depth)
        return found

    def _search(self, parts: Sequence[str], source: Path) -> Path | None:
        """Return the file that ends with ``parts`` and lies nearest to ``source``."""
        tail = "/" + "/".join(parts)
        names = [n for n in self._index().get(parts[-1], []) if f"/{n}".endswith(tail)]
        if not names:
            return None
        here = source.absolute().parts
        base = len(self.repository.parts)

        def distance(name: str) -> tuple[bool, bool, bool, int, str]:
            own = PurePosixPath(name).parts
            common = 0
            while common < len(own) and here[base + common : base + common + 1] == (own[common],):
                common += 1
            foreign = for_other_arch(Path(name)) and not for_other_arch(source)
            # Helpers of another op's tests are its own affair.
            level = next((i for i, p in enumerate(own) if p in _TEST_FOLDERS), 0)
            foreign_test = own[:level] != here[base : base + level]
            sides = {"op_host", "op_kernel"}.intersection(own)
            other_side = bool(self.side and sides) and self.side not in sides
            return foreign, foreign_test, other_side, len(own) - 2 * common, name

        return self.repository / min(names, key=distance)

    def _index(self) -> Mapping[str, list[str]]:
        if self._files is None:
            files_by_name: dict[str, list[str]] = defaultdict(list)
            for folder, folders, files in os.walk(self.repository):
                skip = _SKIP - _TEST_FOLDERS if self.tests else _SKIP
                folders[:] = [d for d in folders if d not in skip and not d.startswith(".")]
                inside = os.path.relpath(folder, self.repository)
                for file in files:
                    if file.endswith(_HEADERS):
                        path = file if inside == "." else f"{inside}/{file}"
                        files_by_name[file].append(path)
            self._files = files_by_name
        return self._files


def _sources_of(header: Path) -> list[Path]:
    found = []
    for source in (header.with_suffix(suffix) for suffix in HOST_SUFFIXES):
        found += [source] if "op_host" in source.parts else []
        for level, name in enumerate(source.parts):
            if name in ("include", "inc"):
                folder = Path(*source.parts[:level], "src")
                found += [folder.joinpath(*source.parts[level + 1 :]), folder / source.name]
    return list(dict.fromkeys(found))


def _above(path: Path, levels: int) -> Path:
    for _ in range(levels):
        path = path.parent
    return path


def _below(base: Path, parts: Sequence[str], depth: int) -> Path | None:
    """Return a folder from which ``depth`` times ``..`` leads to ``base``, or None.

    It lies towards ``parts``, as far as these are folders.
    """
    for level in range(depth):
        inside = [base / parts[level]] if level < len(parts) - 1 else sorted(base.iterdir())
        below = next((p for p in inside if p.is_dir()), None)
        if below is None:
            return None
        base = below
    return base


def _flat_tree(folders: Mapping[str, Path], depth: int) -> list[Path]:
    """Return folders from which ``../``, ``../../`` ... lead to ``folders`` by name.

    So an installed kernel tree lies: every op is a folder, whose headers may be in folders of it.
    """
    text = "\n".join(f"{name}\t{path}" for name, path in sorted(folders.items()))

    levels = ["_"] * depth

    def build(folder: Path) -> list[Path]:
        folder.joinpath(*levels).mkdir(parents=True)
        for name, path in folders.items():
            (folder / name).symlink_to(path, target_is_directory=True)
        return []

    key = cache.text_hash(f"{depth}\n{text}")
    folder, _ = cache.cached("kernel-tree", key, "kernel tree", build)
    return [folder.joinpath(*levels[:level]) for level in range(1, depth + 1)]


_DECLARED = re.compile(r"\bOP_ADD\s*\(\s*(\w+)")
_TILING = r"\bIMPL_OP(?:_OPTILING)?\s*\(\s*(\w+)"
_SHAPE = r"\bIMPL_OP(?:_INFERSHAPE)?\s*\(\s*(\w+)"
_APART = {"tests", "op_api", "examples", "op_graph"}
_BESIDE = "*/op_host/**/*"


def registering_sources(root: Path, own: Mapping[Path, str]) -> list[Path]:
    """Return sources beside a project that register functions its own sources do not.

    They may also lie in a ``common`` folder above. An op that a macro of a header declares is known
    by the project's folder.

    Args:
        root: the project's folder.
        own: its host sources and their texts.
    """
    texts = [blank_comments(text) for text in own.values()]
    declared = {name.lower() for text in texts for name in _DECLARED.findall(text)}
    declared = declared or {root.absolute().name.replace("_", "").lower()}
    wanted = {}
    for pattern, method in ((_TILING, "SetTiling("), (_SHAPE, "SetInferShape(")):
        if not any(method in text for text in texts):
            wanted[pattern] = declared - _registered(pattern, texts)
    if not any(wanted.values()):
        return []
    found = []
    for path in [*host_sources(root.absolute().parent, _BESIDE), *_shared_sources(root)]:
        if path.is_relative_to(root.absolute()) or _APART & set(path.parts[len(root.parts) :]):
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        if "IMPL_OP" not in text or for_other_arch(path):
            continue
        text = blank_comments(text)
        if any(_registered(pattern, [text]) & ops for pattern, ops in wanted.items()):
            found.append(path)
    return found


def _shared_sources(root: Path) -> list[Path]:
    """Return the sources of the ``common`` folders above a project, up to its repository's."""
    repository = repository_root(root)
    above = [p for p in root.absolute().parents if p.is_relative_to(repository)]
    return [path for parent in above for path in host_sources(parent / "common")]


def defining_sources(root: Path, functions: Iterable[tuple[str, ...]]) -> list[Path]:
    """Return sources beside a project that define one of some functions, or members of a class.

    Args:
        root: the project's folder.
        functions: scopes and name of each, ``("optiling", "Tiler", "DoTiling")``; a constructor is
            named by its class, any member of a class is ``""``.
    """
    wanted = [names for names in functions if names]
    found = []
    for path in host_sources(root.absolute().parent, _BESIDE) if wanted else []:
        if path.is_relative_to(root.absolute()) or _APART & set(path.parts[len(root.parts) :]):
            continue
        if defines_one(path, wanted):
            found.append(path)
    return found


def defines_one(path: Path, functions: Iterable[tuple[str, ...]]) -> bool:
    """Say whether a source reads as if it defines one of some functions, named as above."""
    text = path.read_text(encoding="utf-8", errors="replace")
    named = [d for names in functions if names and (d := _Definition(names)).name in text]
    code = blank_comments(text) if named else ""
    return any(definition.is_in(code) for definition in named)


class _Definition:
    """Where a function is defined: ``Scope::name(...) {``, or without scope inside of it."""

    def __init__(self, names: tuple[str, ...]):
        scope = names[-2] if len(names) > 1 else ""
        self.name = names[-1] or scope
        body = rf"{names[-1] or '~?[A-Za-z_]+'}\s*\([^;{{}}]*\)[^;{{}}()]*\{{"
        self._scoped = re.compile(rf"\b(?:{scope or self.name}|{self.name})\s*::\s*{body}")
        self._free = re.compile(rf"(?<![:\w]){body}") if names[-1] else None
        opening = rf"\b(?:namespace\s+(?:\w+::)*|class\s+|struct\s+){scope}\b"
        self._scope = re.compile(opening) if scope else None

    def is_in(self, code: str) -> bool:
        if self._scoped.search(code):
            return True
        inside = self._scope is None or self._scope.search(code)
        return bool(inside and self._free and self._free.search(code))


def _registered(pattern: str, texts: Iterable[str]) -> set[str]:
    return {name.lower() for text in texts for name in re.findall(pattern, text)}

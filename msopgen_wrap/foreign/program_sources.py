"""The sources of a program: what they include, what they need, and the copies that are compiled."""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.cmake_language import CMakeError, Scope, Word
from msopgen_wrap.build.emulation import COMPILER_ENUMS, PRELUDE
from msopgen_wrap.build.rewriting.device_dialect import host_text, program_text
from msopgen_wrap.build.rewriting.kernel_sources import local_sources
from msopgen_wrap.build.rewriting.source_text import blank_comments
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.foreign.launch_source import find_launches, kernel_kinds, rewrite

SOURCE_SUFFIXES = (".asc", ".cpp", ".cc", ".cxx", ".cce")

# Catlass' cmake files.
_ARCHITECTURE_MACROS = ("CATLASS_ARCH",)

# CANN's cmake target tikicpulib::<soc> defines these for every source of a CPU twin program.
TWIN_DEFINES = ("__CCE_KT_TEST__=1", "ASCENDC_CPU_DEBUG=1", "ASCENDC_DEBUG=1")

_TWIN = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*["<](?:[\w./]*/)?(?:tikicpulib|kern_fwk|stub_def)\.h[">]',
    re.MULTILINE,
)
_TWIN_GUARD = re.compile(r"\b(?:__CCE_(?:KT|UT)_TEST__|ASCENDC_CPU_DEBUG)\b")
_CONDITIONAL = re.compile(r"^[ \t]*#[ \t]*(if\w*|el\w+|endif)\b([^\n]*)", re.MULTILINE)
_TWIN_CALL = re.compile(r"\b(?:ICPU_RUN_KF|GmAlloc)\b")
_TEST_FRAMEWORK = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*["<](gtest|gmock)/\1\.h[">]', re.MULTILINE
)
_CMAKE_TARGET = re.compile(
    r"\b(?:add_executable|add_library|target_sources|ascendc_library)\s*\(([^)]*)\)"
)
_CMAKE_INCLUDES = re.compile(r"\b(?:target_)?include_directories\s*\(([^)]*)\)")
_CMAKE_SET = re.compile(r"\bset\s*\(\s*(\w+)\s+([^)\s]+)\s*\)")
_CMAKE_HERE = re.compile(r"\$\{(?:CMAKE|PROJECT)_(?:CURRENT_)?(?:SOURCE_DIR|LIST_DIR)\}")
_MAIN = re.compile(r"\bint(?:32_t)?\s+main\s*\(")
# Host headers of ge have its data types as enumerators; elsewhere kernels compare them as macros.
_GE_CODE = re.compile(
    r"\b(?:ge|gert)::|\bnamespace\s+ge\b"
    r'|^[ \t]*#[ \t]*include[ \t]*["<](?:acl|register|graph|exe_graph|tiling)/',
    re.MULTILINE,
)
_HOST_CODE = re.compile(r"<<<|\bmain\s*\(|\btesting::|\bICPU_RUN_KF\b")
_DEVICE_CODE = re.compile(r"<<<|\b__aicore__\b|\b__global__\b|\[aicore\]|\bkernel_operator")
# What CANN's CPU builds get from headers that every source of theirs includes.
_STANDARD_NAMES = re.compile(r"\bstd::|\bmem(?:cpy|set|cmp)\b|\bcout\b|\bprintf\b")


def folder_sources(folder: Path) -> list[Path]:
    """Return the sources of a kernel-launch sample, the one with ``main`` first; [] if it is none.

    Such a folder (CANN's kernel invocation samples) holds ``main.cpp`` and the kernels side by
    side, without op_host.
    """
    if (folder / "op_host").is_dir():
        return []
    files = [p for p in sorted(folder.iterdir()) if p.suffix in SOURCE_SUFFIXES and p.is_file()]
    texts = {p: blank_comments(p.read_text(encoding="utf-8", errors="replace")) for p in files}
    listed = [p for p in cmake_sources(folder) if p in texts]
    mains = [p for p in listed or files if _MAIN.search(texts[p])]
    if len(mains) != 1:
        return []
    if listed:
        return mains + [p for p in listed if p not in mains]
    return mains + [p for p in files if p not in mains and "__global__" in texts[p]]


def cmake_text(folder: Path) -> str:
    """Return the folder's CMakeLists.txt without its comments; "" where there is none."""
    path = folder / "CMakeLists.txt"
    if not path.is_file():
        return ""
    return re.sub(r"#[^\n]*", "", path.read_text(encoding="utf-8", errors="replace"))


def taken_cmake(folder: Path, *, unknown: Iterable[str] = ()) -> str:
    """Return the commands of the folder's CMakeLists.txt that a release build takes, one a line.

    Branches of conditions that cannot be told are all there; so is the whole file where it is not
    CMake.

    Args:
        unknown: variables whose values are the user's to choose.
    """
    text = cmake_text(folder)
    scope = _ProgramScope({"CMAKE_BUILD_TYPE": "Release"}, free=frozenset(unknown))
    lines = []
    try:
        for command in scope.taken(text):
            words = " ".join(f'"{w.text}"' if w.quoted else w.text for w in command.words)
            lines.append(f"{command.name}({words})")
    except CMakeError:
        return text
    return "\n".join(lines)


@dataclass
class _ProgramScope(Scope):
    """Variables of a program's build file; those in ``free`` never get a value."""

    free: frozenset[str] = frozenset()

    def _assign(self, name: str, words: tuple[Word, ...], *, certain: bool) -> None:
        if not words or words[0].text not in self.free:
            super()._assign(name, words, certain=certain)


def cmake_sources(folder: Path) -> list[Path]:
    """Return the sources that the folder's CMakeLists.txt makes its program and libraries of.

    Files that are not there and those named through variables are left out; [] without such a file.
    """
    text = taken_cmake(folder)
    text = re.sub(r"\$\{CMAKE_(?:CURRENT_)?(?:SOURCE_DIR|LIST_DIR)\}/", "", text)
    found: list[Path] = []
    for names in _CMAKE_TARGET.findall(text):
        for name in names.replace('"', " ").split():
            source = folder / name
            if source.suffix in SOURCE_SUFFIXES and source.is_file() and source not in found:
                found.append(source)
    return found


def cmake_includes(folder: Path) -> list[Path]:
    """Return the include folders that the folder's CMakeLists.txt names, as far as they are there.

    Relative ones only; variables are followed where a plain ``set(NAME path)`` gives them.
    """
    text = _CMAKE_HERE.sub(".", taken_cmake(folder))
    values = {name: value.strip('"') for name, value in _CMAKE_SET.findall(text)}
    found: list[Path] = []
    for names in _CMAKE_INCLUDES.findall(text):
        for name in names.replace('"', " ").split():
            for _ in range(5):  # variables in the values of variables
                name = re.sub(r"\$\{(\w+)\}", lambda m: values.get(m[1], m[0]), name)
            path = (folder / name).resolve()
            # Absolute ones are CANN's, whose headers are here.
            if not name.startswith("/") and "$" not in name and path.is_dir() and path not in found:
                found.append(path)
    return found


def has_main(texts: Iterable[str]) -> bool:
    """Whether one of some sources, comments blanked, defines ``main``."""
    return any(_MAIN.search(t) for t in texts)


def is_twin(texts: Iterable[str]) -> bool:
    """Whether the program calls its kernels through CANN's CPU twin (``tikicpulib.h``).

    A header that includes it for twin builds alone (``#ifdef __CCE_KT_TEST__``) makes no program
    one that calls nothing of it.
    """
    texts = list(texts)
    including = [t for t in texts if _TWIN.search(t)]
    if not including:
        return False
    return any(_TWIN_CALL.search(t) for t in texts) or any(_includes_twin(t) for t in including)


def _includes_twin(text: str) -> bool:
    """Whether ``text`` includes the twin's header outside of what only a twin build compiles."""
    guards: list[bool] = []
    places = [*_CONDITIONAL.finditer(text), *_TWIN.finditer(text)]
    for place in sorted(places, key=lambda p: p.start()):
        word = place[1] if place.re is _CONDITIONAL else ""
        if not word:
            if not any(guards):
                return True
        elif word.startswith("if"):
            guards.append(bool(_TWIN_GUARD.search(place[2])))
        elif word.startswith("el") and guards:
            guards[-1] = bool(_TWIN_GUARD.search(place[2]))
        elif guards:
            guards.pop()
    return False


@dataclass(frozen=True)
class SourceKind:
    """What a source is, by itself and its headers.

    Attributes:
        host: it has host code: launches, ``main``, tests.
        ge: it uses the data types of ge, so they cannot be macros.
        standard: it uses names of the standard library.
        device: it has device code, or launches.
    """

    host: bool
    ge: bool
    standard: bool
    device: bool

    @classmethod
    def of(cls, texts: Iterable[str]) -> SourceKind:
        """Classify the texts of a source and of the headers it reaches."""
        clean = [blank_comments(t, strings=False) for t in texts]
        host = any(_HOST_CODE.search(t) for t in clean)
        ge = any(_GE_CODE.search(t) for t in clean)
        standard = any(_STANDARD_NAMES.search(t) for t in clean)
        return cls(host or ge, ge, standard, any(_DEVICE_CODE.search(t) for t in clean))

    def flags(self, *, twin: bool, single: bool) -> list[str]:
        """Return what the source is compiled with.

        Args:
            twin: as part of a CPU twin program.
            single: as the only source of a program with launches of its own.
        """
        flags: list[str] = []
        if self.ge or (single and not twin):
            flags.append("-DOPGEN_PROGRAM")
        if self.host:
            flags += ["-DOPGEN_HOST_CODE", "-include", "ascendc_emu/program.h"]
        if self.device:
            # Beside host code only what names no type: half is also a name of PyTorch's.
            flags += COMPILER_ENUMS if self.host else PRELUDE
        if twin and (self.host or self.standard):
            flags += ["-include", "tikicpulib.h"]
        return flags


def framework_libraries(texts: Iterable[str]) -> list[str]:
    """Return the libraries of the test framework that the sources include, if any."""
    texts = list(texts)
    names = {m[1] for t in texts for m in _TEST_FRAMEWORK.finditer(t)}
    if not names:
        return []
    has_main = any(_MAIN.search(blank_comments(t)) for t in texts)
    libraries = [f"{name}_main" for name in sorted(names)[:1] if not has_main]
    return [*libraries, *sorted(names), *(["gtest"] if names == {"gmock"} else [])]


def architecture_macros(texts: Iterable[str], arch: int, given: Iterable[str]) -> list[str]:
    """Return macros with the architecture that libraries' own build files pass, as ``-D`` flags.

    Args:
        given: names that the user defines or undefines.
    """
    texts, given = list(texts), set(given)
    wanted = [n for n in _ARCHITECTURE_MACROS if n not in given and any(n in t for t in texts)]
    return [f"-D{name}={arch}" for name in wanted]


def program_texts(
    texts: Mapping[Path, str], host_files: Container[Path], *, keeps: bool = False
) -> tuple[dict[Path, str], int]:
    """Return what is compiled in place of the sources and headers; line numbers stay.

    Args:
        texts: all of them, by path.
        host_files: those with host code or in reach of it.
        keeps: launches may run later, on streams that another program captures.

    Returns:
        The texts, and how many launches were numbered in them.
    """
    kinds = kernel_kinds(list(texts.values()))
    keeps = keeps or any("aclmdlRICaptureBegin" in text for text in texts.values())
    rewritten, launches = {}, 0
    for path, text in texts.items():
        plain = program_text(text)
        found = len(find_launches(plain, str(path)))
        plain = rewrite(plain, kinds, path, launches, keeps)
        rewritten[path] = plain if path in host_files else host_text(plain)
        launches += found
    return rewritten, launches


def require_files(paths: Sequence[Path]) -> None:
    """Raise OPG906 for a path that is no file."""
    for path in paths:
        if not path.is_file():
            raise OpgenError(
                Diagnostic(
                    "OPG906", f"{path} is not a file", fix="name a .asc or .cpp program to run"
                )
            )


def reached_texts(paths: Sequence[Path], folders: Sequence[Path]) -> dict[Path, str]:
    """Return the text of a source, of the headers that it sees first, and of all they include.

    Args:
        paths: the source, then such headers.
        folders: include folders of the user.

    Raises:
        OpgenError: OPG906, one of ``paths`` cannot be read.
    """
    found: dict[Path, str] = {}
    for path in paths:
        try:
            found.update(local_sources(path, folders))
        except OSError as error:
            what = f"cannot read {path}: {error.strerror}"
            raise OpgenError(Diagnostic("OPG906", what, Location(str(path)))) from error
    return found

"""The sources of a program: what they include, what they need, and the copies that are compiled."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.device_dialect import dynamic_keys, host_text
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.run.launch_source import blank_comments, rewrite

SOURCE_SUFFIXES = (".asc", ".cpp", ".cc", ".cxx")

# CANN's cmake target tikicpulib::<soc> defines these for every source of a CPU twin program.
TWIN_DEFINES = ("__CCE_KT_TEST__=1", "ASCENDC_CPU_DEBUG=1", "ASCENDC_DEBUG=1")

_QUOTED_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*"([^"\n]+)"', re.MULTILINE)
_TWIN = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*["<](?:[\w./]*/)?(?:tikicpulib|kern_fwk|stub_def)\.h[">]',
    re.MULTILINE,
)
_TEST_FRAMEWORK = re.compile(
    r'^[ \t]*#[ \t]*include[ \t]*["<](gtest|gmock)/\1\.h[">]', re.MULTILINE
)
_MAIN = re.compile(r"\bint(?:32_t)?\s+main\s*\(")
# Host headers of ge have its data types as enumerators; elsewhere kernels compare them as macros.
_GE_CODE = re.compile(
    r"\b(?:ge|gert)::|\bnamespace\s+ge\b"
    r'|^[ \t]*#[ \t]*include[ \t]*["<](?:acl|register|graph|exe_graph|tiling)/',
    re.MULTILINE,
)
_HOST_CODE = re.compile(r"<<<|\bmain\s*\(|\btesting::|\bICPU_RUN_KF\b")
# What CANN's CPU builds get from headers that every source of theirs includes.
_STANDARD_NAMES = re.compile(r"\bstd::|\bmem(?:cpy|set|cmp)\b|\bcout\b|\bprintf\b")


def local_sources(source: Path, folders: Sequence[Path]) -> dict[Path, str]:
    """Return the source and the quoted headers it reaches, by absolute path.

    Raises:
        OpgenError: OPG906, one of them cannot be read.
    """
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


def is_twin(texts: Iterable[str]) -> bool:
    """Whether the program calls its kernels through CANN's CPU twin (``tikicpulib.h``)."""
    return any(_TWIN.search(t) for t in texts)


@dataclass(frozen=True)
class SourceKind:
    """What a source is, by itself and its headers.

    Attributes:
        host: it has host code: launches, ``main``, tests.
        ge: it uses the data types of ge, so they cannot be macros.
        standard: it uses names of the standard library.
    """

    host: bool
    ge: bool
    standard: bool

    @classmethod
    def of(cls, texts: Iterable[str]) -> SourceKind:
        """Classify the texts of a source and of the headers it reaches."""
        clean = [blank_comments(t, strings=False) for t in texts]
        host = any(_HOST_CODE.search(t) for t in clean)
        ge = any(_GE_CODE.search(t) for t in clean)
        return cls(host or ge, ge, any(_STANDARD_NAMES.search(t) for t in clean))

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
            flags += ["-include", "ascendc_emu/program.h"]
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


def compiled_text(path: Path, text: str, kinds: dict[str, str], device: bool) -> str:
    """Return what is compiled in place of ``text``; line numbers stay."""
    text = rewrite(text, kinds, path)
    return host_text(text) if device else dynamic_keys(text)


def write_overlay(scratch: Path, rewritten: dict[Path, str]) -> list[Path]:
    """Mirror the files under ``scratch`` so that relative includes find each other.

    Returns:
        The folders to search, in the order of the files.
    """
    for path, text in rewritten.items():
        target = mirrored(scratch, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8", errors="surrogateescape")
    return list(dict.fromkeys(mirrored(scratch, p).parent for p in rewritten))


def mirrored(scratch: Path, path: Path) -> Path:
    """Return where the copy of an absolute path lies."""
    return scratch / path.relative_to(path.anchor)

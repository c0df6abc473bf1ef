"""The compiler behind ``aclrtc*``: device code of a running program to a library of its kernels.

``runtime/ascendcl/runtime_compiler.cpp`` runs it as ``python -m
msopgen_wrap.foreign.runtime_compiler FOLDER``. The folder has ``name``, ``source``, and lists of
texts with a final 0 each: ``headers`` (name, text, name, text ...), ``expressions`` and
``options``. Written there: ``log``, and after success ``library``, the path of the library in the
cache.

Exit codes: 0, 3 (an option is wrong), 4 (does not compile), 5 (does not link).
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from msopgen_wrap.build import cache
from msopgen_wrap.build.rewriting.source_text import (
    blank_comments,
    is_linkage_head,
    matching,
    open_heads,
)
from msopgen_wrap.diagnostics import OpgenError, render
from msopgen_wrap.foreign.program_runner import ProgramOptions, compile_program
from msopgen_wrap.platforms import DEFAULT_SOC, platform

_DONE, _BAD_OPTION, _NOT_COMPILED, _NOT_LINKED = 0, 3, 4, 5

_ARCH = re.compile(r"--(?:npu|cce-aicore)-arch=(?:dav-)?(.*)")
_ENTRY = re.compile(r"__global__[\w\s()\",]*?\bvoid\s+(\w+)\s*\(")
_TEMPLATE = re.compile(r"\btemplate\s*<[^;{}]*$")

# The numbers keep apart what two libraries in one process call by the same name.
_TABLE = """
#line 1 "table of kernels"
#include "ascendc_emu/runtime_kernel.h"
namespace opgen_rtc_{number} {{
{kernels}
}}
extern "C" const OpgenRuntimeKernel opgen_runtime_kernels[] = {{
{rows}
    {{nullptr, nullptr, 0, 0, nullptr, nullptr, nullptr}},
}};
"""
_KERNEL = """\
using Parameters{i} = ascendc_emu::KernelParameters<decltype(&{kernel})>;
inline void Launch{i}(uint32_t blocks, void* stream, void* const* args)
{{
    Parameters{i}::Call([](uint32_t b, void* s, auto... v) {{ {kernel}<<<b, nullptr, s>>>(v...); }},
                      blocks, stream, args);
}}"""
_ROW = """\
    {{"{name}", reinterpret_cast<const void*>(&{kernel}), {scope}::Parameters{i}::count,
     {scope}::Parameters{i}::layout.offsets[{scope}::Parameters{i}::count],
     {scope}::Parameters{i}::layout.sizes, {scope}::Parameters{i}::layout.offsets,
     &{scope}::Launch{i}}},"""


class _OptionError(Exception):
    """An option that cannot be followed; its text says why."""


@dataclass
class _Options:
    opt: str = "-O1"
    defines: list[str] = field(default_factory=list)
    undefines: list[str] = field(default_factory=list)
    folders: list[Path] = field(default_factory=list)
    headers: list[Path] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)


def parse_options(options: Sequence[str], arch: int) -> _Options:
    """Sort the options of bisheng into those that count in the emulation and the rest.

    Raises:
        _OptionError: another architecture than that of the process, or no option at all.
    """
    result = _Options()
    words = iter(options)
    for word in words:
        if match := _ARCH.fullmatch(word):
            if match[1] not in (str(arch), "c220", "c220-vec", "c220-cube"):
                raise _OptionError(f"{word}: the process emulates dav-{arch}; choose it by --soc")
        elif match := re.fullmatch(r"-(I|D|U|include)(.*)", word, re.DOTALL):
            kind, value = match[1], match[2] or next(words, "")
            if not value:
                raise _OptionError(f"{word}: nothing follows it")
            if kind == "I":
                result.folders.append(Path(value).absolute())
            elif kind == "include":
                result.headers.append(Path(value).absolute())
            else:
                (result.defines if kind == "D" else result.undefines).append(value)
        elif re.fullmatch(r"-O[0-3s]?", word):
            result.opt = word
        elif not word.startswith("-"):
            raise _OptionError(f"{word}: not an option; a program is one source with its headers")
        elif word not in ("-std=c++17", "-g"):
            result.ignored.append(word)
    return result


def global_kernels(text: str) -> list[str]:
    """Return the kernels that a source defines outside namespaces and that are no templates."""
    code = blank_comments(text)
    found = []
    for match in _ENTRY.finditer(code):
        before = code[: match.start()]
        head = re.split(r"[;}]", before)[-1]
        behind = matching(code, match.end() - 1)
        defined = behind > 0 and code[behind:].lstrip().startswith("{")
        outside = all(map(is_linkage_head, open_heads(code, match.start())))
        if outside and defined and not _TEMPLATE.search(head) and match[1] not in found:
            found.append(match[1])
    return found


def with_table(text: str, expressions: Sequence[str]) -> str:
    """Return the source with the table of its kernels, the asked ones by their expression."""
    kernels = {name: name for name in global_kernels(text)}
    kernels.update({e: e.strip().lstrip("&").strip() for e in expressions})
    number = cache.text_hash(text, *expressions)
    parts = [_KERNEL.format(i=i, kernel=k) for i, k in enumerate(kernels.values())]
    rows = [
        _ROW.format(i=i, kernel=k, name=_escaped(name), scope=f"opgen_rtc_{number}")
        for i, (name, k) in enumerate(kernels.items())
    ]
    table = _TABLE.format(number=number, kernels="\n".join(parts), rows="\n".join(rows))
    return text + "\n" + table


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _texts(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8", errors="surrogateescape").split("\0")[:-1]


def _source_name(name: str) -> str:
    plain = re.sub(r"[^\w.-]", "_", Path(name).name) or "default_program"
    return plain if Path(plain).suffix in (".asc", ".cpp") else f"{plain}.asc"


def _stored(name: str, text: str, headers: Sequence[str]) -> Path:
    """Write the source with its headers to the cache, where findings can show its lines later."""

    def write(folder: Path) -> list[Path]:
        files = {_source_name(name): text, **dict(zip(headers[::2], headers[1::2], strict=True))}
        for file_name, content in files.items():
            path = folder / file_name
            if not path.resolve().is_relative_to(folder.resolve()):
                raise _OptionError(f"{file_name}: the name of a header leads out of the program")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(content, encoding="utf-8", errors="surrogateescape")
        return []

    folder, _ = cache.cached("rtc", cache.text_hash(name, text, *headers), name, write)
    return folder / _source_name(name)


def compile_folder(folder: Path) -> int:
    """Do what the folder asks for; returns the exit code."""
    soc = os.environ.get("OPGEN_SOC") or DEFAULT_SOC
    log = folder / "log"
    try:
        options = parse_options(_texts(folder / "options"), platform(soc).arch)
        name = (folder / "name").read_text(encoding="utf-8", errors="replace")
        text = (folder / "source").read_text(encoding="utf-8", errors="surrogateescape")
        text = with_table(text, _texts(folder / "expressions"))
        source = _stored(name, text, _texts(folder / "headers"))
        program = ProgramOptions(
            soc=soc,
            defines=tuple(options.defines),
            undefines=tuple(options.undefines),
            include_dirs=(source.parent, *options.folders),
            include_files=tuple(options.headers),
            opt=options.opt,
            shared=True,
        )
        library = compile_program(source, program)
    except _OptionError as error:
        log.write_text(f"{error}\n", encoding="utf-8")
        return _BAD_OPTION
    except OpgenError as error:
        text = "\n".join(map(render, error.diagnostics))
        log.write_text(text + "\n", encoding="utf-8", errors="replace")
        return _NOT_LINKED if "does not link" in text else _NOT_COMPILED
    ignored = "".join(f"{o}: has no effect in the emulation\n" for o in options.ignored)
    log.write_text(ignored, encoding="utf-8", errors="replace")
    (folder / "library").write_text(str(library), encoding="utf-8")
    return _DONE


if __name__ == "__main__":
    sys.exit(compile_folder(Path(sys.argv[1])))

"""The text of a foreign kernel as it is compiled: without launchers, and for one tiling key.

Old samples hold a host-side launcher in the kernel's file. ``void add_do(...)
{ add<<<blocks, l2ctrl, stream>>>(...); }`` is for direct launches; CANN's kernel compiler, which
builds device code only, never looks at it. Neither does this one. A template kernel
(ASCENDC_TPL_*) is instantiated for one tiling key, as CANN's compiler does.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from msopgen_wrap.build import cache
from msopgen_wrap.build.rewriting.source_text import blank_comments, matching
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.dtypes import BY_GE
from msopgen_wrap.foreign.op_project import KernelSource, loose_name
from msopgen_wrap.foreign.repository_sources import for_other_arch

# A function's body, behind its parameters.
_BODY = re.compile(r"\)\s*(?:const\s*|noexcept\s*)*(\{)")
_LAUNCH = re.compile(r"[\w:]+(?:\s*<[^<>;{}]*>)?\s*<<<[^;{}]*?>>>\s*\([^;{}]*?\)\s*;")


def without_launches(kernel: Path) -> Path:
    """Return the kernel, or a copy without its launchers' statements when it has some.

    Lines keep their numbers and the copy says the original's name, so that messages point there.
    """
    text = kernel.read_text(encoding="utf-8-sig", errors="replace")
    if "<<<" not in text:
        return kernel
    text = _without_host_calls(text)
    body = _LAUNCH.sub(lambda m: ";" + "\n" * m.group().count("\n"), text)
    original = str(kernel.absolute()).replace("\\", "\\\\").replace('"', '\\"')
    body = f'#line 1 "{original}"\n{body}'

    def build(folder: Path) -> list[Path]:
        (folder / kernel.name).write_text(body, encoding="utf-8")
        return []

    folder, _ = cache.cached("kernel-text", cache.text_hash(body), kernel.name, build)
    return folder / kernel.name


def _without_host_calls(text: str) -> str:
    """Empty the functions that launch and wait: they call CANN's runtime, which kernels do not."""
    code = blank_comments(text)
    for match in reversed(list(_BODY.finditer(code))):
        begin, end = match.start(1) + 1, matching(code, match.start(1)) - 1
        body = code[begin:end]
        if end > begin and "<<<" in body and re.search(r"\bacl[a-z]*[A-Z]\w*\s*\(", body):
            text = text[:begin] + re.sub(r"[^\n]", " ", text[begin:end]) + text[end:]
            code = code[:begin] + re.sub(r"[^\n]", " ", body) + code[end:]
    return text


_DECLARATION = re.compile(r"\bASCENDC_TPL_ARGS_DECL\s*\(\s*(\w+)")

_SELECTION = re.compile(r"\bASCENDC_TPL_SEL\s*\(")
_CONDITION = re.compile(r"^[ \t]*#[ \t]*(?:if|ifdef|elif)[ \t(]", re.MULTILINE)

# ASCENDC_TPL_* kernel types of a combination and the macro that declares them in a kernel.
_KERNEL_TYPES = {
    0: "KERNEL_TYPE_AIV_ONLY",
    1: "KERNEL_TYPE_AIC_ONLY",
    4: "KERNEL_TYPE_MIX_AIV_1_0",
    5: "KERNEL_TYPE_MIX_AIC_1_0",
    6: "KERNEL_TYPE_MIX_AIC_1_1",
    7: "KERNEL_TYPE_MIX_AIC_1_2",
}


_INCLUDE = re.compile(r'^\s*#\s*include\s*"([^"]+)"', re.MULTILINE)


def declared_name(kernel_dir: Path, op_type: str, include_dirs: Sequence[Path] = ()) -> str:
    """Return the name under which headers of a kernel declare its template parameters.

    It should be the op type; CANN does not ask for that, because a kernel sees one declaration. The
    headers are those that the kernel's sources include, found from the including file or from one
    of ``include_dirs``, or else those beside the kernel. What is for another architecture counts
    when nothing else declares any.
    """
    included = _included(sorted(kernel_dir.rglob("*.cpp")), include_dirs)
    own = _included([p for p in sorted(kernel_dir.rglob("*.cpp")) if not _foreign(p)], include_dirs)
    beside = sorted(kernel_dir.rglob("*.h"))
    groups = ([h for h in own if not _foreign(h)], beside, included)
    names = next((found for g in groups if (found := _declarations(g))), [])
    same = [n for n in names if loose_name(n) == loose_name(op_type)]
    found = list(dict.fromkeys(same or names))
    return op_type if op_type in found or len(found) != 1 else found[0]


def selects_by_macros(kernel_dir: Path, include_dirs: Sequence[Path] = ()) -> bool:
    """Say whether a header selects template arguments by macros that only the kernel has.

    Then op_host's selection, which is made without them, is not the kernel's.
    """
    sources = sorted(kernel_dir.rglob("*.cpp"))
    for path in {*_included(sources, include_dirs), *kernel_dir.rglob("*.h")}:
        text = path.read_text(encoding="utf-8", errors="replace")
        if _SELECTION.search(text) and _CONDITION.search(blank_comments(text)):
            return True
    return False


def _foreign(path: Path) -> bool:
    """Say whether a file is for another architecture, wherever its repository lies."""
    return for_other_arch(Path(*path.parts[-2:]))


def _declarations(headers: Iterable[Path]) -> list[str]:
    names: list[str] = []
    for path in headers:
        text = path.read_text(encoding="utf-8", errors="replace")
        names += _DECLARATION.findall(blank_comments(text))
    return names


def _included(sources: Iterable[Path], include_dirs: Sequence[Path]) -> list[Path]:
    """Return the files that sources include in quotation marks, and so on."""
    found: dict[Path, None] = {}
    waiting = list(sources)
    while waiting:
        path = waiting.pop()
        text = path.read_text(encoding="utf-8", errors="replace")
        for name in _INCLUDE.findall(text):
            places = (Path(os.path.normpath(d / name)) for d in (path.parent, *include_dirs))
            header = next((p for p in places if p.is_file()), None)
            if header is not None and header not in found:
                found[header] = None
                waiting.append(header)
    return list(found)


def has_c_linkage(text: str, entry: str) -> bool:
    """Say whether an entry is declared ``extern "C"``, which CANN's compiler does not need.

    Args:
        text: of the kernel source, without comments.
        entry: its name.
    """
    for match in re.finditer(rf"\bvoid\s+{entry}\s*\(", text):
        statement = re.split(r"[;{}]", text[: match.start()])[-1]
        if 'extern "C"' in statement:
            return True
    return re.search(r'extern\s+"C"\s*\{', text) is not None


def template_instance(
    source: KernelSource, entry: str, template: Mapping[str, Any] | None, num_args: int
) -> Path:
    """Write a source whose C entry calls the kernel, with the template arguments of a key.

    Args:
        source: the kernel.
        entry: symbol of the new entry.
        template: ``OpRuntime.template()``; None for a kernel that is no template.
        num_args: kernel parameters, workspace and tiling included.

    Raises:
        OpgenError: OPG519, an argument is a dtype kernels have no type for.
    """
    call, kind = source.entry, None
    if template is not None:
        call += f"<{', '.join(_argument(source, arg) for arg in template['args'])}>"
        kind = _KERNEL_TYPES.get(template["kernel_type"])
    names = [f"arg{i}" for i in range(num_args)]
    lines = [
        f'#include "{source.path.absolute()}"',
        f'extern "C" __global__ __aicore__ void {entry}('
        + ", ".join(f"GM_ADDR {name}" for name in names)
        + ")",
        "{",
        # As for the key: KERNEL_TASK_TYPE_DEFAULT in the kernel has no effect on the device either.
        *([f"    KERNEL_TASK_TYPE(TILING_KEY_VAR, {kind});"] if kind else []),
        f"    {call}({', '.join(names)});",
        "}",
    ]
    text = "\n".join(lines) + "\n"

    def build(folder: Path) -> list[Path]:
        (folder / f"{entry}.cpp").write_text(text, encoding="utf-8")
        return []

    folder, _ = cache.cached("template", cache.text_hash(text), source.path.name, build)
    return folder / f"{entry}.cpp"


def _argument(source: KernelSource, argument: Mapping[str, Any]) -> str:
    value = int(argument["value"])
    if argument["kind"] != "datatype":
        return str(value)
    if value not in BY_GE:
        raise OpgenError(
            Diagnostic(
                "OPG519",
                f"template parameter {argument['name']} is ge::DataType {value}, which kernels of "
                "this emulation have no type for",
                Location(str(source.path)),
            )
        )
    return BY_GE[value].kernel

"""Rewrite AscendC's kernel launch syntax so that a host C++ compiler takes the program.

``k<T><<<blocks, l2ctrl, stream>>>(args)`` is not C++. Every launch becomes one call of
``ascendc_emu::LaunchProgram`` (``ascendc_emu/program.h``); nothing else of the text changes and the
line numbers stay, so compilers and the sanitizer report the user's own lines.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.build.rewriting.source_text import blank_comments, matching
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError

# Names of OpgenKernelKind (ascendc_emu/launch.h) by the attribute on the kernel.
_ATTRIBUTE_KINDS = {"__vector__": "OPGEN_KERNEL_AIV_ONLY", "__cube__": "OPGEN_KERNEL_AIC_ONLY"}
_MIX_KINDS = {
    ("1", "2"): "OPGEN_KERNEL_MIX_AIC_1_2",
    ("1", "1"): "OPGEN_KERNEL_MIX_AIC_1_1",
    ("1", "0"): "OPGEN_KERNEL_MIX_AIC_1_0",
    ("0", "1"): "OPGEN_KERNEL_MIX_AIV_1_0",
}
_AUTO = "OPGEN_KERNEL_AUTO"

_KERNEL = re.compile(
    r"(?P<attributes>(?:\b(?:extern|static|inline|__global__|__aicore__|__vector__|__cube__)\b\s*"
    r'|"C"\s*|\b__mix__\s*\([^)]*\)\s*)+)void\s+(?P<name>\w+)\s*\('
)
_MIX = re.compile(r"__mix__\s*\(\s*(\d+)\s*,\s*(\d+)\s*\)")
_OPEN = {"(": ")", "[": "]", "{": "}"}
# Calls that only a cube core executes; an unannotated kernel that makes them is a mixed one.
_CUBE_CALLS = re.compile(r"\b(REGIST_MATMUL_OBJ|Mmad|LoadData|Fixpipe)\s*[<(]")
_TASK_TYPE = re.compile(r"\bKERNEL_TASK_TYPE(_DEFAULT)?\s*\(")


@dataclass(frozen=True)
class Launch:
    """One launch found in a source: the kernel's name, the offsets it spans, its parts."""

    name: str
    start: int
    end: int
    expression: str
    config: tuple[str, ...]
    arguments: str


def kernel_kinds(texts: list[str]) -> dict[str, str]:
    """Return the ``OpgenKernelKind`` name of every kernel declared in ``texts``."""
    kinds: dict[str, str] = {}
    for text in texts:
        for match in _KERNEL.finditer(blank_comments(text)):
            attributes = match["attributes"]
            if "__" not in attributes:
                continue
            kind = _AUTO
            if mix := _MIX.search(attributes):
                kind = _MIX_KINDS.get((mix[1], mix[2]), _AUTO)
            else:
                for attribute, name in _ATTRIBUTE_KINDS.items():
                    if attribute in attributes:
                        kind = name
            if kind != _AUTO or match["name"] not in kinds:
                kinds[match["name"]] = kind
    return kinds


def cube_kind(texts: list[str]) -> str:
    """Return the kind of a CPU twin's kernels, by what the sources call and declare."""
    mixed = any(_CUBE_CALLS.search(t) for t in texts)
    declared = any(_TASK_TYPE.search(t) for t in texts)
    return "OPGEN_KERNEL_MIX_AIC_1_2" if mixed and not declared else _AUTO


def find_launches(text: str, path: str = "") -> list[Launch]:
    """Return the launches of a source in order.

    Raises:
        OpgenError: OPG905, ``<<<`` is not followed by a complete launch.
    """
    code = blank_comments(text)
    launches: list[Launch] = []
    position = 0
    while (at := code.find("<<<", position)) >= 0:
        start = _expression_start(code, at)
        close, config = _split_config(code, text, at + 3)
        begin = close
        while begin < len(code) and code[begin].isspace():
            begin += 1
        if start is None or close < 0 or code[begin : begin + 1] != "(" or len(config) < 2:
            raise OpgenError(_incomplete(text, path, at))
        end = matching(code, begin)
        if end < 0:
            raise OpgenError(_incomplete(text, path, at))
        expression = text[start:at].rstrip()
        head = re.sub(r"<.*", "", blank_comments(expression), flags=re.DOTALL).strip()
        name = re.findall(r"\w+", head)[-1]
        arguments = text[begin + 1 : end - 1]
        launches.append(Launch(name, start, end, expression, tuple(config), arguments))
        position = end
    return launches


def _incomplete(text: str, path: str, at: int) -> Diagnostic:
    line = text.count("\n", 0, at) + 1
    column = at - (text.rfind("\n", 0, at) + 1) + 1
    return Diagnostic(
        "OPG905",
        "this is not a complete kernel launch",
        Location(path, line, column, 3),
        why="a launch reads kernel<<<blocks, l2ctrl, stream>>>(arguments)",
        fix="complete it; shifts of template arguments need spaces (`> > >`)",
    )


def _expression_start(code: str, at: int) -> int | None:
    """Walk back over ``ns::kernel<args>`` to its first character."""
    i = at
    while i > 0 and code[i - 1].isspace():
        i -= 1
    if i > 0 and code[i - 1] == ">":
        angles = parens = 0
        while i > 0:
            i -= 1
            parens += {")": 1, "(": -1}.get(code[i], 0)
            if parens == 0:
                angles += {">": 1, "<": -1}.get(code[i], 0)
                if angles == 0:
                    break
        while i > 0 and code[i - 1].isspace():
            i -= 1
    start = i
    while start > 0 and (code[start - 1].isalnum() or code[start - 1] in "_:"):
        start -= 1
    return start if start < i else None


def _split_config(code: str, text: str, begin: int) -> tuple[int, list[str]]:
    """Split ``blocks, l2ctrl, stream`` up to ``>>>``; returns the offset behind it."""
    parts, depth, last, i = [], 0, begin, begin
    while i < len(code):
        char = code[i]
        if char in _OPEN:
            depth += 1
        elif char in _OPEN.values():
            depth -= 1
        elif depth == 0 and char == ",":
            parts.append(text[last:i])
            last = i + 1
        elif depth == 0 and code.startswith(">>>", i):
            parts.append(text[last:i])
            return i + 3, parts
        i += 1
    return -1, parts


def rewrite(
    text: str, kinds: dict[str, str], path: Path, first: int = 0, keeps: bool = False
) -> str:
    """Return ``text`` with every launch rewritten and a ``#line`` that names ``path``.

    Args:
        kinds: see :func:`kernel_kinds`.
        first: number of the first launch; numbers are unique in a program.
        keeps: launches may run later (aclmdlRICaptureBegin), so they copy their arguments.
    """
    out = [f'#line 1 "{_quoted(path)}"\n']
    position = 0
    function, scope = ("LaunchOrKeep", "[=]") if keeps else ("LaunchProgram", "[&]")
    for number, launch in enumerate(find_launches(text, str(path)), first):
        stream = launch.config[2] if len(launch.config) > 2 else "nullptr"
        kind = kinds.get(launch.name, _AUTO)
        out.append(text[position : launch.start])
        out += [
            f'::ascendc_emu::{function}<{number}>("{launch.name}", {kind}, ',
            f"({launch.config[0]}), "
            f"({stream}), {scope} {{ {launch.expression}({launch.arguments}); }})",
        ]
        written = "".join(out[-2:])
        lost = text.count("\n", launch.start, launch.end) - written.count("\n")
        out.append("\n" * max(lost, 0))
        position = launch.end
    out.append(text[position:])
    return "".join(out)


def _quoted(path: Path) -> str:
    return str(path).replace("\\", "\\\\").replace('"', '\\"')

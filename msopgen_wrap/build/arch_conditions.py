"""Text of a kernel that one architecture compiles: ``#if __CCE_AICORE__ == 220`` and the like.

For reading a source, not for compiling it: what depends on other macros is kept in both versions.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from msopgen_wrap.build.rewriting.source_text import blank_comments

from .emulation import kernel_defines

_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)", re.DOTALL)
_ARCH = re.compile(r"\b(?:__CCE_AICORE__|__NPU_ARCH__|__DAV_\w+__)")
_DEFINED = re.compile(r"\bdefined\s*(?:\(\s*(\w+)\s*\)|(\w+))")
_ARITHMETIC = re.compile(r"[\d\s()<>=!&|]+")


def text_for(text: str, arch: int) -> str:
    """Return ``text`` without comments and what is for other parts; lines keep their numbers."""
    macros = dict(d.removeprefix("-D").split("=") for d in kernel_defines(arch) if "=" in d)
    macros |= {d.removeprefix("-D"): "1" for d in kernel_defines(arch) if "=" not in d}
    lines = blank_comments(text, strings=False).split("\n")
    groups: list[list[bool | None]] = []  # per open #if: of each branch so far, whether it is taken
    result, at = [], 0
    while at < len(lines):
        end = at + 1
        while lines[end - 1].endswith("\\") and end < len(lines):
            end += 1
        line = "\n".join(lines[at:end])
        match = _DIRECTIVE.match(line.replace("\\\n", " "))
        if match is None:
            kept = all(group[-1] is not False for group in groups)
            result.append(line if kept else "\n" * (end - at - 1))
        else:
            _follow(groups, match[1], match[2], macros)
            result.append(line)
        at = end
    return "\n".join(result)


def _follow(
    groups: list[list[bool | None]], word: str, condition: str, macros: Mapping[str, str]
) -> None:
    if word.startswith("if"):
        groups.append([_holds(word, condition, macros)])
    elif word == "endif":
        del groups[-1:]
    elif groups:
        earlier = groups[-1]
        here = True if word == "else" else _holds("if", condition, macros)
        if any(earlier) or here is False:
            groups[-1].append(False)
        else:
            groups[-1].append(here if all(b is False for b in earlier) else None)


def _holds(word: str, condition: str, macros: Mapping[str, str]) -> bool | None:
    """Return whether a condition holds; None: it depends on macros that say nothing of the part."""
    if word != "if":
        name = condition.strip()
        return (name in macros) is (word == "ifdef") if _ARCH.fullmatch(name) else None

    def known(match: re.Match[str]) -> str:
        name = match[1] or match[2]
        return str(int(name in macros)) if _ARCH.fullmatch(name) else match[0]

    plain = _ARCH.sub(lambda m: macros.get(m[0], "0"), _DEFINED.sub(known, condition))
    if _ARITHMETIC.fullmatch(plain):
        python = re.sub(r"!(?!=)", " not ", plain.replace("&&", " and ").replace("||", " or "))
        try:
            return bool(eval(python.strip()))  # digits and operators only
        except SyntaxError:
            return None
    parts = condition.split("&&")
    if len(parts) > 1 and "||" not in condition and "(" not in _DEFINED.sub("", condition):
        return False if any(_holds("if", part, macros) is False for part in parts) else None
    return None

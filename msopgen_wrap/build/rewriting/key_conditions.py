"""Conditions on the tiling key, which are constants of a compilation on the device.

The device compiles a kernel once per tiling key, so kernels write ``#if TILING_KEY_VAR == 1`` in
functions and ``if constexpr (TILING_KEY_IS(1))``. Here one binary serves all keys, and conditions
are ordinary ones. ``#if defined(TILING_KEY_VAR) && ...`` asks for a compilation of one key, which
this is not. Lines keep their numbers.
"""

from __future__ import annotations

import re

_CONSTANT_KEY = re.compile(r"\bif(\s+)constexpr(\s*\((?=[^;{}]*\bTILING_KEY_(?:IS|VAR)\b))")
_KEY = re.compile(r"\bTILING_KEY_(?:IS|VAR)\b")
_ONE_KEY = re.compile(
    r"^[ \t]*#[ \t]*(?:el)?if(?:\\\n|[^\n])*\bdefined[ \t]*\(?[ \t]*TILING_KEY_VAR\b"
    r"(?:\\\n|[^\n])*",
    re.MULTILINE,
)
_DEFINED_KEY = re.compile(r"\bdefined\s*(?:\(\s*TILING_KEY_VAR\s*\)|TILING_KEY_VAR\b)")
_DIRECTIVE = re.compile(r"\s*#\s*(if|ifdef|ifndef|elif|else|endif)\b(.*)")
_KEY_VALUE = re.compile(r"\bTILING_KEY_VAR\b|\bTILING_KEY_(?:IS|LIST)\s*\([^()]*\)")
_DECLARATION = re.compile(
    r"^\s*(?:#\s*(?:include|define)\b|template\b|extern\b)|__global__", re.MULTILINE
)


def runtime_conditions(text: str) -> str:
    """Return the text with conditions on the tiling key evaluated when the kernel runs."""
    text = _ONE_KEY.sub(lambda m: _KEY_VALUE.sub("0", _DEFINED_KEY.sub("0", m[0])), text)
    lines = _CONSTANT_KEY.sub(r"if\1\2", text).split("\n")
    open_groups: list[list[tuple[int, str, str]]] = []
    for number, line in enumerate(lines):
        match = _DIRECTIVE.match(line)
        if match is None:
            continue
        word, condition = match[1], re.sub(r"//.*|/\*.*?\*/", "", match[2]).strip()
        if word.startswith("if"):
            open_groups.append([(number, word, condition)])
        elif open_groups:
            open_groups[-1].append((number, word, condition))
        if word == "endif" and open_groups:
            _make_statements(lines, open_groups.pop())
    return "\n".join(lines)


def _make_statements(lines: list[str], group: list[tuple[int, str, str]]) -> None:
    """Turn one #if ... #endif on the tiling key into an if, unless it guards declarations."""
    conditions = [c for _, _, c in group]
    if group[0][1] != "if" or not any(_KEY.search(c) for c in conditions):
        return
    body = "\n".join(lines[group[0][0] + 1 : group[-1][0]])
    if any("defined" in c or c.endswith("\\") for c in conditions) or _DECLARATION.search(body):
        return
    texts = {"if": "if (%s) {", "elif": "} else if (%s) {", "else": "} else {", "endif": "}"}
    for number, word, condition in group:
        lines[number] = texts[word] % condition if "%s" in texts[word] else texts[word]

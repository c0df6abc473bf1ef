"""C++ text as far as rewriting it needs: comments, brackets, parameter lists, scopes."""

from __future__ import annotations

import re

_OPAQUE = re.compile(
    r'//(?:\\\n|[^\n])*|/\*.*?\*/|R"(?P<tag>[^()\s\\]{0,16})\(.*?\)(?P=tag)"'
    r"|\"(?:\\.|[^\"\\\n])*\"|(?<![0-9A-Za-z_])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
_OPEN = {"(": ")", "[": "]", "{": "}"}
_CLOSE = set(_OPEN.values())
_CLASS_HEAD = re.compile(r"\b(?:class|struct|union)\b[^()]*$")


def blank_comments(text: str, *, strings: bool = True) -> str:
    """Replace comments, strings and character literals by spaces, offsets and newlines kept.

    Args:
        strings: whether strings and character literals go, too.
    """

    def blank(match: re.Match[str]) -> str:
        return re.sub(r"[^\n]", " ", match[0]) if strings or match[0][0] == "/" else match[0]

    return _OPAQUE.sub(blank, text)


def matching(code: str, begin: int) -> int:
    """Return the offset behind the bracket that closes the one at ``begin``; -1: none."""
    depth = 0
    for i in range(begin, len(code)):
        if code[i] in _OPEN:
            depth += 1
        elif code[i] in _CLOSE:
            depth -= 1
            if depth == 0:
                return i + 1
    return -1


def matching_angle(code: str, begin: int) -> int:
    """Return the offset behind the ``>`` of the ``<`` at ``begin``; -1: none before a ``;``."""
    depth, i = 0, begin
    while i < len(code):
        char = code[i]
        if char in _OPEN:
            i = matching(code, i)
            if i < 0:
                return -1
            continue
        if char == "<":
            depth += 1
        elif char == ">" and code[i - 1] != "-":
            depth -= 1
            if depth == 0:
                return i + 1
        elif char == ";":
            return -1
        i += 1
    return -1


def split_list(text: str) -> list[str]:
    """Split at the commas outside of brackets, angles included; [] for blank text."""
    parts, start, i, angles = [], 0, 0, 0
    while i < len(text):
        char = text[i]
        if char in _OPEN:
            end = matching(text, i)
            i = end if end > 0 else len(text)
            continue
        angles += {"<": 1, ">": -1}.get(char, 0)
        if char == "," and angles <= 0:
            parts.append(text[start:i])
            start = i + 1
        i += 1
    parts.append(text[start:])
    return parts if text.strip() else []


def without_default(parameter: str) -> str:
    """Return a parameter without its ``= default``."""
    depth = 0
    for i, char in enumerate(parameter):
        depth += {"(": 1, "<": 1, "{": 1, ")": -1, ">": -1, "}": -1}.get(char, 0)
        if char == "=" and depth <= 0:
            return parameter[:i]
    return parameter


def open_heads(code: str, at: int) -> list[str]:
    """Return what stands before each brace that is open at an offset, comments blanked."""
    heads, last = [], 0
    for match in re.finditer(r"[;{}]", code[:at]):
        if match[0] == "{":
            heads.append(code[last : match.start()])
        elif match[0] == "}" and heads:
            heads.pop()
        last = match.end()
    return heads


def is_linkage_head(head: str) -> bool:
    """Say whether a brace behind ``head`` opens an ``extern "C"`` block."""
    return re.search(r"\bextern\b[^()]*$", head) is not None


def is_namespace_head(head: str) -> bool:
    """Say whether a brace behind ``head`` opens a namespace or an ``extern "C"`` block."""
    return is_linkage_head(head) or re.search(r"\bnamespace\b", head) is not None


def class_scopes(code: str) -> list[tuple[int, int]]:
    """Return the (open, close) offsets of class bodies; ``code`` has its comments blanked."""
    scopes, stack = [], []
    last = 0
    for match in re.finditer(r"[;{}]", code):
        at = match.start()
        if match[0] == "{":
            head = code[last:at]
            if head.count("template"):
                head = _strip_templates(head)
            stack.append((at, bool(_CLASS_HEAD.search(head))))
        elif match[0] == "}" and stack:
            begin, is_class = stack.pop()
            if is_class:
                scopes.append((begin, at))
        last = at + 1
    return sorted(scopes)


def _strip_templates(head: str) -> str:
    """Drop ``template <class T>``, whose ``class`` opens no scope."""
    while match := re.search(r"\btemplate\s*<", head):
        end = matching_angle(head, match.end() - 1)
        if end < 0:
            return head[: match.start()]
        head = head[: match.start()] + head[end:]
    return head

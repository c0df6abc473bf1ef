"""Classes with a constexpr constructor that leaves members to its body.

C++17 wants every member in the initialiser list; the device compiler takes C++20's rule::

    constexpr Coord(Index const (&values)[RANK]) { for (...) idx[i] = values[i]; }
    Index idx[RANK];

Such members get an empty initialiser. Lines keep their numbers.
"""

from __future__ import annotations

import re

from msopgen_wrap.build.rewriting.source_text import blank_comments, class_scopes, matching

_CLASS = re.compile(r"(?s:.*)\b(?:class|struct)\s+(\w+)[^;{}()]*$")
_MEMBER = re.compile(
    r"(?<=[;{}:])\s*(?!(?:using|typedef|static|friend|return|public|private|protected|template)\b)"
    r"(?:(?:const|mutable|typename|unsigned|long)\s+)*[A-Za-z_][\w:]*(?:\s*<[^;{}()]*>)?(?:::\w+)*"
    r"[\s*]+\w+\s*(?:\[[^\];]*\]\s*)*(?=;)"
)


def initialise_members(text: str) -> str:
    """Return ``text`` with the members initialised; the same text if there is no such class."""
    if "constexpr" not in text:
        return text
    code = blank_comments(text)
    places: list[int] = []
    for begin, end in class_scopes(code):
        name = _CLASS.match(code, max(code.rfind(c, 0, begin) for c in ";{}") + 1, begin)
        if name and _has_bare_constructor(code, name[1], begin, end):
            direct = _direct_text(code, begin, end)
            places += [begin + m.end() for m in _MEMBER.finditer(direct)]
    for at in sorted(places, reverse=True):
        text = f"{text[:at]}{{}}{text[at:]}"
    return text


def _has_bare_constructor(code: str, name: str, begin: int, end: int) -> bool:
    """Whether a constexpr constructor has a body, parameters and no initialiser list."""
    for match in re.finditer(rf"\bconstexpr\s[\w\s]*?\b{name}\s*\(", code[begin:end]):
        close = matching(code, begin + match.end() - 1)
        if 0 < close < end and re.match(r"\s*\{\s*[^}\s]", code[close:end]):
            return True
    return False


def _direct_text(code: str, begin: int, end: int) -> str:
    """Return the class body with what stands in inner braces blanked."""
    out, depth = [], 0
    for char in code[begin:end]:
        depth -= char == "}"
        out.append(char if depth <= 1 or char in "\n" else " ")
        depth += char == "{"
    return "".join(out)

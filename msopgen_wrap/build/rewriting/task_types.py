"""A ``KERNEL_TASK_TYPE_DEFAULT(...);`` outside of functions: it counts for every kernel below it.

The device compiler only looks for the text. Here it runs, so it moves into the kernels.
"""

from __future__ import annotations

import re

from msopgen_wrap.build.rewriting.source_text import blank_comments, is_namespace_head, matching

_DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", re.MULTILINE)
_STEP = re.compile(r"[{}]|\bKERNEL_TASK_TYPE_DEFAULT\s*\(|\b__global__\b")
_SPACE = re.compile(r"\s*")


def place_task_types(text: str) -> str:
    """Return the text with such declarations moved; lines keep their numbers."""
    if "KERNEL_TASK_TYPE_DEFAULT" not in text:
        return text
    code = _DIRECTIVE.sub(_blank, blank_comments(text))
    declared, edits, position = "", [], 0
    while step := _STEP.search(code, position):
        position = step.end()
        if step[0] == "{":
            # Namespaces and linkage blocks hold kernels; a function's own declaration stays.
            head = code[max(code.rfind(c, 0, step.start()) for c in ";{}") + 1 : step.start()]
            if not is_namespace_head(head):
                position = max(matching(code, step.start()), position)
        elif step[0].startswith("KERNEL"):
            end = matching(code, step.end() - 1)
            if end < 0:
                break
            position = end
            if code[_SPACE.match(code, end).end() :][:1] == ";":  # type: ignore[union-attr]
                declared = " ".join(text[step.start() : end].split()) + ";"
                edits.append((step.start(), end, ""))
        elif step[0] == "__global__" and declared:
            body = _body(code, position)
            if body >= 0:
                edits.append((body, body, f" {declared}"))
                position = max(matching(code, body - 1), body)
    for begin, end, new in reversed(edits):
        text = text[:begin] + new + "\n" * text.count("\n", begin, end) + text[end:]
    return text


def _body(code: str, position: int) -> int:
    """Return the offset behind the ``{`` of a kernel; -1 when it is only declared."""
    while position < len(code) and code[position] not in "{;":
        if code[position] == "(":
            position = matching(code, position)
            if position < 0:
                return -1
        else:
            position += 1
    return position + 1 if code[position : position + 1] == "{" else -1


def _blank(match: re.Match[str]) -> str:
    return re.sub(r"[^\n]", " ", match[0])

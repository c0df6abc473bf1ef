"""Kernel files that also hold a host-side launcher, as old samples do.

``void add_do(...) { add<<<blocks, l2ctrl, stream>>>(...); }`` is for direct launches; CANN's kernel
compiler, which builds device code only, never looks at it. Neither does this one.
"""

from __future__ import annotations

import re
from pathlib import Path

from msopgen_wrap.build import cache
from msopgen_wrap.build.rewriting.source_text import blank_comments, matching

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

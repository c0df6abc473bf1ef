"""Kernel files that also hold a host-side launcher, as old samples do.

``void add_do(...) { add<<<blocks, l2ctrl, stream>>>(...); }`` is for direct launches; CANN's kernel
compiler, which builds device code only, never looks at it. Neither does this one.
"""

from __future__ import annotations

import re
from pathlib import Path

from msopgen_wrap.build import cache

_LAUNCH = re.compile(r"[\w:]+(?:\s*<[^<>;{}]*>)?\s*<<<[^;{}]*?>>>\s*\([^;{}]*?\)\s*;")


def without_launches(kernel: Path) -> Path:
    """Return the kernel, or a copy without its ``<<<>>>`` statements when it has some.

    Lines keep their numbers and the copy says the original's name, so that messages point there.
    """
    text = kernel.read_text(encoding="utf-8", errors="replace")
    if "<<<" not in text:
        return kernel
    body = _LAUNCH.sub(lambda m: ";" + "\n" * m.group().count("\n"), text)
    original = str(kernel.absolute()).replace("\\", "\\\\").replace('"', '\\"')
    body = f'#line 1 "{original}"\n{body}'

    def build(folder: Path) -> list[Path]:
        (folder / kernel.name).write_text(body, encoding="utf-8")
        return []

    folder, _ = cache.cached("kernel-text", cache.text_hash(body), kernel.name, build)
    return folder / kernel.name

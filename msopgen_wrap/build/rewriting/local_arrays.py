"""Arrays that a kernel of the C interface declares in a core's memory: ``__ubuf__ float x[64];``.

On the device they lie in the core's UB, L1, L0A ... To g++ they would be on the host's stack, so
each becomes a reference to storage that the core hands out.
"""

from __future__ import annotations

import re

# Qualifier -> ascendc_emu::Mem.
_MEMORIES = {
    "__ubuf__": "kUb",
    "__cbuf__": "kL1",
    "__ca__": "kL0a",
    "__cb__": "kL0b",
    "__cc__": "kL0c",
    "__biasbuf__": "kBt",
    "__fbuf__": "kFb",
}
_DECLARATION = re.compile(
    rf"(?<!\w)(?P<memory>{'|'.join(_MEMORIES)})\s+(?P<type>\w[\w:]*(?:\s*<[^<>;]*>)?)\s+"
    r"(?P<names>\w+(?:\s*\[[^\][;]+\])+(?:\s*,\s*\w+(?:\s*\[[^\][;]+\])+)*)\s*;"
)
_DECLARATOR = re.compile(r"(\w+)((?:\s*\[[^\][;]+\])+)")


def place_arrays(text: str) -> str:
    """Return the text with such declarations rewritten; lines keep their numbers."""
    return _DECLARATION.sub(_place, text) if any(m in text for m in _MEMORIES) else text


def _place(match: re.Match[str]) -> str:
    memory = f"::ascendc_emu::Mem::{_MEMORIES[match['memory']]}"
    placed = " ".join(
        f"auto& {name} = ::ascendc_emu::LocalVariable<{memory}, {match['type']}{sizes}>([] {{}});"
        for name, sizes in _DECLARATOR.findall(match["names"])
    )
    return placed + "\n" * (match[0].count("\n") - placed.count("\n"))

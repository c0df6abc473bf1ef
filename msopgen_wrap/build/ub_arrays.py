"""Arrays that a kernel of the C interface declares in UB: ``__ubuf__ float x[64];``.

On the device they lie in the core's UB. To g++ they would be on the host's stack, so each becomes a
reference to storage that the core hands out.
"""

from __future__ import annotations

import re

_DECLARATION = re.compile(
    r"(?<!\w)__ubuf__\s+(?P<type>\w[\w:]*(?:\s*<[^<>;]*>)?)\s+"
    r"(?P<names>\w+(?:\s*\[[^\][;]+\])+(?:\s*,\s*\w+(?:\s*\[[^\][;]+\])+)*)\s*;"
)
_DECLARATOR = re.compile(r"(\w+)((?:\s*\[[^\][;]+\])+)")


def place_arrays(text: str) -> str:
    """Return the text with such declarations rewritten; lines keep their numbers."""
    return _DECLARATION.sub(_place, text) if "__ubuf__" in text else text


def _place(match: re.Match[str]) -> str:
    placed = " ".join(
        f"auto& {name} = ::ascendc_emu::UbVariable<{match['type']}{sizes}>([] {{}});"
        for name, sizes in _DECLARATOR.findall(match["names"])
    )
    return placed + "\n" * (match[0].count("\n") - placed.count("\n"))

"""Numbers that kernels take from the device library's header of TopK (``EIGHT``, ``SIXTEEN`` ...).

That header leaves them in the global scope. Kernels with numbers of their own by these names would
find two, so a source gets those only that it uses and does not define.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Sequence

from msopgen_wrap.build.rewriting.source_text import is_linkage_head, open_heads
from msopgen_wrap.resources import data_dir

_HEADER = "ascendc_emu/topk_numbers.h"
_USING = re.compile(r"\busing\s+namespace\s+(?:\w+::)*(\w+)")


def topk_flags(texts: Sequence[str]) -> list[str]:
    """Return the flags for sources and headers, comments blanked, that use such numbers."""
    names, uses, definitions = _patterns()
    used = {m for text in texts for m in uses.findall(text)}
    if not used:
        return []
    opened = {m for text in texts for m in _USING.findall(text)}
    own = {
        m["macro"] or m["name"] or m["member"]
        for text in texts
        for m in definitions.finditer(text)
        if m["macro"] or _is_global(text, m.start(), opened)
    }
    if used <= own:
        return []
    return ["-include", _HEADER, *(f"-DOPGEN_OWN_{n}" for n in names if n in own)]


@functools.lru_cache(maxsize=1)
def _patterns() -> tuple[tuple[str, ...], re.Pattern[str], re.Pattern[str]]:
    """Return the names, a pattern of their uses and one of their definitions."""
    path = data_dir("ascendc_kernels") / "emulation" / "include" / _HEADER
    names = tuple(re.findall(r"ifndef OPGEN_OWN_(\w+)", path.read_text(encoding="utf-8")))
    any_name = "|".join(names)
    definitions = (
        rf"^[ \t]*#[ \t]*define[ \t]+(?P<macro>{any_name})\b"
        rf"|\b(?:constexpr|const)\b[^;()]*?(?<![=+*/-]\s)\b(?P<name>{any_name})\s*[={{]"
        rf"|\benum\b[^;()]*?(?<![=+*/-]\s)\b(?P<member>{any_name})\s*[=,}}]"
    )
    uses = re.compile(rf"(?<!::)(?<!\.)\b({any_name})\b")
    return names, uses, re.compile(definitions, re.MULTILINE)


def _is_global(text: str, at: int, opened: set[str]) -> bool:
    """Whether what is defined at an offset is found without a qualifier."""
    for head in open_heads(text, at):
        if is_linkage_head(head):
            continue
        namespace = re.search(r"\bnamespace\b\s*((?:\w+(?:::)?)*)\s*$", head)
        if namespace is None or (namespace[1] and namespace[1].split("::")[-1] not in opened):
            return False
    return True

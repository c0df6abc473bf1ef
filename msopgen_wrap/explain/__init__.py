"""The long texts behind diagnostic codes, one Markdown file per area.

A file is a list of entries ``## CODE[, CODE...]: title`` with a body of short paragraphs (What,
Why, Fix, Example). Ranges: 001-089 spec, 090-099 command line and project, 2xx graph, 300-309
compiler and cache, 310-319 memory plan and schedules, 320-329 torch package, 330-339 lowering,
380-389 engines and the tuner, 500-539 running op projects, 540-569 other frameworks, 590-599 the
profiler, 6xx CANN and packages, 7xx torch_npu (72x ``check_op``, 74x and 75x fusion of a model),
9xx test runs; CANN's own codes are in ``cann_errors.md``.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

_HEAD = re.compile(r"^## ([^:\n]+): (.+)$", re.M)


@dataclass(frozen=True)
class Explanation:
    """One entry: its codes (the first is the main one), a title and a body in plain Markdown."""

    codes: tuple[str, ...]
    title: str
    body: str

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return {"codes": list(self.codes), "title": self.title, "body": self.body}


@lru_cache(maxsize=1)
def all_explanations() -> tuple[Explanation, ...]:
    """Return every entry, sorted by code."""
    entries = []
    for path in sorted(Path(__file__).parent.glob("*.md")):
        text = path.read_text(encoding="utf-8")
        heads = list(_HEAD.finditer(text))
        for head, following in zip(heads, [*heads[1:], None], strict=True):
            end = following.start() if following else len(text)
            codes = tuple(c.strip() for c in head.group(1).split(","))
            entries.append(
                Explanation(codes, head.group(2).strip(), text[head.end() : end].strip())
            )
    return tuple(sorted(entries, key=lambda e: (not e.codes[0].startswith("OPG"), e.codes[0])))


def find(code: str) -> list[Explanation]:
    """Return the entries for a code, or those whose code or title occurs in an error message."""
    wanted = code.strip().casefold()
    if wanted.isdigit() and len(wanted) <= 3:
        wanted = f"opg{int(wanted):03d}"
    exact = [e for e in all_explanations() if wanted in (c.casefold() for c in e.codes)]
    if exact or not wanted:
        return exact
    found = []
    for entry in all_explanations():
        names = [c.casefold() for c in entry.codes]
        inside = any(re.search(rf"(?<!\w){re.escape(n)}(?!\w)", wanted) for n in names)
        if inside or (
            len(wanted) >= 6 and wanted in f"{', '.join(names)} {entry.title}".casefold()
        ):
            found.append(entry)
    return found

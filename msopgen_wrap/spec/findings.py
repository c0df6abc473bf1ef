"""Collect diagnostics so that one run reports every problem, and suggest near names."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from msopgen_wrap.diagnostics import Diagnostic, Location


class Findings:
    """A list of diagnostics under construction."""

    def __init__(self) -> None:
        self.items: list[Diagnostic] = []

    def error(
        self, code: str, what: str, location: Location | None = None, why: str = "", fix: str = ""
    ) -> None:
        """Add an error."""
        self.items.append(Diagnostic(code, what, location or Location(), why, fix))

    def warning(
        self, code: str, what: str, location: Location | None = None, why: str = "", fix: str = ""
    ) -> None:
        """Add a warning."""
        self.items.append(Diagnostic(code, what, location or Location(), why, fix, "warning"))

    @property
    def has_errors(self) -> bool:
        """Whether any finding is an error."""
        return any(d.severity == "error" for d in self.items)

    def sorted(self) -> list[Diagnostic]:
        """Return the findings in file order, exact repeats dropped."""
        unique = dict.fromkeys(self.items)
        return sorted(unique, key=lambda d: (d.location.file, d.location.line, d.location.column))


def suggestion(name: str, known: Iterable[str]) -> str:
    """Return ``did you mean 'x'?`` for the nearest of ``known``, or an empty string."""
    near = nearest(name, known)
    return f"did you mean '{near}'?" if near else ""


def nearest(name: str, known: Iterable[str]) -> str:
    """Return the nearest of ``known``, or an empty string when none is near."""
    names = sorted(set(known))
    folded = {n.casefold(): n for n in names}
    if name.casefold() in folded:
        return folded[name.casefold()]
    near = difflib.get_close_matches(name[:64], names, n=1, cutoff=0.6)
    return near[0] if near else ""


def listed(names: Iterable[str]) -> str:
    """Join names for a message: ``a, b, c``."""
    return ", ".join(names)

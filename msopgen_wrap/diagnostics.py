"""Diagnostics: every problem with file, line, column, what, why and what to do."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True, order=True)
class Location:
    """A place in a text file; ``line`` and ``column`` count from 1, 0 means unknown."""

    file: str = ""
    line: int = 0
    column: int = 0
    length: int = 1

    def __str__(self) -> str:
        parts = [self.file or "<input>"]
        if self.line:
            parts += [str(self.line), str(self.column)]
        return ":".join(parts)


@dataclass(frozen=True)
class Diagnostic:
    """One finding.

    Attributes:
        code: stable code such as ``OPG012``; ``opgen explain CODE`` has the long text.
        what: what is wrong, one line.
        location: where.
        why: the rule or fact behind it.
        fix: what the reader should do.
        severity: ``error``, ``warning`` or ``note``.
    """

    code: str
    what: str
    location: Location = field(default_factory=Location)
    why: str = ""
    fix: str = ""
    severity: str = "error"

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form used by ``--json``."""
        loc = self.location
        return {
            "code": self.code,
            "severity": self.severity,
            "file": loc.file,
            "line": loc.line,
            "column": loc.column,
            "what": self.what,
            "why": self.why,
            "fix": self.fix,
        }


class OpgenError(Exception):
    """Carries one or more diagnostics to the command line, which prints them without a traceback."""

    def __init__(self, diagnostics: Diagnostic | list[Diagnostic]):
        self.diagnostics = [diagnostics] if isinstance(diagnostics, Diagnostic) else diagnostics
        super().__init__("; ".join(f"{d.code}: {d.what}" for d in self.diagnostics))


def render(diagnostic: Diagnostic, source: str | None = None) -> str:
    """Format like a compiler: ``file:line:col``, the source line, a caret, why and what to do.

    ``source`` is the text of the file; when None it is read from disk if possible.
    """
    loc = diagnostic.location
    lines = [f"{loc}: {diagnostic.severity}[{diagnostic.code}]: {diagnostic.what}"]
    if loc.line:
        text = _source_line(loc, source)
        if text is not None:
            gutter = f"{loc.line:5d} | "
            lines.append(gutter + text)
            caret = "^" + "~" * max(0, min(loc.length, len(text) - loc.column + 1) - 1)
            lines.append(" " * 5 + " | " + " " * (loc.column - 1) + caret)
    if diagnostic.why:
        lines.append(f"      why: {diagnostic.why}")
    if diagnostic.fix:
        lines.append(f"      fix: {diagnostic.fix}")
    return "\n".join(lines)


def _source_line(loc: Location, source: str | None) -> str | None:
    if source is None:
        try:
            source = Path(loc.file).read_text(encoding="utf-8", errors="replace")
        except OSError:
            return None
    rows = source.splitlines()
    return rows[loc.line - 1] if 0 < loc.line <= len(rows) else None

"""Diagnostics: every problem with file, line, column, what, why and what to do."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
import unicodedata
from collections.abc import Callable, Iterable
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
    """Carries diagnostics to the command line, which prints them without a traceback."""

    def __init__(self, diagnostics: Diagnostic | list[Diagnostic]):
        self.diagnostics = [diagnostics] if isinstance(diagnostics, Diagnostic) else diagnostics
        super().__init__("; ".join(f"{d.code}: {d.what}" for d in self.diagnostics))


@dataclass(frozen=True)
class HealthCheck:
    """One line of ``opgen doctor``.

    Attributes:
        name: what was looked at, e.g. ``C++ compiler``.
        status: ``ok``, ``warning`` (works, with a limit), ``problem`` (something will fail) or
            ``absent`` (an optional part is not there).
        detail: what was found: version, path.
        cure: the exact command or line that repairs it; empty when nothing is wrong.
        data: more facts for ``--json``.
    """

    name: str
    status: str
    detail: str
    cure: str = ""
    data: dict[str, object] = field(default_factory=dict)


Styler = Callable[[str, str], str]


def _unstyled(text: str, role: str) -> str:
    return text


def render(diagnostic: Diagnostic, source: str | None = None, style: Styler = _unstyled) -> str:
    """Format like a compiler: ``file:line:col``, the source line, a caret, why and what to do.

    Args:
        diagnostic: what to show.
        source: the text of the file; when None it is read from disk if possible.
        style: colours a text by its role: ``error``, ``warning``, ``note``, ``place``, ``caret``,
            ``label``.
    """
    loc = diagnostic.location
    head = style(f"{diagnostic.severity}[{diagnostic.code}]", diagnostic.severity)
    place = style(str(loc), "place") + ": " if loc.file or loc.line else ""
    lines = [f"{place}{head}: {diagnostic.what}"]
    if loc.line:
        text = _source_line(loc, source)
        if text is not None:
            text = _printable(text)
            lines.append(style(f"{loc.line:5d} | ", "label") + text)
            length = max(1, min(loc.length, len(text) - loc.column + 1))
            under = text[loc.column - 1 : loc.column - 1 + length]
            caret = "^" + "~" * (max(1, _width(under)) - 1)
            lines.append(
                style("      | ", "label") + _pad(text[: loc.column - 1]) + style(caret, "caret")
            )
    for label, body in (("why", diagnostic.why), ("fix", diagnostic.fix)):
        if body:
            first, *rest = body.splitlines()
            lines.append(f"      {style(label + ':', 'label')} {first}")
            lines += [f"           {row}" for row in rest]
    return "\n".join(lines)


_LONGEST = 240


def _printable(text: str) -> str:
    """Return a source line without what would act on a terminal; columns stay the same."""
    shown = "".join(
        c if c == "\t" or unicodedata.category(c) not in ("Cc", "Cf", "Cs", "Co") else "\ufffd"
        for c in text[:_LONGEST]
    )
    return shown + ("..." if len(text) > _LONGEST else "")


def _width(text: str) -> int:
    """Return the columns a terminal needs: East Asian wide characters take two."""
    wide = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)
    return wide - sum(1 for c in text if unicodedata.combining(c))


def _pad(text: str) -> str:
    """Return blanks as wide as ``text``; tabs stay tabs, so that the caret lines up."""
    return "".join(c if c == "\t" else " " * _width(c) for c in text)


def _source_line(loc: Location, source: str | None) -> str | None:
    if source is None:
        try:
            source = Path(loc.file).read_text(encoding="utf-8", errors="replace")
        except (OSError, ValueError):
            return None
    # Not splitlines(): it also splits at form feeds and Unicode separators, which no editor counts.
    rows = source.split("\n")
    return rows[loc.line - 1].rstrip("\r") if 0 < loc.line <= len(rows) else None


# Codes that say something about the machine rather than about the user's spec or sources.
ENVIRONMENT_CODES = frozenset(
    {
        "OPG094",
        "OPG095",
        "OPG301",
        "OPG302",
        "OPG304",
        "OPG305",
        "OPG320",
        "OPG550",
        "OPG551",
        "OPG601",
        "OPG602",
        "OPG620",
        "OPG701",
        "OPG702",
        "OPG706",
        "OPG708",
    }
)

_FULL = {
    errno.ENOSPC: "no space left on the disk",
    errno.EDQUOT: "the disk quota is used up",
    errno.EFBIG: "a file would pass the limit on file sizes (ulimit -f)",
}
_REFUSED = (errno.EACCES, errno.EPERM, errno.EROFS, errno.EIO, errno.EMFILE, errno.ENFILE)
# numpy's own text of a short write, which carries no errno.
_SHORT_WRITE = re.compile(r"\b\d+ requested and \d+ written\b")
# What compilers, assemblers and linkers say; the last is a signal of the kernel.
_IN_MESSAGES = (
    (re.compile(r"No space left on device"), errno.ENOSPC),
    (re.compile(r"Disk quota exceeded"), errno.EDQUOT),
    (re.compile(r"File size limit exceeded|File too large"), errno.EFBIG),
)
_LITTLE = 4 * 2**20


def is_about_machine(diagnostics: Iterable[Diagnostic]) -> bool:
    """Whether there are errors, and all of them are about the machine."""
    codes = {d.code for d in diagnostics if d.severity == "error"}
    return bool(codes) and codes <= ENVIRONMENT_CODES


def disk_full(error: OSError) -> Diagnostic | None:
    """Return OPG094 when ``error`` says that a disk, a quota or a file size limit is used up."""
    number = error.errno
    if number is None and _SHORT_WRITE.search(str(error)):
        number = errno.ENOSPC
    return None if number not in _FULL else _full(int(number), str(error.filename or ""))


def disk_full_message(messages: str) -> Diagnostic | None:
    """Return OPG094 when the messages of a child process say so."""
    for pattern, number in _IN_MESSAGES:
        if pattern.search(messages):
            return _full(number, "")
    return None


def machine_error(error: OSError) -> Diagnostic | None:
    """Return OPG094 (full disk) or OPG095 (the system refuses a file); None for other errors."""
    full = disk_full(error)
    if full is not None or error.errno not in _REFUSED:
        return full
    name = str(error.filename or "")
    return Diagnostic(
        "OPG095",
        f"the system refuses access to a file: {error.strerror}",
        Location(name),
        fix="check the permissions, and that the file system can be written",
    )


def output_folder(folder: Path) -> Path:
    """Make the folder that a command writes to, and its parents.

    Raises:
        OpgenError: OPG094, OPG095 (the machine), OPG098 (there can be no such folder).
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        in_the_way = next((p for p in (folder, *folder.parents) if p.exists()), folder)
        raise OpgenError(
            machine_error(error)
            or Diagnostic(
                "OPG098",
                f"the folder '{folder}' cannot be made",
                Location(str(folder)),
                f"'{in_the_way}' is a file"
                if not in_the_way.is_dir()
                else f"the system says: {error.strerror}",
                "choose another folder with -o",
            )
        ) from error
    return folder


def _full(number: int, name: str) -> Diagnostic:
    places = [name] if name else _nearly_full() if number == errno.ENOSPC else []
    return Diagnostic(
        "OPG094",
        _FULL[number] + (f": {', '.join(places)}" if places else ""),
        why="compiled code goes to the build cache, intermediate files to the temporary folder",
        fix="free space, or choose another place: OPGEN_CACHE_DIR for the cache, TMPDIR for "
        "temporary files, -o for the output",
    )


def _nearly_full() -> list[str]:
    """Return which of the folders that the kit writes to have next to no space."""
    cache = os.environ.get("OPGEN_CACHE_DIR") or str(Path.home() / ".cache")
    found = []
    for folder in (tempfile.gettempdir(), cache, "."):
        path = Path(folder).expanduser().absolute()
        while not path.exists() and path != path.parent:
            path = path.parent
        try:
            if shutil.disk_usage(path).free < _LITTLE and str(path) not in found:
                found.append(str(path))
        except OSError:
            continue
    return found

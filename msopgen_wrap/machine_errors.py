"""Errors of the machine, not of the user's input or of the kit: a full disk, a forbidden file."""

from __future__ import annotations

import errno
import os
import re
import shutil
import tempfile
from collections.abc import Iterable
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location

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

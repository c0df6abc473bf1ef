"""Files that ``opgen profile`` writes: whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError, disk_full
from msopgen_wrap.whole_files import whole_file


def unwritable(path: Path, option: str) -> Diagnostic | None:
    """Return OPG592 for a file that cannot be written, None for one that can.

    It is asked before a kernel runs: nobody should wait for what cannot be kept.
    """
    folder = path.absolute().parent
    if path.is_dir():
        return _problem(path, "it is a folder", option)
    if not folder.is_dir():
        why = "is a file" if folder.exists() else "does not exist"
        return _problem(path, f"the folder {folder} {why}", option)
    if not os.access(folder, os.W_OK | os.X_OK):
        return _problem(path, f"the folder {folder} cannot be written to", option)
    if path.exists() and not os.access(path, os.W_OK):
        return _problem(path, "the file is there and must not be changed", option)
    return None


@contextlib.contextmanager
def written_file(path: Path, option: str) -> Iterator[IO[str]]:
    """Open a text file that gets its name when all of it is written.

    Where writing fails, or the block raises, there is nothing new under ``path``.

    Raises:
        OpgenError: OPG592, or OPG094 for a full disk.
    """
    try:
        with whole_file(path) as stream:
            yield stream
    except OSError as error:
        reason = error.strerror or str(error)
        raise OpgenError(disk_full(error) or _problem(path, reason, option)) from error


def _problem(path: Path, why: str, option: str) -> Diagnostic:
    return Diagnostic(
        "OPG592",
        f"{path} cannot be written",
        Location(str(path)),
        why=why,
        fix=f"give {option} a file in a folder that exists and that you may write to",
    )

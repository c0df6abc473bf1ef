"""Files that are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import IO


@contextlib.contextmanager
def whole_file(path: Path, mode: int | None = None) -> Iterator[IO[str]]:
    """Open a text file that gets its name when all of it is written.

    Where writing fails, or the block raises, there is nothing new under ``path``. Line ends are
    written as they are given.

    Args:
        path: of the file; one that is there is replaced.
        mode: permissions of the file; None: those of a file that the process makes.

    Raises:
        OSError: the file cannot be written.
    """
    handle, stage = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.absolute().parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="") as stream:
            yield stream
        if mode is None:
            # mkstemp makes files that only their owner can read.
            mask = os.umask(0)
            os.umask(mask)
            mode = 0o666 & ~mask
        os.chmod(stage, mode)
        os.replace(stage, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(stage)
        raise

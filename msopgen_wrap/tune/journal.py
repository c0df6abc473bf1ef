"""What a run of the tuner has measured, on disk: a run that is killed goes on from there."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import IO, Any

from msopgen_wrap.build.cache import text_hash
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError


def task_key(function: str, arguments: dict[str, Any], kit: str, source: str) -> str:
    """Return what names a measurement.

    Args:
        kit: hash of the kit, whose model and tilings another version may change.
        source: text of the spec.
    """
    own = json.dumps([function, arguments, kit, source], sort_keys=True, default=str)
    return text_hash(own)


class Journal:
    """A file with a line per measurement; each line is on disk before the next one is made.

    Args:
        path: of the file.
        resume: read what an earlier run has left; without, that is dropped.

    Attributes:
        known: task key -> what was measured.

    Raises:
        OpgenError: OPG385, the file cannot be written, or is no journal.
    """

    def __init__(self, path: Path, *, resume: bool) -> None:
        self.path = path
        self.known: dict[str, Any] = {}
        if resume:
            self._read()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._file: IO[str] = path.open("a" if resume else "w", encoding="utf-8")
            if resume and self._cut_off():
                self._file.write("\n")
        except OSError as error:
            raise _unusable(path, error.strerror or str(error)) from error

    def add(self, task: str, value: Any) -> None:
        """Note a measurement, and bring it to disk."""
        self.known[task] = value
        try:
            self._file.write(json.dumps({"task": task, "value": value}) + "\n")
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise _unusable(self.path, error.strerror or str(error)) from error

    def close(self) -> None:
        """Close the file."""
        self._file.close()

    def _read(self) -> None:
        try:
            rows = self.path.read_text(encoding="utf-8", errors="replace").split("\n")
        except FileNotFoundError:
            return
        except OSError as error:
            raise _unusable(self.path, error.strerror or str(error)) from error
        unread = 0
        for row in filter(str.strip, rows):
            try:
                entry = json.loads(row)
                self.known[entry["task"]] = entry["value"]
            except (ValueError, KeyError, TypeError):
                unread += 1  # a line that a killed run has not finished
        if unread and not self.known:
            raise _unusable(self.path, "none of its lines is a measurement")

    def _cut_off(self) -> bool:
        with self.path.open("rb") as file:
            file.seek(0, os.SEEK_END)
            if not file.tell():
                return False
            file.seek(-1, os.SEEK_END)
            return file.read(1) != b"\n"


def _unusable(path: Path, why: str) -> OpgenError:
    return OpgenError(
        Diagnostic(
            "OPG385",
            "the journal of the tuner cannot be used",
            Location(str(path)),
            why,
            "name another file with --journal",
        )
    )

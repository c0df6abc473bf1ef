"""Small tasks that tell whether an engine works: tests run them, as workers take no others."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any


def double(arguments: dict[str, Any]) -> int:
    """Return twice ``number``."""
    number: int = arguments["number"]
    return 2 * number


def die_first(arguments: dict[str, Any]) -> int:
    """Kill the worker as often as ``times`` says, then return twice ``number``.

    Args:
        arguments: ``folder`` notes the attempts.
    """
    note = Path(arguments["folder"]) / f"{arguments['number']}"
    attempts = len(note.read_text()) if note.exists() else 0
    note.write_text("x" * (attempts + 1))
    if attempts < arguments["times"]:
        os.kill(os.getpid(), signal.SIGKILL)
    return double(arguments)

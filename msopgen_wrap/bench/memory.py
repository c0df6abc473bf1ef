"""Peak memory of a call, as the Linux kernel counts it."""

from __future__ import annotations

import ctypes
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

_CLEAR = Path("/proc/self/clear_refs")
_STATUS = Path("/proc/self/status")
_RESET_PEAK = "5"
_MMAP_THRESHOLD = -3  # M_MMAP_THRESHOLD of <malloc.h>
_OWN_PAGES = 64 * 1024


def return_blocks_at_once() -> bool:
    """Make malloc give large blocks back to the system when they are freed.

    Otherwise a call would reuse what an earlier one freed, and its memory would not be counted.
    It makes calls slower, so times are taken before.

    Returns:
        Whether peaks can be measured here: on Linux with glibc.
    """
    if not sys.platform.startswith("linux"):
        return False
    try:
        ctypes.CDLL(None).mallopt(_MMAP_THRESHOLD, _OWN_PAGES)
        ctypes.CDLL(None).malloc_trim(0)
        _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
    except (AttributeError, OSError):
        return False
    return True


def peak_bytes(call: Callable[[], Any]) -> int:
    """Return by how much the resident memory of this process grew at most during a call.

    Results count, arguments do not. ``return_blocks_at_once`` must have returned True.
    """
    call()  # the first call makes what later ones find: threads, tables
    # Blocks from before stay with malloc when they are free, and would be used again uncounted.
    ctypes.CDLL(None).malloc_trim(0)
    _CLEAR.write_text(_RESET_PEAK, encoding="ascii")
    before = _status("VmRSS")
    result = call()
    peak = _status("VmHWM")
    del result
    return max(0, peak - before)


def _status(name: str) -> int:
    lines = _STATUS.read_text(encoding="ascii").splitlines()
    found = next(line for line in lines if line.startswith(f"{name}:"))
    return int(found.split()[1]) * 1024

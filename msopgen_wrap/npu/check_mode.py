"""What the sanitizer found in custom-op calls of this process (``OPGEN_EMULATION=check``).

Custom ops of an installed package run in the emulation library that the package brings along. This
module finds the loaded copies of it, reads their findings, and prints them when the process ends.
"""

from __future__ import annotations

import atexit
import ctypes
import os
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from ..run.findings import Finding

_LIBRARY = re.compile(r"/libascendc_emulation[^/]*\.so$")


def enabled() -> bool:
    """Whether custom-op kernels run under the sanitizer."""
    return os.environ.get("OPGEN_EMULATION") == "check"


def _libraries() -> list[ctypes.CDLL]:
    """The emulation libraries loaded in this process."""
    try:
        lines = Path("/proc/self/maps").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return []
    paths = {line.split(maxsplit=5)[-1] for line in lines if _LIBRARY.search(line)}
    libraries = []
    for path in sorted(paths):
        # RTLD_NOLOAD: the copy that is running, never a new one.
        library = ctypes.CDLL(path, mode=os.RTLD_NOLOAD | os.RTLD_NOW)
        library.opgen_findings_json.restype = ctypes.c_char_p
        library.opgen_clear_findings.restype = None
        library.opgen_launch_count.restype = ctypes.c_uint64
        libraries.append(library)
    return libraries


def findings() -> list[Finding]:
    """Return the findings so far, of all vendors' packages; finish queued work first.

    Call ``torch.npu.synchronize()`` before: custom ops run on torch_npu's task queue.
    """
    from ..run.findings import parse

    found: list[Finding] = []
    for library in _libraries():
        found += parse(library.opgen_findings_json() or b"[]")
    return found


def clear() -> None:
    """Forget the findings so far."""
    for library in _libraries():
        library.opgen_clear_findings()


def launch_count() -> int:
    """How many AscendC kernels this process has executed in the emulation."""
    return sum(int(library.opgen_launch_count()) for library in _libraries())


def _report() -> None:
    from ..run.findings import render, summary

    found = findings()
    count = launch_count()
    if found:
        print(render(found), file=sys.stderr)
        print(f"opgen: {summary(found)} in {count} kernel launches", file=sys.stderr)
    elif count:
        print(f"opgen: sanitizer clean, {count} kernel launches", file=sys.stderr)


def report_at_exit() -> None:
    """Print the findings when the process ends, if check mode is on; once per process."""
    if enabled() and not getattr(report_at_exit, "armed", False):
        report_at_exit.armed = True  # type: ignore[attr-defined]
        atexit.register(_report)

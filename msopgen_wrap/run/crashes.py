"""Programs and op functions that a signal ended: what the emulation noted, as a diagnostic.

The library writes where it happened as JSON: ``{"signal", "text", "sites": [{"function", "file",
"line"}]}``, the innermost of the user's own source lines first (``op_runtime.h``).
"""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location

_ADVICE = {
    signal.SIGSEGV: "check the pointers of this line for null and its indices for their bounds",
    signal.SIGFPE: "check the divisor for 0, also that of %",
    signal.SIGABRT: "see the message above, or the assertion or exception at this line",
}
_HOST_ADVICE = (
    "check what the context returned for null (an absent optional input or attribute, no platform "
    "or compile info) and dimensions for 0 before they divide"
)


def crash_diagnostic(
    crash: Mapping[str, Any], who: str, *, fallback: Location | None = None, op_host: bool = False
) -> Diagnostic:
    """Say where something died.

    Args:
        crash: the library's report.
        who: what died: "crash.cpp", "op Foo: InferShape".
        fallback: the place to name when no source line is known.
        op_host: whether it is a function that an op registers.
    """
    sites = crash.get("sites") or []
    where = fallback or Location()
    why = "no line of the sources is known for it"
    if sites:
        where = _location(sites[0])
        why = f"in {sites[0]['function']}"
        calls = [f"called from {s['file']}:{s['line']}, in {s['function']}" for s in sites[1:]]
        why = "\n".join([why, *calls])
    number = crash.get("signal", 0)
    advice = _ADVICE.get(number, "see what may fail at this line, and return an error instead")
    if "the stack is full" in crash["text"]:
        advice = "bound the recursion, or move large local arrays to the heap"
    elif op_host and number in (signal.SIGSEGV, signal.SIGFPE):
        advice = _HOST_ADVICE
    return Diagnostic("OPG530", f"{who} died of {crash['text']}", where, why, advice)


def signal_text(exit_code: int) -> str:
    """Name the signal that a negative exit code of a process stands for."""
    try:
        return signal.Signals(-exit_code).name
    except ValueError:
        return f"signal {-exit_code}"


def _location(site: Mapping[str, Any]) -> Location:
    """Point at the code of the line, behind its indentation."""
    try:
        lines = Path(site["file"]).read_text(encoding="utf-8", errors="replace").split("\n")
        text = lines[site["line"] - 1].rstrip()
    except (OSError, IndexError):
        return Location(site["file"], site["line"], 1)
    indent = len(text) - len(text.lstrip())
    return Location(site["file"], site["line"], indent + 1, max(1, len(text) - indent))

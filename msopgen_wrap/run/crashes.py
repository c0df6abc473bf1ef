"""Programs and op functions that a signal ended: what the emulation noted, as a diagnostic.

The library writes where it happened as JSON: ``{"signal", "text", "sites": [{"function", "file",
"line"}]}``, the innermost of the user's own source lines first (``op_runtime.h``). Code that was
stopped because its time was over has a ``limit`` (seconds) besides, a kernel then ``cores`` with
the place of each.
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
    if "limit" in crash:
        return _time_limit(crash, who, fallback)
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


def _time_limit(crash: Mapping[str, Any], who: str, fallback: Location | None) -> Diagnostic:
    """Name the places of all cores, or of the one function, that were stopped (OPG533)."""
    # A kernel's report has its cores, another its calls.
    cores = crash.get("cores") or []
    sites = cores or crash.get("sites") or []
    known = [s for s in sites if s["line"] > 0]
    where = _location(known[0]) if known else fallback or Location()
    if cores:
        groups: dict[str, list[str]] = {}
        for site in cores:
            at = f"{site['file']}:{site['line']}, " if site["line"] > 0 else ""
            groups.setdefault(at + site["doing"], []).append(site["core"])
        lines = [f"{_listed(names)} at {place}" for place, names in groups.items()]
        others = crash.get("stopped", len(cores)) - len(cores)
        lines += [f"{others} more cores"] if others > 0 else []
        why = "when the time was over:\n" + "\n".join(lines)
    elif known:
        calls = [f"called from {s['file']}:{s['line']}, in {s['function']}" for s in known[1:]]
        why = "\n".join([f"it was in {known[0]['function']}", *calls])
    else:
        why = "no line of the sources is known for where it was"
    return Diagnostic(
        "OPG533",
        f"{who} did not end within {crash['limit']:g} s",
        where,
        why,
        "bound the loop; give code that needs more time --timeout SECONDS or OPGEN_TIMEOUT (0: no "
        "limit)",
    )


def _listed(names: list[str]) -> str:
    most = 8
    # "AIV 2" before "AIV 10"; cores are stopped in any order.
    names = sorted(names, key=lambda name: (len(name), name))
    rest = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + rest


def _location(site: Mapping[str, Any]) -> Location:
    """Point at the code of the line, behind its indentation."""
    try:
        lines = Path(site["file"]).read_text(encoding="utf-8", errors="replace").split("\n")
        text = lines[site["line"] - 1].rstrip()
    except (OSError, IndexError):
        return Location(site["file"], site["line"], 1)
    indent = len(text) - len(text.lstrip())
    return Location(site["file"], site["line"], indent + 1, max(1, len(text) - indent))

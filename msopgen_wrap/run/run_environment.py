"""In which environment a test ran: what a reader needs to repeat it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any


def run_environment(
    soc: str, mode: str, variables: Mapping[str, str] = os.environ
) -> dict[str, Any]:
    """Return the mode, SoC, threads, auto-sync and accuracy rule of an ``opgen test``.

    Args:
        soc: exact or family name.
        mode: ``auto``, ``check`` or ``fast``.
        variables: the process environment.
    """
    options = dict(
        item.strip().partition("=")[::2] for item in variables.get("OPGEN_CHECK", "").split(",")
    )
    threads = variables.get("OPGEN_THREADS", "")
    count = int(threads) if threads.isdigit() and int(threads) else len(os.sched_getaffinity(0))
    return {
        "mode": mode,
        "soc": soc,
        # The sanitizer sees one event at a time.
        "threads": {"check": 1, "fast": count},
        "auto_sync": options.get("auto-sync", "on"),
        "sanitizer_options": variables.get("OPGEN_CHECK", ""),
        "accuracy_rule": "CANN: relative error, golden in float64",
    }


def environment_text(environment: Mapping[str, Any]) -> str:
    """Return the environment as one line."""
    if not environment:
        return ""
    threads = environment["threads"]
    mode = {
        "auto": f"auto (check on 1 thread, fast on {threads['fast']} for large cases)",
        "check": "check on 1 thread",
        "fast": f"fast on {threads['fast']} threads, no sanitizer",
    }[environment["mode"]]
    return (
        f"environment: CPU emulation, mode {mode}; SoC {environment['soc']}; "
        f"auto-sync {environment['auto_sync']}; accuracy rule {environment['accuracy_rule']}"
    )

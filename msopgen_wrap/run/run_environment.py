"""The environment of a run: mode, SoC, threads, and the sanitizer's options in ``OPGEN_CHECK``."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
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


def check_options(off: bool) -> str | None:
    """Return the value of ``OPGEN_CHECK`` for a run, None to leave it: the user's choice wins."""
    given = os.environ.get("OPGEN_CHECK", "")
    if not off or _decided(given.split(",")):
        return None
    return ",".join(item for item in (given, "auto-sync=project") if item)


@contextmanager
def synchronised_by_source(library: Any, off: bool) -> Iterator[None]:
    """Demand explicit synchronisation inside if ``off``, unless the user has chosen."""
    if check_options(off) is None:
        yield
        return
    library.opgen_sanitizer_option(b"auto-sync=project")
    try:
        yield
    finally:
        library.opgen_sanitizer_option(b"auto-sync=on")


def _decided(items: Iterable[str]) -> bool:
    return any(item.strip().startswith("auto-sync=") for item in items)

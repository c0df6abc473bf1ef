"""What every command prints through: diagnostics, JSON, colours, exit codes."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import sys
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

import click

from msopgen_wrap.diagnostics import Diagnostic, is_about_machine, render

if TYPE_CHECKING:
    from rich.console import Console

OK = 0
FINDINGS = 1
USAGE = 2
ENVIRONMENT = 3
INTERNAL = 70
INTERRUPTED = 130

EXIT_CODES = """Exit codes: 0 all right; 1 findings or failed tests; 2 wrong usage; 3 the machine
lacks something (compiler, torch, CANN, disk space), `opgen doctor` tells what; 70 internal error,
a bug of opgen; 130 interrupted."""

_ENDLESS = 1_000_000  # columns

_STYLES: dict[str, dict[str, Any]] = {
    "error": {"fg": "red", "bold": True},
    "warning": {"fg": "yellow", "bold": True},
    "note": {"fg": "cyan", "bold": True},
    "place": {"bold": True},
    "caret": {"fg": "green", "bold": True},
    "label": {"fg": "bright_black"},
    "ok": {"fg": "green"},
    "problem": {"fg": "red", "bold": True},
    "absent": {"fg": "bright_black"},
}


def use_colour(stream: Any) -> bool:
    """Whether to colour ``stream``: a terminal, NO_COLOR unset; FORCE_COLOR overrides a pipe."""
    if os.environ.get("NO_COLOR"):
        return False
    if os.environ.get("FORCE_COLOR"):
        return True
    return bool(getattr(stream, "isatty", lambda: False)()) and os.environ.get("TERM") != "dumb"


def styled(text: str, role: str) -> str:
    """Return ``text`` in the colours of ``role``."""
    return click.style(text, **_STYLES.get(role, {}))


def echo(text: str = "", err: bool = False) -> None:
    """Print a line; colours are stripped where they do not belong."""
    stream = sys.stderr if err else sys.stdout
    click.echo(text, err=err, color=use_colour(stream))


def table_console(stream: Any) -> Console:
    """Return a console that prints tables whole where ``stream`` is not a terminal.

    A pipe or a file has no width of its own: what is cut there to 80 columns is lost.
    """
    from rich.console import Console

    is_terminal = bool(getattr(stream, "isatty", lambda: False)())
    return Console(file=stream, highlight=False, width=None if is_terminal else _ENDLESS)


def print_json(value: Any) -> None:
    """Print ``value`` as JSON on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False))


@contextlib.contextmanager
def json_only() -> Iterator[None]:
    """Keep standard output for what Python prints, which with ``--json`` is one JSON document.

    What C code of this process and child processes write to file descriptor 1, such as printf in a
    kernel, goes to standard error meanwhile.
    """
    try:
        is_process_output = sys.stdout.fileno() == 1
    except (OSError, ValueError, AttributeError):
        is_process_output = False  # a test captures it
    if not is_process_output:
        yield
        return
    sys.stdout.flush()
    plain, real = sys.stdout, os.dup(1)
    os.dup2(2, 1)
    sys.stdout = os.fdopen(os.dup(real), "w", encoding="utf-8", errors="replace")
    try:
        yield
    finally:
        try:
            sys.stdout.close()
        finally:
            sys.stdout = plain
            ctypes.CDLL(None).fflush(None)
            os.dup2(real, 1)
            os.close(real)


def print_diagnostics(
    diagnostics: Iterable[Diagnostic], sources: dict[str, str] | None = None, err: bool = True
) -> None:
    """Print findings with their source lines, an empty line after each."""
    for diagnostic in diagnostics:
        source = (sources or {}).get(diagnostic.location.file)
        echo(render(diagnostic, source, styled) + "\n", err=err)


def count_text(diagnostics: Iterable[Diagnostic]) -> str:
    """Return ``2 errors, 1 warning``."""
    severities = [d.severity for d in diagnostics]
    parts = []
    for word in ("error", "warning", "note"):
        count = severities.count(word)
        if count:
            parts.append(f"{count} {word}{'s' if count > 1 else ''}")
    return ", ".join(parts) or "no findings"


def exit_code(diagnostics: Iterable[Diagnostic]) -> int:
    """Return the exit code of a failure: ENVIRONMENT if all errors are about the machine."""
    errors = [d for d in diagnostics if d.severity == "error"]
    if is_about_machine(errors):
        return ENVIRONMENT
    return FINDINGS if errors else OK

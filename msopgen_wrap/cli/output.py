"""What every command prints through: diagnostics, JSON, colours, exit codes."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterable
from typing import Any

import click

from msopgen_wrap.diagnostics import Diagnostic, render

OK = 0
FINDINGS = 1
USAGE = 2
ENVIRONMENT = 3
INTERNAL = 70
INTERRUPTED = 130

EXIT_CODES = """Exit codes: 0 all right; 1 findings or failed tests; 2 wrong usage; 3 the machine
lacks something (compiler, torch, CANN), `opgen doctor` tells what; 70 internal error."""

# Codes that say something about the machine rather than about the user's spec or sources.
ENVIRONMENT_CODES = frozenset(
    {
        "OPG301",
        "OPG302",
        "OPG305",
        "OPG320",
        "OPG601",
        "OPG602",
        "OPG620",
        "OPG701",
        "OPG702",
        "OPG706",
        "OPG708",
    }
)

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


def print_json(value: Any) -> None:
    """Print ``value`` as JSON on stdout."""
    click.echo(json.dumps(value, indent=2, ensure_ascii=False, sort_keys=False))


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
    codes = {d.code for d in diagnostics if d.severity == "error"}
    if codes and codes <= ENVIRONMENT_CODES:
        return ENVIRONMENT
    return FINDINGS if codes else OK

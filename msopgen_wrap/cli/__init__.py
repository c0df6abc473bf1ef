"""The ``opgen`` command."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``opgen`` script."""
    from msopgen_wrap.cli.app import run

    raise SystemExit(run())

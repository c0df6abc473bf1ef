"""The ``opgen`` command."""

from __future__ import annotations


def main() -> None:
    """Entry point of the ``opgen`` script."""
    from msopgen_wrap.build.child_processes import end_children_on_signals
    from msopgen_wrap.cli.app import run

    end_children_on_signals()
    raise SystemExit(run())

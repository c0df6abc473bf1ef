"""``opgen test``: compile the generated sources and run every case in the CPU emulation."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path

import click

from msopgen_wrap.cli import output


@click.command("test")
@click.argument("targets", nargs=-1, type=click.Path(path_type=Path))
@click.option("--soc", default="ascend910b3", show_default=True, help="SoC that tiling sees.")
@click.option("--vendor", default="opgen", show_default=True, help="Vendor of rendered specs.")
@click.option(
    "--mode",
    type=click.Choice(["auto", "check", "fast"]),
    default="auto",
    show_default=True,
    help="check: with the sanitizer; fast: without; auto: check, fast for very large cases.",
)
@click.option("--large", is_flag=True, help="Add the 2^24+3 element case.")
@click.option("-k", "match", default="", help="Only cases whose name contains this text.")
@click.option(
    "--timeout",
    type=click.FloatRange(min=0),
    help="Seconds that a launch or a function of the op may take; default: $OPGEN_TIMEOUT or 600; "
    "0: no limit.",
)
@click.option("-v", "--verbose", is_flag=True, help="List every case, not only the failed ones.")
@click.option("--json", "as_json", is_flag=True, help="Print the full report as JSON.")
@click.option(
    "--report",
    type=click.Path(dir_okay=False, path_type=Path),
    help="Also write the report to a file: .json, .md or .html by its ending.",
)
def command(
    targets: tuple[Path, ...],
    soc: str,
    vendor: str,
    mode: str,
    large: bool,
    match: str,
    timeout: float | None,
    verbose: bool,
    as_json: bool,
    report: Path | None,
) -> None:
    """Compile and run the case grid of a PROJECT or of SPECs; accuracy and sanitizer per case.

    Without a target the current folder is the project. Exit code: 0 all passed, 1 something
    failed or the cases prove too little (INCOMPLETE: never two tiles on a core, or two cores), 2
    wrong usage, 3 no usable compiler or environment.
    """
    if timeout is not None:
        os.environ["OPGEN_TIMEOUT"] = f"{timeout:g}"
    started = time.perf_counter()
    from msopgen_wrap.run.session import WorkerProcess, run_tests

    # First of all: it imports torch, which takes longer than all that follows here.
    with WorkerProcess() as worker:
        from msopgen_wrap.cli.test_output import LiveView, print_report
        from msopgen_wrap.run.results import TestReport
        from msopgen_wrap.run.run_environment import run_environment
        from msopgen_wrap.run.session import resolve_target

        console = output.table_console(sys.stderr if as_json else sys.stdout)
        # FORCE_COLOR makes rich take a pipe for a terminal.
        live = console.is_terminal and sys.stdout.isatty() and not as_json
        result = TestReport(environment=run_environment(soc, mode))
        with LiveView(console, enabled=live) as view:
            for job in resolve_target(targets, soc, vendor, mode, large, match):
                result.ops += run_tests(job, view.take, worker).ops
    if report:
        from msopgen_wrap.run.report import write_report

        write_report(result, report)
    if as_json:
        click.echo(json.dumps(result.as_dict(), indent=2))
    else:
        print_report(console, result, verbose, time.perf_counter() - started)
    sys.exit(0 if result.passed else 1)

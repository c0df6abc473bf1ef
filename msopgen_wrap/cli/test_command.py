"""``opgen test``: compile the generated sources and run every case in the CPU emulation."""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

import click

from msopgen_wrap.cli import output

if TYPE_CHECKING:
    from msopgen_wrap.run.results import TestReport


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
@click.option(
    "--engine",
    help="Where specs are tested, each on its own: local (processes of this machine) or ray (a "
    "Ray cluster, that of $RAY_ADDRESS or one on this machine). Default: one process, or local "
    "with -j.",
)
@click.option(
    "-j", "--jobs", type=click.IntRange(min=1), help="Specs that are tested at once in an engine."
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
    engine: str | None,
    jobs: int | None,
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
    if engine is not None or jobs is not None:
        result = _in_engine(targets, (soc, vendor, mode, large, match), engine or "local", jobs)
        _finish(result, report, started, as_json=as_json, verbose=verbose)
    from msopgen_wrap.run.session import WorkerProcess, run_tests

    # First of all: it imports torch, which takes longer than all that follows here.
    with WorkerProcess() as worker:
        from msopgen_wrap.cli.test_output import LiveView
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
    _finish(result, report, started, as_json=as_json, verbose=verbose)


def _in_engine(
    targets: tuple[Path, ...],
    options: tuple[str, str, str, bool, str],
    engine: str,
    jobs: int | None,
) -> TestReport:
    """Test specs in the workers of an engine."""
    from msopgen_wrap.engines import open_engine
    from msopgen_wrap.run.run_environment import run_environment
    from msopgen_wrap.run.session import resolve_target
    from msopgen_wrap.run.spec_task import run_in_engine

    def progress(done: int, count: int) -> None:
        if sys.stderr.isatty():
            end = "\n" if done == count else ""
            click.echo(f"\r  {done} of {count} specs tested\033[K{end}", nl=False, err=True)
        elif done % 10 == 0 or done == count:
            # a log: a line now and then
            click.echo(f"{done} of {count} specs tested", err=True)

    soc, _, mode, _, _ = options
    work = resolve_target(targets, *options)
    with open_engine(engine, jobs) as opened:
        result = run_in_engine(work, opened, progress)
    result.environment = run_environment(soc, mode)
    return result


def _finish(
    result: TestReport, report: Path | None, started: float, *, as_json: bool, verbose: bool
) -> NoReturn:
    """Print and write the report, and leave with the exit code of the result."""
    from msopgen_wrap.cli.test_output import print_report

    if report:
        from msopgen_wrap.run.report import write_report

        write_report(result, report)
    if as_json:
        click.echo(json.dumps(result.as_dict(), indent=2))
    else:
        console = output.table_console(sys.stdout)
        print_report(console, result, verbose, time.perf_counter() - started)
    sys.exit(0 if result.passed else 1)

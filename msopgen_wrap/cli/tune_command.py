"""``opgen tune``: search the schedule of a spec by the modelled time of its kernel."""

from __future__ import annotations

import statistics
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from msopgen_wrap.cli import output
from msopgen_wrap.cli.shared_options import l2_option
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError

if TYPE_CHECKING:
    from msopgen_wrap.tune.run import Tuned


@click.command("tune")
@click.argument("specs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--shapes",
    multiple=True,
    metavar="'NAME=D0,D1 ...'",
    help="Tune for a call of these shapes, inputs separated by blanks; give it once per call. "
    "Default: the two largest cases of the test grid.",
)
@click.option("--dtype", default="", help="Only this dtype of the first input; default: all.")
@click.option("--soc", default="", help="Exact or family name; default: the first of the spec.")
@l2_option
@click.option(
    "--engine",
    default="local",
    show_default=True,
    help="local: processes of this machine; ray: a Ray cluster, that of $RAY_ADDRESS or one on "
    "this machine.",
)
@click.option(
    "-j",
    "--jobs",
    type=click.IntRange(min=1),
    help="Measurements at once; default: half the cores.",
)
@click.option("--resume", is_flag=True, help="Go on where a run with the same options was killed.")
@click.option(
    "--journal",
    type=click.Path(dir_okay=False, path_type=Path),
    help="File for what was measured; default: one in the cache, by the specs and options.",
)
@click.option("--dry-run", is_flag=True, help="Print the schedule, leave the spec as it is.")
@click.option("-v", "--verbose", is_flag=True, help="List every schedule that was tried.")
@click.option("--json", "as_json", is_flag=True, help="Print what was tried and found as JSON.")
def command(specs: tuple[Path, ...], **given: Any) -> int:
    """Search tile length, buffers, cores and rows of SPECS, and write the best as `schedule:`.

    Each candidate is the generated kernel, run in the emulation and replayed on a model of the SoC:
    every time is modelled. A schedule is written where it is faster by more than the model's own
    error, 10%, and slower for no dtype. Exit code 1: a spec could not be tuned.
    """
    from msopgen_wrap.build import cache
    from msopgen_wrap.engines import open_engine
    from msopgen_wrap.run.cached_specs import kit_hash
    from msopgen_wrap.tune.journal import Journal
    from msopgen_wrap.tune.run import TuneOptions, tune
    from msopgen_wrap.tune.search import Measurements
    from msopgen_wrap.tune.subject import spec_source

    paths = _spec_paths(specs)
    sources, problems = {}, []
    for path in paths:
        try:
            sources[path] = spec_source(path)
        except OpgenError as error:
            problems += error.diagnostics
    if problems:
        raise OpgenError(problems)
    options = TuneOptions(
        given["shapes"], given["dtype"], given["soc"], given["l2"], not given["dry_run"]
    )
    asked = [*paths, repr(options.shapes), options.dtype, options.soc, options.l2]
    folder = cache.cache_dir() / "tune"
    journal = given["journal"] or folder / f"{cache.text_hash(*asked)}.jsonl"
    with open_engine(given["engine"], given["jobs"]) as engine:
        notes = Journal(journal, resume=given["resume"])
        measurements = Measurements(engine, notes, sources, kit_hash(), _progress())
        try:
            results = tune(paths, options, measurements, folder / "winners")
        except KeyboardInterrupt:
            output.echo(
                f"\nstopped; {len(notes.known)} measurements are kept, --resume goes on from them",
                err=True,
            )
            raise
        finally:
            notes.close()
    folders = any(path.is_dir() for path in specs)
    failed = [d for r in results for d in r.problems if not (folders and d.code == "OPG382")]
    if given["as_json"]:
        output.print_json(_data(results, measurements, failed))
    else:
        _print(results, measurements, verbose=given["verbose"])
        output.print_diagnostics(failed)
    return output.exit_code(failed)


def _spec_paths(specs: tuple[Path, ...]) -> list[str]:
    """Return the spec files that are named, those of folders in the order of their names."""
    found: list[str] = []
    problems = []
    for target in specs:
        if target.is_dir():
            inside = sorted(str(p) for p in target.rglob("*.yaml"))
            if not inside:
                problems.append(
                    Diagnostic("OPG901", f"{target} holds no spec", Location(str(target)))
                )
            found += inside
        else:
            found.append(str(target))
    if problems:
        raise OpgenError(problems)
    return list(dict.fromkeys(found))


def _progress() -> Any:
    """Return what shows how far a round is, on a terminal only."""
    if not sys.stderr.isatty():
        return lambda done, count, text: None

    def show(done: int, count: int, text: str) -> None:
        end = "\n" if done == count else ""
        click.echo(f"\r  {text}: {done} of {count} measured\033[K{end}", nl=False, err=True)

    return show


def _summary(results: list[Tuned]) -> dict[str, Any]:
    tuned = [r for r in results if r.wins]
    gains = [r.gain for r in tuned]
    return {
        "specs": len(results),
        "tuned": len(tuned),
        "with_a_win": sum(bool(r.schedule) for r in tuned),
        "gain": statistics.geometric_mean(gains) if gains else 1.0,
    }


def _data(results: list[Tuned], measurements: Any, failed: list[Diagnostic]) -> dict[str, Any]:
    from msopgen_wrap.tune.report import tuned_dict

    return {
        "ok": not failed,
        "summary": _summary(results),
        "measured": measurements.ran,
        "from_journal": measurements.known,
        "journal": str(measurements.journal.path),
        "specs": [tuned_dict(r) for r in results],
    }


def _print(results: list[Tuned], measurements: Any, *, verbose: bool) -> None:
    from msopgen_wrap.tune.report import tuned_lines

    for result in results:
        lines = tuned_lines(result, every=verbose)
        if lines:
            output.echo("\n".join(lines) + "\n")
    if len(results) > 1:
        sums = _summary(results)
        output.echo(
            f"{sums['tuned']} of {sums['specs']} specs tuned, {sums['with_a_win']} with a win; "
            f"geometric mean {sums['gain']:.3f}x, modelled"
        )
    output.echo(f"{measurements.ran} measured, {measurements.known} known from the journal")

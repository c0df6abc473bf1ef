"""``opgen profile``: the modelled time of a kernel on an NPU, and where it goes."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from msopgen_wrap.cli import output
from msopgen_wrap.cli.shared_options import define_option, include_option, l2_option
from msopgen_wrap.diagnostics import Diagnostic, OpgenError

if TYPE_CHECKING:
    from msopgen_wrap.profile.launches import ProfiledRun
    from msopgen_wrap.profile.targets import ProfileOptions
    from msopgen_wrap.spec.model import OpSpec


@click.command("profile", context_settings={"ignore_unknown_options": True})
@click.argument("target", metavar="TARGET")
@click.argument("arguments", nargs=-1, type=click.UNPROCESSED)
@click.option("--op", default="", help="Which op of a project or a folder of specs.")
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME=D0,D1,...",
    help="Spec: shape of an input; give it once per input.",
)
@click.option(
    "--case",
    default="",
    help="Spec: part of the name of a case of the test grid. Op folder: YAML with inputs, outputs "
    "and attrs.",
)
@click.option("--dtype", default="", help="Spec: dtype of the first input, or of the first few.")
@click.option("-a", "--attr", "attrs", multiple=True, help="NAME=VALUE.")
@click.option("-i", "--input", "inputs", multiple=True, help="Op folder: as for `opgen run`.")
@click.option("-o", "--output", "outputs", multiple=True, help="Op folder: as for `opgen run`.")
@include_option
@define_option
@click.option("--soc", help="Exact or family name; default: the first SoC of the target.")
@l2_option
@click.option("--block-dim", type=click.IntRange(min=1), help="Cores that tiling sees.")
@click.option(
    "--records",
    type=click.IntRange(min=1),
    help="Steps of a launch that are stored; one with more is sampled.  [default: 24000000]",
)
@click.option(
    "--launch",
    "chosen",
    type=click.IntRange(min=1),
    help="Which launch is shown in full, where there are several; default: the costliest.",
)
@click.option(
    "--trace",
    type=click.Path(path_type=Path),
    help="Write FILE.json for Perfetto or chrome://tracing.",
)
@click.option(
    "--html", type=click.Path(path_type=Path), help="Write a page with timeline and pictures."
)
@click.option("--compare", is_flag=True, help="Profile two targets, TARGET and the next argument.")
@click.option(
    "--budget",
    type=click.Path(path_type=Path),
    help="Fail where the modelled time has grown beyond what this file allows.",
)
@click.option(
    "--write-budget", type=click.Path(path_type=Path), help="Set the entry of this run in a file."
)
@click.option(
    "--growth",
    type=click.FloatRange(min=0),
    help="Percent by which the modelled time may grow; default: the budget's, or 5.",
)
@click.option("--json", "as_json", is_flag=True, help="Print the profile as JSON.")
def command(target: str, arguments: tuple[str, ...], **given: Any) -> int:
    """Model the time of TARGET on an NPU: a spec, a project, a program, an op folder.

    TARGET may also be PATH@COMMIT, or a .jsonl file that OPGEN_PROFILE named. The kernel runs in
    the emulation, and its record is replayed on a model of the SoC: every time is modelled. A
    program gets ARGUMENTS. Exit code 1: the kernel failed, or the time is over its budget.
    """
    from msopgen_wrap.profile.comparison import target_at
    from msopgen_wrap.profile.targets import ProfileOptions

    as_json = given["as_json"]
    if given["compare"] and not arguments:
        raise click.UsageError("--compare takes two targets: opgen profile --compare A B")
    _refuse_files(given)
    options = ProfileOptions(
        op=given["op"],
        shapes=given["shapes"],
        case=given["case"],
        dtype=given["dtype"],
        inputs=given["inputs"],
        outputs=given["outputs"],
        attrs=given["attrs"],
        arguments=arguments[1:] if given["compare"] else arguments,
        soc=given["soc"],
        l2=given["l2"],
        block_dim=given["block_dim"],
        defines=given["defines"],
        includes=given["includes"],
        records=given["records"] or 0,
        with_events=bool(given["trace"] or given["html"]),
        progress=functools.partial(_progress, as_json),
    )
    if given["compare"]:
        return _compare((target, arguments[0]), options, as_json)
    with target_at(target) as path:
        run = _profiled(path, options)
        if given["chosen"] is not None and given["chosen"] > len(run.launches):
            raise click.UsageError(
                f"--launch {given['chosen']}: there are {len(run.launches)} launches"
            )
        return _report(target, run, given)


def _refuse_files(given: dict[str, Any]) -> None:
    """Refuse every file that could not be written, before anything runs."""
    from msopgen_wrap.profile.budget import read_budget
    from msopgen_wrap.profile.written_files import unwritable

    named = {f"--{n.replace('_', '-')}": given[n] for n in ("trace", "html", "write_budget")}
    found = [p for option, path in named.items() if path and (p := unwritable(path, option))]
    try:
        if given["budget"]:
            read_budget(given["budget"])
    except OpgenError as error:
        found += error.diagnostics
    if found:
        raise OpgenError(found)
    if given["compare"] and (any(named.values()) or given["budget"]):
        raise click.UsageError("--compare goes with none of --trace, --html and budgets")


def _progress(quiet: bool, text: str) -> None:
    if not quiet and sys.stderr.isatty():
        output.echo(f"  {text}", err=True)


def _shapes(spec: OpSpec, texts: tuple[str, ...]) -> dict[str, Any] | None:
    from msopgen_wrap.cli.plan_command import parse_shapes

    return parse_shapes(spec, texts)


def _profiled(path: Path, options: ProfileOptions) -> ProfiledRun:
    from msopgen_wrap.profile.target_kinds import target_kind, unused_options
    from msopgen_wrap.profile.targets import profile_target

    kind = target_kind(path)
    unused = kind and unused_options(kind, vars(options))
    if kind and unused:
        raise click.UsageError(f"{kind.value} has no use for {', '.join(unused)}: {path}")
    try:
        return profile_target(path, options, _shapes)
    except ValueError as error:
        # RefusedShapes, whose module imports torch.
        if type(error).__name__ != "RefusedShapes":
            raise
        raise click.UsageError(f"--shape: {error}") from None


def _report(target: str, run: ProfiledRun, given: dict[str, Any]) -> int:
    from msopgen_wrap.profile.budget import check_budget, exceeded, write_budget

    problems: list[Diagnostic] = list(run.problems)
    notes = []
    budget = None
    launches = run.launches
    shown = launches[given["chosen"] - 1] if given["chosen"] else None
    shown = shown or max(launches, key=lambda x: x.profile.time_us)
    try:
        if given["trace"]:
            from msopgen_wrap.profile.trace_file import write_trace

            write_trace(given["trace"], [(x.profile, x.events) for x in launches])
            notes.append(f"wrote {given['trace']}: open it in Perfetto or chrome://tracing")
        if given["html"]:
            from msopgen_wrap.profile.page import write_page

            write_page(given["html"], run, shown)
            notes.append(f"wrote {given['html']}")
    except OpgenError as error:
        problems += error.diagnostics
    if not run.problems:
        # The time of a kernel that failed says nothing about its budget.
        try:
            if given["budget"]:
                budget = check_budget(given["budget"], run, given["growth"])
                if not budget.kept:
                    problems.append(exceeded(budget, given["budget"]))
                else:
                    notes.append(f"within the budget: {budget.text()}")
            if given["write_budget"]:
                key = write_budget(given["write_budget"], run, given["growth"])
                notes.append(f"wrote {given['write_budget']}: {key!r}")
        except OpgenError as error:
            problems += error.diagnostics
    if given["as_json"]:
        output.print_json(_data(target, run, problems, budget))
    else:
        _print(run, shown.profile, notes)
        output.print_diagnostics(problems)
    return output.exit_code(problems)


def _print(run: ProfiledRun, shown: Any, notes: list[str]) -> None:
    from msopgen_wrap.profile.text_view import profile_lines, share_lines

    if len(run.launches) > 1:
        output.echo("\n".join(share_lines(run.profiles)) + "\n")
        number = next(i for i, p in enumerate(run.profiles, 1) if p is shown)
        output.echo(f"launch {number} of {len(run.launches)}:")
    style = output.styled if output.use_colour(sys.stdout) else None
    extra = {"style": style} if style else {}
    output.echo("\n".join(profile_lines(shown, about=run.about, **extra)))
    for note in notes:
        output.echo(note)


def _data(
    target: str, run: ProfiledRun, problems: list[Diagnostic], budget: Any = None
) -> dict[str, Any]:
    from dataclasses import asdict

    from msopgen_wrap.profile.launches import kernel_shares

    low, high = run.range_us
    return {
        "ok": not any(d.severity == "error" for d in problems),
        "target": target,
        "case": run.case,
        "times": "modelled",
        "time_us": run.time_us,
        "time_low_us": low,
        "time_high_us": high,
        "launch_us": sum(p.launch_us for p in run.profiles),
        "kernel_us": sum(p.kernel_us for p in run.profiles),
        "kernels": [asdict(share) for share in kernel_shares(run.profiles)],
        "launches": [_launch_data(p) for p in run.profiles],
        "budget": budget.as_dict() if budget else None,
        "diagnostics": [d.as_dict() for d in problems],
    }


def _launch_data(profile: Any) -> dict[str, Any]:
    from msopgen_wrap.profile.advice import advice

    read, written = profile.compulsory
    return {
        **profile.data,
        "incomplete": profile.incomplete,
        "compulsory": {"gm_read": read, "gm_written": written},
        "advice": [a.as_dict() for a in advice(profile)],
    }


def _compare(targets: tuple[str, str], options: ProfileOptions, as_json: bool) -> int:
    from msopgen_wrap.profile.comparison import (
        compared_figures,
        comparison_lines,
        target_at,
        verdict,
    )

    runs: list[ProfiledRun] = []
    problems: list[Diagnostic] = []
    for target in targets:
        try:
            with target_at(target) as path:
                run = _profiled(path, replace(options, with_events=False))
            runs.append(run)
            problems += run.problems
        except OpgenError as error:
            problems += error.diagnostics
    if len(runs) < len(targets):
        raise OpgenError(problems)
    first, second = runs
    if as_json:
        output.print_json(
            {
                "ok": not problems,
                "times": "modelled",
                "verdict": verdict(first, second),
                "first": _data(targets[0], first, list(first.problems)),
                "second": _data(targets[1], second, list(second.problems)),
                "figures": [figure.as_dict() for figure in compared_figures(first, second)],
                "diagnostics": [d.as_dict() for d in problems],
            }
        )
    else:
        output.echo("\n".join(comparison_lines(first, second, targets)))
        output.print_diagnostics(problems)
    return output.exit_code(problems)

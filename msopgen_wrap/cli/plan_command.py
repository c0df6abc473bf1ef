"""``opgen plan``: the schedule and memory plan, as a table or as data."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from msopgen_wrap.cli import output
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.spec.findings import suggestion
from msopgen_wrap.spec.gradient import gradient_name
from msopgen_wrap.spec.loader import load_specs
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.saved_outputs import saveable_outputs

if TYPE_CHECKING:
    from msopgen_wrap.families.gradients import GradientChoice
    from msopgen_wrap.run.measurement import Measurement
    from msopgen_wrap.schedule.plan import OpPlan
    from msopgen_wrap.schedule.report import TilingDecision


@click.command("plan", epilog=output.EXIT_CODES)
@click.argument("specs", nargs=-1, required=True, type=click.Path(path_type=Path))
@click.option(
    "--shape",
    "shapes",
    multiple=True,
    metavar="NAME=D0,D1,...",
    help="Also show what TilingFunc decides for this input shape; give it once per input. The "
    "generated host code is compiled for it.",
)
@click.option(
    "--measure",
    is_flag=True,
    help="Also run the kernel on these shapes in the emulation and count, per dtype, the bytes of "
    "global memory against those that every kernel has to move, vector instructions, the unified "
    "buffer and the work of the cores.",
)
@click.option("--soc", help="Plan for these SoCs instead of the spec's, separated by commas.")
@click.option("--json", "as_json", is_flag=True, help="Print the plan as JSON.")
def command(
    specs: tuple[Path, ...],
    shapes: tuple[str, ...],
    measure: bool,
    soc: str | None,
    as_json: bool,
) -> int:
    """Show family, tiles, buffers, UB use per dtype and SoC, and core split of SPECS."""
    if measure and not shapes:
        raise click.UsageError("--measure runs the kernel: give its shapes, --shape x=4,1024")
    loaded = load_specs(specs)
    if soc:
        from msopgen_wrap.cli.new_command import parse_socs
        from msopgen_wrap.project.tree import for_socs

        loaded = [for_socs(spec, parse_socs(soc)) for spec in loaded]
    from msopgen_wrap.families import plan_op
    from msopgen_wrap.families.gradients import (
        gradient_choice,
        gradient_source,
        unread_inputs,
        with_chosen_gradients,
    )
    from msopgen_wrap.families.saving import SavingChoice, saving_choice
    from msopgen_wrap.schedule import plan_dict, plan_text

    savings: dict[str, SavingChoice] = {}

    def save(spec: OpSpec) -> SavingChoice:
        return savings.setdefault(spec.name, saving_choice(spec))

    def choose(spec: OpSpec) -> GradientChoice:
        choice = gradient_choice(spec)
        if choice.saving is not None:
            savings[spec.name] = choice.saving
        return choice

    loaded, refused = with_chosen_gradients(loaded, choose, save)
    given = [parse_shapes(spec, shapes) for spec in loaded]
    failed = []
    rows = []
    plans: dict[str, OpPlan] = {}
    for spec in loaded:
        try:
            plans[spec.name] = plan_op(spec)
        except OpgenError as error:
            failed += error.diagnostics
    for spec, sizes in zip(loaded, given, strict=True):
        if spec.name not in plans:
            continue
        plan, of_gradient = plans[spec.name], plans.get(gradient_name(spec))
        unread = unread_inputs(spec, of_gradient) if of_gradient else ()
        gradient: dict[str, Any] = {**gradient_source(spec, refused.get(spec.name, ""), unread)}
        decisions: list[TilingDecision] = []
        measured: list[Measurement] = []
        if sizes is not None:
            try:
                decisions = _decisions(spec, sizes)
                measured = _measured(spec, sizes) if measure else []
            except OpgenError as error:
                failed += error.diagnostics
        saved = None
        if gradient["by"] == "kernel":
            from msopgen_wrap.run.saved_bytes import saved_bytes

            saved = saved_bytes(spec, unread)
            if saveable_outputs(spec):
                gradient["saving"] = {**save(spec).as_dict(), "save": spec.save}
        if as_json:
            from msopgen_wrap.schedule.report import tilings_as_data

            own: dict[str, Any] = {"gradient": gradient}
            if saved is not None:
                own["saved_for_backward"] = saved.as_dict()
            if sizes is not None:
                own["tiling"] = tilings_as_data(plan, decisions)
            if measure:
                own["measured"] = [m.as_dict() for m in measured]
            rows.append({**plan_dict(plan), **own})
        else:
            output.echo(plan_text(plan))
            if gradient["by"] != "none":
                output.echo(f"  gradients by {gradient['by']}: {gradient['why']}")
            if saved is not None:
                output.echo(f"  saved for backward: {saved.text()}")
            if "saving" in gradient:
                output.echo("\n".join(f"    {line}" for line in save(spec).lines(spec.save)))
            if decisions and sizes is not None:
                output.echo("\n".join(["", *_tiling_lines(plan, sizes, decisions)]))
            if measured:
                from msopgen_wrap.run.measurement import measurement_lines

                output.echo("\n".join(["", *measurement_lines(measured)]))
    if as_json:
        output.print_json({"ok": not failed, "plans": rows, "diagnostics": _dicts(failed)})
    elif failed:
        output.print_diagnostics(failed)
    return output.exit_code(failed)


def _decisions(spec: OpSpec, shapes: dict[str, Any]) -> list[TilingDecision]:
    from msopgen_wrap.run.tiling_decisions import RefusedShapes, tiling_decisions

    def progress(text: str) -> None:
        if sys.stderr.isatty():
            output.echo(f"  {text}", err=True)

    try:
        return tiling_decisions(spec, shapes, progress)
    except RefusedShapes as refusal:
        raise click.UsageError(f"--shape: {refusal}") from None


def _tiling_lines(
    plan: OpPlan, shapes: dict[str, Any], decisions: list[TilingDecision]
) -> list[str]:
    from msopgen_wrap.graph.kept_tensors import frozen_shapes, shape_text
    from msopgen_wrap.schedule.report import tiling_lines

    given = ", ".join(f"{k}={shape_text(v)}" for k, v in frozen_shapes(shapes).items())
    return [f"  tiling of {given}", *tiling_lines(plan, decisions)]


def _measured(spec: OpSpec, shapes: dict[str, Any]) -> list[Measurement]:
    from msopgen_wrap.run.measurement import measure_op
    from msopgen_wrap.run.tiling_decisions import RefusedShapes

    try:
        return measure_op(spec, shapes)
    except RefusedShapes as refusal:
        raise click.UsageError(f"--shape: {refusal}") from None


def _dicts(findings: list[Any]) -> list[dict[str, object]]:
    return [d.as_dict() for d in findings]


def parse_shapes(spec: OpSpec, texts: tuple[str, ...]) -> dict[str, Any] | None:
    """Turn ``x=4,1024`` options into shapes for every input; inputs left out take their rule's.

    Raises:
        click.UsageError: unknown name, or text that is no shape.
    """
    if not texts:
        return None
    from msopgen_wrap.spec.given_shapes import MissingShape, completed_shapes, given_shape

    params = {p.name: p for p in spec.inputs}
    shapes: dict[str, Any] = {}
    for text in texts:
        name, mark, body = text.partition("=")
        name = name.strip()
        if not mark or name not in params:
            hint = suggestion(name, params) or f"inputs: {', '.join(params)}"
            raise click.UsageError(f"--shape {text}: unknown input '{name}'. {hint}")
        try:
            shapes[name] = given_shape(params[name], body.replace("x", ","))
        except ValueError as error:
            raise click.UsageError(f"--shape {text}: {error}") from None
    try:
        return completed_shapes(spec, shapes)
    except MissingShape as error:
        raise click.UsageError(f"give --shape {error.name}=... too: {error}") from None

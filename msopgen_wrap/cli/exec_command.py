"""``opgen exec``: run a program with torch_npu on the emulation where there is no NPU."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path

import click

from msopgen_wrap.cli import output


@click.command(
    "exec",
    context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False},
)
@click.option(
    "--npu",
    "wish",
    type=click.Choice(["auto", "emulation", "real"]),
    default=None,
    help="auto (default): the emulation only where no CANN runtime is installed.",
)
@click.option("--soc", help="SoC to emulate, e.g. ascend910b3.")
@click.option("--devices", type=click.IntRange(1, 16), help="Number of emulated devices.")
@click.option("--memory", help="Memory per emulated device, e.g. 8G.")
@click.option("--check", is_flag=True, help="Run custom-op kernels under the sanitizer.")
@click.option(
    "--profile",
    "profiled",
    is_flag=True,
    help="Model the time of custom-op kernels, and add it up at the end (also "
    "OPGEN_EMULATION=profile).",
)
@click.option("-v", "--verbose", is_flag=True, help="Say which runtime is used and why.")
@click.argument("argv", metavar="COMMAND...", nargs=-1, required=True, type=click.UNPROCESSED)
def command(
    wish: str | None,
    soc: str | None,
    devices: int | None,
    memory: str | None,
    check: bool,
    profiled: bool,
    verbose: bool,
    argv: tuple[str, ...],
) -> int:
    """Run COMMAND (usually ``python train.py``) with torch_npu on the emulation.

    The child and its own children are covered. On a machine with CANN the real runtime is used
    unless ``--npu emulation`` asks otherwise. Write options of COMMAND after ``--``.

    Exit code: that of COMMAND, 128 + the signal that killed it; 2 wrong usage and 3 the machine
    lacks something, when COMMAND was not started.
    """
    from msopgen_wrap.npu.selection import child_environment, run

    if _runs_this_python(argv[0]):
        from msopgen_wrap.npu.doctor import check_build
        from msopgen_wrap.npu.runtime_build import find_wheel

        check_build(find_wheel())
    if check and profiled:
        raise click.UsageError("--check and --profile: a kernel runs in one mode at a time")
    environment, choice = child_environment(
        dict(os.environ), wish=wish, soc=soc, devices=devices, memory=memory, check=check
    )
    if verbose:
        output.echo(f"opgen exec: {choice.kind} ({choice.reason})", err=True)
    if profiled:
        environment["OPGEN_EMULATION"] = "profile"
    if environment.get("OPGEN_EMULATION") != "profile":
        return run(list(argv), environment)
    from msopgen_wrap.profile.step_summary import profiled_step

    with profiled_step(environment, lambda text: output.echo(text, err=True)):
        return run(list(argv), environment)


def _runs_this_python(program: str) -> bool:
    """Whether the program is the Python that opgen runs under, whose torch can be looked at."""
    if not Path(program).name.startswith("python"):
        return False
    found = shutil.which(program)
    return found is None or Path(found).parent == Path(sys.executable).parent

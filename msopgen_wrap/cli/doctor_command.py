"""``opgen doctor``: what this machine has and lacks, each problem with its cure."""

from __future__ import annotations

import click

from msopgen_wrap.cli import output
from msopgen_wrap.cli.doctor_checks import ABSENT, OK, PROBLEM, WARNING, all_checks

_MARKS = {OK: "ok", WARNING: "warn", PROBLEM: "FAIL", ABSENT: "-"}
_ROLES = {OK: "ok", WARNING: "warning", PROBLEM: "problem", ABSENT: "absent"}


@click.command("doctor")
@click.option("--json", "as_json", is_flag=True, help="Print as JSON.")
def command(as_json: bool) -> int:
    """Check compiler, torch, torch_npu, CANN, ASCEND_* variables and installed vendors.

    Exit code: 0 nothing fails, 3 something will fail. "-" marks optional parts that are absent.
    """
    checks = []
    for check in all_checks():
        checks.append(check)
        if as_json:
            continue
        mark = output.styled(f"{_MARKS.get(check.status, check.status):>4s}", _ROLES[check.status])
        output.echo(f"{mark}  {check.name}: {check.detail}")
        if check.cure:
            output.echo("\n".join(f"        cure: {row}" for row in check.cure.splitlines()))
    problems = [c for c in checks if c.status == PROBLEM]
    if as_json:
        output.print_json({"ok": not problems, "checks": [vars(c) for c in checks]})
    else:
        word = "problem" if len(problems) == 1 else "problems"
        output.echo(f"{len(problems)} {word}" if problems else "no problems")
    return output.ENVIRONMENT if problems else output.OK

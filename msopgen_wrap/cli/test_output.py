"""What ``opgen test`` prints: progress while it runs, and the report at its end."""

from __future__ import annotations

from typing import Any

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from msopgen_wrap.run.accuracy_rules import RULES
from msopgen_wrap.run.results import (
    CRASHED,
    FAILED,
    INCOMPLETE,
    NOT_APPLICABLE,
    PASSED,
    CaseResult,
    OpResult,
    TestReport,
)
from msopgen_wrap.run.run_environment import environment_text


class LiveView:
    """Progress while it runs: a bar on a terminal, one line per op elsewhere."""

    def __init__(self, console: Console, enabled: bool):
        self._console = console
        self._enabled = enabled
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            disable=not enabled,
        )
        self._task: Any = None

    def __enter__(self) -> LiveView:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def take(self, event: dict[str, Any]) -> None:
        """Show one worker event."""
        if not self._enabled:
            return
        kind = event["event"]
        if kind == "op":
            if self._task is not None:
                self._progress.remove_task(self._task)
            self._task = self._progress.add_task(event["op"], total=None)
        elif self._task is None:
            return
        elif kind == "compile":
            self._progress.update(self._task, description=f"{event['op']}: compile {event['unit']}")
        elif kind == "cases":
            self._progress.update(self._task, description=event["op"], total=event["count"])
        elif kind == "case":
            self._progress.advance(self._task)


def print_report(console: Console, report: TestReport, verbose: bool, seconds: float) -> None:
    """Print what failed, the table of ops and dtypes, what the cases covered, and the verdict.

    Args:
        verbose: list every case.
        seconds: how long it all took.
    """
    for op in report.ops:
        for diagnostic in op.diagnostics:
            _print_diagnostic(console, diagnostic)
        shown = [c for c in op.cases if verbose or c.status in (FAILED, CRASHED)]
        for case in shown:
            colour = "green" if case.status == PASSED else "red"
            if case.status == NOT_APPLICABLE:
                colour = "yellow"
            console.print(f"[{colour}]{case.status:8}[/] {op.op} ", end="")
            console.print(case.label, markup=False, soft_wrap=True)
            if case.reason:
                console.print("         " + case.reason, markup=False, soft_wrap=True)
        for problem in op.problems:
            console.print(f"[red]problem[/]  {op.op}: ", end="")
            console.print(problem, markup=False, soft_wrap=True)
    # Lines that the terminal wraps are better than cells without their ends.
    console.print(_summary(report), width=max(console.width, 120), crop=False)
    for line in _explanations(report):
        console.print(line, markup=False, soft_wrap=True)
    for op in report.ops:
        if op.cases:
            console.print(f"covered  {op.op}: {op.coverage_text}", markup=False, soft_wrap=True)
        if op.bounded:
            console.print(f"bounded  {op.op}: {op.bounded}", markup=False, soft_wrap=True)
        if op.partial:
            console.print(
                f"partial  {op.op}: -k chose the cases; whether they prove the op is not judged",
                markup=False,
                soft_wrap=True,
            )
        for gap in op.gaps:
            console.print(f"[yellow]incomplete[/] {op.op}: ", end="")
            console.print(f"{gap}; add `cases:` with larger shapes", markup=False, soft_wrap=True)
    console.print(environment_text(report.environment), markup=False, soft_wrap=True)
    total = sum(len(op.cases) for op in report.ops)
    failed = sum(op.count(FAILED) + op.count(CRASHED) for op in report.ops)
    skipped = sum(op.count(NOT_APPLICABLE) for op in report.ops)
    passed = total - failed - skipped
    verdict = {PASSED: "PASS", FAILED: "FAIL", INCOMPLETE: "INCOMPLETE"}[report.verdict]
    style = {PASSED: "bold green", FAILED: "bold red", INCOMPLETE: "bold yellow"}[report.verdict]
    console.print(
        f"{passed} passed, {failed} failed, {skipped} not applicable in {seconds:.1f} s; {verdict}",
        style=style,
    )


def _print_diagnostic(console: Console, raw: dict[str, Any]) -> None:
    from msopgen_wrap.diagnostics import Diagnostic, Location, render

    location = Location(raw["file"], raw["line"], raw["column"])
    diagnostic = Diagnostic(
        raw["code"], raw["what"], location, raw["why"], raw["fix"], raw["severity"]
    )
    console.print(render(diagnostic), markup=False, soft_wrap=True)


_COLUMNS = ("op", "dtype", "cases", "passed", "mean rel", "max rel", "rule", "sanitizer", "result")


def _summary(report: TestReport) -> Table:
    table = Table(box=None, pad_edge=False)
    for name in _COLUMNS:
        table.add_column(name, justify="left" if name in ("op", "dtype", "rule") else "right")
    for op in report.ops:
        for dtype in dict.fromkeys(c.dtype for c in op.cases):
            table.add_row(*_row(op, dtype))
        if not op.cases:
            table.add_row(op.op, "", "0", "0", "", "", "", "", "[red]FAIL[/]")
    return table


def _row(op: OpResult, dtype: str) -> list[str]:
    cases = [c for c in op.cases if c.dtype == dtype]
    passed = [c for c in cases if c.status == PASSED]
    bad = [c for c in cases if c.status in (FAILED, CRASHED)]
    findings = sum(len(c.findings) for c in cases)
    checked = sum(c.mode == "check" and c.status != NOT_APPLICABLE for c in cases)
    sanitizer = f"{findings} findings" if findings else f"clean ({checked})" if checked else "off"
    worst = max((c.maximum for c in passed), default=0.0)
    mean = max((c.mean for c in passed), default=0.0)
    rules = dict.fromkeys(rule for c in cases for rule in c.rules.values())
    verdict = "[green]ok[/]"
    if bad or op.problems:
        verdict = "[red]FAIL[/]"
    elif op.gaps:
        verdict = "[yellow]incomplete[/]"
    return [
        op.op,
        dtype or "-",
        str(len(cases)),
        str(len(passed)),
        f"{mean:.2g}",
        f"{worst:.2g}" + ("*" if _counted(passed) is not None else ""),
        ", ".join(rules),
        sanitizer,
        verdict,
    ]


def _counted(cases: list[CaseResult]) -> CaseResult | None:
    """Return the case with the largest error that passed by more than the plain bounds."""
    return max((c for c in cases if c.note), key=lambda c: c.maximum, default=None)


def _explanations(report: TestReport) -> list[str]:
    """Say, once per op, why an error over the plain bounds passes, and what the rules are."""
    lines = []
    for op in report.ops:
        worst = _counted([c for c in op.cases if c.status == PASSED])
        if worst is not None:
            lines.append(f"* {op.op} {worst.label}: max rel {worst.maximum:.2g}; {worst.note}")
    used = {rule for op in report.ops for rules in op.rules.values() for rule in rules}
    return [*lines, *(f"rule {name}: {RULES[name]}" for name in RULES if name in used)]

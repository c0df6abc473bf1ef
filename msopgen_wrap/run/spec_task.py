"""``opgen test`` of many specs at once: each is a task of an engine."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location
from msopgen_wrap.engines import Engine, Outcome, Task
from msopgen_wrap.run.results import CaseResult, OpResult, TestReport
from msopgen_wrap.run.session import run_tests
from msopgen_wrap.run.worker import Job

_FUNCTION = "msopgen_wrap.run.spec_task:test_specs"


def run_in_engine(
    jobs: Iterator[Job],
    engine: Engine,
    progress: Callable[[int, int], None] = lambda done, count: None,
) -> TestReport:
    """Run jobs, those of several specs spec by spec, and return the results in their order.

    A spec that cannot be tested, or whose worker died again and again, is a failed op with the
    reason; the results of the others are there all the same.
    """
    single = [one for job in jobs for one in _single(job)]
    tasks = [Task(_FUNCTION, {"job": asdict(job)}) for job in single]
    found: dict[int, list[OpResult]] = {}
    for outcome in engine.run(tasks):
        job = single[outcome.index]
        found[outcome.index] = (
            [_untested(job, outcome)]
            if outcome.failure
            else [_op_result(row) for row in outcome.value]
        )
        progress(len(found), len(tasks))
    return TestReport(ops=[op for index in sorted(found) for op in found[index]])


def _single(job: Job) -> list[Job]:
    """Return a job per spec; a project, whose ops share sources, stays one."""
    if job.project is not None or len(job.specs) < 2:
        return [job]
    return [replace(job, specs=(spec,)) for spec in job.specs]


def _untested(job: Job, outcome: Outcome) -> OpResult:
    """Return the result of a job that ended without one."""
    source = job.specs[0] if job.specs else str(job.project)
    lost = Diagnostic(
        "OPG900",
        f"the tests of {source} did not end",
        Location(source),
        outcome.failure,
        "run it alone, without --engine and -j",
    )
    return OpResult(Path(source).stem, source, diagnostics=outcome.diagnostics or [lost.as_dict()])


def test_specs(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """Run a job in a worker process of its own; a task of an engine."""
    job = Job(**{**arguments["job"], "known": None})
    job = replace(job, specs=tuple(job.specs), skip=tuple(job.skip))
    return [asdict(op) for op in run_tests(job).ops]


test_specs.__test__ = False  # type: ignore[attr-defined]  # no pytest function


def _op_result(row: dict[str, Any]) -> OpResult:
    return OpResult(**{**row, "cases": [CaseResult(**case) for case in row["cases"]]})

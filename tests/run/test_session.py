"""The test worker's end: what it runs may end it, and that is no success."""

from __future__ import annotations

import sys
import time

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.run import session
from msopgen_wrap.run.results import CRASHED
from msopgen_wrap.run.worker import Job

# Ends in its first op unless that is to be skipped.
WORKER = """
import json, os, signal, sys
job = json.loads(sys.stdin.read())
def emit(**event):
    print(json.dumps(event), flush=True)
for op in ("First", "Second"):
    if op in job["skip"]:
        continue
    emit(event="op", op=op, spec=op + ".yaml")
    emit(event="case_start", op=op, label="case 1")
    if op == "First":
        {end}
emit(event="end")
"""
ENDS = {
    "os._exit(0)": "was ended with exit code 0",
    "sys.exit(0)": "was ended with exit code 0",
    "os._exit(3)": "was ended with exit code 3",
    "os.kill(os.getpid(), signal.SIGKILL)": "died with SIGKILL",
    "os.kill(os.getpid(), signal.SIGSTOP)": "it stopped itself (SIGSTOP)",
    "os.abort()": "died with SIGABRT",
}
JOB = Job(("a.yaml",), None, "ascend910b3", "opgen", "auto", False, "")


def worker(monkeypatch: pytest.MonkeyPatch, text: str) -> None:
    monkeypatch.setattr(session, "WORKER", [sys.executable, "-c", text])


@pytest.mark.parametrize("end", ENDS)
def test_an_op_that_ends_the_worker_has_crashed(monkeypatch: pytest.MonkeyPatch, end: str) -> None:
    worker(monkeypatch, WORKER.replace("{end}", end))
    report = session.run_tests(JOB)
    first, second = report.ops
    (case,) = first.cases
    assert (case.status, case.label) == (CRASHED, "case 1") and ENDS[end] in case.reason
    assert not report.passed and second.op == "Second"  # which ran in another worker


def test_a_worker_that_ends_before_its_first_op_is_an_error(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker(monkeypatch, "import sys; sys.stdin.read()")
    with pytest.raises(OpgenError, match="exit code 0"):
        session.run_tests(JOB)


def test_a_worker_that_was_started_before_the_job_takes_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    worker(monkeypatch, WORKER.replace("{end}", "pass"))
    with session.WorkerProcess() as started:
        monkeypatch.setattr(session, "WORKER", ["false"])
        report = session.run_tests(JOB, worker=started)
    assert [op.op for op in report.ops] == ["First", "Second"] and not started.is_free


def test_a_worker_without_a_job_is_ended_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    deaf = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(60)"
    worker(monkeypatch, deaf)
    begin = time.perf_counter()
    with session.WorkerProcess():
        pass
    assert time.perf_counter() - begin < session._END_SECONDS

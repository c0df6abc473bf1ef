"""Drive the test worker: start it, follow its events, survive its crashes."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import IO, Any

from msopgen_wrap.build.child_processes import StopWatch, signal_text
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.manifest import MANIFEST, read_manifest, refuse_extension
from msopgen_wrap.run.known_builds import known_build
from msopgen_wrap.run.results import CRASHED, CaseResult, OpResult, TestReport
from msopgen_wrap.run.worker import Job
from msopgen_wrap.spec.loader import python_ops


def resolve_target(
    targets: Sequence[Path], soc: str, vendor: str, mode: str, large: bool, match: str
) -> Iterator[Job]:
    """Yield one job per project and one for all given specs together.

    Raises:
        OpgenError: a target does not exist or holds no spec, or a manifest cannot be understood.
    """
    specs: list[Path] = []
    projects: list[Path] = []
    problems: list[Diagnostic] = []
    for target in targets or (Path("."),):
        if (target / MANIFEST).is_file():
            projects.append(target)
        elif target.is_dir():
            found = sorted(target.rglob("*.yaml"))
            if not found:
                problems.append(
                    Diagnostic(
                        "OPG901",
                        f"{target} is neither a project nor a folder with specs",
                        Location(str(target)),
                        why=f"it has no {MANIFEST} and no .yaml file",
                        fix="name a spec file, or scaffold a project: opgen new SPEC.yaml -o DIR",
                    )
                )
            specs += found
        elif ops := python_ops(target):
            specs += ops
        elif target.is_file():
            specs.append(target)
        else:
            problems.append(
                Diagnostic(
                    "OPG902",
                    f"{target} does not exist",
                    Location(str(target)),
                    fix="check the path; `opgen list` shows the specs that come with the kit",
                )
            )
    if problems:
        raise OpgenError(problems)
    if specs:
        yield Job(tuple(str(s) for s in specs), None, soc, vendor, mode, large, match)
    for project in projects:
        manifest = read_manifest(project)
        assert manifest is not None
        refuse_extension(project, manifest)
        paths = tuple(str(project / spec) for spec in manifest.specs)
        yield Job(paths, str(project), soc, manifest.vendor, mode, large, match)


# For a worker that is told to end; one inside a kernel cannot answer.
_END_SECONDS = 3.0
# glibc returns large blocks to the kernel at once otherwise, and every tensor of a case is cleared
# again page by page: a fifth of the time of the cases.
_MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": 1 << 30,
    "MALLOC_TRIM_THRESHOLD_": 1 << 30,
    "MALLOC_TOP_PAD_": 1 << 26,
}
#: The command of the worker process.
WORKER = [sys.executable, "-m", "msopgen_wrap.run.worker"]

Listener = Callable[[dict[str, Any]], None]


def run_tests(
    job: Job,
    listen: Listener = lambda _: None,
    worker: WorkerProcess | None = None,
) -> TestReport:
    """Run ``job`` in worker processes and collect the results.

    A worker that dies (a kernel that crashes the process) is recorded as a crashed case of the op
    it was in, and the remaining ops go on in a new worker.

    Args:
        worker: one that was started before the job was known; used unless it has had a job.

    Raises:
        OpgenError: the specs themselves are bad, or the worker failed before it reached an op.
    """
    report = TestReport()
    while True:
        follower = _Follower(report, listen)
        if worker is None or not worker.is_free:
            worker = WorkerProcess()
        with worker:
            code, tail = worker.run(job, follower)
        if follower.error:
            raise OpgenError(follower.error)
        if code == 0 and follower.ended:
            return report
        if follower.op is None:
            raise OpgenError(_worker_failure(code, follower.stopped, tail))
        follower.crash(_end_text(code, follower.stopped), tail)
        job = replace(job, skip=tuple(op.op for op in report.ops))


class WorkerProcess:
    """A worker for one job. It imports torch from its start on; the job may be known later.

    Leaving its context ends it.

    Attributes:
        is_free: it has had no job yet.
    """

    def __init__(self) -> None:
        self.is_free = True
        log = tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace")  # noqa: SIM115
        self._log = log
        self._process = subprocess.Popen(
            WORKER,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._log,
            env=_environment(),
            text=True,
        )

    def __enter__(self) -> WorkerProcess:
        return self

    def __exit__(self, *_: object) -> None:
        if self._process.poll() is None:
            self._end()
        for stream in (self._process.stdin, self._process.stdout, self._log):
            if stream is not None:
                with contextlib.suppress(OSError):
                    stream.close()

    def run(self, job: Job, follower: _Follower) -> tuple[int, str]:
        """Hand over the job and follow it; return the exit code and the last lines of the log."""
        assert self._process.stdin and self._process.stdout
        self.is_free = False
        watch = StopWatch(self._process)
        # Found while the worker imports torch, on another core.
        text = json.dumps(asdict(replace(job, known=known_build(job))))
        with contextlib.suppress(BrokenPipeError):  # it is dead; its exit code tells more
            self._process.stdin.write(text)
            self._process.stdin.close()
        _follow(self._process.stdout, follower)
        code = self._process.wait()
        follower.stopped = watch.stopped
        return code, _tail(self._log)

    def _end(self) -> None:
        """End it: it stops its compilers and removes its folders when it is asked to."""
        if not self.is_free:
            self._process.terminate()
            try:
                self._process.wait(timeout=_END_SECONDS)
                return
            except subprocess.TimeoutExpired:
                pass
        self._process.kill()
        self._process.wait()


def _environment() -> dict[str, str]:
    environment = {**os.environ, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    # torch's threads otherwise spin between the small operations of the references.
    environment.setdefault("OMP_WAIT_POLICY", "passive")
    for name, size in _MALLOC.items():
        environment.setdefault(name, str(size))
    return environment


def _follow(stream: IO[str], follower: _Follower) -> None:
    for line in stream:
        try:
            event = json.loads(line)
        except ValueError:
            continue  # the last line of a worker that died while it wrote
        follower.take(event)


def _tail(log: IO[str], lines: int = 15) -> str:
    log.seek(0)
    return "\n".join(log.read().splitlines()[-lines:])


def _end_text(code: int, stopped: bool) -> str:
    if stopped:
        return "died: it stopped itself (SIGSTOP), and was killed"
    if code < 0:
        return f"died with {signal_text(code)}"
    return f"was ended with exit code {code} by the code that it ran (exit, _exit or the like)"


def _worker_failure(code: int, stopped: bool, tail: str) -> Diagnostic:
    return Diagnostic(
        "OPG900",
        f"the test worker {_end_text(code, stopped)} before it reached an op",
        why=tail or "it printed nothing",
        fix="run `opgen doctor`; if it finds nothing, this is a bug in opgen: please report it",
    )


class _Follower:
    """Turns events into results."""

    def __init__(self, report: TestReport, listen: Listener):
        self.report = report
        self.listen = listen
        self.op: OpResult | None = None
        self.case = ""
        self.error: list[Diagnostic] = []
        self.ended = False  # the worker came to its end
        self.stopped = False  # it stopped itself, and was killed

    def take(self, event: dict[str, Any]) -> None:
        """Record one event and pass it on."""
        kind = event["event"]
        if kind == "end":
            self.ended = True
        elif kind == "error":
            self.error = [diagnostic_of(d) for d in event["diagnostics"]]
        elif kind == "op":
            self.op = OpResult(event["op"], event["spec"])
            self.report.ops.append(self.op)
            self.case = ""
        elif self.op is not None:
            if kind == "stage":
                self.op.stages[event["stage"]] = event["seconds"]
            elif kind == "cases":
                self.op.bounded, self.op.partial = event["bounded"], event["partial"]
            elif kind == "case_start":
                self.case = event["label"]
            elif kind == "case":
                fields = {k: v for k, v in event.items() if k != "event"}
                self.op.cases.append(CaseResult(**fields))
                self.case = ""
            elif kind == "diagnostics":
                self.op.diagnostics += event["diagnostics"]
        self.listen(event)

    def crash(self, how: str, tail: str) -> None:
        """Record that the worker died in the current op."""
        assert self.op is not None
        where = self.case or "(before its first case)"
        reason = f"the worker process {how}"
        if tail:
            reason += f"; its last output: {tail.splitlines()[-1]}"
        result = CaseResult(self.op.op, where, "", CRASHED, reason)
        self.op.cases.append(result)
        self.listen({"event": "case", **result.as_dict()})


def diagnostic_of(raw: dict[str, Any]) -> Diagnostic:
    """Return the diagnostic that a worker sent as a dict."""
    where = Location(raw.get("file", ""), raw.get("line", 0), raw.get("column", 0))
    return Diagnostic(
        raw["code"], raw["what"], where, raw["why"], raw["fix"], raw.get("severity", "error")
    )

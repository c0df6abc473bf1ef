"""The process that compiles and runs kernels for ``opgen test``.

It imports torch, reads one job (JSON) from standard input, and writes one JSON event per line to
standard output.
It is a process of its own because a wild kernel in ``fast`` mode may take it down: the parent then
knows which case it was and goes on with the rest.
"""

from __future__ import annotations

import contextlib
import gc
import importlib
import json
import math
import os
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from msopgen_wrap.build.child_processes import end_children_on_signals
from msopgen_wrap.diagnostics import (
    Diagnostic,
    Location,
    OpgenError,
    is_about_machine,
    machine_error,
)
from msopgen_wrap.run.crashes import crash_diagnostic
from msopgen_wrap.run.known_builds import KnownBuild
from msopgen_wrap.run.op_case import TestCase
from msopgen_wrap.spec.model import OpSpec

Emit = Callable[[dict[str, Any]], None]

# Above this many elements a case runs in fast mode: the sanitizer is up to ten times slower.
CHECK_LIMIT = 1 << 21


@dataclass(frozen=True)
class Job:
    """What to test.

    Attributes:
        specs: spec files.
        project: a scaffolded project whose (possibly edited) sources are used, or None to render
            the specs.
        mode: ``check``, ``fast`` or ``auto`` (check, but fast for very large cases).
        skip: ops that are already done, or that took the previous worker down.
        known: what the build cache holds for the first op that is not skipped.
    """

    specs: tuple[str, ...]
    project: str | None
    soc: str
    vendor: str
    mode: str
    large: bool
    match: str
    skip: tuple[str, ...] = ()
    known: KnownBuild | None = None

    @property
    def small_kernels(self) -> bool:
        """Whether kernels are compiled for size (:func:`build.operators.build_operators`).

        A project's are not: its torch ops run the same objects, and in fast mode.
        """
        return self.mode != "fast" and self.project is None

    @staticmethod
    def from_json(text: str) -> Job:
        """Return the job that ``dataclasses.asdict`` and JSON made a text of."""
        raw = json.loads(text)
        known = raw.get("known")
        raw |= {"specs": tuple(raw["specs"]), "skip": tuple(raw.get("skip", ()))}
        return Job(**{**raw, "known": KnownBuild(**known) if known else None})


def main() -> int:
    """Run the job on standard input."""
    os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")
    # Events own the real stdout; whatever a kernel prints goes to stderr.
    channel = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    end_children_on_signals()
    _import_torch()
    job = Job.from_json(sys.stdin.read())

    def emit(event: dict[str, Any]) -> None:
        channel.write(json.dumps(event) + "\n")
        channel.flush()

    try:
        run_job(job, emit)
    except OpgenError as error:
        emit({"event": "error", "diagnostics": [d.as_dict() for d in error.diagnostics]})
    except OSError as error:
        problem = machine_error(error)
        if problem is None:
            raise
        emit({"event": "error", "diagnostics": [problem.as_dict()]})
    # Without it the process has been ended by what it ran, whatever its exit code.
    emit({"event": "end"})
    # What is left goes with the process; looking through torch's modules for cycles takes longer
    # than many a case.
    gc.freeze()
    return 0


def _import_torch() -> None:
    """Import torch and what runs cases, without looking for cycles in all that stays anyway."""
    gc.disable()
    # A torch that cannot be imported is reported where it is needed.
    with contextlib.suppress(OpgenError):
        importlib.import_module("msopgen_wrap.run.case_runner")
        importlib.import_module("msopgen_wrap.run.preparation")
        importlib.import_module("msopgen_wrap.spec.loader")
    gc.freeze()
    gc.enable()


def run_job(job: Job, emit: Emit) -> None:
    """Render (if needed), build and run every op of the job."""
    from msopgen_wrap.run.cached_specs import with_known_gradients
    from msopgen_wrap.spec.loader import load_specs

    loaded = load_specs([Path(p) for p in job.specs])
    if not job.project:  # a project holds the ops of its gradients
        loaded = with_known_gradients(loaded)
    specs = [s for s in loaded if s.op not in job.skip]
    for spec in specs:
        emit({"event": "op", "op": spec.op, "spec": spec.path})
        try:
            _run_op(spec, job, emit)
        except OpgenError as error:
            if is_about_machine(error.diagnostics):
                raise  # the next op would fail alike
            emit(
                {
                    "event": "diagnostics",
                    "op": spec.op,
                    "diagnostics": [d.as_dict() for d in error.diagnostics],
                }
            )
        emit({"event": "op_done", "op": spec.op})


def _run_op(spec: OpSpec, job: Job, emit: Emit) -> None:
    from msopgen_wrap.run.cached_specs import known_grid, rendered_spec
    from msopgen_wrap.run.case_runner import run_case
    from msopgen_wrap.run.control_cases import telling_cases
    from msopgen_wrap.run.coverage import bounded_reason
    from msopgen_wrap.run.preparation import load_op

    def stage(name: str, started: float) -> None:
        seconds = time.perf_counter() - started
        emit({"event": "stage", "op": spec.op, "stage": name, "seconds": round(seconds, 3)})

    known = job.known if job.known and job.known.op == spec.op else None
    started = time.perf_counter()
    if known:
        project = Path(known.project)
    else:
        project = Path(job.project) if job.project else rendered_spec(spec, job.vendor)
    stage("generate", started)
    started = time.perf_counter()
    runtime = load_op(
        spec,
        project,
        progress=lambda text: emit({"event": "compile", "op": spec.op, "unit": text}),
        built=known.built() if known else None,
        small=job.small_kernels,
    )
    stage("compile", started)
    started = time.perf_counter()
    grid = known_grid(spec, large=job.large, answers=known.answers if known else None)
    cases = [c for c in grid if job.match in c.label(spec)]
    emit(
        {
            "event": "cases",
            "op": spec.op,
            "count": len(cases),
            "bounded": bounded_reason(spec),
            "partial": bool(job.match),
        }
    )
    controls: dict[str, bool] = {}

    def run(case: TestCase) -> None:
        emit({"event": "case_start", "op": spec.op, "label": case.label(spec)})
        mode = job.mode
        if mode == "auto":
            mode = "fast" if elements(case.shapes) > CHECK_LIMIT else "check"
        result = run_case(spec, case, runtime, soc=job.soc, mode=mode)
        emit({"event": "case", **result.as_dict()})
        if result.late:
            # What never ends for one shape seldom ends for the next, and each takes its whole time.
            raise OpgenError(
                _late(spec, case.label(spec), result.late, cases.index(case), len(cases))
            )
        for output, refused in result.controls.items():
            controls[output] = controls.get(output, False) or refused

    for case in cases:
        run(case)
    if not all(controls.values()):
        # An output that only equal numbers make other than zero, as ``torch.isin`` does.
        more = telling_cases(spec, cases, {key for key, told in controls.items() if not told})
        cases += more
        for case in more:
            run(case)
    stage("run", started)


def _late(
    spec: OpSpec, label: str, crash: dict[str, Any], done: int, count: int
) -> list[Diagnostic]:
    """Say where a case was stopped, and that the others did not run."""
    where = Location(spec.path)
    first = crash_diagnostic(crash, f"op {spec.op} ({label})", fallback=where)
    left = count - done - 1
    if not left:
        return [first]
    rest = Diagnostic(
        "OPG533",
        f"{left} of {count} cases of {spec.op} did not run",
        where,
        why="a case before them did not end in time",
        fix="see the other message",
    )
    return [first, rest]


def elements(shapes: dict[str, Any]) -> int:
    """Elements of the largest input."""
    tensors: list[tuple[int, ...]] = []
    for shape in shapes.values():
        is_list = bool(shape) and isinstance(shape[0], tuple)
        tensors += shape if is_list else [shape or ()]
    return max((math.prod(t) for t in tensors), default=0)


if __name__ == "__main__":
    sys.exit(main())

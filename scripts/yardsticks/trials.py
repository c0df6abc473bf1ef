"""Plans specs and tests them, in processes, and keeps the outcomes of tests in a file."""

from __future__ import annotations

import concurrent.futures
import hashlib
import json
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
BATCH = 8  # specs that one process tests: it imports torch once
SECONDS_AT_MOST = 300  # for one spec
PLAN_SECONDS = 120

Outcome = tuple[str, str]
Progress = Callable[[int, int], None]


def _no_progress(done: int, all_: int) -> None:
    """Show nothing."""


def plan_one(path: Path) -> Outcome:
    """Return the outcome of planning one spec, and the first refusal."""
    import torch

    from msopgen_wrap.diagnostics import OpgenError
    from msopgen_wrap.families import plan_op
    from msopgen_wrap.spec.loader import load_specs

    def stop(*_: Any) -> None:
        raise TimeoutError(f"no end after {PLAN_SECONDS} s")

    torch.set_num_threads(1)
    signal.signal(signal.SIGALRM, stop)
    signal.alarm(PLAN_SECONDS)
    try:
        plan_op(load_specs((path,))[0])
    except OpgenError as error:
        first = error.diagnostics[0]
        return first.code, first.what
    except Exception as error:
        return "OPG099", f"{type(error).__name__}: {error}"
    finally:
        signal.alarm(0)
    return "ok", ""


def plan(
    paths: Mapping[str, Path], jobs: int, progress: Progress = _no_progress
) -> dict[str, Outcome]:
    """Plan all specs, in processes; return the outcomes by label."""
    outcomes = {}
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        results = pool.map(plan_one, paths.values(), chunksize=4)
        for count, (label, outcome) in enumerate(zip(paths, results, strict=True), 1):
            outcomes[label] = outcome
            progress(count, len(paths))
    return outcomes


def run(paths: Sequence[Path]) -> list[Outcome]:
    """Test specs in check mode; return ``equal``, or ``wrong`` with the end of the report, of each.

    What ends a process, or fails, is run again by itself.
    """
    command = [sys.executable, "-m", "msopgen_wrap.cli", "test", *map(str, paths)]
    limit = SECONDS_AT_MOST * len(paths)
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=limit, cwd=ROOT)
        if done.returncode == 0:
            return [("equal", "")] * len(paths)
        report = (done.stdout + done.stderr).strip()[-1500:]
    except subprocess.TimeoutExpired:
        report = f"no end after {limit} s"
    if len(paths) == 1:
        return [("wrong", report)]
    middle = len(paths) // 2
    return run(paths[:middle]) + run(paths[middle:])


def kit_digest() -> str:
    """Return a digest of the sources that decide what a spec becomes."""
    digest = hashlib.sha256()
    for folder in ("msopgen_wrap", "templates", "ascendc_kernels"):
        for path in sorted((ROOT / folder).rglob("*")):
            if path.is_file() and "__pycache__" not in path.parts:
                digest.update(str(path.relative_to(ROOT)).encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()[:16]


class Results:
    """Outcomes of tests, kept in a file by the content of the specs, one JSON object per line.

    Specs that differ only in their op's name and description have one outcome: benchmarks share
    tasks, which have other names there.

    Args:
        path: the file; None keeps them until the program ends.
        kit: digest of opgen, so that a changed one tests again; "" takes those of any.
    """

    def __init__(self, path: Path | None, kit: str = "") -> None:
        self.path, self.kit = path, kit
        self._lock = threading.Lock()
        self._known: dict[str, Any] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                if not kit or row.get("kit") == kit:
                    self._known[row["spec"]] = row["outcome"], row["why"]

    def of(self, spec: Path | bytes) -> Any:
        """Return the outcome of a spec, or of other content, None where it is not known."""
        return self._known.get(self.key(spec))

    def add(self, label: str, spec: Path | bytes, outcome: tuple[Any, Any]) -> None:
        """Keep an outcome."""
        row = {"op": label, "spec": self.key(spec), "outcome": outcome[0], "why": outcome[1]}
        if self.kit:
            row["kit"] = self.kit
        with self._lock:
            self._known[row["spec"]] = outcome
            if self.path is not None:
                with self.path.open("a") as file:
                    file.write(json.dumps(row) + "\n")

    @staticmethod
    def key(spec: Path | bytes) -> str:
        """Return the digest under which an outcome is kept."""
        content = spec if isinstance(spec, bytes) else _unnamed(spec.read_bytes())
        return hashlib.sha256(content).hexdigest()[:16]


def _unnamed(spec: bytes) -> bytes:
    """Return a spec without the lines of its op's name and description."""
    lines = spec.splitlines(keepends=True)
    return b"".join(line for line in lines if not line.startswith((b"op:", b"doc:")))


def test(
    paths: Mapping[str, Path],
    labels: Sequence[str],
    results: Results,
    jobs: int = 1,
    progress: Progress = _no_progress,
) -> dict[str, Outcome]:
    """Test the specs of labels, as far as ``results`` does not know them; return the outcomes."""
    untested = {
        results.key(paths[label]): label for label in labels if results.of(paths[label]) is None
    }
    unknown = list(untested.values())  # one of those that share an outcome
    batches = [unknown[first : first + BATCH] for first in range(0, len(unknown), BATCH)]
    done = len(labels) - len(unknown)

    def test_batch(batch: list[str]) -> int:
        for label, outcome in zip(batch, run([paths[k] for k in batch]), strict=True):
            results.add(label, paths[label], outcome)
        return len(batch)

    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        for future in concurrent.futures.as_completed(
            [pool.submit(test_batch, b) for b in batches]
        ):
            done += future.result()
            progress(done, len(labels))
    return {label: results.of(paths[label]) or ("wrong", "not run") for label in labels}

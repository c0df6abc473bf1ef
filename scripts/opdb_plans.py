#!/usr/bin/env python3
"""Plan torch's own operators: one call of each entry of torch's operator database as a spec.

For every entry of ``torch.testing._internal.common_methods_invocations.op_db`` one sample becomes a
spec of one call, with the sample's sizes: the first whose tensors are not empty, or another one,
in another dtype, with shapes left open. The report says how many of them are planned, how the
others are refused, and with ``--run`` how many of the planned ones equal torch in check mode.

    python scripts/opdb_plans.py                                  plan all
    python scripts/opdb_plans.py --run 30 --seed 1                and run 30 drawn at random
    python scripts/opdb_plans.py --run 700 --results FILE         and run all; may be stopped
    python scripts/opdb_plans.py --only 'special.*' --specs DIR   keep the specs
    python scripts/opdb_plans.py --sample 2 --dtype bfloat16      another sample, another dtype
    python scripts/opdb_plans.py --open                           rank and sizes left open

Outcomes: ok, equal, wrong (``--run``), OPGnnn (refused), skip (random, complex, sparse, no sample,
or values that are no literals). Exit code 1 when anything is wrong or ends in OPG099. The file of
``--results`` holds a line per spec that was run; a second run of the same spec reads it there, so
a change of opgen wants a new file.
"""

from __future__ import annotations

import argparse
import concurrent.futures
import fnmatch
import hashlib
import json
import random
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT)]

BATCH = 8  # specs that one process tests: it imports torch once
SECONDS_AT_MOST = 300  # for one spec

Outcome = tuple[str, str]


def plan_one(path: Path) -> Outcome:
    """Return the outcome of planning one spec, and the first refusal."""
    import torch

    from msopgen_wrap.diagnostics import OpgenError
    from msopgen_wrap.families import plan_op
    from msopgen_wrap.spec.loader import load_specs

    torch.set_num_threads(1)
    try:
        plan_op(load_specs((path,))[0])
    except OpgenError as error:
        first = error.diagnostics[0]
        return first.code, first.what
    except Exception as error:
        return "OPG099", f"{type(error).__name__}: {error}"
    return "ok", ""


def run(paths: list[Path]) -> list[Outcome]:
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


class Results:
    """Outcomes of runs, kept in a file by the content of the specs."""

    def __init__(self, path: Path | None) -> None:
        self.path = path
        self._known: dict[str, Outcome] = {}
        if path is not None and path.exists():
            for line in path.read_text().splitlines():
                row = json.loads(line)
                self._known[row["spec"]] = (row["outcome"], row["why"])

    def of(self, spec: Path) -> Outcome | None:
        return self._known.get(self._key(spec))

    def add(self, label: str, spec: Path, outcome: Outcome) -> None:
        row = {"op": label, "spec": self._key(spec), "outcome": outcome[0], "why": outcome[1]}
        self._known[row["spec"]] = outcome
        if self.path is not None:
            with self.path.open("a") as file:
                file.write(json.dumps(row) + "\n")

    @staticmethod
    def _key(spec: Path) -> str:
        return hashlib.sha256(spec.read_bytes()).hexdigest()[:16]


def write_specs(folder: Path, options: Any) -> tuple[dict[str, Path], dict[str, str]]:
    """Write all specs; return them and the reasons of those that were skipped, by label."""
    import torch
    from opdb_specs import SkipError, label_of, spec_of
    from torch.testing._internal.common_methods_invocations import op_db

    dtype = getattr(torch, options.dtype) if options.dtype else None
    paths: dict[str, Path] = {}
    skipped: dict[str, str] = {}
    for op in op_db:
        label = label_of(op)
        if not fnmatch.fnmatch(label, options.only):
            continue
        try:
            text = spec_of(op, options.sample, dtype, options.open)
        except SkipError as error:
            skipped[label] = str(error)
            continue
        except Exception as error:
            skipped[label] = f"{type(error).__name__}: {(str(error) or '-').splitlines()[0]}"
            continue
        paths[label] = folder / f"{label}.yaml"
        paths[label].write_text(text)
    return paths, skipped


def plan(paths: dict[str, Path], jobs: int) -> dict[str, Outcome]:
    """Plan all specs, in processes; return the outcomes by label."""
    outcomes = {}
    with concurrent.futures.ProcessPoolExecutor(jobs) as pool:
        results = pool.map(plan_one, paths.values(), chunksize=8)
        for count, (label, outcome) in enumerate(zip(paths, results, strict=True), 1):
            outcomes[label] = outcome
            if sys.stderr.isatty():
                print(f"\r{count}/{len(paths)}", end="", file=sys.stderr, flush=True)
    return outcomes


def test(paths: dict[str, Path], labels: list[str], results: Results) -> dict[str, Outcome]:
    """Run the specs of labels, as far as ``results`` does not know them; return the outcomes."""
    unknown = [label for label in labels if results.of(paths[label]) is None]
    for first in range(0, len(unknown), BATCH):
        batch = unknown[first : first + BATCH]
        for label, outcome in zip(batch, run([paths[k] for k in batch]), strict=True):
            results.add(label, paths[label], outcome)
            print(f"{outcome[0]:<6} {label}", flush=True)
    return {label: results.of(paths[label]) or ("wrong", "not run") for label in labels}


def main() -> int:
    warnings.simplefilter("ignore")  # of torch, about its own operators
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default="*", help="entries, a pattern")
    parser.add_argument("--sample", type=int, default=0, help="0: the first; else one at random")
    parser.add_argument("--dtype", help="dtype of the samples, instead of the first that is taken")
    parser.add_argument("--open", action="store_true", help="leave rank and sizes of inputs open")
    parser.add_argument("--specs", type=Path, help="keep the specs in this folder")
    parser.add_argument("--run", type=int, default=0, help="test this many of the planned")
    parser.add_argument("--seed", type=int, default=0, help="of the order in which they are run")
    parser.add_argument("--results", type=Path, help="one JSON line per spec that was run")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--report", type=Path, help="one JSON line per entry")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.specs or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        paths, skipped = write_specs(folder, options)
        outcomes: dict[str, Outcome] = {k: ("skip", why) for k, why in skipped.items()}
        outcomes.update(plan(paths, options.jobs))
        planned = [k for k, (what, _) in outcomes.items() if what == "ok"]
        random.Random(options.seed).shuffle(planned)
        outcomes.update(test(paths, planned[: options.run], Results(options.results)))
    if options.report:
        rows = [
            json.dumps({"op": k, "outcome": what, "why": why})
            for k, (what, why) in sorted(outcomes.items())
        ]
        options.report.write_text("\n".join(rows) + "\n")
    for outcome, count in Counter(what for what, _ in outcomes.values()).most_common():
        print(f"{count:5d} {outcome}")
    print(f"{len(planned)} of {len(paths)} planned ({len(planned) / max(1, len(paths)):.0%})")
    return int(any(what in ("wrong", "OPG099") for what, _ in outcomes.values()))


if __name__ == "__main__":
    sys.exit(main())

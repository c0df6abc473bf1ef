"""What a yardstick measures: how many of its entries are specs, plan, and are right."""

from __future__ import annotations

import concurrent.futures
import fnmatch
import os
import re
import subprocess
import sys
import tempfile
import warnings
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from yardsticks.trials import ROOT, Outcome, Results, plan, test

#: Outcomes that are no refusal of opgen.
RIGHT, PLANNED, WRONG, NO_SPEC = "equal", "planned", "wrong", "no spec"
SOME = "some"  # cases of an op pass, others do not


@dataclass
class Measure:
    """One row of the table, with what it counts.

    Attributes:
        name: of the yardstick.
        outcomes: entry -> (outcome, why). ``equal``, ``planned`` (not tested), ``wrong``,
            ``some`` (cases), ``no spec``, or the code that refused it.
        aim: share of the entries to reach, 0 for none.
        left_out: entries that the yardstick does not count, with the reason.
    """

    name: str
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    aim: float = 0.0
    left_out: dict[str, str] = field(default_factory=dict)

    def count(self, *outcomes: str) -> int:
        """Return how many entries have one of the outcomes."""
        return sum(o in outcomes for o, _ in self.outcomes.values())

    @property
    def planned(self) -> int:
        """Entries that have a plan."""
        return self.count(RIGHT, PLANNED, WRONG, SOME)

    def cells(self) -> list[str]:
        """Return the row of the table."""
        all_ = len(self.outcomes)
        share = f"{self.planned / all_:.0%}" if all_ else "-"
        tested = self.count(RIGHT, WRONG, SOME)
        return [
            self.name,
            str(all_),
            str(all_ - self.count(NO_SPEC)),
            f"{self.planned} ({share})",
            str(tested) if tested else "-",
            str(self.count(RIGHT)) if tested else "-",
            f"{self.aim:.0%}" if self.aim else "",
        ]

    def misses(self) -> list[tuple[str, str, str]]:
        """Return outcome, entry and reason of what is neither right nor only planned."""
        return sorted(
            (outcome, label, " ".join(why.split()))
            for label, (outcome, why) in self.outcomes.items()
            if outcome not in (RIGHT, PLANNED)
        )

    def data(self) -> dict[str, Any]:
        """Return the measure as JSON data."""
        return asdict(self)


@dataclass
class Trial:
    """How entries are tried.

    Attributes:
        only: pattern of the entries.
        jobs: processes.
        run: test what plans.
        specs: folder that keeps the specs, None for none.
    """

    results: Results
    only: str = "*"
    jobs: int = 2
    run: bool = True
    specs: Path | None = None

    def takes(self, label: str) -> bool:
        """Whether an entry is to be tried."""
        return fnmatch.fnmatch(label, self.only)

    def progress(self, what: str) -> Any:
        """Return what shows progress on a terminal."""

        def show(done: int, all_: int) -> None:
            if sys.stderr.isatty():
                end = "\n" if done == all_ else ""
                print(f"\r{what}: {done}/{all_} ", end=end, file=sys.stderr, flush=True)

        return show

    def measure(self, measure: Measure, texts: Mapping[str, str]) -> Measure:
        """Plan and test specs by label, and note the outcomes in ``measure``."""
        with tempfile.TemporaryDirectory() as temporary:
            folder = Path(temporary)
            if self.specs is not None:
                folder = self.specs / measure.name.replace(" ", "_").replace(",", "")
            folder.mkdir(parents=True, exist_ok=True)
            paths = {}
            for label, text in texts.items():
                paths[label] = folder / f"{label.replace('/', '_')}.yaml"
                paths[label].write_text(text)
            planned = plan(paths, self.jobs, self.progress(f"{measure.name}, plan"))
            for label, (outcome, why) in planned.items():
                measure.outcomes[label] = (PLANNED if outcome == "ok" else outcome, why)
            good = [label for label, (outcome, _) in planned.items() if outcome == "ok"]
            if self.run:
                shown = self.progress(f"{measure.name}, test")
                measure.outcomes.update(test(paths, good, self.results, self.jobs, shown))
        return measure


# ---- torch's operator database -------------------------------------------------------------------


def operator_database(trial: Trial, sample: int) -> Measure:
    """Measure one call of every entry of torch's ``op_db``; ``sample`` as in ``opdb_plans.py``."""
    from opdb_specs import SkipError, label_of, spec_of
    from torch.testing._internal.common_methods_invocations import op_db

    name = "torch op_db" if not sample else f"torch op_db, sample {sample}"
    measure = Measure(name, aim=0.8)
    texts = {}
    for op in op_db:
        label = label_of(op)
        if not trial.takes(label):
            continue
        try:
            texts[label] = spec_of(op, sample)
        except SkipError as error:
            measure.left_out[label] = str(error)
        except Exception as error:
            first = (str(error) or "-").splitlines()[0]
            measure.left_out[label] = f"{type(error).__name__}: {first}"
    return trial.measure(measure, texts)


# ---- tasks that are a torch.nn.Module ------------------------------------------------------------


def _text_of(path: Path) -> Outcome:
    """Return ``ok`` and the spec of a task, else ``no spec`` and why there is none."""
    import torch

    from yardsticks.module_specs import spec_of_file

    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    try:
        return "ok", spec_of_file(path)
    except Exception as error:
        first = (str(error) or "-").splitlines()[0]
        return NO_SPEC, f"{type(error).__name__}: {first}"


def module_tasks(trial: Trial, name: str, files: Sequence[Path], aim: float) -> Measure:
    """Measure tasks whose file has ``Model`` and ``get_inputs``; the files are executed."""
    measure = Measure(name, aim=aim)
    files = [path for path in files if trial.takes(path.stem)]
    texts = {}
    with concurrent.futures.ProcessPoolExecutor(trial.jobs) as pool:
        for path, (outcome, text) in zip(files, pool.map(_text_of, files), strict=True):
            if outcome == "ok":
                texts[path.stem] = text
            else:
                measure.outcomes[path.stem] = (outcome, text)
    return trial.measure(measure, texts)


# MultiKernelBench's categories that neither multiply matrices nor look elements up or scan them.
_VECTOR = ("activation", "broadcast", "loss", "normalization", "optimizer", "reduce")
_VECTOR_FILES = ("math/matrix_scalar_multiplication", "index/masked_fill")
_PRODUCTS = ("matmul", "convolution")


def multi_kernel_bench(trial: Trial, root: Path) -> list[Measure]:
    """Measure MultiKernelBench's vector tasks, products and convolutions, and its other kinds."""
    folder = root / "reference"
    vector = [p for c in _VECTOR for p in sorted((folder / c).glob("*.py"))]
    vector += [folder / f"{name}.py" for name in _VECTOR_FILES]
    products = [p for c in _PRODUCTS for p in sorted((folder / c).glob("*.py"))]
    others = [p for c in ("math", "index", "pooling") for p in sorted((folder / c).glob("*.py"))]
    others = [p for p in others if p not in vector]
    name = "MultiKernelBench"
    return [
        module_tasks(trial, f"{name}, vector", vector, 1.0),
        module_tasks(trial, f"{name}, products and convolutions", products, 45 / 51),
        module_tasks(trial, f"{name}, scans, indices, pools", others, 0.0),
    ]


def kernel_bench(trial: Trial, root: Path, level: int = 1) -> Measure:
    """Measure a level of KernelBench: 1 single operators, 2 some in sequence, 3 networks."""
    files = (root / "KernelBench" / f"level{level}").glob("*.py")
    ordered = sorted(files, key=lambda p: int(p.stem.partition("_")[0]))
    return module_tasks(trial, f"KernelBench level {level}", ordered, 0.9 if level == 1 else 0.0)


# ---- CANN Bench ----------------------------------------------------------------------------------

CANN_CASES = 20  # of every op
CANN_SECONDS = 600  # for the cases of one op


def cann_bench(trial: Trial, root: Path) -> Measure:
    """Measure CANN Bench: of each op the spec of its name in the library, on all its cases."""
    from yardsticks.cann_bench import spec_of_task, tasks

    measure = Measure("CANN Bench", aim=1.0)
    found = {task: spec_of_task(task) for task in tasks(root) if trial.takes(task)}
    paths = {task: path for task, path in found.items() if path is not None}
    for task, path in found.items():
        if path is None:
            measure.outcomes[task] = (NO_SPEC, "the library has no spec of this name")
    planned = plan(paths, trial.jobs, trial.progress("CANN Bench, plan"))
    for task, (outcome, why) in planned.items():
        measure.outcomes[task] = (PLANNED if outcome == "ok" else outcome, why)
    good = [task for task, (outcome, _) in planned.items() if outcome == "ok"]
    if trial.run:
        show, done = trial.progress("CANN Bench, test"), 0
        with concurrent.futures.ThreadPoolExecutor(trial.jobs) as pool:
            futures = {pool.submit(_cann_outcome, trial, root, t, paths[t]): t for t in good}
            for future in concurrent.futures.as_completed(futures):
                measure.outcomes[futures[future]] = future.result()
                show(done := done + 1, len(good))
    return measure


def _cann_outcome(trial: Trial, root: Path, task: str, spec: Path) -> Outcome:
    """Return the outcome of the cases of one op, from a process of its own."""
    from yardsticks.cann_bench import cases_in

    key = task.encode() + spec.read_bytes()
    known = trial.results.of(key)
    if known is not None:
        return known[0], known[1]
    command = [sys.executable, "-m", "yardsticks.cann_bench", *map(str, (root, task, spec))]
    path = os.pathsep.join(map(str, (ROOT / "scripts", ROOT)))
    environment = {**os.environ, "PYTHONPATH": path}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=CANN_SECONDS, env=environment
        )
        text, end = done.stdout, (done.stderr.strip().splitlines() or [""])[-1]
    except subprocess.TimeoutExpired as error:
        text = error.stdout.decode() if isinstance(error.stdout, bytes) else error.stdout or ""
        end = f"no end after {CANN_SECONDS} s"
    rows = cases_in(text)
    passed = sum(row["passed"] for row in rows)
    bad = [f"case {row['case']} {row['why']}" for row in rows if not row["passed"]]
    why = "; ".join([f"{passed} of {len(rows)} cases pass", *bad])
    if len(rows) < CANN_CASES:
        outcome: Outcome = (WRONG, f"{why}; ended after {len(rows)} cases: {end}")
    else:
        outcome = (RIGHT, "") if not bad else (SOME if passed else WRONG, why)
    trial.results.add(task, key, outcome)
    return outcome


def causes(measures: Sequence[Measure]) -> list[tuple[int, str, str]]:
    """Return how many entries each code and kind of reason keeps away, the most frequent first."""
    found: Counter[tuple[str, str]] = Counter()
    for measure in measures:
        for outcome, _, why in measure.misses():
            quoted = re.search(r"aten\.[\w.]+|'[\w. ]+'", why)
            found[outcome, quoted.group() if quoted else why[:60]] += 1
    return [(count, code, reason) for (code, reason), count in found.most_common()]

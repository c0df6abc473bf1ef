#!/usr/bin/env python3
"""Score generated kernels as CANN Bench does, with modelled times.

    scripts/hap_scores.py BENCH [OP...] [--most ELEMENTS] [--soc ascend910b2] [-v] [--json FILE]

BENCH is a checkout of the benchmark; nothing of it is imported. Every case whose baseline was
measured is run on the kernel of the spec of that op, and its time is modelled, L2 cold. The score
of a case is HAP = (Tb - Thw) / ((Tc - Thw) + (Tb - Thw)): Tb the measured time of the built-in op,
Thw the benchmark's limit of the hardware, Tc our modelled time. 0.5 is as fast as the built-in op.

Tc is given for two costs of a launch, as nobody has published one: 4 us whatever the number of
cores, and 3.5 us plus 0.15 us for each core, which is 10.7 us for 48 cores.

A baseline that equals the benchmark's cap (ten times Thw, 10 us at least) is no measured one and is
left out, and so is a case with more elements than ``--most``. The table counts both.
"""

from __future__ import annotations

import argparse
import csv
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path[:0] = [str(ROOT), str(ROOT / "scripts")]
os.environ.setdefault("TORCH_DEVICE_BACKEND_AUTOLOAD", "0")

from yardsticks.cann_bench import counted, paired, spec_of_task  # noqa: E402
from yardsticks.cann_cases import elements  # noqa: E402

PARAMETERS = ROOT / "ascendc_kernels/emulation/profile_parameters.csv"
# us of a launch, and us of each core that it starts.
LAUNCHES = {"4 us": (4.0, 0.0), "10.7 us": (3.5, 0.15)}
# The published baseline is at most this many times the limit, and at least so many us.
CAP, LEAST_CAP_US = 10, 10.0
# Inputs of one case take 4 bytes an element at most: 64 M elements and what the emulation needs
# beside them fit in a few GB.
MOST = 1 << 25
GM_BYTES_PER_US = 1.8e6
_RESULT = "hap-case: "


@dataclass
class Score:
    """A case and its modelled times.

    Attributes:
        times, scores: us and HAP by the cost of the launch.
        best: HAP of a kernel that takes a launch of one core and, at the peak rate of the memory,
            the bytes that every kernel has to read: what no change of the kernel can exceed.
        pipe: the one that is busiest, with its share of the kernel's time.
        skipped: why the case has no score, "" for one that has.
    """

    op: str
    case: int
    call: str
    baseline_us: float
    limit_us: float
    times: dict[str, float]
    scores: dict[str, float]
    best: dict[str, float]
    cores: int = 0
    pipe: str = ""
    skipped: str = ""


def hap(baseline: float, limit: float, time: float) -> float:
    """Return the score of a time, 0 where the baseline is at the limit already."""
    won, lost = baseline - limit, max(time - limit, 0.0)
    return won / (won + lost) if won > 0 else 0.0


def measured(baseline: float, limit: float) -> bool:
    """Whether a published baseline is below the cap, so that it was measured."""
    return baseline < max(CAP * limit, LEAST_CAP_US) * 0.999


def parameters_with(launch: float, core: float) -> str:
    """Return the table of the model's parameters with another cost of a launch."""
    rows = list(csv.reader(io.StringIO(PARAMETERS.read_text(encoding="utf-8"))))
    value, low, high = (rows[0].index(name) for name in ("value", "low", "high"))
    for row in rows[1:]:
        new = {"launch": launch, "launch_core": core}.get(row[1])
        if new is not None:
            row[value] = row[low] = row[high] = str(new)
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def bench_tasks(bench: Path, names: list[str]) -> dict[str, dict[str, dict[str, float]]]:
    """Return the published numbers of each case, by ``level/op`` and the case's number."""
    published = json.loads((bench / "tasks/metadata/910b2.json").read_text(encoding="utf-8"))
    return {
        f"{level}/{op}": cases
        for level, ops in published.items()
        if not level.startswith("_")
        for op, cases in ops.items()
        if not names or op in names
    }


def fill_integers(tensors: list[Any], ranges: Any) -> None:
    """Fill integer tensors with numbers in the case's ranges: a kernel's time may depend on them.

    Args:
        tensors: in the order of the benchmark; what is no integer tensor keeps its data.
        ranges: per tensor the smallest and the largest number; others are passed over.
    """
    import torch

    generator = torch.Generator().manual_seed(0)
    for tensor, bounds in zip(tensors, ranges if isinstance(ranges, list) else (), strict=False):
        if not isinstance(tensor, torch.Tensor) or tensor.dtype.is_floating_point:
            continue
        if tensor.dtype == torch.bool or tensor.is_complex() or not isinstance(bounds, list):
            continue
        if len(bounds) == 2 and all(type(bound) is int for bound in bounds):
            least, most = bounds
            # the end of a range of torch.randint is not part of it, and no larger than 2^63 - 1
            end = min(most + 1, 2**63 - 1)
            tensor.copy_(torch.randint(least, end, tensor.shape, generator=generator))


# ---- one op, in a process of its own -------------------------------------------------------------


def scores_of(
    bench: Path, task: str, published: dict[str, dict[str, float]], most: int, soc: str
) -> Iterator[Score]:
    """Yield the scores of the cases of an op whose baselines were measured."""
    import yaml

    folder = bench / "tasks" / task
    cases = yaml.safe_load((folder / "cases.yaml").read_text(encoding="utf-8"))["cases"]
    proto = yaml.safe_load((folder / "proto.yaml").read_text(encoding="utf-8"))["operator"]
    tensors = [row["name"] for row in proto["inputs"]]
    runner: _Runner | None = None
    for case in cases:
        numbers = published.get(str(case["case_id"]))
        if numbers is None or not measured(numbers["baseline_perf_us"], numbers["t_hw_us"]):
            continue
        call = f"{case['input_shape']} {','.join(dict.fromkeys(map(str, case['dtype'])))}"
        score = Score(
            task.rpartition("/")[2],
            case["case_id"],
            call,
            numbers["baseline_perf_us"],
            numbers["t_hw_us"],
            {},
            {},
            {},
        )
        if elements(case["input_shape"]) > most:
            score.skipped = f"more than {most} elements"
            yield score
            continue
        try:
            runner = runner or _Runner(task, tensors, soc)
            runner.model(case, score)
        except Exception as error:  # one case of many: its reason is reported
            score.skipped = " ".join(str(error).split())[:160] or type(error).__name__
        yield score


class _Runner:
    """The op of a spec, its runtime, and the tables of parameters."""

    def __init__(self, task: str, tensors: list[str], soc: str):
        from dataclasses import replace

        from msopgen_wrap.run.cached_specs import rendered_spec
        from msopgen_wrap.run.preparation import load_op
        from msopgen_wrap.spec.loader import load_specs

        path = spec_of_task(task)
        if path is None:
            raise ValueError("no spec")
        self.spec = replace(load_specs((path,))[0], soc=(soc,))
        self.soc = soc
        own = [p.name for p in self.spec.inputs]
        # By name where all names are the benchmark's, else by position.
        self.tensors = tensors if set(own) <= set(tensors) else own
        self.runtime = load_op(self.spec, rendered_spec(self.spec, "opgen"))
        self.folder = tempfile.TemporaryDirectory(prefix="opgen-hap-")
        self.tables: dict[str, Path] = {}
        for name, costs in LAUNCHES.items():
            path = Path(self.folder.name) / f"{len(self.tables)}.csv"
            path.write_text(parameters_with(*costs), encoding="utf-8")
            self.tables[name] = path

    def model(self, case: dict[str, Any], score: Score) -> None:
        """Run a case and note its modelled times.

        Raises:
            ValueError: the spec does not take the case.
            OpgenError: the op or its kernel failed.
        """
        from msopgen_wrap.graph.kept_tensors import frozen_shapes
        from msopgen_wrap.profile.launch_profile import launch_profile
        from msopgen_wrap.profile.spec_cases import allocated
        from msopgen_wrap.run.case_runner import launch
        from msopgen_wrap.run.op_case import TestCase
        from msopgen_wrap.torch_import import quiet_torch

        spec = self.spec
        dtypes = dict(zip(self.tensors, _listed(case["dtype"], len(self.tensors)), strict=False))
        shapes = dict(zip(self.tensors, case["input_shape"], strict=False))
        given = {p.name: shapes.get(p.name) for p in spec.inputs}
        combo = self._combo({name: dtypes[name] for name in given if given[name] is not None})
        attrs = self._attrs(case.get("attrs") or {}, given)
        call = TestCase(combo, frozen_shapes(given), attrs)
        with quiet_torch():
            inputs, outputs = allocated(spec, call)
            fill_integers([inputs.get(name) for name in self.tensors], case.get("value_range"))
            self.runtime.profile_options(ablation=False)
            run = launch(spec, call, self.runtime, inputs, outputs, soc=self.soc, mode="profile")
        score.cores = run.cores
        for name, table in self.tables.items():
            self.runtime.profile_options(l2="cold", ablation=False, max_events=1, parameters=table)
            profile = launch_profile(json.loads(self.runtime.profile_text()))
            score.times[name] = profile.time_us
            score.scores[name] = hap(score.baseline_us, score.limit_us, profile.time_us)
            read = sum(b.distinct_read for b in profile.buffers)  # L2 takes what is written
            least = LAUNCHES[name][0] + read / GM_BYTES_PER_US
            score.best[name] = hap(score.baseline_us, score.limit_us, least)
        busy: dict[str, float] = {}
        for core in profile.cores:
            for pipe in core.pipes:
                busy[pipe.name] = busy.get(pipe.name, 0.0) + pipe.busy_us
        work = sum(core.us for core in profile.cores) or 1.0
        limiting = max(busy, key=lambda pipe: busy[pipe], default="")
        score.pipe = f"{limiting} {100 * busy.get(limiting, 0.0) / work:.0f}%"

    def _combo(self, dtypes: dict[str, str]) -> int:
        for combo in range(self.spec.combos):
            own = {p.name: p.dtypes[combo] for p in self.spec.inputs}
            if all(own[name] == dtype for name, dtype in dtypes.items()):
                return combo
        raise ValueError(f"the spec does not take {', '.join(dtypes.values())}")

    def _attrs(self, given: dict[str, Any], shapes: dict[str, Any]) -> dict[str, Any]:
        from msopgen_wrap.graph.sample import call_attrs

        names = paired([a.name for a in self.spec.attrs], list(given))
        values: dict[str, Any] = {}
        first: list[int] = next((s for s in shapes.values() if s is not None), [])
        for name, value in given.items():
            own = names.get(name)
            if own is not None and value is not None:
                allowed = self.spec.attr(own).allowed
                value = counted(allowed, value, len(first))
                if allowed and value not in allowed:
                    raise ValueError(f"the spec does not take {own}={value!r}")
                values[own] = value
        return call_attrs(self.spec, values)


def _listed(value: Any, count: int) -> list[str]:
    listed = value if isinstance(value, list) else [value]
    return [str(v) for v in listed] + [str(listed[-1])] * (count - len(listed))


# ---- the table -----------------------------------------------------------------------------------


def scores_in(text: str) -> list[Score]:
    """Return the scores in what the process of an op printed."""
    lines = text.splitlines()
    return [Score(**json.loads(row[len(_RESULT) :])) for row in lines if row.startswith(_RESULT)]


def geometric_mean(values: list[float]) -> float:
    """Return the geometric mean, nan of none."""
    return math.exp(statistics.fmean(map(math.log, values))) if values else math.nan


def table(scores: list[Score]) -> list[str]:
    """Return a line per op, and the mean of the ops."""
    names = list(LAUNCHES)
    head = f"{'op':28} {'cases':>5} {'skipped':>7}"
    lines = [
        head + "".join(f"   HAP at {name:>7} (range)  best" for name in names) + "   busiest pipes"
    ]
    means: dict[str, list[float]] = {name: [] for name in names}
    for op in dict.fromkeys(score.op for score in scores):
        rows = [s for s in scores if s.op == op]
        good = [s for s in rows if not s.skipped]
        line = f"{op:28} {len(good):5} {len(rows) - len(good):7}"
        for name in names if good else ():
            values = [s.scores[name] for s in good]
            means[name].append(statistics.fmean(values))
            spread = f"({min(values):.2f}-{max(values):.2f})"
            line += f"   {statistics.fmean(values):11.2f} {spread:>13}"
            line += f" {statistics.fmean(s.best[name] for s in good):5.2f}"
        pipes = [s.pipe.split()[0] for s in good]
        counts = {pipe: pipes.count(pipe) for pipe in sorted(set(pipes), key=pipes.count)[::-1]}
        lines.append(line + "   " + " ".join(f"{pipe} {n}" for pipe, n in counts.items()))
    line = f"{'mean of the ops':28} {'':5} {'':7}"
    for name in names:
        line += f"   {statistics.fmean(means[name]) if means[name] else math.nan:11.2f} {'':19}"
    return [*lines, line, "HAP from modelled times, L2 cold; baselines are measured ones"]


def case_line(score: Score) -> str:
    """Return the line of a case."""
    name = f"{score.op} {score.case}"
    if score.skipped:
        return f"{name:24} skipped: {score.skipped}"
    times = " ".join(f"{t:8.2f}" for t in score.times.values())
    points = " ".join(f"{s:.2f}" for s in score.scores.values())
    return (
        f"{name:24} measured {score.baseline_us:8.2f} limit {score.limit_us:7.2f} modelled {times} "
        f"HAP {points} cores {score.cores:2} {score.pipe:9} {score.call[:60]}"
    )


def main() -> int:
    """Run the script."""
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("bench", type=Path, help="checkout of CANN Bench")
    parser.add_argument("ops", nargs="*", help="names of its ops; default: all that have a spec")
    parser.add_argument("--most", type=int, default=MOST, help="elements of a case at most")
    parser.add_argument("--soc", default="ascend910b2")
    parser.add_argument("--json", type=Path, help="also write the scores of all cases")
    parser.add_argument("-v", action="store_true", help="print the cases")
    parser.add_argument("-j", type=int, default=1, help="ops at the same time")
    parser.add_argument("--task", help=argparse.SUPPRESS)
    given = parser.parse_args()
    tasks = bench_tasks(given.bench, given.ops)
    if given.task:
        published = bench_tasks(given.bench, [])[given.task]
        for score in scores_of(given.bench, given.task, published, given.most, given.soc):
            print(_RESULT + json.dumps(asdict(score)), flush=True)
        return 0

    def run(task: str) -> list[Score]:
        command = [sys.executable, __file__, str(given.bench), "--task", task]
        command += ["--most", str(given.most), "--soc", given.soc]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        found = scores_in(done.stdout)
        if done.returncode:
            reason = (done.stderr.strip().splitlines() or ["?"])[-1]
            print(f"{task}: {reason}", file=sys.stderr, flush=True)
        if given.v:
            print("\n".join(map(case_line, found)), flush=True)
        return found

    chosen = [t for t in tasks if spec_of_task(t) is not None]
    with ThreadPoolExecutor(given.j) as pool:
        scores = [score for found in pool.map(run, chosen) for score in found]
    print("\n".join(table(scores)))
    missing = sorted(t.rpartition("/")[2] for t in tasks if t not in chosen)
    if missing:
        print(f"without a spec: {', '.join(missing)}")
    if given.json:
        given.json.write_text(json.dumps([asdict(s) for s in scores], indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())

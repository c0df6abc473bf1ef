#!/usr/bin/env python3
"""Compare modelled times of kernels with published ones.

``scripts/cost_validation.py LIST.csv --trees DIR [--work DIR] [--only TEXT] [-j N]``

The list has a row per timing, with the columns of a published collection: ``case``, ``kernel``
(``owner/repository:path`` of a program or an op folder), ``soc``, ``shape``, ``dtype``, ``cores``,
``measured_us``, ``published_pipe_times`` (``vec=1.2us mte2=3``), ``note``. The files of a
repository lie in ``DIR/<repository>``. A program is compiled with the macros of its
``CMakeLists.txt``; the number at the end of the case is its scenario, ``_l1`` in it means L1 as
the destination. An op gets the shapes and dtypes of the row; its attributes come from
``DIR/cann-bench/tasks`` where the case is ``cb_<op>_<number>``.

Each kernel runs once and leaves a record in ``--work``; ``--replay`` only replays these records,
with other parameters (``OPGEN_PROFILE_PARAMETERS``) for instance. ``--no-arithmetic`` records
without computing, which large products need; their results are wrong. Nothing is fitted here.
"""

from __future__ import annotations

import argparse
import csv
import ctypes
import json
import math
import os
import re
import statistics
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import combinations
from pathlib import Path
from typing import Any

# What the torch operator that a baseline measured passes beyond the attributes of its case.
BASELINE_ATTRS = {"GroupNormSilu": {"activate_silu": False}}
# A name of a case's attribute -> of the op's.
ATTR_NAMES = {"epsilon": ("eps",), "eps": ("epsilon",)}
PIPES = {
    **{"vec": "V", "scalar": "S", "mte2": "MTE2", "mte3": "MTE3"},
    **{"mac": "M", "mte1": "MTE1", "fixpipe": "FIX"},
}
# Pairs whose measured times differ by less are not ordered.
CLEAR_DIFFERENCE = 0.10


@dataclass
class Timing:
    """A row of the list."""

    case: str
    kernel: str
    soc: str
    shape: str
    dtype: str
    cores: str
    measured_us: float
    published_pipe_times: str
    note: str

    @property
    def op(self) -> str:
        """What cases are grouped by: the case without its number."""
        return re.sub(r"_?\d+$", "", self.case)

    @property
    def number(self) -> str:
        """The number at the end of the case; "1" where there is none."""
        found = re.search(r"(\d+)$", self.case)
        return found[1] if found else "1"

    @property
    def soc_name(self) -> str:
        """The SoC as opgen names it; the one of 1.85 GHz where only a series is given."""
        found = re.fullmatch(r"Ascend\s*(910B\d|910_93\d\d|310P\d)", self.soc.strip())
        return f"ascend{found[1].lower()}" if found else "ascend910b1"

    def pipe_times(self) -> dict[str, float]:
        """Published busy times in us by pipe."""
        found = re.findall(rf"\b({'|'.join(PIPES)})[^=;,]*=\s*([\d.]+)", self.published_pipe_times)
        return {PIPES[name]: float(value) for name, value in found}


def read_timings(path: Path) -> list[Timing]:
    """Return the rows of a list."""
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    timings = []
    for row in rows:
        given: dict[str, Any] = {name: row.get(name) or "" for name in Timing.__annotations__}
        timings.append(Timing(**(given | {"measured_us": float(row["measured_us"])})))
    return timings


# ---- running the kernels -------------------------------------------------------------------------


def source_of(timing: Timing, trees: Path) -> Path:
    """Return the program or op folder of a row."""
    repository, _, path = timing.kernel.partition(":")
    name = repository.rpartition("/")[2]
    return trees / name / path


def record_program(timing: Timing, source: Path) -> str:
    """Run a program; return what went wrong."""
    from msopgen_wrap.foreign.example_project import build_file_defines
    from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

    defines = dict(build_file_defines(source))
    for name in defines:
        if "SCENARIO" in name:
            defines[name] = timing.number
    if "_l1" in timing.case and "COPY_DST_UB" in defines:
        del defines["COPY_DST_UB"]
        defines["COPY_DST_L1"] = "1"
    options = ProgramOptions(
        soc=timing.soc_name,
        mode="profile",
        defines=tuple(f"{k}={v}" for k, v in sorted(defines.items())),
    )
    place = Path(os.environ["OPGEN_PROFILE_RECORDS"])
    result = run_program(source, (), options, cwd=place)
    script = source.parent / "scripts/gen_data.py"
    if not result.launches and script.is_file():
        # A program that stops without its inputs.
        for arguments in ((), ("-scenarioNum", timing.number)):
            done = subprocess.run([sys.executable, str(script), *arguments], cwd=place, check=False)
            if done.returncode == 0:
                break
        result = run_program(source, (), options, cwd=place)
        for path in place.glob("*/*.bin"):
            path.unlink()
    return "" if result.launches else f"no launch, exit code {result.exit_code}"


def case_attrs(timing: Timing, trees: Path) -> dict[str, Any]:
    """Return the attributes that the bench's case gives."""
    import yaml

    found = re.fullmatch(r"cb_(\w+?)_(\d+)", timing.case)
    if not found:
        return {}
    for path in sorted(trees.glob(f"cann-bench/tasks/*/{found[1]}/cases.yaml")):
        for case in yaml.safe_load(path.read_text(encoding="utf-8"))["cases"]:
            if str(case["case_id"]) == found[2]:
                return dict(case.get("attrs") or {})
    return {}


def record_op(timing: Timing, source: Path, trees: Path) -> str:
    """Run an op; return what went wrong."""
    from msopgen_wrap.foreign.project_runner import ProjectRunner
    from msopgen_wrap.run.tensors import Tensor, TensorSpec

    runner = ProjectRunner(source, soc=timing.soc_name)
    declared = runner.declaration(None)
    shapes, dtypes = json.loads(timing.shape), json.loads(timing.dtype)
    inputs = {}
    for parameter, shape, dtype in zip(declared["inputs"], shapes, dtypes, strict=False):
        tensor = Tensor.empty(TensorSpec(dtype, tuple(shape)))
        tensor.data[...] = 0
        inputs[parameter["name"]] = tensor
    names = {attr["name"] for attr in declared["attrs"]}
    attrs = dict(BASELINE_ATTRS.get(declared["op"], {}))
    for name, value in case_attrs(timing, trees).items():
        for own in (name, *ATTR_NAMES.get(name, ())):
            if own in names:
                attrs[own] = value
                break
    runner.run(None, inputs, attrs, mode="profile")
    return ""


def record(timing: Timing, trees: Path, folder: Path) -> str:
    """Run a row's kernel with its records going to a folder; return what went wrong."""
    folder.mkdir(parents=True, exist_ok=True)
    os.environ["OPGEN_PROFILE_RECORDS"] = str(folder)
    source = source_of(timing, trees)
    if not source.exists():
        return f"{source} is not there"
    if source.is_file():
        return record_program(timing, source)
    return record_op(timing, source, trees)


# ---- comparing -----------------------------------------------------------------------------------


def replayed(folder: Path, library: Any) -> dict[str, Any] | None:
    """Return the profile of a folder's records added up; None where there are none."""
    from msopgen_wrap.run.op_abi import ProfileOptions

    total: dict[str, Any] | None = None
    for path in sorted(folder.glob("*.record")):
        if library.opgen_profile_load(os.fsencode(path)) != 0:
            continue
        library.opgen_profile_options(ctypes.byref(ProfileOptions(ablation=2, max_events=1)))
        profile = json.loads(library.opgen_profile_json())
        if "error" in profile:
            print(f"{path}: {profile['error']['what']}: {profile['error']['why']}", file=sys.stderr)
            return None
        one = summary(profile)
        total = one if total is None else {k: total[k] + one[k] for k in total}
    return total


def summary(profile: dict[str, Any]) -> dict[str, float]:
    """Return the numbers of a profile that are compared."""
    cores = [core for core in profile["cores"] if core["pipes"]]
    result = {"time": profile["time_us"]}
    for pipe in PIPES.values():
        # A cube core has no vector unit, and the other way round.
        busy = [core["pipes"][pipe]["busy_us"] for core in cores if pipe in core["pipes"]]
        result[pipe] = statistics.fmean(busy) if busy else 0.0
    memory = profile["memory"]
    result["bytes"] = memory["gm_read"] + memory["gm_written"]
    return result


def ranks(values: list[float]) -> list[float]:
    """Return ranks, equal values sharing theirs."""
    order = sorted(range(len(values)), key=values.__getitem__)
    result = [0.0] * len(values)
    at = 0
    while at < len(order):
        end = at
        while end + 1 < len(order) and values[order[end + 1]] == values[order[at]]:
            end += 1
        for index in order[at : end + 1]:
            result[index] = (at + end) / 2
        at = end + 1
    return result


def correlation(a: list[float], b: list[float]) -> float:
    """Spearman's rank correlation; nan for fewer than three values."""
    if len(a) < 3:
        return math.nan
    try:
        return statistics.correlation(ranks(a), ranks(b))
    except statistics.StatisticsError:
        return math.nan


def fitted(sizes: list[float], times: list[float]) -> list[float]:
    """Return the times that t0 + bytes/bandwidth gives, fitted to these very times."""
    if len(set(sizes)) < 2:
        return [statistics.fmean(times)] * len(times)
    slope, start = statistics.linear_regression(sizes, times)
    return [start + slope * size for size in sizes]


def error(modelled: float, measured: float) -> float:
    """Relative error."""
    return (modelled - measured) / measured


def mape(pairs: list[tuple[float, float]]) -> float:
    """Mean absolute percentage error of (modelled, measured)."""
    return 100 * statistics.fmean(abs(error(a, b)) for a, b in pairs)


def print_table(timings: list[Timing], modelled: dict[str, dict[str, float]]) -> None:
    """Print a row per timing, a summary per op, and the totals."""
    print(
        f"{'case':20} {'measured':>9} {'modelled':>9} {'error':>7}   pipes: modelled/published us"
    )
    for timing in timings:
        got = modelled.get(timing.case)
        if got is None:
            print(f"{timing.case:20} {timing.measured_us:9.2f} {'-':>9}")
            continue
        pipes = " ".join(
            f"{pipe} {got[pipe]:.1f}/{value:.1f} ({100 * error(got[pipe], value):+.0f}%)"
            for pipe, value in timing.pipe_times().items()
        )
        change = 100 * error(got["time"], timing.measured_us)
        compared = f"{timing.measured_us:9.2f} {got['time']:9.2f} {change:+6.1f}%"
        print(f"{timing.case:20} {compared}   {pipes}")
    print(f"\n{'op':16} {'n':>3} {'MAPE':>6} {'rank':>6} {'pairs >10%':>11} {'t0+bytes/bw':>12}")
    ops: dict[str, list[Timing]] = {}
    for timing in timings:
        if timing.case in modelled:
            ops.setdefault(timing.op, []).append(timing)
    all_pairs: list[tuple[float, float]] = []
    all_fits: list[tuple[float, float]] = []
    right = clear = 0
    for op, rows in ops.items():
        times = [modelled[row.case]["time"] for row in rows]
        measured = [row.measured_us for row in rows]
        pairs = list(zip(times, measured, strict=True))
        sizes = [modelled[row.case]["bytes"] for row in rows]
        fits = list(zip(fitted(sizes, measured), measured, strict=True))
        good = total = 0
        for (a, b), (c, d) in combinations(pairs, 2):
            if abs(b - d) > CLEAR_DIFFERENCE * min(b, d):
                total += 1
                good += (a - c) * (b - d) > 0
        right, clear = right + good, clear + total
        all_pairs += pairs
        all_fits += fits
        print(
            f"{op:16} {len(rows):3} {mape(pairs):5.1f}% {correlation(times, measured):6.3f} "
            f"{f'{good}/{total}':>11} {mape(fits):11.1f}%"
        )
    if not all_pairs:
        return
    print(
        f"{'all':16} {len(all_pairs):3} {mape(all_pairs):5.1f}% "
        f"{correlation(*map(list, zip(*all_pairs, strict=True))):6.3f} {f'{right}/{clear}':>11} "
        f"{mape(all_fits):11.1f}%"
    )
    for pipe in PIPES.values():
        busy = [
            (modelled[t.case][pipe], t.pipe_times()[pipe])
            for t in timings
            if t.case in modelled and pipe in t.pipe_times()
        ]
        if busy:
            print(f"busy {pipe}: MAPE {mape(busy):.1f}% of {len(busy)}")


def main() -> int:
    """Run the script."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("list", type=Path)
    parser.add_argument("--trees", type=Path, default=Path("trees"))
    parser.add_argument("--work", type=Path, default=Path("cost-validation"))
    parser.add_argument("--only", default="", help="cases with this text in their name")
    parser.add_argument("--replay", action="store_true", help="replay the records that are there")
    parser.add_argument("--no-arithmetic", action="store_true", help="record without computing")
    parser.add_argument("--record", help=argparse.SUPPRESS)
    parser.add_argument("-j", type=int, default=1, help="kernels run at the same time")
    given = parser.parse_args()
    if given.no_arithmetic:
        os.environ["OPGEN_PROFILE_ARITHMETIC"] = "skip"
    timings = [t for t in read_timings(given.list) if given.only in t.case]
    if given.record:
        timing = next(t for t in timings if t.case == given.record)
        problem = record(timing, given.trees, given.work.absolute() / timing.case)
        print(problem, file=sys.stderr)
        return bool(problem)

    def run(timing: Timing) -> None:
        folder = given.work / timing.case
        if any(folder.glob("*.record")):
            return
        command = [sys.executable, __file__, str(given.list), "--record", timing.case]
        command += ["--trees", str(given.trees), "--work", str(given.work)]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode:
            reason = (done.stderr or done.stdout).strip().splitlines()[-1:] or ["?"]
            print(f"{timing.case}: {reason[0]}", file=sys.stderr, flush=True)

    if not given.replay:
        with ThreadPoolExecutor(given.j) as pool:
            list(pool.map(run, timings))
    from msopgen_wrap.build.emulation_library import load_emulation_library
    from msopgen_wrap.run.op_abi import declare

    library = load_emulation_library()
    declare(library)
    modelled = {}
    for timing in timings:
        result = replayed(given.work / timing.case, library)
        if result is not None:
            modelled[timing.case] = result
    print_table(timings, modelled)
    return 0


if __name__ == "__main__":
    sys.exit(main())

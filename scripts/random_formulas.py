#!/usr/bin/env python3
"""Plan formulas drawn at random, run the most unlike of them in check mode, shrink what fails.

    scripts/random_formulas.py --seconds 600                 until the time is over
    scripts/random_formulas.py --first 500 --count 100       seeds 500 to 599
    scripts/random_formulas.py --first 7 --count 1 --show    one seed, with its spec
    scripts/random_formulas.py --gradients                   the ops of the formulas' gradients

A seed makes one spec (``formula_draw.py``), the same on every machine. It is planned; of each
``--batch`` formulas that plan, the one that joins most kinds of statements not yet seen together is
compiled and run on some cases of its grid, with and without automatic synchronisation. A formula is
right, or refused with a code. Findings, each shrunk: an exception, a plan that takes longer than
``PLAN_SECONDS``, sources that do not compile, host code that refuses a case, a report of the
sanitizer, wrong numbers, an input that was changed, a crash.

With ``--gradients`` the op examined is that of the gradients (``formula_gradients.py``), and some
of those that are right are called once more by torch's autograd.

The end lists refusals by frequency, with the shortest formula of each. Exit code: 0 no finding, 1
findings, 2 wrong usage. ``OPGEN_CXX=clang++`` compiles with clang.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import json
import os
import random
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
sys.path[:0] = [str(ROOT / "scripts"), str(ROOT)]

PLAN_SECONDS = 60
CASES = 10  # of the grid that a formula is run on
MOST_ELEMENTS = 1 << 18
SHRINKING_SECONDS = 90


@dataclass(frozen=True)
class Outcome:
    """What became of a formula.

    Attributes:
        kind: ``planned``, ``right``, ``autograd right``, ``refused``, or a finding:
            ``exception``, ``slow``, ``sources``, ``host``, ``sanitizer``, ``wrong``, ``crash``.
        key: what tells it from others of its kind; shrinking keeps it.
        detail: the whole text.
    """

    kind: str
    key: str = ""
    detail: str = ""

    @property
    def is_finding(self) -> bool:
        return self.kind not in ("planned", "right", "autograd right", "refused")


class _Late(Exception):
    """A plan took too long."""


@contextlib.contextmanager
def _limit(seconds: int) -> Iterator[None]:
    def late(*_: Any) -> None:
        raise _Late

    # Time of this process: other work on the machine is no fault of a plan.
    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


class Examiner:
    """Plans and runs formulas in this process.

    Args:
        folder: where specs are written.
    """

    def __init__(self, folder: Path):
        self.folder = folder
        self._numbers = itertools.count()

    def plan(self, formula: Any) -> Outcome:
        """Return the outcome of planning a formula."""
        return self._judged(formula, run=False)

    def run(self, formula: Any) -> Outcome:
        """Return the outcome of running a formula on some cases of its grid."""
        return self._judged(formula, run=True)

    def _judged(self, formula: Any, run: bool) -> Outcome:
        from msopgen_wrap.diagnostics import OpgenError

        # The registry of ops is global: each formula has a name of its own.
        name = f"Random{os.getpid()}N{next(self._numbers)}"
        path = self.folder / f"{name}.yaml"
        path.write_text(self._text(formula, name), encoding="utf-8")
        try:
            with _limit(PLAN_SECONDS):
                spec, codes = self._planned(path)
            if codes:
                return codes
            return self._run(spec) if run else Outcome("planned")
        except _Late:
            return Outcome("slow", "", f"no plan within {PLAN_SECONDS} s of CPU time")
        except OpgenError as error:
            first = error.diagnostics[0]
            text = "\n".join(f"{x.what}\n{x.why}" for x in error.diagnostics[:2])
            return Outcome("sources", first.code, f"{first.code}: {text}")
        except Exception as error:
            frames = traceback.extract_tb(error.__traceback__)
            own = [f for f in frames if "msopgen_wrap" in f.filename][-1:]
            where = f"{Path(own[0].filename).name}:{own[0].name}" if own else ""
            text = "".join(traceback.format_exception(error)[-6:])
            return Outcome("exception", f"{type(error).__name__} {where}", text)

    def _text(self, formula: Any, name: str) -> str:
        return str(formula.spec(name))

    def _spec(self, path: Path) -> Any:
        """Return the op to examine; raises OpgenError."""
        from msopgen_wrap.spec.loader import load_spec

        return load_spec(path)

    def _planned(self, path: Path) -> tuple[Any, Outcome | None]:
        from msopgen_wrap.diagnostics import OpgenError
        from msopgen_wrap.families import plan_op

        try:
            spec = self._spec(path)
            plan_op(spec)
        except OpgenError as error:
            first = error.diagnostics[0]
            what = re.sub(r"^Random\w+:? ?", "", first.what)
            if first.code == "OPG050":
                what += f": {first.why.replace(path.stem, 'OP')}"
            key = f"{first.code} {re.sub(r'[0-9]+', 'N', what)}"
            if first.code in ("OPG099", "OPG900"):
                return None, Outcome("exception", key, what)
            return None, Outcome("refused", key, f"{first.code}: {what} | {first.why}")
        return spec, None

    def _run(self, spec: Any) -> Outcome:
        from msopgen_wrap.build.emulation_library import load_emulation_library
        from msopgen_wrap.run.cached_specs import rendered_spec
        from msopgen_wrap.run.case_runner import run_case
        from msopgen_wrap.run.preparation import load_op

        runtime = load_op(spec, rendered_spec(spec, "opgen"))
        library = load_emulation_library()
        ran = near = 0
        for case in chosen_cases(spec):
            for sync in (b"on", b"off"):
                library.opgen_sanitizer_option(b"auto-sync=" + sync)
                try:
                    result = run_case(spec, case, runtime, soc="ascend910b3", mode="check")
                finally:
                    library.opgen_sanitizer_option(b"auto-sync=on")
                if result.status == "failed":
                    text = f"{case.label(spec)}, auto-sync {sync.decode()}: {result.reason}"
                    bad = [f for f in result.findings if f.get("severity") != "warning"]
                    if bad:
                        return Outcome("sanitizer", str(bad[0].get("check")), text)
                    host = "Tiling" in result.reason or "InferShape" in result.reason
                    if host or not self._excused(spec, case, runtime):
                        return Outcome("host" if host else "wrong", "", text)
                    near += 1
                ran += result.status == "passed"
        return Outcome("right", "", f"{ran} runs, {near} more but for what rounding decides")

    def _excused(self, spec: Any, case: Any, runtime: Any) -> bool:
        """Whether wrong numbers are those of elements that rounding decides.

        The mixed rule bounds errors without regard for how many numbers were added up: what the
        relative rule accepts, which leaves out what the roundings of a sum explain, is right.
        """
        from msopgen_wrap.run.case_runner import run_case

        other = replace(spec, tolerance={})
        result = run_case(other, case, runtime, soc="ascend910b3", mode="fast")
        return bool(result.status == "passed")


def chosen_cases(spec: Any) -> list[Any]:
    """Return some cases of the grid: empty and small tensors, tails, several tiles and cores."""
    from msopgen_wrap.run.cases import case_grid
    from msopgen_wrap.run.worker import elements

    cases = [c for c in case_grid(spec) if elements(c.shapes) <= MOST_ELEMENTS]
    # Infinities and NaN meet comparisons whose operands were rounded, and sums in another order.
    cases = [c for c in cases if c.values != "special"]
    if len(cases) <= CASES:
        return cases
    cases.sort(key=lambda c: elements(c.shapes))
    middle = random.Random(0).sample(cases[2:-3], CASES - 5)
    return [*cases[:2], *middle, *cases[-3:]]


def shrunk(formula: Any, outcome: Outcome, examiner: Examiner) -> tuple[Any, Outcome]:
    """Return the smallest formula found with an outcome of the same kind and key, and that."""
    ended = time.monotonic() + SHRINKING_SECONDS
    examine = examiner.plan if outcome.kind in ("exception", "slow") else examiner.run
    if outcome.kind == "exception" and not examiner.plan(formula).is_finding:
        examine = examiner.run
    again = True
    while again and time.monotonic() < ended:
        again = False
        for smaller in formula.smaller():
            if time.monotonic() > ended:
                break
            other = examine(smaller)
            if (other.kind, other.key) == (outcome.kind, outcome.key):
                formula, outcome, again = smaller, other, True
                break
    return formula, outcome


def examine_seeds(options: argparse.Namespace) -> None:
    """Examine seeds and write one JSON object per outcome; started by :func:`main`."""
    import torch
    from formula_draw import draw
    from formula_gradients import GradientExaminer, differentiable, through_torch

    torch.set_num_threads(1)
    first, count, batch = options.first, options.count, options.batch
    ended = time.monotonic() + options.seconds
    seen: Counter[tuple[str, ...]] = Counter()

    def pairs(formula: Any) -> set[tuple[str, ...]]:
        words = sorted({*formula.kinds, *(v.dtype for v, _ in formula.inputs), *_form(formula)})
        return set(itertools.combinations(words, 2))

    with tempfile.TemporaryDirectory(prefix="opgen-formulas-") as folder:
        examiner = (GradientExaminer if options.gradients else Examiner)(Path(folder))
        waiting: list[tuple[int, Any]] = []
        sample: list[tuple[int, Any]] = []  # right ones, for autograd

        def report(seed: int, formula: Any, outcome: Outcome) -> None:
            if outcome.kind == "right":
                sample.append((seed, formula))
            if outcome.is_finding:
                formula, outcome = shrunk(formula, outcome, examiner)
            text = formula.spec("RandomFormula", "kernel" if options.gradients else "none")
            print(json.dumps({"seed": seed, "spec": text, **outcome.__dict__}), flush=True)

        def run_one() -> None:
            waiting.sort(key=lambda w: -sum(seen[p] == 0 for p in pairs(w[1])))
            seed, formula = waiting.pop(0)
            seen.update(pairs(formula))
            print(json.dumps({"seed": seed, "kind": "started"}), flush=True)
            report(seed, formula, examiner.run(formula))

        for seed in itertools.count(first) if count is None else range(first, first + count):
            if time.monotonic() > ended:
                break
            print(json.dumps({"seed": seed, "kind": "started"}), flush=True)
            formula = draw(seed)
            if options.gradients:
                formula = differentiable(formula)
                if formula is None:
                    continue
            outcome = examiner.plan(formula)
            if outcome.kind != "planned":
                report(seed, formula, outcome)
                continue
            print(json.dumps({"seed": seed, "kind": "planned"}), flush=True)
            waiting.append((seed, formula))
            if len(waiting) >= batch:
                run_one()
                del waiting[batch // 2 :]
        if waiting and time.monotonic() < ended:
            run_one()
        chosen = random.Random(first).sample(sample, min(options.torch, len(sample)))
        if options.gradients and chosen:
            (project := Path(folder) / "project").mkdir()
            outcomes = through_torch([formula for _, formula in chosen], project)
            for (seed, formula), outcome in zip(chosen, outcomes, strict=True):
                text = formula.spec("RandomFormula", "kernel")
                kind = "autograd right" if outcome.kind == "right" else outcome.kind
                record = {"seed": seed, "spec": text, **outcome.__dict__, "kind": kind}
                print(json.dumps(record), flush=True)


def _form(formula: Any) -> set[str]:
    """Return what a formula is beside its statements."""
    found = {"outputs" * min(2, len(formula.outputs)), "inplace" * bool(formula.inplace)}
    text = formula.spec("F")
    words = ("optional", "[1, 8]", "allowed", "list: true", "bfloat16, float")
    return found | {w for w in words if w in text}


def follow(arguments: argparse.Namespace) -> int:
    """Start workers, print what they report, and sum up; returns the exit code."""
    ended = time.monotonic() + arguments.seconds
    first, left = arguments.first, arguments.count
    outcomes: Counter[str] = Counter()
    refusals: dict[str, list[str]] = {}
    findings = 0
    while left is None or left > 0:
        seconds = ended - time.monotonic()
        if seconds <= 0:
            break
        command = [sys.executable, __file__, "--worker", "--first", str(first)]
        command += ["--seconds", str(seconds), "--batch", str(arguments.batch)]
        command += [] if left is None else ["--count", str(left)]
        command += ["--gradients", "--torch", str(arguments.torch)] if arguments.gradients else []
        with tempfile.TemporaryFile("w+") as log:
            process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, text=True)
            assert process.stdout is not None
            current = last = first
            for line in process.stdout:
                with contextlib.suppress(ValueError):
                    record = json.loads(line)
                    current, last = record["seed"], max(last, record["seed"])
                    if record["kind"] == "started":
                        continue
                    outcomes[record["kind"]] += 1
                    findings += _show(record, arguments.show)
                    if record["kind"] == "refused":
                        refusals.setdefault(record["key"], []).append(record["spec"])
                if sys.stderr.isatty():
                    print(f"\rseed {last} {dict(outcomes)} ", end="", file=sys.stderr, flush=True)
            code = process.wait()
            log.seek(0)
            tail = log.read()[-1500:]
        if code == 0:
            break
        from formula_draw import draw

        outcomes["crash"] += 1
        text = draw(current).spec("RandomFormula")
        crash = {"kind": "crash", "key": str(code), "detail": tail, "seed": current, "spec": text}
        findings += _show(crash, True)
        left = None if left is None else left - (last + 1 - first)
        first = last + 1
    print("\nrefusals:")
    for key, specs in sorted(refusals.items(), key=lambda item: -len(item[1])):
        shortest = min(specs, key=len)
        compute = shortest[shortest.index("compute: |") + 10 :].strip()
        print(f"{len(specs):5d} {key} | {'; '.join(s.strip() for s in compute.splitlines())}")
    for kind, number in outcomes.most_common():
        print(f"{number:5d} {kind}")
    return int(findings > 0)


def _show(record: dict[str, Any], whole: bool) -> int:
    """Print a finding, and whatever has a spec if asked to; return 1 for a finding."""
    is_finding = Outcome(record["kind"]).is_finding
    if is_finding or (whole and "spec" in record):
        print(f"\n== seed {record['seed']}: {record['kind']} {record['key']}")
        print(f"{record['spec']}{record['detail']}", flush=True)
    return int(is_finding)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--count", type=int, help="how many seeds; default: until the time is over")
    parser.add_argument("--seconds", type=float, default=600, help="for all of it")
    parser.add_argument("--batch", type=int, default=6, help="planned formulas per one that is run")
    parser.add_argument("--show", action="store_true", help="print every spec with its outcome")
    parser.add_argument("--gradients", action="store_true", help="examine the ops of gradients")
    text = "with --gradients: right ones to call through torch's autograd"
    parser.add_argument("--torch", type=int, default=4, help=text)
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.seconds <= 0 or arguments.batch < 1:
        parser.error("--seconds and --batch must be positive")
    if arguments.worker:
        examine_seeds(arguments)
        return 0
    return follow(arguments)


if __name__ == "__main__":
    sys.exit(main())

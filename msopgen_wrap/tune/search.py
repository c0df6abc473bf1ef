"""Search the schedules of many specs at once, in the workers of an engine."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.engines import Engine, Task
from msopgen_wrap.tune.candidates import ROUNDS, Knobs, key, round_of
from msopgen_wrap.tune.journal import Journal, task_key
from msopgen_wrap.tune.subject import Call, Group, Subject

SUBJECT = "msopgen_wrap.tune.subject:subject"
MEASURE = "msopgen_wrap.tune.measuring:measure"
CONFIRM = "msopgen_wrap.tune.measuring:confirm"

Progress = Callable[[int, int, str], None]


@dataclass
class Trial:
    """A schedule at the sizes of a group.

    Attributes:
        times: modelled microseconds per call of the group, None where it failed.
        cores: that ran, of the first call.
        failure: why a call failed.
    """

    knobs: dict[str, Any]
    times: list[float | None]
    cores: int = 0
    failure: str = ""

    @property
    def mean_us(self) -> float:
        """The geometric mean over the calls; infinite where one failed."""
        times = [t for t in self.times if t is not None and t > 0]
        if not times or len(times) < len(self.times):
            return math.inf
        return statistics.geometric_mean(times)


@dataclass
class Tried:
    """All that was tried at the sizes of a group; the first trial asks for nothing."""

    group: Group
    trials: list[Trial] = field(default_factory=list)

    @property
    def default(self) -> Trial:
        """The trial of the tiling's own choice."""
        return self.trials[0]

    def by_time(self) -> list[Trial]:
        """Return the trials, the fastest first, of equal ones those that ask for least."""
        return sorted(self.trials, key=lambda t: (t.mean_us, len(t.knobs)))

    def of(self, knobs: Knobs) -> Trial | None:
        """Return the trial of a schedule."""
        return next((t for t in self.trials if key(t.knobs) == key(knobs)), None)


class Measurements:
    """Runs tasks once: what the journal knows is not run again.

    Args:
        sources: spec -> its text.
        kit: hash of the kit.
        progress: called with how many tasks of a round are done, how many there are, and a text.
    """

    def __init__(
        self,
        engine: Engine,
        journal: Journal,
        sources: dict[str, str],
        kit: str,
        progress: Progress = lambda done, count, text: None,
    ) -> None:
        self.engine, self.journal, self.kit, self.sources = engine, journal, kit, sources
        self.progress = progress
        self.ran = self.known = 0

    def run(self, tasks: Sequence[Task], text: str) -> list[dict[str, Any]]:
        """Return per task ``value``, or ``failure`` and ``diagnostics``.

        Failures are not noted: a later run tries them again.
        """
        keys = [
            task_key(t.function, t.arguments, self.kit, self.sources[t.arguments["spec"]])
            for t in tasks
        ]
        results: dict[str, dict[str, Any]] = {
            k: {"value": self.journal.known[k]} for k in keys if k in self.journal.known
        }
        self.known += sum(k in results for k in keys)
        missing = {k: task for k, task in zip(keys, tasks, strict=True) if k not in results}
        # calls one after another: a worker keeps the build and the tensors of the last one
        names = sorted(missing, key=lambda k: _call_of(missing[k]))
        count, done = len(keys), len(keys) - len(names)
        self.progress(done, count, text)
        for outcome in self.engine.run([missing[name] for name in names]):
            name = names[outcome.index]
            self.ran += 1
            if outcome.failure:
                results[name] = {"failure": outcome.failure, "diagnostics": outcome.diagnostics}
            else:
                results[name] = {"value": outcome.value}
                self.journal.add(name, outcome.value)
            done += 1
            self.progress(done, count, text)
        return [results[k] for k in keys]


def search(subjects: Sequence[Subject], measurements: Measurements, l2: str) -> list[list[Tried]]:
    """Try schedules for every group of every subject, round by round.

    Returns:
        Per subject its groups with what was tried.
    """
    tried = [[Tried(group) for group in subject.groups] for subject in subjects]
    for number in range(ROUNDS):
        rows: list[tuple[Tried, dict[str, Any], int]] = []
        tasks: list[Task] = []
        for subject, groups in zip(subjects, tried, strict=True):
            for one in groups:
                best = [t.knobs for t in one.by_time() if t.mean_us < math.inf]
                for knobs in round_of(subject, number, best):
                    if one.of(knobs) is not None:
                        continue
                    rows.append((one, knobs, len(one.group.calls)))
                    tasks += [task_of(subject, call, knobs, l2) for call in one.group.calls]
        results = iter(measurements.run(tasks, f"round {number + 1} of {ROUNDS}"))
        for one, knobs, count in rows:
            one.trials.append(_trial(knobs, [next(results) for _ in range(count)]))
    return tried


def _call_of(task: Task) -> str:
    """Return a text that is equal for measurements of one call with one build."""
    return repr([(k, v) for k, v in task.arguments.items() if k != "knobs"])


def task_of(subject: Subject, call: Call, knobs: dict[str, Any], l2: str) -> Task:
    """Return the task that models a call with a schedule."""
    own = dict(knobs)
    arguments = call_arguments(subject, call, l2)
    if own.get("buffers") in subject.buffers:
        arguments["buffers"] = own.pop("buffers")
    elif subject.buffers:
        own.pop("buffers", None)  # two, as without being asked
    return Task(MEASURE, {**arguments, "knobs": own})


def call_arguments(subject: Subject, call: Call, l2: str) -> dict[str, Any]:
    """Return the arguments that say what is called."""
    return {
        "spec": subject.path,
        "soc": subject.soc,
        "l2": l2,
        "combo": call.combo,
        "shapes": call.shapes,
        "attrs": call.attrs,
    }


def _trial(knobs: dict[str, Any], results: list[dict[str, Any]]) -> Trial:
    values = [r.get("value") for r in results]
    failures = [r["failure"] for r in results if "failure" in r]
    first = next((v for v in values if v), None)
    return Trial(
        knobs,
        [v["time_us"] if v else None for v in values],
        first["cores"] if first else 0,
        failures[0] if failures else "",
    )

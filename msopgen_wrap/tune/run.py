"""Tune specs: plan them, search, confirm the winners with the tiling that a project gets, write."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from msopgen_wrap.build.cache import text_hash
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.engines import Task
from msopgen_wrap.run.session import diagnostic_of
from msopgen_wrap.spec.loader import SUFFIXES
from msopgen_wrap.spec.schedule_entries import ScheduleEntry
from msopgen_wrap.tune.search import (
    CONFIRM,
    SUBJECT,
    Measurements,
    Tried,
    call_arguments,
    search,
)
from msopgen_wrap.tune.spec_text import with_schedule, write_schedule
from msopgen_wrap.tune.subject import Subject
from msopgen_wrap.tune.winners import Win, entries, wins

# The real tiling must come to what was tried; times of equal tilings are equal.
_SAME = 0.01


@dataclass
class TuneOptions:
    """What the user asked for: texts of calls, dtype ("": all), SoC ("": the spec's first)."""

    shapes: tuple[str, ...] = ()
    dtype: str = ""
    soc: str = ""
    l2: str = "cold"
    write: bool = True


@dataclass
class Tuned:
    """What became of one spec.

    Attributes:
        wins: per group of sizes the best schedule, claimed or not.
        schedule: the entries with their remarks; empty: the tiling's own choice stays.
        has_own: whether the spec has a schedule.
        written: whether the spec file has the schedule now.
        problems: why it was not tuned, or not written.
    """

    path: str
    subject: Subject | None = None
    tried: list[Tried] = field(default_factory=list)
    wins: list[Win] = field(default_factory=list)
    schedule: list[tuple[ScheduleEntry, str]] = field(default_factory=list)
    has_own: bool = False
    written: bool = False
    problems: list[Diagnostic] = field(default_factory=list)

    @property
    def is_file(self) -> bool:
        """Whether the spec is a file of its own, and no Python function."""
        return Path(self.path).suffix in SUFFIXES

    @property
    def gain(self) -> float:
        """The geometric mean over the groups of what is claimed; 1 where the default stays."""
        gains = [w.gain if w.claimed else 1.0 for w in self.wins]
        return statistics.geometric_mean(gains) if gains else 1.0


def tune(
    paths: Sequence[str], options: TuneOptions, measurements: Measurements, folder: Path
) -> list[Tuned]:
    """Tune specs; one that fails does not stop the others.

    Args:
        paths: of the specs, whose texts ``measurements`` has.
        folder: for the specs of winners while they are confirmed.
    """
    results = [Tuned(path) for path in paths]
    _find_subjects(results, options, measurements)
    fit = [r for r in results if r.subject is not None]
    subjects = [r.subject for r in fit if r.subject is not None]
    for result, tried in zip(fit, search(subjects, measurements, options.l2), strict=True):
        result.tried = tried
        _judge(result)
    _confirm([r for r in fit if r.schedule and not r.problems], options, measurements, folder)
    for result in fit:
        if options.write and not result.problems and result.schedule:
            _write(result, measurements.sources[result.path])
    return results


def _find_subjects(results: list[Tuned], options: TuneOptions, measurements: Measurements) -> None:
    asked = {"shapes": list(options.shapes), "dtype": options.dtype, "soc": options.soc}
    tasks = [Task(SUBJECT, {"spec": r.path, **asked}) for r in results]
    for result, answer in zip(results, measurements.run(tasks, "planning"), strict=True):
        if "failure" in answer:
            result.problems += _problems(result.path, answer)
        else:
            result.subject = Subject.from_dict(answer["value"])
            result.has_own = bool(result.subject.asked)


def _problems(path: str, answer: dict[str, Any]) -> list[Diagnostic]:
    found = [
        diagnostic_of({**d, "file": d.get("file") or path}) for d in answer.get("diagnostics", ())
    ]
    return found or [_failed(path, answer["failure"])]


def _failed(path: str, why: str) -> Diagnostic:
    return Diagnostic(
        "OPG386",
        "a measurement of the tuner failed",
        Location(path),
        why,
        "`opgen profile` runs the same call alone",
    )


def _judge(result: Tuned) -> None:
    """Decide what the schedule of a spec becomes."""
    assert result.subject is not None
    broken = [t for t in result.tried if not math.isfinite(t.default.mean_us)]
    if broken:
        result.problems += [_failed(result.path, t.default.failure) for t in broken]
        return
    result.wins = wins(result.tried)
    result.schedule = [
        (entry, remark(result.subject, behind))
        for entry, behind in entries(result.subject, result.wins)
    ]


def remark(subject: Subject, behind: list[Win]) -> str:
    """Return what stands above an entry of a schedule: where its win was seen."""
    parts = []
    for win in behind:
        calls = win.tried.group.calls
        before, after = win.tried.default.mean_us, win.trial.mean_us
        more = f" and {len(calls) - 1} more" if len(calls) > 1 else ""
        parts.append(f"{calls[0].label}{more} {before:.1f} -> {after:.1f} us")
    return f"opgen tune, modelled on {subject.soc}: {'; '.join(parts)}"


def _confirm(
    results: list[Tuned], options: TuneOptions, measurements: Measurements, folder: Path
) -> None:
    """Measure the winners once more, with the tiling that their entries give."""
    tasks: list[Task] = []
    for result in results:
        assert result.subject is not None
        if not result.is_file:
            continue
        try:
            text = with_schedule(measurements.sources[result.path], result.schedule, result.path)
        except OpgenError as error:
            result.problems += error.diagnostics
            continue
        place = folder / f"{text_hash(result.path, text)}.yaml"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(text.encode("utf-8"))
        measurements.sources[str(place)] = text
        for win in result.wins:
            for call in win.tried.group.calls:
                arguments = call_arguments(result.subject, call, options.l2)
                tasks.append(Task(CONFIRM, {**arguments, "spec": str(place)}))
    answers = iter(measurements.run(tasks, "confirming"))
    for result in results:
        if result.problems or not result.is_file:
            continue
        for win in result.wins:
            expected = win.trial if win.claimed else win.tried.default
            for call, time in zip(win.tried.group.calls, expected.times, strict=True):
                answer = next(answers)
                if "failure" in answer:
                    result.problems += _problems(result.path, answer)
                    continue
                own = answer["value"]["time_us"]
                if time is None or abs(own - time) > _SAME * time:
                    result.problems.append(_other_time(result.path, call.label, time, own))


def _other_time(path: str, label: str, expected: float | None, found: float) -> Diagnostic:
    return Diagnostic(
        "OPG387",
        "the schedule of the winner does not come to what was tried",
        Location(path),
        f"{label}: {expected} us were modelled in the search, {found} us with the schedule",
        "please report it with the spec; the spec was not changed",
    )


def _write(result: Tuned, text: str) -> None:
    if not result.is_file:
        result.problems.append(
            Diagnostic(
                "OPG384",
                "the schedule cannot be written into a Python function",
                Location(result.path),
                "an op of a function has no schedule yet",
                "write the spec as YAML: `opgen new` puts it into specs/",
            )
        )
        return
    try:
        write_schedule(Path(result.path), result.schedule, text)
        result.written = True
    except OpgenError as error:
        result.problems += error.diagnostics

"""Make the schedule of a spec of what was tried: entries for wins above the model's error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.profile.launch_profile import MODEL_ERROR
from msopgen_wrap.spec.schedule_entries import LARGEST, Condition, ScheduleEntry, SizeBound
from msopgen_wrap.tune.candidates import key
from msopgen_wrap.tune.search import Trial, Tried
from msopgen_wrap.tune.subject import Subject

# Schedules that are closer than this are the same for the model: one that asks for less wins.
_ALIKE = 1.02
# How far beyond the largest and the smallest size that was tried a schedule is asked for.
_BEYOND = 2


@dataclass
class Win:
    """A schedule that the model finds faster than the tiling's own choice, at one group of sizes.

    Attributes:
        gain: time of the default by that of the schedule, geometric mean over the calls.
    """

    tried: Tried
    trial: Trial
    gain: float

    @property
    def claimed(self) -> bool:
        """Whether the gain is above the model's error and no call is slower."""
        default = self.tried.default
        slower = any(
            own is None or (base is not None and own > base)
            for own, base in zip(self.trial.times, default.times, strict=True)
        )
        return bool(self.trial.knobs) and self.gain >= 1 + MODEL_ERROR and not slower


def wins(groups: list[Tried]) -> list[Win]:
    """Return the best schedule of each group; neighbours share one where both are as good."""
    found: list[Win] = []
    for tried in groups:
        best = tried.by_time()[0]
        near = [t for t in tried.trials if t.mean_us <= best.mean_us * _ALIKE]
        chosen = min(near, key=lambda t: (len(t.knobs), t.mean_us), default=best)
        if found and (same := tried.of(found[-1].trial.knobs)) is not None and same in near:
            chosen = same
        default = tried.default.mean_us
        gain = default / chosen.mean_us if math.isfinite(default) else 1.0
        found.append(Win(tried, chosen, gain if math.isfinite(gain) else 1.0))
    return found


def entries(subject: Subject, found: list[Win]) -> list[tuple[ScheduleEntry, list[Win]]]:
    """Return the schedule that claims the wins, with the wins behind each entry.

    An entry is for the sizes that were tried and those around them: up to the middle between two
    sizes, and twice as far as the largest and half as far as the smallest one.
    """
    sizes = sorted({w.tried.group.elements for w in found})
    lasts = sorted({w.tried.group.last for w in found})
    # Rows have a length; of other kernels it only tells calls apart that have as many elements.
    per_size = len({(w.tried.group.elements) for w in found}) < len(found)
    by_row = bool(subject.last_of) and ("rows" in subject.knobs or per_size)
    merged: list[tuple[Any, list[SizeBound], list[Win]]] = []
    for win in found:
        if not win.claimed:
            continue
        group = win.tried.group
        low, high = interval(group.elements, sizes)
        bounds = [SizeBound(LARGEST, low=low, high=high)]
        if by_row:
            low, high = interval(group.last, lasts)
            bounds.append(SizeBound("dim", subject.last_of, -1, low, high))
        knobs = key(win.trial.knobs)
        if merged and merged[-1][0] == knobs and (joined := _joined(merged[-1][1], bounds)):
            merged[-1] = (knobs, joined, [*merged[-1][2], win])
        else:
            merged.append((knobs, bounds, [win]))
    made = []
    for knobs, bounds, behind in merged:
        when: tuple[Condition, ...] = tuple(bounds)
        made.append((ScheduleEntry(**dict(knobs), when=when), behind))
    return made


def interval(size: int, sizes: list[int]) -> tuple[int, int]:
    """Return the sizes that one of some sizes stands for, both inclusive."""
    at = sizes.index(size)
    low = size // _BEYOND if at == 0 else math.isqrt(sizes[at - 1] * size) + 1
    high = size * _BEYOND if at == len(sizes) - 1 else math.isqrt(size * sizes[at + 1])
    return max(1, low), max(1, high)


def _joined(first: list[SizeBound], second: list[SizeBound]) -> list[SizeBound]:
    """Return bounds that hold for both where they touch in one size and are equal in the others."""
    differing = [i for i, (a, b) in enumerate(zip(first, second, strict=True)) if a != b]
    if len(differing) != 1:
        return first if not differing else []
    at = differing[0]
    a, b = first[at], second[at]
    if a.high is None or b.low is None or a.high + 1 != b.low:
        return []
    joined = list(first)
    joined[at] = SizeBound(a.size, a.tensor, a.axis, a.low, b.high)
    return joined

"""Which schedules are tried, round by round: a grid, then what lies around the best of it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from msopgen_wrap.spec.schedule_entries import KNOBS, ROW_PLACES
from msopgen_wrap.spec.schedule_reading import TILE_UNIT
from msopgen_wrap.tune.subject import Subject

Knobs = Mapping[str, Any]

# Parts of the cores of a chip, and how often the longest tile is halved.
_PARTS = (0.125, 0.25, 0.5, 0.75, 1.0)
_HALVINGS = 6
#: Rounds of a search: what each tries follows from the times of those before it.
ROUNDS = 3
# How many of the best schedules a round goes on from.
_BEST = 2


def key(knobs: Knobs) -> tuple[tuple[str, Any], ...]:
    """Return what is equal for equal schedules."""
    return tuple((name, knobs[name]) for name in KNOBS if name in knobs)


def round_of(subject: Subject, number: int, best: Sequence[Knobs]) -> list[dict[str, Any]]:
    """Return the schedules that a round tries; the first of the first round asks for nothing.

    Args:
        number: of the round, from 0.
        best: schedules by their time, the fastest first; empty in the first round.
    """
    if number == 0:
        return _distinct([{}, *map(dict, subject.asked), *_grid(subject)])
    found: list[dict[str, Any]] = []
    for knobs in best[:_BEST]:
        found += _other_ways(subject, knobs) if number == 1 else _near(subject, knobs)
    return _distinct(found)


def _distinct(found: Iterable[Knobs]) -> list[dict[str, Any]]:
    return [dict(k) for k in dict.fromkeys(key(knobs) for knobs in found)]


def _grid(subject: Subject) -> list[dict[str, Any]]:
    cores = [{"cores": n} for n in _cores(subject)] if "cores" in subject.knobs else []
    tiles = [{"tile": n} for n in _tiles(subject)] if "tile" in subject.knobs else []
    both = [{**t, **c} for c in cores for t in tiles]
    return [*cores, *tiles, *both]


def _cores(subject: Subject) -> list[int]:
    return sorted({max(1, round(part * subject.cores)) for part in _PARTS})


def _tiles(subject: Subject) -> list[int]:
    sizes = [subject.longest >> n for n in range(_HALVINGS)]
    return sorted({n // TILE_UNIT * TILE_UNIT for n in sizes if n >= TILE_UNIT})


def _other_ways(subject: Subject, knobs: Knobs) -> list[dict[str, Any]]:
    """Return a schedule with each other choice of buffers and rows."""
    found = []
    # where the number is a constant of the kernel, two is what it has without being asked
    counts = subject.buffers or (1, 2)
    for count in counts if "buffers" in subject.knobs else ():
        found.append({**knobs, "buffers": count})
    for place in ROW_PLACES if "rows" in subject.knobs else ():
        found.append({**knobs, "rows": place})
        found += [{**f, "rows": place} for f in found if "buffers" in f and "rows" not in f]
    return found


def _near(subject: Subject, knobs: Knobs) -> list[dict[str, Any]]:
    """Return a schedule with cores and tile a little larger and smaller."""
    found = []
    cores = knobs.get("cores")
    if cores is not None:
        steps = {max(1, cores // 8), max(1, cores // 4)}
        near = {cores + sign * step for step in steps for sign in (-1, 1)}
        found += [{**knobs, "cores": n} for n in sorted(near) if 1 <= n <= subject.cores]
    tile = knobs.get("tile")
    if tile is not None:
        near = {int(tile * by) // TILE_UNIT * TILE_UNIT for by in (0.75, 0.875, 1.25, 1.5)}
        found += [
            {**knobs, "tile": n} for n in sorted(near - {tile}) if TILE_UNIT <= n <= subject.longest
        ]
    return found

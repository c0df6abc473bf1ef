"""What the page of a profile draws: bars of pipes, traffic of memory, limits, costs of lines."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from msopgen_wrap.byte_counts import size_text
from msopgen_wrap.profile.launch_profile import LaunchProfile
from msopgen_wrap.profile.text_view import (
    microseconds,
    place,
    source_text,
)

WIDTH = 800
LEFT = 140
ROW = 30
# Sources up to this many lines are shown whole, of longer ones the surroundings of what costs.
_WHOLE = 400
_AROUND = 8


@dataclass(frozen=True)
class Bar:
    """Pieces of one row of a chart: (class, start, length in pixels, title), and a text behind."""

    label: str
    pieces: tuple[tuple[str, float, float, str], ...]
    text: str


def _pieces(
    values: Sequence[tuple[str, float, str]], most: float, width: float
) -> list[tuple[str, float, float, str]]:
    """Return pieces side by side; ``most`` takes the whole width."""
    scale = width / most if most else 0.0
    at = float(LEFT)
    found = []
    for kind, value, title in values:
        found.append((kind, round(at, 1), round(value * scale, 1), title))
        at += value * scale
    return found


def pipe_bars(profile: LaunchProfile) -> list[Bar]:
    """Return busy, stalled and idle time per pipe: of the mean core, and of the last one to end."""
    kernel, width = max(profile.kernel_us, 1e-9), WIDTH - LEFT - 150
    slowest = profile.slowest
    bars = []
    for name, busy, stalled, _ in profile.pipe_means():
        bars.append(_pipe_bar(name, busy, stalled, kernel, width))
        own = [p for p in slowest.pipes if p.name == name] if slowest else []
        if own and slowest and len(profile.cores) > 1:
            label = f"core {slowest.number}"
            bars.append(_pipe_bar(label, own[0].busy_us, own[0].stalled_us, kernel, width))
    return bars


def _pipe_bar(label: str, busy: float, stalled: float, kernel: float, width: float) -> Bar:
    idle = max(0.0, kernel - busy - stalled)
    values = (
        ("busy", busy, f"busy {microseconds(busy)}"),
        ("stalled", min(stalled, max(0.0, kernel - busy)), f"stalled {microseconds(stalled)}"),
        ("idle", idle, f"idle {microseconds(idle)}"),
    )
    text = f"{100 * busy / kernel:.0f}% busy, {100 * stalled / kernel:.0f}% stalled"
    return Bar(label, tuple(_pieces(values, max(kernel, busy + stalled), width)), text)


def buffer_bars(profile: LaunchProfile) -> list[Bar]:
    """Return bytes read and written per buffer: what is compulsory, and what moves again."""
    rows = []
    for buffer in profile.buffers:
        for word, moved, least in (
            ("read", buffer.read, buffer.distinct_read),
            ("written", buffer.written, buffer.distinct_written),
        ):
            if moved:
                rows.append((f"{buffer.name} {word}", word, moved, min(least, moved)))
    most = max((row[2] for row in rows), default=0)
    bars = []
    for label, word, moved, least in rows:
        values = (
            (word, least, f"{label} once: {size_text(least)}"),
            (f"{word} again", moved - least, f"{label} again: {size_text(moved - least)}"),
        )
        times = f", {moved / least:.2f} times" if least and moved > 1.005 * least else ""
        pieces = tuple(p for p in _pieces(values, most, WIDTH - LEFT - 190) if p[2] > 0)
        bars.append(Bar(label, pieces, size_text(moved) + times))
    return bars


def limit_bars(profile: LaunchProfile) -> list[Bar]:
    """Return what each limit of the roofline alone would take, beside the modelled time."""
    rows = profile.limit_rows()
    most = max([profile.time_us, *(us for _, us in rows)])
    rows = [("modelled time", profile.time_us), *rows]
    bars = []
    for number, (label, us) in enumerate(rows):
        values = (("time" if number == 0 else "limit", us, f"{label} {microseconds(us)}"),)
        part = f", {100 * us / profile.time_us:.0f}%" if number and profile.time_us else ""
        pieces = tuple(_pieces(values, most, WIDTH - LEFT - 190))
        bars.append(Bar(label, pieces, microseconds(us) + part))
    return bars


@dataclass(frozen=True)
class Stream:
    """An arrow of the picture of memory: its ends, thickness in pixels, and text."""

    kind: str
    x1: float
    x2: float
    y: float
    width: float
    text: str


def memory_streams(profile: LaunchProfile) -> list[Stream]:
    """Return the bytes between GM, L2, UB and the units as arrows, as thick as they are many."""
    memory = profile.memory
    read, written, hit = (memory.get(k, 0) for k in ("gm_read", "gm_written", "l2_hit"))
    rows = [
        ("read", 100, 250, 60, read - min(hit, read), "from GM"),
        ("read", 340, 480, 60, read, "read"),
        ("written", 480, 340, 120, written, "written"),
        ("read", 570, 730, 60, memory.get("ub_read", 0), "UB read"),
        ("written", 730, 570, 120, memory.get("ub_written", 0), "UB written"),
    ]
    most = max((row[4] for row in rows), default=0)
    return [
        Stream(kind, x1, x2, y, round(max(1.5, 26 * count / most), 1), f"{text} {size_text(count)}")
        for kind, x1, x2, y, count, text in rows
        if count > 0
    ]


@dataclass(frozen=True)
class SourceLine:
    """A line with its costs, microseconds per core; ``gap``: lines before it are left out."""

    number: int
    text: str
    busy_us: float
    stalled_us: float
    busy_width: float
    stalled_width: float
    title: str
    gap: bool


@dataclass(frozen=True)
class CostlyLine:
    """A line that costs much on a pipe; ``anchor`` is its place in the page, "" where not known."""

    place: str
    anchor: str
    pipe: str
    busy_us: float
    stalled_us: float
    calls: int


def costliest(profile: LaunchProfile) -> list[CostlyLine]:
    """Return the lines that cost most, microseconds per core."""
    count = max(1, len(profile.cores))
    anchors = {name: index for index, name in enumerate(profile.files)}
    return [
        CostlyLine(
            place(row.file, row.line),
            f"L{anchors[row.file]}-{row.line}" if row.line and row.file in anchors else "",
            row.pipe,
            row.busy_us / count,
            row.stalled_us / count,
            row.instructions,
        )
        for row in profile.costliest_lines()
    ]


@dataclass(frozen=True)
class SourceFile:
    """A source with costs in its margin."""

    name: str
    anchor: int
    lines: tuple[SourceLine, ...]


def source_files(profile: LaunchProfile) -> list[SourceFile]:
    """Return the sources that cost something, the costliest first."""
    count = max(1, len(profile.cores))
    costs: dict[str, dict[int, list[tuple[str, float, float, int]]]] = {}
    for row in profile.lines:
        line = (row.pipe, row.busy_us / count, row.stalled_us / count, row.instructions)
        costs.setdefault(row.file, {}).setdefault(row.line, []).append(line)
    most = max(
        (sum(b + s for _, b, s, _ in rows) for own in costs.values() for rows in own.values()),
        default=0.0,
    )
    sums = {
        f: sum(b + s for rows in own.values() for _, b, s, _ in rows) for f, own in costs.items()
    }
    anchors = {name: index for index, name in enumerate(profile.files)}
    found = []
    for file in sorted(costs, key=lambda name: -sums[name]):
        lines = _source_lines(file, costs[file], most)
        found.append(SourceFile(place(file, 0), anchors.get(file, -1), lines))
    return found


def _source_lines(
    file: str, costs: dict[int, list[tuple[str, float, float, int]]], most: float
) -> tuple[SourceLine, ...]:
    text = source_text(file)
    if not text:  # the costs are known all the same
        shown = sorted(costs)
    elif len(text) <= _WHOLE:
        shown = list(range(1, len(text) + 1))
    else:
        near = {n for line in costs for n in range(line - _AROUND, line + _AROUND + 1)}
        shown = sorted(n for n in near if 1 <= n <= len(text))
    if 0 in costs and 0 not in shown:  # costs whose line is not known
        shown = [0, *shown]
    lines = []
    before = 0
    for number in shown:
        rows = costs.get(number, [])
        busy, stalled = sum(r[1] for r in rows), sum(r[2] for r in rows)
        scale = 120 / most if most else 0.0
        title = "; ".join(
            f"{pipe}: busy {microseconds(b)}, stalled {microseconds(s)}, {n} calls"
            for pipe, b, s, n in rows
        )
        lines.append(
            SourceLine(
                number,
                text[number - 1] if 0 < number <= len(text) else "",
                busy,
                stalled,
                round(busy * scale, 1),
                round(stalled * scale, 1),
                title,
                bool(before) and number != before + 1,
            )
        )
        before = number
    return tuple(lines)

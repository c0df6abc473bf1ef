"""Times over sizes as an SVG picture; both axes are logarithmic."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.templating import render_template

WIDTH, HEIGHT = 760, 420
_LEFT, _RIGHT, _TOP, _BOTTOM = 84, 150, 46, 76
# Colours that readers with any colour vision tell apart (Okabe and Ito); shapes say it again.
_COLOURS = ("#0072b2", "#d55e00", "#009e73")
_DASHES = ("", "7 4", "2 4")


@dataclass(frozen=True)
class Axis:
    """A logarithmic axis: from ``first`` to ``last`` (exponents of ``base``) on ``start..end``."""

    base: int
    first: int
    last: int
    start: float
    end: float

    def place(self, value: float) -> float:
        """Return where a value stands in the picture."""
        part = (math.log(value, self.base) - self.first) / (self.last - self.first)
        return round(self.start + part * (self.end - self.start), 1)

    def ticks(self, most: int) -> list[tuple[float, int]]:
        """Return place and exponent of at most about ``most`` ticks."""
        step = max(1, math.ceil((self.last - self.first) / most))
        return [
            (self.place(float(self.base) ** exponent), exponent)
            for exponent in range(self.first, self.last + 1, step)
        ]


def fitted_axis(values: Sequence[float], base: int, start: float, end: float) -> Axis:
    """Return the axis of whole powers of a base that holds all values."""
    first = math.floor(math.log(min(values), base) + 1e-9)
    last = math.ceil(math.log(max(values), base) - 1e-9)
    return Axis(base, first, max(last, first + 1), start, end)


def times_svg(
    title: str, series: Mapping[str, str], rows: Sequence[Mapping[str, Any]], note: str
) -> str:
    """Return the text of the picture; the same figures give the same bytes.

    Args:
        series: key in ``rows`` and label of each line.
        rows: number of ``elements``, and seconds per call by key.
        note: what the reader must know of the times; two lines at most.
    """
    sizes = [float(row["elements"]) for row in rows]
    times = [float(row[key]) * 1e6 for row in rows for key in series]
    across = fitted_axis(sizes, 2, _LEFT, WIDTH - _RIGHT)
    up = fitted_axis(times, 10, HEIGHT - _BOTTOM, _TOP)
    lines = []
    for place, (key, label) in enumerate(series.items()):
        points = [
            (across.place(size), up.place(float(row[key]) * 1e6), row["elements"], float(row[key]))
            for size, row in zip(sizes, rows, strict=True)
        ]
        lines.append(
            {
                "label": label,
                "points": points,
                "colour": _COLOURS[place % len(_COLOURS)],
                "dash": _DASHES[place % len(_DASHES)],
                "shape": place % len(_COLOURS),
            }
        )
    return render_template(
        "bench/times.svg",
        title=_escaped(title),
        note=_note_lines(_escaped(note)),
        lines=[{**line, "label": _escaped(str(line["label"]))} for line in lines],
        labels=_apart([line["points"][-1][1] for line in lines]),  # type: ignore[index]
        columns=[(at, size_text(exponent)) for at, exponent in across.ticks(8)],
        rows=[(at, time_text(exponent)) for at, exponent in up.ticks(8)],
        width=WIDTH,
        height=HEIGHT,
        left=_LEFT,
        right=WIDTH - _RIGHT,
        top=_TOP,
        bottom=HEIGHT - _BOTTOM,
    )


def size_text(exponent: int) -> str:
    """Return a power of two as ``64Ki``."""
    unit = min(exponent // 10, 3)
    return f"{2 ** (exponent - 10 * unit)}{('', 'Ki', 'Mi', 'Gi')[unit]}"


def time_text(exponent: int) -> str:
    """Return a power of ten of microseconds as ``10 ms``."""
    if exponent < 0:
        return f"{10 ** (exponent + 3)} ns" if exponent >= -3 else f"1e{exponent + 3} ns"
    unit = min(exponent // 3, 2)
    return f"{10 ** (exponent - 3 * unit)} {('us', 'ms', 's')[unit]}"


def _escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


def _note_lines(note: str) -> list[str]:
    """Return the note in lines that fit."""
    lines = [""]
    for word in note.split():
        if lines[-1] and len(lines[-1]) + len(word) > 115:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _apart(places: Sequence[float]) -> list[float]:
    """Return where labels stand so that none covers another, each as near as can be."""
    found = list(places)
    order = sorted(range(len(found)), key=lambda i: found[i])
    for before, after in itertools.pairwise(order):
        found[after] = max(found[after], round(found[before] + 16, 1))
    return found

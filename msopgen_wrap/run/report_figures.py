"""What the HTML report draws: errors by dtype and size, and what the grid covered."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from msopgen_wrap.run.accuracy_rules import THRESHOLDS
from msopgen_wrap.run.results import CRASHED, FAILED, NOT_APPLICABLE, CaseResult, OpResult

WIDTH, HEIGHT = 720, 330
_LEFT, _RIGHT, _TOP, _BOTTOM = 62, 12, 14, 46
_LEAST = -9  # decades of the error axis; what is smaller, and exact, lies at its foot
_MOST = 1
_SHAPES = ("circle", "square", "diamond", "triangle")


@dataclass(frozen=True)
class Point:
    """A case in the picture; x and y in its coordinates."""

    x: float
    y: float
    series: int
    failed: bool
    text: str


@dataclass(frozen=True)
class Line:
    """A tick or a bound: a place on one axis and its label."""

    at: float
    text: str
    series: int = 0


@dataclass(frozen=True)
class ErrorPicture:
    """Largest relative error of each case over the elements of its largest input, both in decades.

    Attributes:
        series: names of dtypes, in the order of their colours and shapes.
        bounds: 10 T of each floating dtype.
    """

    points: list[Point]
    series: list[str]
    shapes: list[str]
    bounds: list[Line]
    columns: list[Line]
    rows: list[Line]
    width: int = WIDTH
    height: int = HEIGHT
    left: int = _LEFT
    right: int = WIDTH - _RIGHT
    top: int = _TOP
    bottom: int = HEIGHT - _BOTTOM


def error_picture(op: OpResult) -> ErrorPicture | None:
    """Return the picture of an op; None where no case was compared."""
    cases = [c for c in op.cases if c.rules and c.traits.get("elements")]
    if not cases:
        return None
    decades = max(1, math.ceil(math.log10(max(c.traits["elements"] for c in cases))))
    series = list(dict.fromkeys(c.dtype for c in cases))

    def across(elements: float) -> float:
        part = math.log10(elements) / decades
        return round(_LEFT + 8 + part * (WIDTH - _LEFT - _RIGHT - 16), 1)

    def up(error: float) -> float:
        if math.isnan(error) or error > 10.0**_MOST:
            error = 10.0**_MOST
        exponent = _LEAST if error <= 0 else max(_LEAST, math.log10(error))
        part = (exponent - _LEAST) / (_MOST - _LEAST)
        return round(HEIGHT - _BOTTOM - part * (HEIGHT - _TOP - _BOTTOM), 1)

    points = [
        Point(
            across(c.traits["elements"]),
            up(c.maximum),
            series.index(c.dtype),
            c.status == FAILED,
            f"{c.label}: max {c.maximum:.2g}, mean {c.mean:.2g}, {c.status}",
        )
        for c in cases
    ]
    bounds = [
        Line(up(THRESHOLDS[name].maximum), f"10 T {name}", number)
        for number, name in enumerate(series)
        if name in THRESHOLDS
    ]
    columns = [Line(across(10.0**d), f"1e{d}" if d else "1") for d in range(decades + 1)]
    rows = [Line(up(10.0**e), f"1e{e}") for e in range(_LEAST + 1, _MOST, 2)]
    rows.append(Line(up(0.0), "exact"))
    shapes = [_SHAPES[i % len(_SHAPES)] for i in range(len(series))]
    return ErrorPicture(points, series, shapes, bounds, columns, rows)


@dataclass(frozen=True)
class CoverageMatrix:
    """How many passed cases of each dtype had what; ``missing`` says in words what none had."""

    kinds: list[str]
    rows: list[tuple[str, list[int]]]
    missing: list[str]


def coverage_matrix(op: OpResult) -> CoverageMatrix:
    """Return what the cases that passed covered, by dtype."""
    dtypes = list(dict.fromkeys(c.dtype for c in op.cases if c.dtype))
    ranks = sorted({r for c in op.cases for r in c.traits.get("ranks", ())})
    absent = any(c.traits.get("absent") for c in op.cases)
    kinds = [*(f"rank {r}" for r in ranks), "aligned tail", "unaligned tail", "empty"]
    kinds += ["one element", "broadcast", *(["absent input"] if absent else [])]
    kinds += ["special values", "several cores", "several tiles", "both at once"]
    rows, missing = [], []
    for dtype in dtypes:
        own = [c for c in op.cases if c.dtype == dtype]
        passed = [c for c in own if c.status == "passed" and c.traits]
        counts = [sum(_has(c, kind) for c in passed) for kind in kinds]
        rows.append((dtype, counts))
        none = [kind for kind, count in zip(kinds, counts, strict=True) if not count]
        if none:
            missing.append(f"no case of {dtype} that passed had: {', '.join(none)}")
        for status in (FAILED, CRASHED, NOT_APPLICABLE):
            if number := sum(c.status == status for c in own):
                missing.append(f"{number} cases of {dtype} count for nothing here: {status}")
    return CoverageMatrix(kinds, rows, missing)


def _has(case: CaseResult, kind: str) -> bool:
    own = case.traits
    if kind.startswith("rank "):
        return int(kind.removeprefix("rank ")) in own["ranks"]
    return bool(
        {
            "aligned tail": own["aligned"] is True,
            "unaligned tail": own["aligned"] is False,
            "empty": own["empty"],
            "one element": own["one"],
            "broadcast": own["broadcast"],
            "absent input": own["absent"],
            "special values": own["values"] != "normal",
            "several cores": case.cores > 1,
            "several tiles": case.tiles > 1,
            "both at once": case.cores > 1 and case.tiles > 1,
        }[kind]
    )


def worst_case(cases: Sequence[CaseResult]) -> CaseResult | None:
    """Return the case whose worst element is shown: of the failed ones, else of all, the worst."""
    shown = [c for c in cases if c.worst]
    failed = [c for c in shown if c.status == FAILED]
    return max(failed or shown, key=_shown_error, default=None)


def _shown_error(case: CaseResult) -> float:
    assert case.worst is not None
    return float(case.worst["error"])

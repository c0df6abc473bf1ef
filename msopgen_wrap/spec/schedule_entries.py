"""The nouns of a spec's ``schedule``: what it asks of host tiling, and for which calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, fields
from typing import Any

from msopgen_wrap.diagnostics import Location

RESIDENT_ROWS, STREAMED_ROWS = "resident", "streamed"
#: Where rows that are reduced may be kept.
ROW_PLACES = (RESIDENT_ROWS, STREAMED_ROWS)

#: The size of a call that a condition means by ``elements``: those of its largest tensor.
LARGEST = "elements"


@dataclass(frozen=True)
class SizeBound:
    """An interval of a size of the call.

    Attributes:
        size: ``elements`` (of the largest input or output), ``numel`` or ``dim`` of an input.
        tensor: the input, "" for ``elements``.
        axis: of ``dim``; negative axes count from the end.
        low, high: inclusive; None: no limit.
    """

    size: str
    tensor: str = ""
    axis: int = 0
    low: int | None = None
    high: int | None = None

    def name(self) -> str:
        """Return the size as a condition writes it."""
        if self.size == LARGEST:
            return LARGEST
        return f"numel({self.tensor})" if self.size == "numel" else f"{self.tensor}[{self.axis}]"

    def text(self) -> str:
        """Return the bound as a condition writes it."""
        if self.low is not None and self.low == self.high:
            return f"{self.name()} == {self.low}"
        left = "" if self.low is None else f"{self.low} <= "
        right = "" if self.high is None else f" <= {self.high}"
        return f"{left}{self.name()}{right}"


@dataclass(frozen=True)
class DtypeTest:
    """Calls whose first required input has one of these dtypes."""

    dtypes: tuple[str, ...]

    def text(self) -> str:
        """Return the test as a condition writes it."""
        if len(self.dtypes) == 1:
            return f"dtype == {self.dtypes[0]}"
        return f"dtype in ({', '.join(self.dtypes)})"


Condition = SizeBound | DtypeTest


@dataclass(frozen=True)
class ScheduleEntry:
    """What the tiling is asked for in calls that meet a condition; None leaves it the choice.

    Attributes:
        tile: elements that a tile holds at most, a multiple of 256.
        buffers: copies of the queues that tensors pass through: 1, or 2 for double buffering.
        cores: that share the work; fewer where the chip or the work has fewer.
        elements_per_core: a core more must have at least so many elements of the largest tensor.
        rows: ``resident`` rows stay in UB where they fit, ``streamed`` ones are read per pass.
        when: conditions that all hold; empty: every call.
        location: of the entry in the spec.
    """

    tile: int | None = None
    buffers: int | None = None
    cores: int | None = None
    elements_per_core: int | None = None
    rows: str | None = None
    when: tuple[Condition, ...] = ()
    location: Location = field(default_factory=Location, compare=False, repr=False)

    def knobs(self) -> dict[str, int | str]:
        """Return what the entry asks for, by knob, in the order of the documentation."""
        return {name: value for name in KNOBS if (value := getattr(self, name)) is not None}

    def text(self) -> str:
        """Return the entry in one line."""
        asked = ", ".join(f"{name} {value}" for name, value in self.knobs().items())
        return f"{self.when_text()}: {asked}" if self.when else asked

    def when_text(self) -> str:
        """Return the conditions as a spec has them."""
        return " and ".join(condition.text() for condition in self.when)

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form: conditions as texts, and the knobs."""
        return {"when": [condition.text() for condition in self.when], **self.knobs()}


#: Name -> what it sets, for messages and documentation.
KNOBS = {
    "tile": "elements that a tile holds at most",
    "buffers": "copies of each queue, 1 or 2",
    "cores": "cores that share the work",
    "elements_per_core": "elements that a core works on at least",
    "rows": "'resident' or 'streamed'",
}
assert set(KNOBS) == {f.name for f in fields(ScheduleEntry)} - {"when", "location"}


def asked_buffers(schedule: Sequence[ScheduleEntry]) -> int | None:
    """Return the copies of queues that a schedule asks for, where it is one number for all calls.

    Kernels whose queues have a constant number of buffers take it.
    """
    return next((entry.buffers for entry in schedule if entry.buffers is not None), None)

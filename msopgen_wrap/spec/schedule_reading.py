"""Read ``schedule`` of a spec: what it asks of host tiling, in all calls or in some."""

from __future__ import annotations

import itertools
from collections.abc import Iterable

from msopgen_wrap.platforms import platforms
from msopgen_wrap.spec.findings import listed, suggestion
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.reader import Reader
from msopgen_wrap.spec.schedule_conditions import ConditionError, read_conditions
from msopgen_wrap.spec.schedule_entries import KNOBS, ROW_PLACES, Condition, ScheduleEntry
from msopgen_wrap.spec.yaml_nodes import Mapping, Node, Sequence

MAX_ENTRIES = 64
#: Every tile length is a multiple of it.
TILE_UNIT = 256
_EXAMPLE = "e.g. 'schedule: {tile: 4096, cores: 24}', or a list of such with 'when:'"
ENTRY_KEYS = ("when", *KNOBS)


def read_schedule(node: Node, spec: OpSpec, reader: Reader) -> tuple[ScheduleEntry, ...]:
    """Return the entries of a schedule; the first whose condition holds counts in a call."""
    findings = reader.findings
    if spec.kernel is not None:
        findings.error(
            "OPG080",
            "a handwritten kernel takes no schedule",
            node.location,
            why="its own tiling decides tiles and cores, which the kit does not write",
            fix="remove 'schedule', or set the numbers in the kernel's tiling",
        )
        return ()
    items = node.items if isinstance(node, Sequence) else (node,)
    if len(items) > MAX_ENTRIES:
        findings.error("OPG080", f"the schedule has more than {MAX_ENTRIES} entries", node.location)
        return ()
    entries = []
    for item in items:
        mapping = reader.mapping(item, "an entry of 'schedule'", _EXAMPLE)
        if mapping is not None:
            entries.append(_entry(mapping, spec, reader))
    for item, later in itertools.pairwise(items):
        if isinstance(item, Mapping) and item.get("when") is None:
            findings.error(
                "OPG080",
                "this entry of the schedule never counts",
                later.location,
                why="the one before it has no condition, and the first that holds counts",
                fix="put the entry without 'when' last",
            )
            break
    return tuple(entries)


def _entry(node: Mapping, spec: OpSpec, reader: Reader) -> ScheduleEntry:
    findings = reader.findings
    values: dict[str, int | str] = {}
    conditions: tuple[Condition, ...] = ()
    for key, value in node.entries:
        name = str(key.value)
        if name == "when":
            conditions = _conditions(value, spec, reader)
        elif name in KNOBS:
            read = _rows(value, reader) if name == "rows" else _number(name, value, spec, reader)
            if read is not None:
                values[name] = read
        else:
            findings.error(
                "OPG081",
                f"unknown knob '{name}' in a schedule",
                key.location,
                why=f"knobs: {listed(ENTRY_KEYS)}",
                fix=suggestion(name, ENTRY_KEYS),
            )
    if all(key.value == "when" for key, _ in node.entries):
        findings.error(
            "OPG080",
            "an entry of the schedule asks for nothing",
            node.location,
            why=f"knobs: {listed(KNOBS)}",
            fix=_EXAMPLE,
        )
    return ScheduleEntry(**values, when=conditions, location=node.location)  # type: ignore[arg-type]


def _conditions(node: Node, spec: OpSpec, reader: Reader) -> tuple[Condition, ...]:
    text = reader.text(node, "'when' of a schedule")
    if text is None:
        return ()
    try:
        return read_conditions(text, spec)
    except ConditionError as error:
        reader.findings.error("OPG083", f"when: {error}", node.location, fix=error.fix)
        return ()


def _rows(node: Node, reader: Reader) -> str | None:
    text = reader.text(node, "'rows' of a schedule")
    if text is None or text in ROW_PLACES:
        return text
    reader.findings.error(
        "OPG082",
        f"rows are '{text[:40]}'",
        node.location,
        why="they are 'resident' in UB where they fit, or 'streamed' through it",
        fix=suggestion(text, ROW_PLACES),
    )
    return None


def _number(name: str, node: Node, spec: OpSpec, reader: Reader) -> int | None:
    value = reader.integer(node, f"'{name}' of a schedule")
    if value is None:
        return None
    why = fix = ""
    if value < 1:
        why = f"it is the number of {KNOBS[name]}"
    elif name == "tile" and value % TILE_UNIT:
        why = f"tiles are multiples of {TILE_UNIT} elements"
        fix = f"e.g. tile: {max(TILE_UNIT, value // TILE_UNIT * TILE_UNIT)}"
    elif name == "buffers" and value > 2:
        why = "a queue has 1 buffer, or 2 so that copies overlap computing"
    elif name == "cores" and value > (most := most_cores(spec.soc)):
        why = f"no chip of the spec's SoCs ({listed(spec.soc)}) has more than {most}"
    if not why:
        return value
    reader.findings.error("OPG082", f"{name} is {value}", node.location, why, fix)
    return None


def most_cores(socs: Iterable[str]) -> int:
    """Return the vector cores of the largest chip of some SoCs."""
    wanted = set(socs)
    chips = [p.vector_cores for p in platforms() if p.name in wanted or p.family in wanted]
    return max(chips, default=2**31)

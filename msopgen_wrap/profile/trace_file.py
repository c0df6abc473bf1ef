"""A profile in the Trace Event Format, for Perfetto and chrome://tracing.

A process is a core, a thread a pipe of it; arrows (flow events) lead from what set a flag to what
waited for it. Slices of a thread must nest, so instructions that overlap on a pipe, such as copies
in flight, get further threads of it.
"""

from __future__ import annotations

import heapq
import json
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

import numpy as np

from msopgen_wrap.profile.event_table import (
    INSTRUCTION,
    KINDS,
    NONE,
    PIPE_NAMES,
    STALL,
    Events,
    pipe_name,
)
from msopgen_wrap.profile.launch_profile import LaunchProfile, pipe_order
from msopgen_wrap.profile.written_files import written_file

# Times are written as microseconds with this many units each: a tenth of a nanosecond, less than a
# cycle of any core.
_UNITS = 10_000
# Threads that a pipe may have: more than instructions of it can be in flight.
_MOST_LANES = 4096
# Lines that are joined before they are written.
_CHUNK = 65_536
# The thread of a core for arrows and slices of the launch itself.
_LAUNCHES = 1_000_000

Ints = np.ndarray[Any, np.dtype[np.int64]]


def write_trace(
    path: Path, launches: Sequence[tuple[LaunchProfile, Events]], option: str = "--trace"
) -> None:
    """Write the launches one after another on one time axis.

    Raises:
        OpgenError: OPG592, the file cannot be written; there is no new file then.
    """
    with written_file(path, option) as stream:
        first = launches[0][0]
        about = {"times": "modelled, not measured", "soc": first.soc, "l2": first.l2}
        if first.not_validated:
            about["not validated"] = ", ".join(first.not_validated)
        stream.write(f'{{"displayTimeUnit":"ns","otherData":{json.dumps(about)},"traceEvents":[\n')
        _write_names(stream, launches)
        offset = flows = 0
        for profile, events in launches:
            flows += _write_launch(stream, profile, events, offset, flows)
            offset += max(1, round(profile.time_us * _UNITS))
        stream.write("\n]}\n")


def _write_names(stream: IO[str], launches: Sequence[tuple[LaunchProfile, Events]]) -> None:
    """Write the names of processes, and the slices of the launches."""
    rows = [_meta("process_name", _LAUNCHES, 0, "modelled launches")]
    rows.append(_meta("process_sort_index", _LAUNCHES, 0, -1, "sort_index"))
    kinds = {c.number: c.kind for profile, _ in launches for c in profile.cores}
    for number in sorted(kinds):
        rows.append(_meta("process_name", number, 0, f"core {number} ({kinds[number]})"))
        rows.append(_meta("process_sort_index", number, 0, number, "sort_index"))
    offset = 0
    for profile, _ in launches:
        length = max(1, round(profile.time_us * _UNITS))
        row = {
            "ph": "X",
            "pid": _LAUNCHES,
            "tid": 0,
            "name": f"{profile.kernel} (modelled)",
            "cat": "launch",
            "ts": offset / _UNITS,
            "dur": length / _UNITS,
            "args": {
                "modelled us": profile.time_us,
                "low": profile.time_low_us,
                "high": profile.time_high_us,
            },
        }
        rows.append(json.dumps(row, separators=(",", ":")))
        offset += length
    stream.write(",\n".join(rows))


def _meta(kind: str, pid: int, tid: int, value: Any, key: str = "name") -> str:
    row = {"ph": "M", "pid": pid, "tid": tid, "name": kind, "args": {key: value}}
    return json.dumps(row, separators=(",", ":"))


def _write_launch(
    stream: IO[str], profile: LaunchProfile, events: Events, offset: int, first_flow: int
) -> int:
    """Write the events of a launch; return how many arrows there are."""
    if not len(events):
        return 0
    start = np.rint(events["start_ns"] * (_UNITS / 1000)).astype(np.int64) + offset
    end = np.rint(events["end_ns"] * (_UNITS / 1000)).astype(np.int64) + offset
    end = np.maximum(end, start)
    pipes = events["pipe"].astype(np.int64)
    tracks = events["core"].astype(np.int64) * 256 + pipes
    order = track_order(events, start, end, tracks)
    lanes = lanes_of(events, start, end, tracks, order)
    tids = pipes * _MOST_LANES + lanes
    _write_threads(stream, events["core"].astype(np.int64), pipes, lanes)
    heads, head_of = _heads(profile, events, tids)
    # As `ts` is written: whole microseconds, and the rest by its text.
    fractions = [f".{rest:04d}" for rest in range(_UNITS)]
    lengths, length_of = np.unique(end - start, return_inverse=True)
    tails = [
        f',"ph":"X","dur":{length / _UNITS:.4f}}}' if length else ',"ph":"i","s":"t"}'
        for length in lengths.tolist()
    ]
    for at in range(0, len(order), _CHUNK):
        part = order[at : at + _CHUNK]
        whole, rest = np.divmod(start[part], _UNITS)
        rows = [
            f'{heads[head]}{size}}},"ts":{us}{fractions[tenths]}{tails[tail]}'
            for head, size, us, tenths, tail in zip(
                head_of[part].tolist(),
                events["bytes"][part].tolist(),
                whole.tolist(),
                rest.tolist(),
                length_of[part].tolist(),
                strict=True,
            )
        ]
        stream.write(",\n" + ",\n".join(rows))
    return _write_flows(stream, events, start, end, (tracks, tids), order, first_flow, fractions)


def track_order(events: Events, start: Ints, end: Ints, tracks: Ints) -> Ints:
    """Return the order of events by track and time.

    What has no length comes before the slice that begins then, a stall before the wait that it is.
    """
    kinds = events["kind"].astype(np.int64)
    return np.lexsort((np.where(kinds == STALL, -1, kinds), -end, end > start, start, tracks))


def lanes_of(events: Events, start: Ints, end: Ints, tracks: Ints, order: Ints) -> Ints:
    """Return for each event the thread of its pipe, 0 for all where nothing overlaps.

    A wait within another one nests in it: the stall that waiting for a flag came to.
    """
    lanes = np.zeros(len(order), np.int64)
    order = order[end[order] > start[order]]
    sorted_tracks, sorted_start, sorted_end = tracks[order], start[order], end[order]
    waits = events["kind"][order] != INSTRUCTION
    same = sorted_tracks[1:] == sorted_tracks[:-1]
    overlapping = same & (sorted_start[1:] < sorted_end[:-1])
    for track in np.unique(sorted_tracks[1:][overlapping]).tolist():
        first, last = (int(i) for i in np.searchsorted(sorted_tracks, [track, track + 1]))
        columns = (order, sorted_start, sorted_end, waits)
        _set_lanes(lanes, *(c[first:last].tolist() for c in columns))
    return lanes


def _set_lanes(
    lanes: Ints, places: list[int], start: list[int], end: list[int], waits: list[bool]
) -> None:
    """Set the lanes of the events of one pipe, which are in the order of their start."""
    free: list[int] = []
    busy: list[tuple[int, int]] = []
    used = 0
    outer_end = inner_end = outer_lane = -1  # of the wait that others may nest in
    for place, begins, ends, waiting in zip(places, start, end, waits, strict=True):
        apart = begins >= inner_end or ends <= inner_end
        if waiting and ends <= outer_end and apart:
            lanes[place] = outer_lane
            inner_end = max(inner_end, ends)
            continue
        while busy and busy[0][0] <= begins:
            heapq.heappush(free, heapq.heappop(busy)[1])
        if free:
            lane = heapq.heappop(free)
        else:
            lane, used = used, used + 1
        lanes[place] = lane
        heapq.heappush(busy, (ends, lane))
        if waiting:
            outer_end, inner_end, outer_lane = ends, -1, lane


def _write_threads(stream: IO[str], cores: Ints, pipes: Ints, lanes: Ints) -> None:
    keys = (cores * len(PIPE_NAMES) + pipes) * _MOST_LANES + lanes
    for key in np.unique(keys).tolist():
        rest, lane = divmod(key, _MOST_LANES)
        core, pipe = divmod(rest, len(PIPE_NAMES))
        name = pipe_name(pipe) + (f" ({lane + 1})" if lane else "")
        place = pipe_order(pipe_name(pipe))[0] * _MOST_LANES + lane
        tid = pipe * _MOST_LANES + lane
        stream.write(",\n" + _meta("thread_name", core, tid, name))
        stream.write(",\n" + _meta("thread_sort_index", core, tid, place, "sort_index"))


def _heads(profile: LaunchProfile, events: Events, tids: Ints) -> tuple[list[str], Ints]:
    """Return the beginnings of rows, each once, and which of them each event has.

    There are few: the same lines run again and again.
    """
    names = ("core", "kind", "api", "file", "line", "operands")
    key, radix = np.zeros(len(tids), np.int64), 1
    for column in (tids, *(events[name].astype(np.int64) for name in names)):
        size = int(column.max()) + 1
        if radix * size >= 2**62:  # ranks keep the key within 64 bits
            values, key = np.unique(key, return_inverse=True)
            radix = len(values)
        key, radix = key * size + column, radix * size
    _, firsts, head_of = np.unique(key, return_index=True, return_inverse=True)
    heads = []
    for index in firsts.tolist():
        event = events[index]
        where = f"{_at(profile.files, int(event['file']))}:{int(event['line'])}"
        arguments: dict[str, Any] = {"source": where}
        if operands := _at(profile.operands, int(event["operands"])):
            arguments["operands"] = operands
        row = {
            "pid": int(event["core"]),
            "tid": int(tids[index]),
            "name": event_name(profile, int(event["kind"]), int(event["api"])),
            "cat": KINDS[min(int(event["kind"]), len(KINDS) - 1)],
            "args": {**arguments, "bytes": 0},
        }
        heads.append(json.dumps(row, separators=(",", ":")).removesuffix("0}}"))
    return heads, head_of


def event_name(profile: LaunchProfile, kind: int, api: int) -> str:
    """Return how an event is called in pictures."""
    name = _at(profile.apis, api)
    if kind == INSTRUCTION:
        return name
    word = KINDS[min(kind, len(KINDS) - 1)]
    if kind == STALL:
        return f"stalled before {name}" if name else "stalled"
    return word


def _at(names: Sequence[str], index: int) -> str:
    return names[index] if 0 <= index < len(names) else ""


def _write_flows(
    stream: IO[str],
    events: Events,
    start: Ints,
    end: Ints,
    places: tuple[Ints, Ints],
    order: Ints,
    first_flow: int,
    fractions: Sequence[str],
) -> int:
    """Write an arrow for each event that waited for another one; return how many.

    Both ends of an arrow must lie in a slice. An event without a length is no slice: the arrow
    leaves the last one before it on its pipe, or reaches the next one after it.

    Args:
        places: pipe of a core, and thread, of each event.
    """
    source = events["from"].astype(np.int64)
    waiting = np.flatnonzero((source != NONE) & (source < len(events)))
    if not len(waiting):
        return 0
    tracks, tids = places
    before, after = _neighbours(start, end, tracks, order)
    setter, waiter = before[source[waiting]], after[waiting]
    found = (setter >= 0) & (waiter >= 0)
    setter, waiter, waiting = setter[found], waiter[found], waiting[found]
    # A stall ends when the flag comes; everything else begins then.
    stalled = (waiter == waiting) & (events["kind"][waiting] != INSTRUCTION)
    arrives = np.where(stalled, end[waiter] - 1, start[waiter])
    leaves = np.minimum(end[setter] - 1, arrives)
    fits = leaves >= start[setter]
    setter, waiter, leaves, arrives = (a[fits] for a in (setter, waiter, leaves, arrives))
    columns = [
        *(events["core"][setter], tids[setter], *np.divmod(leaves, _UNITS)),
        *(events["core"][waiter], tids[waiter], *np.divmod(arrives, _UNITS)),
    ]
    for at in range(0, len(setter), _CHUNK):
        rows = [
            f'{{"ph":"s","pid":{pid},"tid":{tid},"name":"flag","cat":"flag","id":{number},'
            f'"ts":{us}{fractions[rest]}}},\n'
            f'{{"ph":"f","bp":"e","pid":{to_pid},"tid":{to_tid},"name":"flag","cat":"flag",'
            f'"id":{number},"ts":{to_us}{fractions[to_rest]}}}'
            for number, (pid, tid, us, rest, to_pid, to_tid, to_us, to_rest) in enumerate(
                zip(*(c[at : at + _CHUNK].tolist() for c in columns), strict=True),
                first_flow + at + 1,
            )
        ]
        stream.write(",\n" + ",\n".join(rows))
    return len(setter)


def _neighbours(start: Ints, end: Ints, tracks: Ints, order: Ints) -> tuple[Ints, Ints]:
    """Return for each event the slice that it is, or the nearest before and after it, -1 for none.

    Args:
        tracks: pipe of a core of each event.
        order: of the events, by track and start.
    """
    slices = end[order] > start[order]
    places, count = np.arange(len(order)), len(order)
    last = np.maximum.accumulate(np.where(slices, places, -1))
    following = np.minimum.accumulate(np.where(slices, places, count)[::-1])[::-1]
    own = tracks[order]
    before, after = np.empty(count, np.int64), np.empty(count, np.int64)
    for found, missing, target in ((last, -1, before), (following, count, after)):
        near = np.clip(found, 0, count - 1)
        target[order] = np.where((found != missing) & (own[near] == own), order[near], -1)
    return before, after

"""The trace of a profile against the Trace Event Format, event by event."""

from __future__ import annotations

import json
import os
import time
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from views_samples import many_events, profile_json, sample_events

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.profile.event_table import EVENT, NONE, Events
from msopgen_wrap.profile.launch_profile import launch_profile
from msopgen_wrap.profile.trace_file import write_trace

# What the format asks of each phase: the keys beside ph, pid, tid and name.
KEYS = {"X": {"ts", "dur", "cat", "args"}, "i": {"ts", "s", "cat", "args"}, "M": {"args"},
        "s": {"ts", "id", "cat"}, "f": {"ts", "id", "cat", "bp"}}  # fmt: skip
META = {"process_name": "name", "thread_name": "name", "process_sort_index": "sort_index",
        "thread_sort_index": "sort_index"}  # fmt: skip


def trace(tmp_path: Path, *events: Events, **changes: Any) -> dict[str, Any]:
    """Write the trace of one launch per table of events; return it with exact decimal times."""
    path = tmp_path / "trace.json"
    write_trace(path, [(launch_profile(profile_json(**changes)), e) for e in events])
    data: dict[str, Any] = json.loads(path.read_text(), parse_float=Decimal)
    return data


def problems(data: dict[str, Any]) -> list[str]:
    """Return what an event breaks of the format: phases, keys, nesting, order, ends of arrows."""
    found = []
    slices: dict[tuple[int, int], list[tuple[Decimal, Decimal]]] = {}
    named, flows = set(), {}
    for event in data["traceEvents"]:
        phase = event.get("ph")
        keys = {"ph", "pid", "tid", "name"} | KEYS.get(phase, set())
        if phase not in KEYS or set(event) != keys:
            found.append(f"keys of {event}")
            continue
        if not isinstance(event["name"], str) or not event["name"]:
            found.append(f"no name: {event}")
        if not isinstance(event["pid"], int) or not isinstance(event["tid"], int):
            found.append(f"ids of {event}")
        thread = (event["pid"], event["tid"])
        if phase == "M":
            if META.get(event["name"]) not in event["args"]:
                found.append(f"metadata {event}")
            named.add((event["name"], *thread))
            continue
        if event["ts"] < 0 or event.get("dur", 0) < 0:
            found.append(f"negative time: {event}")
        if phase == "X":
            slices.setdefault(thread, []).append((event["ts"], event["ts"] + event["dur"]))
        if phase == "i" and event["s"] not in ("t", "p", "g"):
            found.append(f"scope of {event}")
        if phase in "sf":
            flows.setdefault((event["cat"], event["name"], event["id"]), []).append(event)
    for thread, rows in slices.items():
        open_ends: list[Decimal] = []
        before = Decimal(-1)
        for begin, end in rows:
            if begin < before:
                found.append(f"{thread}: times fall at {begin}")
            while open_ends and open_ends[-1] <= begin:
                open_ends.pop()
            if open_ends and end > open_ends[-1]:
                found.append(f"{thread}: slices overlap at {begin}")
            open_ends.append(end)
            before = begin
        if thread[1] and ("thread_name", *thread) not in named:
            found.append(f"{thread} has no name")
        if ("process_name", thread[0], 0) not in named:
            found.append(f"process {thread[0]} has no name")
    for key, ends in flows.items():
        if [e["ph"] for e in ends] != ["s", "f"]:
            found.append(f"arrow {key} has {len(ends)} ends")
            continue
        if ends[0]["ts"] > ends[1]["ts"]:
            found.append(f"arrow {key} goes back in time")
        for end in ends:
            rows = slices.get((end["pid"], end["tid"]), [])
            if not any(begin <= end["ts"] < last for begin, last in rows):
                found.append(f"arrow {key} ends in no slice")
    return found


def test_every_event_has_the_form_of_the_format(tmp_path: Path) -> None:
    data = trace(tmp_path, sample_events())
    assert problems(data) == []
    events = data["traceEvents"]
    adds = [e for e in events if e["name"] == "Add"]
    assert [(e["pid"], e["cat"], e["ts"], e["dur"]) for e in adds] == [
        (0, "instruction", Decimal("5.4"), Decimal("0.3005")),
        (1, "instruction", Decimal("5.6"), Decimal("0.3005")),
    ]
    operands = "dst: half UB+0x0, 64 B"
    assert adds[0]["args"] == {"source": "add.asc:12", "operands": operands, "bytes": 8192}
    copies = [e["args"] for e in events if e["name"] == "DataCopy" and e["ph"] == "X"]
    assert copies[0] == {"source": "add.asc:10", "bytes": 4096}
    names = {e["args"]["name"] for e in events if e["name"] == "thread_name"}
    assert names == {"V", "MTE2", "MTE2 (2)", "MTE3"}  # the second copy begins within the first
    arrows = [(e["ph"], e["pid"], e["ts"]) for e in events if e["ph"] in "sf" and e["pid"] == 0]
    # MTE2 to V, which stalled for it; then V to MTE3, whose wait has no length.
    assert arrows == [
        ("s", 0, Decimal("5.3999")),
        ("f", 0, Decimal("5.3999")),
        ("s", 0, Decimal("5.7004")),
        ("f", 0, Decimal("5.7005")),
    ]
    assert data["otherData"]["times"] == "modelled, not measured"


def test_launches_follow_each_other(tmp_path: Path) -> None:
    data = trace(tmp_path, sample_events(), sample_events(), time_us=20.0)
    assert problems(data) == []
    launches = [e for e in data["traceEvents"] if e.get("cat") == "launch"]
    assert [(e["ts"], e["dur"]) for e in launches] == [(0, 20), (20, 20)]
    assert len({e["id"] for e in data["traceEvents"] if e["ph"] == "s"}) == 8


@pytest.mark.parametrize("name", ['a"b\\c', "<script>", "tab\there", "\u00fc"])
def test_names_of_any_kind_stay_json(tmp_path: Path, name: str) -> None:
    data = trace(tmp_path, sample_events(), apis=["DataCopy", name, "", "SetFlag"], kernel=name)
    assert problems(data) == []
    assert {e["name"] for e in data["traceEvents"]} >= {name, f"stalled before {name}"}


def test_a_launch_without_events_is_a_slice(tmp_path: Path) -> None:
    data = trace(tmp_path, np.empty(0, EVENT))
    assert problems(data) == []
    assert [e["name"] for e in data["traceEvents"] if e["ph"] == "X"] == ["add_custom (modelled)"]


def test_a_stall_nests_in_the_wait_that_it_is(tmp_path: Path) -> None:
    row = (4096, 0, 10, 0, NONE)
    events = [
        (0.0, 100.0, *row, 0, 4, 3, 0),  # waits for a flag, and stalls from 20 on
        (20.0, 100.0, *row, 0, 4, 1, 0),
        (100.0, 180.0, *row, 0, 4, 0, 0),
        (
            120.0,
            200.0,
            *row,
            0,
            4,
            0,
            0,
        ),  # a copy that overlaps one has a thread of its own
        (150.0, 210.0, *row, 0, 4, 3, 0),
        (160.0, 190.0, *row, 0, 4, 1, 0),
        (180.0, 205.0, *row, 0, 4, 1, 0),  # overlaps the stall before it
    ]
    data = trace(tmp_path, np.array(events, EVENT))
    assert problems(data) == []
    threads = {(e["ts"], e["tid"] % 4096) for e in data["traceEvents"] if e["ph"] == "X"}
    lanes = [0, 0, 0, 1, 2, 2, 0]
    assert threads >= {
        (Decimal(str(e[0] / 1000)), n) for e, n in zip(events, lanes, strict=True) if e[0]
    }


def test_an_arrow_from_nowhere_is_left_out(tmp_path: Path) -> None:
    events = sample_events()
    events["from"][:] = NONE
    events["from"][3] = 4_000_000  # an event that was not kept
    data = trace(tmp_path, events)
    assert problems(data) == []
    assert not [e for e in data["traceEvents"] if e["ph"] in "sf"]


def test_the_checker_finds_what_is_wrong(tmp_path: Path) -> None:
    data = trace(tmp_path, sample_events())
    slices = [e for e in data["traceEvents"] if e["ph"] == "X" and e["pid"] == 0]
    slices[-1]["dur"] = Decimal(-1)
    slices[0]["dur"] += Decimal("0.1")
    data["traceEvents"] += [{"ph": "Q"}, {"ph": "s", "pid": 0, "tid": 0, "name": "flag", "ts": 1,
                                          "cat": "flag", "id": 99}]  # fmt: skip
    text = "\n".join(problems(data))
    for part in ("negative time", "slices overlap", "keys of", "has 1 ends"):
        assert part in text


def test_many_events_are_written_quickly(tmp_path: Path) -> None:
    events = many_events(50_000)
    before = time.process_time()
    write_trace(tmp_path / "t.json", [(launch_profile(profile_json()), events)])
    # The goal of issue 19 is 5 s for 1M events; here in time of this process, start included.
    assert time.process_time() - before < 0.5


@pytest.mark.slow
def test_a_million_events_keep_the_format(tmp_path: Path) -> None:
    before = time.process_time()
    write_trace(tmp_path / "t.json", [(launch_profile(profile_json()), many_events(1_000_000))])
    assert time.process_time() - before < 5
    data = json.loads((tmp_path / "t.json").read_text(), parse_float=Decimal)
    events = data["traceEvents"]
    assert sum(e["ph"] in "Xi" for e in events) == 1_000_001
    # Ends of arrows are looked for in all slices of a thread: one core is enough.
    data["traceEvents"] = [e for e in events if e["pid"] in (0, 1_000_000)][:20_000]
    assert [p for p in problems(data) if "ends" not in p] == []


@pytest.mark.parametrize("place", ["", "missing/t.json", "file/t.json"])
def test_a_file_that_cannot_be_written(tmp_path: Path, place: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(OpgenError) as caught:
        write_trace(tmp_path / place, [(launch_profile(profile_json()), sample_events())])
    assert [d.code for d in caught.value.diagnostics] == ["OPG592"]
    assert os.listdir(tmp_path) == ["file"]


def test_nothing_half_written_stays(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "trace.json"
    path.write_text("before")

    def fail(*_: Any) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("msopgen_wrap.profile.trace_file._write_launch", fail)
    with pytest.raises(OpgenError) as caught:
        write_trace(path, [(launch_profile(profile_json()), sample_events())])
    assert [d.code for d in caught.value.diagnostics] == ["OPG094"]
    assert os.listdir(tmp_path) == ["trace.json"] and path.read_text() == "before"

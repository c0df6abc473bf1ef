"""Modelled timelines of small kernels, against what they must be."""

from __future__ import annotations

import json
import time

import pytest
from emulation.launcher import LaunchError
from profiled import CYCLE, TILE, events, last, options, pipe, profiled, timeline

from msopgen_wrap.profile.event_table import NONE

SERIAL, SINGLE, DOUBLE = range(3)
COPIES_AND_V = {1: "V", 4: "MTE2", 5: "MTE3"}


@pytest.fixture(autouse=True)
def defaults():
    options()
    yield
    options()


def overlap(kind: int = 0) -> float:
    """Return the ns in which two of the pipes of core 0 work at the same time."""
    spans = [(e.start_ns, e.end_ns, e.pipe) for e in events() if e.kind == kind and e.core == 0]
    spans = [span for span in spans if span[2] in COPIES_AND_V]
    return sum(
        max(0.0, min(a[1], b[1]) - max(a[0], b[0]))
        for i, a in enumerate(spans)
        for b in spans[:i]
        if a[2] != b[2]
    )


# ---- overlap -------------------------------------------------------------------------------------


def test_barriers_make_it_serial():
    profile = profiled("pipeline", SERIAL, 8, 0, tiles=8)
    assert overlap() == 0
    busy = sum(pipe(profile, name)["busy_us"] for name in ("V", "MTE2", "MTE3"))
    core = profile["cores"][0]
    assert busy == pytest.approx(core["end_us"] - core["start_us"], rel=0.1)


def test_double_buffering_overlaps():
    times = {form: profiled("pipeline", form, 16, 0, tiles=16)["kernel_us"] for form in range(3)}
    assert overlap() > 0
    assert times[DOUBLE] < 0.75 * times[SINGLE] < 0.9 * times[SERIAL]
    profile = last()
    slowest = max(pipe(profile, name)["busy_us"] for name in ("V", "MTE2", "MTE3"))
    assert times[DOUBLE] < 1.35 * slowest


def test_what_a_single_buffer_waits_for():
    profile = profiled("pipeline", SINGLE, 16, 0, tiles=16)
    waits = {w["for"]: w["us"] for w in pipe(profile, "MTE2")["waits"]}
    assert waits["queue VECIN: freed by V"] > 0.25 * profile["kernel_us"]
    assert pipe(profile, "V")["waits"][0]["for"] == "queue VECIN: filled by MTE2"
    gained = {a["what"]: a["saved_us"] for a in profile["ablation"]}
    assert gained["single_buffer"] > 0.2 * profile["kernel_us"]


def test_the_line_that_costs_most():
    profile = profiled("pipeline", SERIAL, 8, 0, tiles=8)
    files = profile["files"]
    assert all(files[line["file"]].endswith("timeline.cpp") for line in profile["lines"])
    working = [line for line in profile["lines"] if line["pipe"] == "V"]
    assert working[0]["instructions"] == 8 * 6
    assert working[0]["bytes"] == 8 * 6 * TILE * 4


# ---- banks ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "cycles"),
    [(0, 0x8000, 2), (0, 0x8100, 1), (0, 0x8080, 2), (0, 0, 1)],
    ids=["same groups", "other groups", "some of them", "same data"],
)
def test_bank_conflicts(first, second, cycles):
    """An Add of floats: 24 cycles to start, a step of 256 bytes in 1 cycle, 2 where reads meet."""
    profile = profiled("banks", first, second, 0x18000, TILE, 1, 0)
    steps = TILE * 4 / 256
    assert pipe(profile, "V")["busy_us"] == pytest.approx((24 + cycles * steps) * CYCLE, rel=1e-3)


def test_only_a_stream_that_ran_dry_starts_anew():
    steps = TILE * 4 / 256
    stream = profiled("banks", 0, 0x8100, 0x18000, TILE, 50, 0)
    assert pipe(stream, "V")["busy_us"] == pytest.approx((24 + 50 * steps) * CYCLE, rel=1e-3)
    barriers = profiled("banks", 0, 0x8100, 0x18000, TILE, 50, 1)
    assert pipe(barriers, "V")["busy_us"] == pytest.approx(50 * (24 + steps) * CYCLE, rel=1e-3)


# ---- cores ---------------------------------------------------------------------------------------


def test_balance_of_cores():
    profile = profiled("pipeline", DOUBLE, 4, 12, blocks=4, tiles=16)
    took = [core["end_us"] - core["start_us"] for core in profile["cores"]]
    assert took[0] > 2.5 * took[1] and took[1] == pytest.approx(took[3], rel=0.1)
    starts = [core["start_us"] for core in profile["cores"]]
    assert starts == sorted(starts) and starts[0] < starts[-1]


def test_sync_all_waits_for_the_last_core():
    profile = profiled("meeting", blocks=8)
    worked = pipe(profile, "V")["busy_us"]
    for core in range(1, 8):
        wait = pipe(profile, "S", core)["waits"][0]
        assert wait["for"] == "SyncAll"
        assert wait["us"] > worked * 0.9
    assert "sync_all" in profile["not_validated"] and not profile["validated"]


# ---- memory --------------------------------------------------------------------------------------


def test_l2_serves_what_was_read_before():
    cold = profiled("again", 64, 2, 0, 1, tiles=64)
    buffer = cold["memory"]["buffers"][0]
    assert buffer["read"] == 2 * 64 * TILE * 2
    assert buffer["distinct_read"] == 64 * TILE * 2
    assert cold["memory"]["l2_hit"] == 64 * TILE * 2
    options(l2=2)
    warm = last()
    assert warm["l2"] == "warm"
    assert warm["memory"]["l2_hit"] == 2 * 64 * TILE * 2
    assert warm["kernel_us"] < 0.7 * cold["kernel_us"]
    options()
    assert profiled("again", 64, 2, 1, 1, tiles=64)["memory"]["l2_hit"] == 0


def test_short_runs_cost_more():
    long, short = (profiled("again", 64, 1, 0, rows, tiles=64)["kernel_us"] for rows in (1, 256))
    assert short > 1.2 * long


def test_cores_share_the_memory():
    alone, many = (
        profiled("pipeline", DOUBLE, 32, 0, blocks=n, tiles=32)["memory"]["gm_read"]
        for n in (1, 48)
    )
    assert many == 48 * alone
    waits = [w for w in pipe(last(), "MTE2", 20)["waits"] if w["for"] == "gm bandwidth"]
    assert waits and waits[0]["us"] > 0


# ---- the whole -----------------------------------------------------------------------------------


def test_events_and_json_agree():
    profile = profiled("pipeline", DOUBLE, 8, 0, blocks=2, tiles=8)
    found = events()
    assert [(e.core, e.end_ns) for e in found] == sorted((e.core, e.end_ns) for e in found)
    for core in range(2):
        busy = sum(e.end_ns - e.start_ns for e in found if (e.core, e.pipe, e.kind) == (core, 1, 0))
        assert busy / 1000 == pytest.approx(pipe(profile, "V", core)["busy_us"], abs=1e-3)
    waiting = [e for e in found if e.kind == 3 and e.pipe == 1 and e["from"] != NONE]
    assert waiting
    for event in waiting:
        cause = found[event["from"]]
        assert cause.kind == 2 and cause.core == event.core and cause.end_ns <= event.end_ns
    lines = sum(line["busy_us"] for line in profile["lines"] if line["pipe"] == "V")
    assert lines == pytest.approx(sum(pipe(profile, "V", c)["busy_us"] for c in range(2)), abs=1e-3)


def test_range_and_limits():
    profile = profiled("pipeline", DOUBLE, 8, 0, blocks=8, tiles=8)
    assert profile["time_low_us"] < profile["time_us"] < profile["time_high_us"]
    assert profile["time_us"] == pytest.approx(profile["launch_us"] + profile["kernel_us"])
    assert all(limit <= profile["time_us"] for limit in profile["limits"].values())
    assert profile["validated"] and profile["not_validated"] == []


def test_a_kernel_that_hangs_is_profiled_up_to_there():
    with pytest.raises(LaunchError, match="nothing has set"):
        profiled("hang")
    profile = last()
    assert not profile["complete"]
    assert pipe(profile, "V")["instructions"] == 10


def test_a_launch_that_is_too_large_says_how_large():
    options(max_records=50)
    error = profiled("pipeline", SERIAL, 8, 0, tiles=8)["error"]
    assert error["code"] == "OPG591"
    # 8 tiles of two copies, six sums and three barriers, and the end of the kernel.
    assert "88 records" in error["what"] or "89 records" in error["what"]
    assert not len(events())


def test_profiles_of_a_process(tmp_path, monkeypatch):
    file = tmp_path / "profiles.jsonl"
    monkeypatch.setenv("OPGEN_PROFILE", str(file))
    for _ in range(2):
        profiled("banks", 0, 0x8100, 0x18000, TILE, 1, 0)
    found = [json.loads(line) for line in file.read_text().splitlines()]
    assert [p["kernel"] for p in found] == ["banks", "banks"]
    assert found[0]["time_us"] == found[1]["time_us"]


def test_a_record_is_replayed_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setenv("OPGEN_PROFILE_RECORDS", str(tmp_path))
    before = profiled("pipeline", DOUBLE, 8, 0, blocks=2, tiles=8)
    profiled("banks", 0, 0, 0x18000, TILE, 1, 0)
    record = min(tmp_path.glob("*.record"), key=lambda p: int(p.stem))
    assert timeline().emulation.opgen_profile_load(str(record).encode()) == 0
    assert last() == before
    assert timeline().emulation.opgen_profile_load(str(tmp_path / "none").encode()) == 1


@pytest.mark.slow
def test_replay_of_many_records_takes_seconds():
    """2.4 million records in 3 seconds on a machine by itself; here with room for neighbours."""
    options(ablation=2, max_events=1)
    profiled("banks", 0, 0x8100, 0x18000, 64, 25_000, 1, blocks=48, mode="profile")
    options(ablation=2, max_events=2)
    started = time.process_time()
    profile = last()
    assert profile["records"] >= 2_400_000
    assert time.process_time() - started < 3

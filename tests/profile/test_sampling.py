"""Launches without arithmetic, and samples of large launches against the whole of them."""

from __future__ import annotations

import struct
from typing import Any

import numpy as np
import pytest
from emulation.launcher import LaunchError
from profiled import SOC, TILE, aligned, events, last, options, pipe, profiled, timeline

SERIAL, SINGLE, DOUBLE = range(3)
TILES = 6000


@pytest.fixture(autouse=True)
def defaults():
    options()
    yield
    options()


@pytest.fixture
def skipped(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_PROFILE_ARITHMETIC", "skip")


# ---- without arithmetic --------------------------------------------------------------------------


def test_without_arithmetic_the_time_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    full = profiled("pipeline", DOUBLE, 8, 0, blocks=2, tiles=8)
    monkeypatch.setenv("OPGEN_PROFILE_ARITHMETIC", "skip")
    light = profiled("pipeline", DOUBLE, 8, 0, blocks=2, tiles=8)
    assert (full["arithmetic"], light["arithmetic"]) == (True, False)
    assert full | {"arithmetic": False} == light


def test_without_arithmetic_nothing_is_written(skipped: None) -> None:
    x, y = aligned(TILE), aligned(TILE)
    x[:] = 1
    y[:] = 7
    tiling = struct.pack("3I", DOUBLE, 1, 0)
    timeline().launch("pipeline", [x, y], tiling=tiling, mode="profile", soc=SOC)
    assert np.all(y == 7)
    timeline().launch("pipeline", [x, y], tiling=tiling, mode="fast", soc=SOC)
    assert np.all(y == 2)


def test_a_kernel_that_asks_for_values_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    assert pipe(profiled("values"), "V")["instructions"] == 2
    monkeypatch.setenv("OPGEN_PROFILE_ARITHMETIC", "skip")
    with pytest.raises(LaunchError, match="may depend on values"):
        profiled("values")
    error = last()["error"]
    assert error["code"] == "OPG589"
    assert "GetValue" in error["why"] and "timeline.cpp:" in error["why"]


# ---- samples -------------------------------------------------------------------------------------


def whole_and_sample(*words: Any, **given: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the profile of a launch, and the one of a sample with 40% of its records."""
    options(ablation=2)
    whole = profiled(*words, **given)
    options(ablation=2, max_records=whole["records"] * 2 // 5)
    return whole, profiled(*words, **given)


@pytest.mark.parametrize(
    ("form", "extra", "blocks"),
    [
        (SERIAL, 0, 2),
        (SINGLE, 0, 2),
        (DOUBLE, 0, 2),
        (DOUBLE, TILES, 2),
        pytest.param(DOUBLE, 0, 24, marks=pytest.mark.slow),
    ],
    ids=["serial", "single buffer", "double buffer", "uneven blocks", "bound by memory"],
)
def test_a_sample_is_close_to_the_whole(skipped: None, form: int, extra: int, blocks: int) -> None:
    """Within 3%, and within the error that it states where that is more."""
    whole, sample = whole_and_sample(
        "pipeline", form, TILES, extra, blocks=blocks, tiles=TILES + extra
    )
    assert whole["sampled"] is None
    about = sample["sampled"]
    assert about["of"] == whole["records"] and about["kept"] <= about["of"] * 0.4
    assert about["windows"] >= 2 * blocks
    off = abs(sample["kernel_us"] / whole["kernel_us"] - 1)
    assert off < max(0.03, about["error"])
    assert about["error"] == pytest.approx(about["error_us"] / sample["time_us"], rel=1e-3)
    for name in ("V", "MTE2", "MTE3"):
        for core in (0, blocks - 1):
            one, other = pipe(whole, name, core), pipe(sample, name, core)
            assert other["busy_us"] == pytest.approx(one["busy_us"], rel=0.05)
            assert other["instructions"] == pytest.approx(one["instructions"], rel=0.02)
    # Copies are all there.
    assert sample["memory"] == whole["memory"]


def test_lines_of_a_sample_are_those_of_the_whole(skipped: None) -> None:
    whole, sample = whole_and_sample("pipeline", DOUBLE, TILES, 0, tiles=TILES, blocks=2)
    costs = [
        {(x["line"], x["pipe"]): x["busy_us"] for x in p["lines"] if x["busy_us"] > 10}
        for p in (whole, sample)
    ]
    assert costs[0].keys() == costs[1].keys()
    for key, us in costs[0].items():
        assert costs[1][key] == pytest.approx(us, rel=0.05)


def test_a_sample_is_replayed_elsewhere(
    skipped: None, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPGEN_PROFILE_RECORDS", str(tmp_path))
    options(ablation=2, max_records=44_000)
    before = profiled("pipeline", DOUBLE, TILES, 0, tiles=TILES, blocks=2)
    monkeypatch.delenv("OPGEN_PROFILE_RECORDS")
    profiled("banks", 0, 0, 0x18000, TILE, 1, 0)
    (record,) = tmp_path.glob("*.record")
    assert timeline().emulation.opgen_profile_load(str(record).encode()) == 0
    assert last() == before


def test_the_room_is_read_from_the_environment(
    skipped: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    options(ablation=2)
    monkeypatch.setenv("OPGEN_PROFILE_MAX_RECORDS", "44000")
    about = profiled("pipeline", DOUBLE, TILES, 0, tiles=TILES, blocks=2)["sampled"]
    assert about["kept"] <= 44_000


# ---- operands ------------------------------------------------------------------------------------


def test_events_name_their_operands() -> None:
    profile = profiled("pipeline", SERIAL, 2, 0, tiles=2)
    texts = {profile["operands"][e.operands] for e in events() if e.kind == 0}
    assert texts == {
        "dst: float32 UB+0x0, 16384 B; src: float32 arg0, 16384 B",
        "dst: float32 UB+0x4000, 16384 B; src0: float32 UB+0x0, 16384 B; src1: float32 UB+0x0, "
        "16384 B",
        "dst: float32 arg1, 16384 B; src: float32 UB+0x4000, 16384 B",
    }
    assert all(e.operands == 0 for e in events() if profile["apis"][e.api] == "")

"""The search on times that are known: what it finds, claims, and does not measure twice."""

from __future__ import annotations

import itertools
import math

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.engines import Engine, Outcome
from msopgen_wrap.tune.journal import Journal
from msopgen_wrap.tune.search import Measurements, search
from msopgen_wrap.tune.subject import Call, Group, Subject
from msopgen_wrap.tune.winners import entries, interval, wins


class Known(Engine):
    """Gives the times of a function; stops as a killed run does after ``most`` tasks."""

    def __init__(self, time, most=10**9):
        self.time, self.most, self.seen = time, most, []

    def run(self, tasks):
        for index, task in enumerate(tasks):
            if len(self.seen) >= self.most:
                raise KeyboardInterrupt
            self.seen.append(repr(task.arguments))
            knobs = {**task.arguments["knobs"], "buffers": task.arguments.get("buffers", 2)}
            time = self.time(task.arguments, knobs)
            if time is None:
                yield Outcome(index, failure="it broke")
            else:
                yield Outcome(index, {"time_us": time, "cores": knobs.get("cores", 40)})

    def close(self):
        pass


def subject(sizes=(4096,), knobs=("tile", "buffers", "cores"), combos=(0, 1), lasts=None):
    groups = [
        Group(
            n,
            last,
            [Call(c, {"x": (n // last, last)}, {}, f"x={n}") for c in combos],
        )
        for n, last in zip(sizes, lasts or [1] * len(sizes), strict=True)
    ]
    return Subject("s.yaml", "Op", "some", "soc", list(knobs), 8192, 40, [1], "x", [], groups)


def run(one, time, tmp_path, most=10**9, resume=False):
    engine = Known(time, most)
    journal = Journal(tmp_path / "j.jsonl", resume=resume)
    measured = Measurements(engine, journal, {"s.yaml": "text"}, "kit")
    try:
        return search([one], measured, "cold")[0], engine, measured
    finally:
        journal.close()


def valley(arguments, knobs):
    """A time with its least at 21 cores, tiles of 2048 and one buffer."""
    cores, tile = knobs.get("cores", 40), knobs.get("tile", 8192)
    return 10 + abs(cores - 21) / 4 + abs(math.log2(tile / 2048)) + 3 * (knobs["buffers"] - 1)


def test_it_finds_the_valley(tmp_path):
    tried, engine, _ = run(subject(), valley, tmp_path)
    (win,) = wins(tried)
    assert {k: win.trial.knobs[k] for k in ("tile", "buffers")} == {"tile": 2048, "buffers": 1}
    assert abs(win.trial.knobs["cores"] - 21) <= 2
    assert win.claimed
    assert len(engine.seen) == len(set(engine.seen))


def test_a_small_gain_is_not_claimed(tmp_path):
    tried, _, _ = run(subject(), lambda a, k: 10 - 0.9 * (k.get("cores") == 20), tmp_path)
    (win,) = wins(tried)
    assert win.trial.knobs == {"cores": 20}
    assert not win.claimed
    assert entries(subject(), [win]) == []


def test_a_gain_that_costs_another_dtype_is_not_claimed(tmp_path):
    def time(arguments, knobs):
        if "cores" not in knobs:
            return 10
        return 5 if arguments["combo"] == 0 else 11

    tried, _, _ = run(subject(), time, tmp_path)
    assert not any(w.claimed for w in wins(tried))


def test_equal_times_keep_the_default(tmp_path):
    tried, _, _ = run(subject(), lambda a, k: 10, tmp_path)
    assert wins(tried)[0].trial.knobs == {}


def test_a_schedule_that_fails_does_not_win(tmp_path):
    tried, _, _ = run(subject(), lambda a, k: None if "cores" in k else 10, tmp_path)
    (win,) = wins(tried)
    assert "cores" not in win.trial.knobs
    assert any(t.failure == "it broke" for t in tried[0].trials)


@pytest.mark.parametrize("most", [1, 17, 50])
def test_a_killed_run_goes_on_without_measuring_twice(tmp_path, most):
    whole, engine, _ = run(subject(), valley, tmp_path / "whole")
    with pytest.raises(KeyboardInterrupt):
        run(subject(), valley, tmp_path, most)
    with (tmp_path / "j.jsonl").open("a") as file:
        file.write('{"task": "cut o')  # it died while it wrote
    tried, rest, _ = run(subject(), valley, tmp_path, resume=True)
    assert [t.knobs for t in tried[0].trials] == [t.knobs for t in whole[0].trials]
    assert [t.times for t in tried[0].trials] == [t.times for t in whole[0].trials]
    assert len(rest.seen) == len(engine.seen) - most
    again, nothing, _ = run(subject(), valley, tmp_path, resume=True)
    assert nothing.seen == []
    assert wins(again)[0].trial.knobs == wins(whole)[0].trial.knobs


def test_without_resume_everything_is_measured_again(tmp_path):
    _, first, _ = run(subject(), valley, tmp_path)
    _, second, _ = run(subject(), valley, tmp_path)
    assert second.seen == first.seen


def test_a_file_that_is_no_journal_is_refused(tmp_path):
    (tmp_path / "j.jsonl").write_text("something else\n")
    with pytest.raises(OpgenError) as caught:
        Journal(tmp_path / "j.jsonl", resume=True)
    assert caught.value.diagnostics[0].code == "OPG385"
    assert (tmp_path / "j.jsonl").read_text() == "something else\n"


def test_entries_are_for_the_sizes_that_were_tried(tmp_path):
    def time(arguments, knobs):
        large = math.prod(arguments["shapes"]["x"]) >= 2**20
        return 10 - 5 * (knobs.get("cores") == (40 if large else 10))

    one = subject(sizes=(2**12, 2**14, 2**20), knobs=("cores",))
    tried, _, _ = run(one, time, tmp_path)
    made = [entry for entry, _ in entries(one, wins(tried))]
    assert [e.text() for e in made] == [
        "2048 <= elements <= 131072: cores 10",
        "131073 <= elements <= 2097152: cores 40",
    ]


def test_rows_of_other_lengths_get_entries_of_their_own(tmp_path):
    def time(arguments, knobs):
        wide = arguments["shapes"]["x"][-1] == 1024
        return 10 - 5 * (knobs.get("cores") == (40 if wide else 10))

    one = subject(sizes=(4096, 4096), knobs=("cores",), lasts=(16, 1024))
    tried, _, _ = run(one, time, tmp_path)
    assert [e.text() for e, _ in entries(one, wins(tried))] == [
        "2048 <= elements <= 8192 and 8 <= x[-1] <= 128: cores 10",
        "2048 <= elements <= 8192 and 129 <= x[-1] <= 2048: cores 40",
    ]


def test_intervals_leave_no_gap():
    sizes = [3, 100, 101, 7000]
    found = [interval(n, sizes) for n in sizes]
    assert all(low <= n <= high for n, (low, high) in zip(sizes, found, strict=True))
    assert [b[0] - a[1] for a, b in itertools.pairwise(found)] == [1, 1, 1]

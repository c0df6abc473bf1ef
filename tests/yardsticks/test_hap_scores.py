"""Scores of kernels as CANN Bench computes them: the formula, what counts, and the table."""

from __future__ import annotations

import csv
import io
import json
import math

import pytest
import torch
from hap_scores import (
    LAUNCHES,
    Score,
    bench_tasks,
    case_line,
    fill_integers,
    hap,
    measured,
    parameters_with,
    scores_in,
    table,
)


@pytest.mark.parametrize(
    ("baseline", "limit", "time", "want"),
    [
        (10, 2, 10, 0.5),  # as fast as the built-in op
        (10, 2, 2, 1.0),  # at the limit
        (10, 2, 1, 1.0),  # the model is below the limit: no more than 1
        (10, 2, 18, 1 / 3),
        (2, 2, 5, 0.0),  # nothing to win
    ],
)
def test_the_score_of_a_time(baseline, limit, time, want) -> None:
    assert hap(baseline, limit, time) == pytest.approx(want)


@pytest.mark.parametrize(
    ("baseline", "limit", "want"),
    [(9.9, 0.5, True), (10.0, 0.5, False), (20.0, 2.0, False), (19.0, 2.0, True)],
)
def test_a_baseline_at_the_cap_was_not_measured(baseline, limit, want) -> None:
    assert measured(baseline, limit) is want


def test_a_table_of_parameters_has_the_costs_of_a_launch() -> None:
    rows = list(csv.DictReader(io.StringIO(parameters_with(3.5, 0.15))))
    found = {r["name"]: (r["value"], r["low"], r["high"]) for r in rows}
    assert found["launch"] == ("3.5",) * 3
    assert found["launch_core"] == ("0.15",) * 3
    assert float(found["gm_bandwidth"][0]) == 1800


def test_ops_are_named_by_level_and_chosen_by_name(tmp_path) -> None:
    (tmp_path / "tasks/metadata").mkdir(parents=True)
    case = {"1": {"baseline_perf_us": 5.0, "t_hw_us": 1.0}}
    published = {"_metadata": {}, "level1": {"gelu": case, "exp": case}, "level2": {"gcd": case}}
    (tmp_path / "tasks/metadata/910b2.json").write_text(json.dumps(published))
    assert list(bench_tasks(tmp_path, [])) == ["level1/gelu", "level1/exp", "level2/gcd"]
    assert bench_tasks(tmp_path, ["gcd"]) == {"level2/gcd": case}


def test_integers_have_the_ranges_of_the_case() -> None:
    small, far = torch.full((64,), 9, dtype=torch.int8), torch.full((64,), 9)
    kept = [torch.full((2,), 9.0), torch.ones(2, dtype=torch.bool), None, torch.full((2,), 9)]
    ranges = [[-1, 1], [2**63 - 9, 2**63 - 1], [0, 1], [0, 0], [0, 1], ["-inf", 3]]
    fill_integers([small, far, *kept], ranges)
    assert set(small.tolist()) == {-1, 0, 1}
    assert far.min() >= 2**63 - 9
    assert torch.equal(kept[0], torch.full((2,), 9.0))
    assert bool(kept[1].all())
    assert torch.equal(kept[3], torch.full((2,), 9))
    fill_integers([small], None)  # a case without ranges
    assert set(small.tolist()) == {-1, 0, 1}


def _score(case: int, value: float, skipped: str = "") -> Score:
    each = {} if skipped else dict.fromkeys(LAUNCHES, value)
    return Score("gelu", case, "[[4]] float32", 9.0, 1.0, each, each, each, 4, "V 80%", skipped)


def test_the_table_counts_what_was_skipped_and_says_modelled() -> None:
    head, row, mean, note = table([_score(1, 0.2), _score(2, 0.6), _score(3, 0, "too large")])
    assert "HAP at    4 us" in head
    assert row.split()[:5] == ["gelu", "2", "1", "0.40", "(0.20-0.60)"]
    assert row.endswith("V 2")
    assert mean.split()[4:] == ["0.40", "0.40"]
    assert "modelled" in note
    assert "modelled" in case_line(_score(1, 0.2))
    assert case_line(_score(3, 0, "too large")).endswith("skipped: too large")


def test_an_op_without_a_score_leaves_the_mean_alone() -> None:
    assert table([_score(1, 0, "no")])[2].split()[4] == str(math.nan)


def test_what_else_a_process_prints_is_no_score() -> None:
    line = 'hap-case: {"op": "a", "case": 1, "call": "", "baseline_us": 1, "limit_us": 1, '
    line += '"times": {}, "scores": {}, "best": {}}'
    assert [s.op for s in scores_in(f"noise\n{line}\n")] == ["a"]

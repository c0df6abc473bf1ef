"""The table of ``scripts/coverage.py``, and what it keeps between two runs."""

from __future__ import annotations

from coverage import report
from yardsticks.measure import Measure, Trial, causes
from yardsticks.trials import Results


def some_measure() -> Measure:
    outcomes = {
        "softmax": ("equal", ""),
        "exp": ("wrong", "y: 3 of 12"),
        "mm": ("OPG331", "aten.mm.default has no vector lowering"),
        "linear": ("OPG331", "aten.mm.default has no vector lowering"),
        "odd": ("no spec", "UnwritableError: assigns to elements"),
    }
    return Measure("tasks", outcomes, aim=0.9, left_out={"randn": "random"})


def test_a_row_counts_specs_plans_and_what_is_right():
    assert some_measure().cells() == ["tasks", "5", "4", "2 (40%)", "2", "1", "90%"]


def test_the_most_frequent_cause_comes_first():
    assert causes([some_measure()])[0] == (2, "OPG331", "aten.mm.default")


def test_what_is_not_given_is_not_counted_as_zero():
    text = report([some_measure(), "other tasks"], with_misses=True)
    assert "| other tasks | not given |" in text
    assert "wrong    exp: y: 3 of 12" in text and "1 entries are no single call" in text


def test_outcomes_are_kept_for_the_same_sources_only(tmp_path):
    path, spec = tmp_path / "kept.jsonl", tmp_path / "spec.yaml"
    spec.write_text("op: A\n")
    Results(path, "kit").add("a", spec, ("equal", ""))
    assert Results(path, "kit").of(spec) == ("equal", "")
    assert Results(path, "later kit").of(spec) is None
    spec.write_text("op: B\n")
    assert Results(path, "kit").of(spec) is None


def test_entries_are_chosen_by_pattern(tmp_path):
    assert Trial(Results(None), only="*norm").takes("layer_norm")
    assert not Trial(Results(None), only="*norm").takes("norms")

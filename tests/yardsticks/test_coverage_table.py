"""The table of ``scripts/coverage.py``, and what it keeps between two runs."""

from __future__ import annotations

from coverage import report
from yardsticks import trials
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
    spec.write_text("op: A\ncompute: x + 1\n")
    Results(path, "kit").add("a", spec, ("equal", ""))
    assert Results(path, "kit").of(spec) == ("equal", "")
    assert Results(path, "later kit").of(spec) is None
    spec.write_text("op: A\ncompute: x + 2\n")
    assert Results(path, "kit").of(spec) is None


def test_specs_of_one_formula_share_a_test(tmp_path, monkeypatch):
    paths = {name: tmp_path / f"{name}.yaml" for name in ("A", "B", "C")}
    for name, path in paths.items():
        formula = "x" if name == "C" else "x + 1"
        path.write_text(f"op: {name}\ndoc: task {name}\ncompute: {formula}\n")
    ran = []
    monkeypatch.setattr(
        trials, "run", lambda specs: ran.extend(specs) or [("equal", "")] * len(specs)
    )
    outcomes = trials.test(paths, ["A", "B", "C"], Results(None))
    assert outcomes == dict.fromkeys(paths, ("equal", "")) and len(ran) == 2


def test_entries_are_chosen_by_pattern(tmp_path):
    assert Trial(Results(None), only="*norm").takes("layer_norm")
    assert not Trial(Results(None), only="*norm").takes("norms")

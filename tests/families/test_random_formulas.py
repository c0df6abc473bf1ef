"""Formulas drawn at random are right, or refused with a code."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from formula_draw import draw
from random_formulas import Examiner, Outcome, shrunk

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def test_a_seed_makes_the_same_formula_every_time():
    assert [draw(s).spec("F") for s in range(40)] == [draw(s).spec("F") for s in range(40)]


def test_formulas_are_planned_or_refused_with_a_code(tmp_path):
    examiner = Examiner(tmp_path)
    outcomes = [examiner.plan(draw(seed)) for seed in range(2000, 2006)]
    assert {o.kind for o in outcomes} <= {"planned", "refused"}, outcomes
    assert all(o.key.startswith("OPG") for o in outcomes if o.kind == "refused")


class _Sorted:
    """A formula that no family makes."""

    def spec(self, name):
        return (
            f"op: {name}\ninputs:\n  x: float32\noutputs:\n  z: like x\ncompute: x.sort().values\n"
        )


def test_a_refusal_is_no_finding(tmp_path):
    outcome = Examiner(tmp_path).plan(_Sorted())
    assert (outcome.kind, outcome.key[:6]) == ("refused", "OPG331")
    assert not outcome.is_finding


class _Refuser(Examiner):
    """Finds fault with every formula that has a given text."""

    def plan(self, formula):
        return Outcome("exception" if "atan2" in formula.spec("F") else "planned")

    run = plan


def test_a_finding_is_shrunk_to_what_makes_it(tmp_path):
    examiner = _Refuser(tmp_path)
    formula = next(f for f in map(draw, range(1000)) if "atan2" in f.spec("F"))
    small, outcome = shrunk(formula, examiner.plan(formula), examiner)
    assert outcome.kind == "exception"
    assert len(small.outputs) == 1 and "atan2" in small.lines()[-1]


@pytest.mark.slow
def test_a_sample_of_formulas_is_right():
    command = [sys.executable, str(SCRIPTS / "random_formulas.py"), "--first", "3000"]
    command += ["--count", "20", "--batch", "4", "--seconds", "900"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
    assert " right" in done.stdout

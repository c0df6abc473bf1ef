"""Every check: seeded bugs are found at their line, correct look-alikes are silent."""

from __future__ import annotations

from collections import Counter

import pytest

from msopgen_wrap.run.findings import CHECKS, render

from .cases import Case, load_cases, run
from .table import TARGET, build

CASES = load_cases()


@pytest.mark.parametrize("case", CASES, ids=lambda c: f"{c.check}-{c.expect}-{c.name}")
def test_case(case: Case) -> None:
    outcome = run(case)
    text = render(outcome.findings) + "\n" + outcome.error
    if case.expect == "silent":
        assert not outcome.findings, text
        assert not outcome.error
        return
    severity = "error" if case.expect == "found" else "warning"
    at = {(f.check, f.line) for f in outcome.findings if f.severity == severity}
    assert case.marks, "a case with a bug marks its line"
    for mark in case.marks:
        assert mark in at, text
    # The bug is named once and by its name; only its consequences may be reported besides.
    assert len([f for f in outcome.findings if f.check == case.check]) == len(case.marks), text


def test_every_check_is_proved() -> None:
    found = Counter(c.check for c in CASES if c.expect != "silent")
    silent = Counter(c.check for c in CASES if c.expect == "silent")
    weak = [name for name in CHECKS if found[name] < 2 or silent[name] < 2]
    assert not weak, f"fewer than two seeded bugs or look-alikes: {weak}"


def test_page_of_checks_is_up_to_date() -> None:
    """``python -m tests.sanitizer.table`` rewrites it."""
    assert TARGET.read_text(encoding="utf-8") == build()

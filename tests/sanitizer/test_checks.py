"""Every check: seeded bugs are found at their line, correct look-alikes are silent."""

from __future__ import annotations

import re
from collections import Counter

import pytest

from msopgen_wrap.run.findings import CHECKS, render

from .cases import Case, load_cases, run
from .table import TARGET, build, official

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


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("never_freed", r"tensor 'o' of the queue 'q\.out', .*dequeued in line 12, but not freed"),
        (
            "taken_once_for_the_kernel",
            r"tensor 'o' of the queue 'q\.out', .*allocated but not freed",
        ),
        ("left_in_queue", r"tensor 'lost' of the queue 'q\.in', .*enqueued but never dequeued"),
        ("skipped_by_continue", r"tensor 'a' of the queue 'q\.in', .*dequeued in line \d+, but"),
    ],
)
def test_leaks_name_the_tensor_and_its_queue(name: str, text: str) -> None:
    outcome = run(next(c for c in CASES if c.name == name))
    (leak,) = [f for f in outcome.findings if f.check == "ErrorLeak"]
    assert re.search(text, leak.what), leak.what


@pytest.mark.parametrize(
    "name", ["gm_tail_and_more", "buffer_larger_than_the_rest", "dequeued_again"]
)
def test_what_a_device_survives_does_not_stop_the_launch(name: str) -> None:
    assert run(next(c for c in CASES if c.name == name)).error == ""


def test_every_check_is_proved() -> None:
    found = Counter(c.check for c in CASES if c.expect != "silent")
    silent = Counter(c.check for c in CASES if c.expect == "silent")
    weak = [name for name in CHECKS if found[name] < 2 or silent[name] < 2]
    assert not weak, f"fewer than two seeded bugs or look-alikes: {weak}"


@pytest.mark.parametrize(
    "row", [r for r in official() if r["found"]], ids=lambda r: f"{r['tool']}: {r['check']}"
)
def test_official_check_is_proved(row: dict[str, str]) -> None:
    by_name = {c.name: c for c in CASES}
    found = [by_name[name] for name in row["found"].split()]
    silent = [by_name[name] for name in row["silent"].split()]
    assert len(found) >= 2
    assert len(silent) >= 2
    for case in found:
        assert case.expect != "silent"
        assert case.check in row["ours"], case.name
    assert all(case.expect == "silent" for case in silent)


def test_official_checks_without_proof_say_why() -> None:
    bare = [r for r in official() if not r["found"]]
    assert all(r["ours"].startswith("(") for r in bare), bare


def test_cores_name_only_known_checks() -> None:
    """The emulation's own complaints use the names that reports, filters and `explain` know."""
    emulation = TARGET.parent
    call = re.compile(r"\b(?:TrapCheck|Complain)\(\s*[\w()]+,\s*[\w.]*loc,\s*\"(\w+)\"")
    used = {
        name
        for folder in ("src", "include")
        for file in (emulation / folder).rglob("*.[ch]*")
        for name in call.findall(file.read_text(encoding="utf-8"))
    }
    assert len(used) > 8, used
    assert used <= set(CHECKS)


def test_page_of_checks_is_up_to_date() -> None:
    """``python -m tests.sanitizer.table`` rewrites it."""
    assert TARGET.read_text(encoding="utf-8") == build()


def test_a_forgotten_tensor_is_reported_and_the_launch_goes_on() -> None:
    """The device has results as long as there are event ids."""
    assert not run(next(c for c in CASES if c.name == "never_dequeued")).error
    assert run(next(c for c in CASES if c.name == "never_dequeued_nine_times")).error


def test_a_tail_past_the_end_is_reported_and_the_launch_goes_on() -> None:
    """Device allocations are rounded up: such a kernel has results, and more bugs to show."""
    outcome = run(next(c for c in CASES if c.name == "gm_write_past_end"))
    assert [f.severity for f in outcome.findings] == ["error"]
    assert not outcome.error
    outcome = run(next(c for c in CASES if c.name == "write_foreign_gm"))
    assert outcome.error

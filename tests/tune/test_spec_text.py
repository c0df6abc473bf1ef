"""A schedule is written into a spec; every other line stays."""

from __future__ import annotations

import pytest

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.spec.schedule_entries import ScheduleEntry, SizeBound
from msopgen_wrap.tune.spec_text import with_schedule, write_schedule

SPEC = """# what it is
op: Sample   # a name
inputs:
  x: {dtype: [float16, float32]}   # two dtypes

outputs: {y: like x}
compute: |
  y = torch.exp(x)
"""
OLD = """schedule:   # of last year
  # an old remark
  - tile: 512

# about cases
cases:
  - {x: [3]}
"""
WIN = (ScheduleEntry(tile=4096, cores=24, when=(SizeBound("elements", low=8, high=99),)), "seen")
LINES = """schedule:
  # seen
  - when: 8 <= elements <= 99
    tile: 4096
    cores: 24
"""


def test_the_key_is_added_at_the_end():
    assert with_schedule(SPEC, [WIN], "s.yaml") == SPEC + "\n" + LINES


def test_text_without_a_last_line_end():
    assert with_schedule(SPEC.rstrip("\n"), [WIN], "s.yaml") == SPEC + "\n" + LINES


def test_the_old_schedule_is_replaced_and_remarks_of_other_keys_stay():
    changed = with_schedule(SPEC + OLD, [WIN], "s.yaml")
    assert changed == SPEC + LINES + OLD[OLD.index("\n# about") :]


def test_no_entry_removes_the_key():
    assert with_schedule(SPEC + OLD, [], "s.yaml") == SPEC + OLD[OLD.index("\n# about") :]


def test_line_ends_stay():
    changed = with_schedule(SPEC.replace("\n", "\r\n"), [WIN], "s.yaml")
    assert changed.count("\r\n") == changed.count("\n") == (SPEC + "\n" + LINES).count("\n")


def test_a_second_time_changes_nothing():
    once = with_schedule(SPEC, [WIN], "s.yaml")
    assert with_schedule(once, [WIN], "s.yaml") == once


def test_a_spec_in_braces_is_refused_with_the_lines():
    text = "{op: Sample, inputs: {x: float16}, outputs: {y: like x}, compute: torch.exp(x)}\n"
    with pytest.raises(OpgenError) as caught:
        with_schedule(text, [WIN], "s.yaml")
    (problem,) = caught.value.diagnostics
    assert problem.code == "OPG384"
    assert "tile: 4096" in problem.fix


def test_a_file_that_was_changed_meanwhile_stays(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SPEC + "\n")
    with pytest.raises(OpgenError) as caught:
        write_schedule(path, [WIN], SPEC)
    assert caught.value.diagnostics[0].code == "OPG384"
    assert path.read_text() == SPEC + "\n"


def test_a_file_keeps_its_mode_and_has_no_company(tmp_path):
    path = tmp_path / "s.yaml"
    path.write_text(SPEC)
    path.chmod(0o640)
    write_schedule(path, [WIN], SPEC)
    assert path.read_text() == SPEC + "\n" + LINES
    assert path.stat().st_mode & 0o777 == 0o640
    assert [p.name for p in tmp_path.iterdir()] == ["s.yaml"]

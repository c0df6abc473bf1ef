"""Results of direct launches: what of them nobody has written."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

PROGRAM = Path(__file__).with_name("unwritten.asc")
QUIET = (
    "whole",
    "filled_before",
    "copied_before",
    "added_to_zeros",
    "scratch_copied_back",
    "buffers_rounded_up",
    "inputs_rounded_up",
    "rows_padded_to_blocks",
    "part_copied_back",
    "by_pointer",
    "two_launches",
    "nothing_copied_back",
    "no_launch",
)
#: case -> what the report says, why, and the line it stands at
FOUND = {
    "bad_tail_of_each_core": (
        "400 of the 8592 elements of output 'allocation 2', the first at index 1024 (8 gaps)",
        "the share of AIV of block 0: it wrote what lies right before; other gaps are shares of "
        "7 more cores",
        "DataCopyPad(zg[begin + at]",
    ),
    "bad_tail_of_last_core": (
        "144 of the 8592 elements of output 'allocation 2', the first at index 8448",
        "the share of AIV of block 0",
        "DataCopyPad(zg[begin + at]",
    ),
    "bad_nothing": (
        "nobody wrote output 'allocation 2'",
        "kernel nothing: no core wrote any of it, so whose share it was cannot be told",
        "",
    ),
    "bad_second_launch_missing": (
        "4296 of the 8592 elements of output 'allocation 2', the first at index 4296",
        "the share of AIV of block 0",
        "DataCopyPad(zg[begin + at]",
    ),
}


@pytest.mark.parametrize("name", QUIET)
def test_correct_programs_are_silent(name: str, tmp_path: Path) -> None:
    result = run_program(PROGRAM, [name], ProgramOptions(timeout=600), cwd=tmp_path)
    assert result.reported and not result.exit_code, result.output
    assert result.findings == []


@pytest.mark.parametrize("name", FOUND)
def test_missing_part_is_an_error(name: str, tmp_path: Path) -> None:
    result = run_program(PROGRAM, [name], ProgramOptions(timeout=600), cwd=tmp_path)
    assert result.reported, result.output
    (found,) = result.findings
    what, why, line = FOUND[name]
    assert (found["check"], found["severity"]) == ("UnwrittenOutput", "error")
    assert what in found["what"] and why in found["why"], found
    assert found["file"] == str(PROGRAM)
    assert not line or line in PROGRAM.read_text(encoding="utf-8").splitlines()[found["line"] - 1]

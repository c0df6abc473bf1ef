"""Programs: device memory freed wrongly or never written, results nobody has written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

# ---- Device memory that is freed wrongly, never freed, or never used -------------------

DEVICE_FREE = Path(__file__).with_name("device_free.asc")
LEAK, UNUSED = "leak-check=on", "unused-memory=on"


@pytest.mark.parametrize(
    ("name", "option", "want"),
    [
        ("free_twice", "", ["ErrorFree"]),
        ("free_inside", "", ["ErrorFree"]),
        ("plain", "", []),
        ("leak", "", []),
        ("leak", LEAK, ["DeviceLeak"]),
        ("leak_both", LEAK, ["DeviceLeak", "DeviceLeak"]),
        ("plain", LEAK, []),
        ("only_set", LEAK, []),
        ("never_touched", "", []),
        ("never_touched", UNUSED, ["UnusedMemory"]),
        ("free_inside", UNUSED, ["ErrorFree", "UnusedMemory"]),
        ("only_set", UNUSED, []),
        ("only_stored", UNUSED, []),
        ("plain", UNUSED, []),
    ],
)
def test_memory_of_a_program(tmp_path, monkeypatch, name, option, want):
    monkeypatch.setenv("OPGEN_CHECK", option)
    result = run_program(DEVICE_FREE, [name], ProgramOptions(timeout=600), cwd=tmp_path)
    assert result.reported and not result.exit_code, result.output
    assert sorted(f["check"] for f in result.findings) == want, result.findings
    for finding in result.findings:
        assert Path(finding["file"]) == DEVICE_FREE and finding["fix"]
        assert (finding["severity"] == "warning") == (finding["check"] == "UnusedMemory")


# ---- Data that a kernel computes from device memory nobody has written -----------------

DEVICE_MEMORY = Path(__file__).with_name("device_memory.asc")
COPIED_BACK = (
    "bad_input_never_copied",
    "warn_sum_without_clearing",
    "bad_garbage_handed_on",
    "bad_tail_fetched",
    "bad_tail_handed_on",
    "warn_input_too_short",
    "plain",
    "sum_after_memset",
    "result_handed_on",
    "garbage_overwritten",
    "tail_not_fetched",
)


@pytest.mark.parametrize("name", COPIED_BACK)
def test_what_the_host_copies_back_must_come_from_data(name: str, tmp_path: Path) -> None:
    result = run_program(DEVICE_MEMORY, [name], ProgramOptions(timeout=600), cwd=tmp_path)
    assert result.reported, result.output
    assert not result.exit_code, result.output
    found = [(f["check"], f["severity"]) for f in result.findings]
    severity = {"bad": "error", "warn": "warning"}.get(name.partition("_")[0])
    assert found == ([("ErrorRead2", severity)] if severity else []), result.findings


def test_the_report_names_the_store_and_the_read(tmp_path: Path) -> None:
    result = run_program(
        DEVICE_MEMORY, ["bad_input_never_copied"], ProgramOptions(timeout=600), cwd=tmp_path
    )
    (finding,) = result.findings
    lines = DEVICE_MEMORY.read_text(encoding="utf-8").splitlines()
    assert "DataCopyPad(zg[at]" in lines[finding["line"] - 1]
    assert "DataCopyPad(b, yg[at]" in lines[finding["other"]["line"] - 1]
    assert "host copies back" in finding["what"]


@pytest.mark.parametrize(
    ("name", "level"), [("warn_input_too_short", "warning"), ("bad_tail_fetched", "error")]
)
def test_warnings_leave_the_exit_code_alone(tmp_path: Path, name: str, level: str) -> None:
    sarif = tmp_path / "found.sarif"
    command = [sys.executable, "-m", "msopgen_wrap.cli", "run", str(DEVICE_MEMORY), name]
    done = subprocess.run(
        [*command, "--json", "--sarif", str(sarif)], capture_output=True, text=True, timeout=600
    )
    report = json.loads(done.stdout)
    assert [f["severity"] for f in report["findings"]] == [level]
    assert report["ok"] is (level == "warning")
    assert done.returncode == (0 if level == "warning" else 1)
    (run,) = json.loads(sarif.read_text(encoding="utf-8"))["runs"]
    assert [r["level"] for r in run["results"]] == [level]


# ---- Results of direct launches: what of them nobody has written ---------------------------------

UNWRITTEN = Path(__file__).with_name("unwritten.asc")
WRITTEN = (
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
MISSING = {
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


@pytest.mark.parametrize("name", WRITTEN)
def test_correct_programs_are_silent(name: str, tmp_path: Path) -> None:
    result = run_program(UNWRITTEN, [name], ProgramOptions(timeout=600), cwd=tmp_path)
    assert result.reported and not result.exit_code, result.output
    assert result.findings == []


@pytest.mark.parametrize("name", MISSING)
def test_missing_part_is_an_error(name: str, tmp_path: Path) -> None:
    result = run_program(UNWRITTEN, [name], ProgramOptions(timeout=600), cwd=tmp_path)
    assert result.reported, result.output
    (found,) = result.findings
    what, why, line = MISSING[name]
    assert (found["check"], found["severity"]) == ("UnwrittenOutput", "error")
    assert what in found["what"] and why in found["why"], found
    assert found["file"] == str(UNWRITTEN)
    assert not line or line in UNWRITTEN.read_text(encoding="utf-8").splitlines()[found["line"] - 1]

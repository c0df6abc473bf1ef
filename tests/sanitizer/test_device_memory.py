"""Programs: data that a kernel computes from device memory nobody has written."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

PROGRAM = Path(__file__).with_name("device_memory.asc")
CASES = (
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


@pytest.mark.parametrize("name", CASES)
def test_what_the_host_copies_back_must_come_from_data(name: str, tmp_path: Path) -> None:
    result = run_program(PROGRAM, [name], ProgramOptions(timeout=600), cwd=tmp_path)
    assert result.reported, result.output
    assert not result.exit_code, result.output
    found = [(f["check"], f["severity"]) for f in result.findings]
    severity = {"bad": "error", "warn": "warning"}.get(name.partition("_")[0])
    assert found == ([("ErrorRead2", severity)] if severity else []), result.findings


def test_the_report_names_the_store_and_the_read(tmp_path: Path) -> None:
    result = run_program(
        PROGRAM, ["bad_input_never_copied"], ProgramOptions(timeout=600), cwd=tmp_path
    )
    (finding,) = result.findings
    lines = PROGRAM.read_text(encoding="utf-8").splitlines()
    assert "DataCopyPad(zg[at]" in lines[finding["line"] - 1]
    assert "DataCopyPad(b, yg[at]" in lines[finding["other"]["line"] - 1]
    assert "host copies back" in finding["what"]


@pytest.mark.parametrize(
    ("name", "level"), [("warn_input_too_short", "warning"), ("bad_tail_fetched", "error")]
)
def test_warnings_leave_the_exit_code_alone(tmp_path: Path, name: str, level: str) -> None:
    sarif = tmp_path / "found.sarif"
    command = [sys.executable, "-m", "msopgen_wrap.cli", "run", str(PROGRAM), name]
    done = subprocess.run(
        [*command, "--json", "--sarif", str(sarif)], capture_output=True, text=True, timeout=600
    )
    report = json.loads(done.stdout)
    assert [f["severity"] for f in report["findings"]] == [level]
    assert report["ok"] is (level == "warning")
    assert done.returncode == (0 if level == "warning" else 1)
    (run,) = json.loads(sarif.read_text(encoding="utf-8"))["runs"]
    assert [r["level"] for r in run["results"]] == [level]

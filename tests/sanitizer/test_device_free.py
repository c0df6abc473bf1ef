"""Programs: device memory that is freed wrongly, never freed, or never used."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.foreign.program_runner import ProgramOptions, run_program

PROGRAM = Path(__file__).with_name("device_free.asc")
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
    result = run_program(PROGRAM, [name], ProgramOptions(timeout=600), cwd=tmp_path)
    assert result.reported and not result.exit_code, result.output
    assert sorted(f["check"] for f in result.findings) == want, result.findings
    for finding in result.findings:
        assert Path(finding["file"]) == PROGRAM and finding["fix"]
        assert (finding["severity"] == "warning") == (finding["check"] == "UnusedMemory")

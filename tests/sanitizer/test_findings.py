"""Findings as text, JSON and SARIF."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from msopgen_wrap.run import findings as model

SOURCE = "\n".join(
    [
        "void kernel() {",
        "    DataCopy(xLocal, xGm[i * n], n);",
        "    AscendC::Add<float>(zLocal, xLocal[f(1, 2)], yLocal, n);",
        "}",
    ]
)


def entry(file: str, **changes: object) -> dict[str, object]:
    data: dict[str, object] = {
        "check": "ErrorSync2",
        "severity": "error",
        "what": "src0 of Add reads too early",
        "why": "pipes run in parallel",
        "fix": "EnQue then DeQue",
        "file": file,
        "line": 3,
        "op": "Add",
        "kernel": "k",
        "operand": {"role": "src0", "memory": "UB", "name": "q", "begin": 0, "end": 512},
        "core": {"id": 0, "kind": "AIV", "block": 0, "sub_block": 0},
        "pipe": "V",
        "other": {"op": "DataCopy", "file": file, "line": 2, "pipe": "MTE2", "access": "write"},
        "count": 7,
        "from_a_newer_library": 1,
    }
    return {**data, **changes}


def test_text_shows_both_lines_operand_and_cure(tmp_path: Path) -> None:
    file = tmp_path / "k.cpp"
    file.write_text(SOURCE)
    text = model.render(model.parse(json.dumps([entry(str(file))])), relative_to=tmp_path)
    for part in (
        "k.cpp:3:14: error[ErrorSync2]: src0 of Add reads too early",
        "    3 |     AscendC::Add<float>(",
        "      |              ^~~",
        "src0 `xLocal[f(1, 2)]`: UB q bytes [0, 512)",
        "AIV of block 0, pipe V",
        "DataCopy at k.cpp:2 (write, pipe MTE2)",
        "    2 |     DataCopy(xLocal",
        "why: pipes run in parallel",
        "fix: EnQue then DeQue",
        "seen 7 times",
    ):
        assert part in text, text


@pytest.mark.parametrize(
    ("role", "want"),
    [("dst", "zLocal"), ("src0", "xLocal[f(1, 2)]"), ("src1", "yLocal"), ("tmp", "")],
)
def test_argument(role: str, want: str) -> None:
    assert model.argument(SOURCE.splitlines()[2], "Add", role) == want


def test_argument_of_a_call_over_several_lines() -> None:
    assert model.argument("    Add(z,", "Add", "src0") == ""


def test_round_trip_keeps_every_known_field() -> None:
    once = model.parse([entry("k.cpp")])
    assert model.parse(model.to_json(once)) == once


def test_warnings_do_not_count_as_errors() -> None:
    found = model.parse([entry("a"), entry("b", severity="warning", check="ErrorWrite3")])
    assert [f.file for f in model.errors(found)] == ["a"]
    assert model.summary(found) == "1 error, 1 warning: ErrorSync2 x1, ErrorWrite3 x1"
    assert model.summary([]) == "clean"


def test_sarif_has_rule_level_and_both_places(tmp_path: Path) -> None:
    found = model.parse([entry(str(tmp_path / "op_kernel" / "k.cpp"))])
    (run,) = json.loads(model.to_sarif(found, version="1.0", root=tmp_path))["runs"]
    (result,) = run["results"]
    assert run["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == "ErrorSync2"
    assert result["level"] == "error"
    assert result["occurrenceCount"] == 7
    place = result["locations"][0]["physicalLocation"]
    assert place["artifactLocation"]["uri"] == "op_kernel/k.cpp"
    assert place["region"]["startLine"] == 3
    assert result["relatedLocations"][0]["physicalLocation"]["region"]["startLine"] == 2


def test_unreadable_source_still_gives_a_report() -> None:
    text = model.render(model.parse([entry("/does/not/exist.cpp", operand=None, other=None)]))
    assert text.startswith("/does/not/exist.cpp:3:1: error[ErrorSync2]")


@pytest.mark.parametrize("bad", ['{"check": 1}', '"text"'])
def test_not_an_array(bad: str) -> None:
    with pytest.raises(ValueError, match="array"):
        model.parse(bad)

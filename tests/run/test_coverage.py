"""What a test says about its own reach: coverage, verdict and environment."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from msopgen_wrap.cli import test_command
from msopgen_wrap.run.report import write_report
from msopgen_wrap.run.results import FAILED, PASSED, CaseResult, OpResult, TestReport
from msopgen_wrap.run.run_environment import environment_text, run_environment

TRAITS = {
    "ranks": [2],
    "aligned": True,
    "empty": False,
    "one": False,
    "broadcast": False,
    "absent": [],
    "values": "normal",
}


def case(cores: int, tiles: int, **fields: Any) -> CaseResult:
    values = {
        "dtype": "float16",
        "status": PASSED,
        "cores": cores,
        "tiles": tiles,
        "traits": TRAITS,
        "controls": {"y (relative)": True},
        "rules": {"y": "relative"},
        **fields,
    }
    return CaseResult("Demo", f"x={cores}x{tiles}", **values)


def op(*cases: CaseResult, **fields: Any) -> OpResult:
    return OpResult("Demo", "demo.yaml", list(cases), **fields)


#: what the cases had (cores, tiles), fields of the op, verdict, gaps
VERDICTS = [
    ("both", [(1, 1), (3, 4)], {}, "passed", []),
    ("in two cases", [(1, 4), (3, 1)], {}, "passed", []),
    ("one tile", [(1, 1), (40, 1)], {}, "incomplete", ["two tiles on one core"]),
    ("one core", [(1, 9)], {}, "incomplete", ["two cores at work"]),
    ("neither", [(1, 1)], {}, "incomplete", ["two cores at work or two tiles"]),
    ("nothing but empty", [(0, 0)], {}, "incomplete", ["two cores"]),
    ("cannot", [(1, 1)], {"bounded": "fixed"}, "passed", []),
    ("chosen by hand", [(1, 1)], {"partial": True}, "passed", []),
]


@pytest.mark.parametrize(
    ("work", "fields", "verdict", "gaps"), [v[1:] for v in VERDICTS], ids=[v[0] for v in VERDICTS]
)
def test_verdict(work, fields, verdict, gaps) -> None:
    result = op(*(case(*w) for w in work), **fields)
    assert (result.verdict, result.passed) == (verdict, verdict == "passed")
    assert len(result.gaps) == len(gaps)
    assert all(gap in text for gap, text in zip(gaps, result.gaps, strict=True))
    assert TestReport([result]).verdict == verdict


def test_each_dtype_needs_its_own_proof() -> None:
    result = op(case(3, 4), case(1, 1, dtype="float32"))
    assert result.gaps == ["no case of float32 had two cores at work or two tiles on one core"]


def test_a_failure_outweighs_a_gap() -> None:
    result = op(case(1, 1), case(1, 1, status=FAILED))
    assert result.verdict == "failed"
    assert TestReport([result, op(case(3, 3))]).verdict == "failed"
    assert TestReport([]).verdict == "failed"


def test_zeros_must_fail_for_every_output_and_rule() -> None:
    silent = case(3, 3, controls={"y (relative)": True, "q (quantised)": False})
    assert "all-zero q (quantised)" in op(silent).problems[0]
    assert op(silent, case(3, 3, controls={"q (quantised)": True})).passed


def test_summary() -> None:
    empty = TRAITS | {"empty": True, "aligned": None, "ranks": [0, 1]}
    special = TRAITS | {"aligned": False, "values": "special", "ranks": [3]}
    result = op(case(3, 4, key=1), case(1, 1, traits=empty), case(2, 1, traits=special))
    covered = result.covered
    assert covered["ranks"] == [0, 1, 2, 3]
    assert (covered["cores"], covered["tiles"]) == (3, 4)
    assert (covered["aligned"], covered["unaligned"], covered["empty"]) == (1, 1, 1)
    assert covered["kernels"]["float16 key 1"]["several"] is True
    assert covered["kernels"]["float16 key 0"]["several"] is False
    assert "both in 1 of 2 kernels" in result.coverage_text


ENVIRONMENTS = [
    ({}, "check", "mode check on 1 thread; SoC ascend910b3; auto-sync on"),
    ({"OPGEN_CHECK": "auto-sync=off"}, "check", "auto-sync off"),
    ({"OPGEN_CHECK": "a=b, auto-sync=project"}, "auto", "auto-sync project"),
    ({"OPGEN_THREADS": "7"}, "fast", "fast on 7 threads, no sanitizer"),
    ({"OPGEN_THREADS": "7"}, "auto", "auto (check on 1 thread, fast on 7 for large cases)"),
]


@pytest.mark.parametrize(("variables", "mode", "text"), ENVIRONMENTS)
def test_environment_is_one_line(variables, mode, text) -> None:
    line = environment_text(run_environment("ascend910b3", mode, variables))
    assert text in line and "accuracy rule CANN" in line and "\n" not in line


@pytest.mark.parametrize("ending", [".json", ".md", ".html"])
def test_reports_say_it_all(tmp_path: Path, ending: str) -> None:
    noted = case(1, 1, note="y: 3 with |golden| < 1 are over", maximum=0.2)
    report = TestReport([op(noted)], run_environment("ascend910b3", "auto", {}))
    write_report(report, tmp_path / f"report{ending}")
    text = (tmp_path / f"report{ending}").read_text()
    for part in ("incomplete", "two tiles on one core", "ascend910b3", "relative", "auto-sync"):
        assert part in text.replace("auto_sync", "auto-sync"), part
    if ending == ".json":
        assert json.loads(text)["ops"][0]["coverage"]["tiles"] == 1


def test_command_shows_rule_reach_and_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    noted = case(3, 4, note="y: 3 with |golden| < 1 are over", maximum=0.2)
    for results, code, words in [
        ([noted, case(2, 2)], 0, ["0.2*", "3 with |golden| < 1", "rule relative:", "PASS"]),
        ([case(1, 1)], 1, ["incomplete", "two tiles on one core", "INCOMPLETE"]),
    ]:
        monkeypatch.setattr("msopgen_wrap.run.session.resolve_target", lambda *_: [None])
        monkeypatch.setattr(
            "msopgen_wrap.run.session.run_tests", lambda *_, r=results: TestReport([op(*r)])
        )
        result = CliRunner().invoke(test_command.command, ["demo.yaml"])
        assert result.exit_code == code, result.output
        for word in [*words, "environment: CPU emulation", "covered", "tiles a core"]:
            assert word in result.output, (word, result.output)

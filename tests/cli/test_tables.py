"""Tables in a pipe: every cell is whole, whatever the width of the user's terminal."""

from __future__ import annotations

import io
import sys
from pathlib import Path

import pytest

from msopgen_wrap.cann.verify_report import FAILED, Check, VerifyReport
from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.cli import output, verify_command
from msopgen_wrap.cli import test_output as summary
from msopgen_wrap.run.results import PASSED, CaseResult, OpResult, TestReport
from msopgen_wrap.run.run_environment import run_environment

NAME = "AnOperatorWhoseNameIsLong" * 8  # 200 characters
RULES = {"y": "first", "z": "second"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture(autouse=True)
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's terminal has 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")


def row(text: str) -> list[str]:
    """The cells of the one line that holds the long name."""
    (line,) = [line for line in text.splitlines() if line.startswith(NAME)]
    return line.split()


def test_the_summary_of_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    case = CaseResult(NAME, "x=[1]", "bfloat16/float32/int64", PASSED, rules=RULES, mode="check")
    report = TestReport([OpResult(NAME, "a.yaml", [case])], run_environment(None, "check"))
    summary.print_report(output.table_console(sys.stdout), report, verbose=False, seconds=1.0)
    want = [NAME, "bfloat16/float32/int64", "1", "1", "0", "0", "first,", "second", "clean", "(1)"]
    assert row(capsys.readouterr().out)[:10] == want


def test_the_checks_of_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = Check(NAME, "op_host/" + "a" * 90 + ".cpp", "ascend910b float16", FAILED, note="b" * 99)
    tree = CannTree(tmp_path, None, (), (), (), None, None, None, None, None)
    verify_command._print("project", VerifyReport(tree, [check]), verbose=False)
    cells = [NAME, check.subject, "ascend910b", "float16", "failed", f"({check.note})", "0.0"]
    assert row(capsys.readouterr().out) == cells


def test_a_terminal_keeps_its_width() -> None:
    assert output.table_console(Terminal()).width == 80

"""The command line: output, exit codes, JSON, pipes, speed, and never a traceback."""

from __future__ import annotations

import io
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import msopgen_wrap
from msopgen_wrap.cann.verify_report import FAILED, Check, VerifyReport
from msopgen_wrap.cann_discovery import CannTree
from msopgen_wrap.cli import app, doctor_command, output, verify_command
from msopgen_wrap.cli import test_output as summary
from msopgen_wrap.diagnostics import HealthCheck
from msopgen_wrap.explain import all_explanations, find
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.results import PASSED, CaseResult, OpResult, TestReport
from msopgen_wrap.run.run_environment import run_environment
from msopgen_wrap.torch_ext import torch_versions

GOOD = "op: Demo\ninputs:\n  x: float32\noutputs:\n  y: like x\ncompute: x + 1\n"
BAD = GOOD.replace("like x", "like z").replace("op: Demo", "op: demo")


@pytest.fixture
def specs(tmp_path: Path) -> Path:
    (tmp_path / "good.yaml").write_text(GOOD)
    (tmp_path / "bad.yaml").write_text(BAD)
    return tmp_path


def opgen(*args: object, **env: str) -> subprocess.CompletedProcess[str]:
    """Run opgen as a user does, in a process of its own."""
    return subprocess.run(
        [sys.executable, "-m", "msopgen_wrap.cli", *map(str, args)],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        timeout=120,
    )


EXITS = [
    (["--help"], 0),
    (["--version"], 0),
    (["check", "--help"], 0),
    ([], 2),
    (["chek"], 2),
    (["check"], 2),
    (["check", "--nope", "x"], 2),
    (["check", "good.yaml"], 0),
    (["check", "bad.yaml"], 1),
    (["check", "."], 1),
    (["check", "missing.yaml"], 1),
    (["explain", "OPG012"], 0),
    (["explain", "nonsense!"], 1),
    (["explain"], 0),
    (["list", "good.yaml"], 0),
    (["list", "bad.yaml"], 1),
    (["new"], 2),
    (["new", "bad.yaml", "-o", "out"], 1),
    (["new", "good.yaml", "--force", "--keep"], 2),
    (["new", "good.yaml", "--soc", "ascend910c", "-o", "out"], 1),
    (["plan", "good.yaml", "--shape", "w=1"], 2),
    (["plan", "good.yaml", "--shape", "x=a"], 2),
]


@pytest.mark.parametrize(("args", "code"), EXITS, ids=[" ".join(a) or "nothing" for a, _ in EXITS])
def test_exit_codes(
    specs: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any, args: list[str], code: int
) -> None:
    monkeypatch.chdir(specs)
    assert app.run(args) == code
    out, err = capfd.readouterr()
    assert "Traceback" not in out + err
    assert out or err


def test_check_shows_every_problem_with_a_caret(specs: Path) -> None:
    done = opgen("check", specs / "bad.yaml")
    assert done.returncode == 1
    assert f"{specs}/bad.yaml:1:5: error[OPG010]: op name 'demo' is not CamelCase" in done.stdout
    assert "    1 | op: demo\n      |     ^~~~\n" in done.stdout
    assert "error[OPG031]" in done.stdout
    assert "did you mean 'x'" not in done.stdout
    assert "1 spec, 0 valid: 2 errors" in done.stdout


def test_check_json(specs: Path) -> None:
    done = opgen("check", specs, "--json")
    value = json.loads(done.stdout)
    assert value["ok"] is False and done.returncode == 1
    assert [s["ok"] for s in value["specs"]] == [False, True]
    assert {d["code"] for d in value["diagnostics"]} == {"OPG010", "OPG031"}
    assert all(d["line"] and d["file"].endswith("bad.yaml") for d in value["diagnostics"])


def test_errors_are_json_too(tmp_path: Path) -> None:
    done = opgen("check", tmp_path / "no.yaml", "--json")
    value = json.loads(done.stdout)
    assert (value["ok"], value["diagnostics"][0]["code"]) == (False, "OPG001")


def test_check_is_fast_and_does_not_import_torch(specs: Path) -> None:
    path = specs / "good.yaml"
    assert opgen("check", path).returncode == 0
    # CPU time of the child: wall time on a busy machine would measure the machine.
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert opgen("check", path).returncode == 0
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    # importing torch alone takes two seconds
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 1.0
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "msopgen_wrap.cli", "check", str(path)],
        capture_output=True,
        text=True,
    )
    loaded = {row.rsplit("|", 1)[-1].strip() for row in done.stderr.splitlines()}
    assert "yaml" in loaded
    assert not loaded & {"torch", "numpy", "rich", "jinja2"}


COLOURS = [
    ({}, False),
    ({"FORCE_COLOR": "1"}, True),
    ({"FORCE_COLOR": "1", "NO_COLOR": "1"}, False),
]


@pytest.mark.parametrize(("env", "coloured"), COLOURS)
def test_colours(specs: Path, env: dict[str, str], coloured: bool) -> None:
    clean = {k: v for k, v in os.environ.items() if k not in ("NO_COLOR", "FORCE_COLOR")}
    done = subprocess.run(
        [sys.executable, "-m", "msopgen_wrap.cli", "check", str(specs / "bad.yaml")],
        capture_output=True,
        text=True,
        env={**clean, **env},
    )
    assert ("\x1b[" in done.stdout) == coloured


def test_a_closed_pipe_is_no_error(specs: Path) -> None:
    command = f"{sys.executable} -m msopgen_wrap.cli explain | head -1"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True)
    assert done.stdout.startswith("OPG001") and done.stderr == ""


def test_strict_counts_warnings(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(GOOD.replace("x: float32", "x: float32\n  unused: x"))
    assert app.run(["check", str(path)]) == 0
    assert app.run(["check", "--strict", str(path)]) == 1
    assert "warning[OPG049]" in capfd.readouterr().out


def test_check_deep_finds_a_wrong_rule(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "w.yaml"
    path.write_text(GOOD.replace("compute: x + 1", "compute: x.sum(-1)"))
    assert app.run(["check", str(path)]) == 0
    assert app.run(["check", "--deep", str(path)]) == 1
    out = capfd.readouterr().out
    assert "OPG065" in out and f"{path}:5:3" in out


def test_an_internal_error_is_short_and_says_how_to_report(
    monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    from msopgen_wrap.cli import explain_command

    def broken() -> None:
        raise ZeroDivisionError("oops")

    monkeypatch.setattr(explain_command, "all_explanations", broken)
    assert app.run(["explain"]) == output.INTERNAL
    err = capfd.readouterr().err
    assert "internal error[OPG099]: ZeroDivisionError: oops at test_commands.py:" in err
    assert "--debug" in err and "Traceback" not in err
    assert app.run(["explain", "--debug"]) == output.INTERNAL
    assert "Traceback" in capfd.readouterr().err


def test_every_command_has_help(capfd: Any) -> None:
    for name in app.COMMANDS:
        assert app.run([name, "--help"]) == 0, name
        assert f"Usage: opgen {name}" in capfd.readouterr().out


def test_list_the_library(capfd: Any) -> None:
    assert app.run(["list", "--json"]) == 0
    rows = {r["name"]: r for r in json.loads(capfd.readouterr().out)}
    assert rows["fused_add_relu"]["family"] == "elementwise"
    assert rows["fused_add_relu"]["signature"] == "FusedAddRelu(x, y) -> z"
    assert rows["foreach_addcdiv_scalar"]["signature"].startswith(
        "ForeachAddcdivScalar(x1[], x2[], x3[], value=1.0) -> y[]"
    )
    assert app.run(["list", "--paths"]) == 0
    paths = capfd.readouterr().out.split()
    assert all(Path(p).is_relative_to(data_dir("op_specs")) for p in paths)


EXPLAINED = ["OPG001", "12", "561002", "561103", "507015", "507011", "161001", "161002", "EZ9999",
             "EZ3003", "E19010", "aclnnFoo or aclnnFooGetWorkspaceSize not in libopapi.so",
             "EZ9999: Inner Error!"]  # fmt: skip


@pytest.mark.parametrize("code", EXPLAINED)
def test_explain(code: str, capfd: Any) -> None:
    assert app.run(["explain", code]) == 0
    assert "What:" in capfd.readouterr().out


def test_cache_commands(tmp_path: Path) -> None:
    env = {"OPGEN_CACHE_DIR": str(tmp_path / "cache")}
    assert opgen("cache", "path", **env).stdout.strip() == str(tmp_path / "cache")
    assert json.loads(opgen("cache", "--json", **env).stdout)["entries"] == []
    assert opgen("cache", "clear", **env).returncode == 0


def test_doctor_reports_a_missing_compiler_with_its_cure() -> None:
    done = opgen("doctor", "--json", OPGEN_CXX="/nonexistent/g++")
    value = json.loads(done.stdout)
    assert done.returncode == output.ENVIRONMENT and value["ok"] is False
    compiler = next(c for c in value["checks"] if c["name"] == "C++ compiler")
    assert compiler["status"] == "problem" and "/nonexistent/g++" in compiler["detail"]
    assert compiler["cure"]


@pytest.mark.parametrize("soc", ["ascend950", "Ascend950PR_9599", "ascend910_95"])
def test_a_soc_of_another_architecture_is_said_not_to_be_emulated(soc: str, tmp_path: Path) -> None:
    program = tmp_path / "empty.asc"
    program.write_text("int main() {}\n")
    done = opgen("run", program, "--soc", soc)
    assert done.returncode == 1
    assert "OPG306" in done.stderr and "architecture 3510" in done.stderr
    assert "Traceback" not in done.stderr


# ---- Tables in a pipe: every cell is whole, whatever the width of the user's terminal ------------

NAME = "AnOperatorWhoseNameIsLong" * 8  # 200 characters
RULES = {"y": "first", "z": "second"}


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.fixture
def narrow(monkeypatch: pytest.MonkeyPatch) -> None:
    """The user's terminal has 80 columns."""
    monkeypatch.setenv("COLUMNS", "80")


def row(text: str) -> list[str]:
    """The cells of the one line that holds the long name."""
    (line,) = [line for line in text.splitlines() if line.startswith(NAME)]
    return line.split()


@pytest.mark.usefixtures("narrow")
def test_the_summary_of_a_test(capsys: pytest.CaptureFixture[str]) -> None:
    case = CaseResult(NAME, "x=[1]", "bfloat16/float32/int64", PASSED, rules=RULES, mode="check")
    report = TestReport([OpResult(NAME, "a.yaml", [case])], run_environment(None, "check"))
    summary.print_report(output.table_console(sys.stdout), report, verbose=False, seconds=1.0)
    want = [NAME, "bfloat16/float32/int64", "1", "1", "0", "0", "first,", "second", "clean", "(1)"]
    assert row(capsys.readouterr().out)[:10] == want


@pytest.mark.usefixtures("narrow")
def test_the_checks_of_verify(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    check = Check(NAME, "op_host/" + "a" * 90 + ".cpp", "ascend910b float16", FAILED, note="b" * 99)
    tree = CannTree(tmp_path, None, (), (), (), None, None, None, None, None)
    verify_command._print("project", VerifyReport(tree, [check]), verbose=False)
    cells = [NAME, check.subject, "ascend910b", "float16", "failed", f"({check.note})", "0.0"]
    assert row(capsys.readouterr().out) == cells


@pytest.mark.usefixtures("narrow")
def test_a_terminal_keeps_its_width() -> None:
    assert output.table_console(Terminal()).width == 80


# ---- Every code that the package can report has an explanation, and one meaning ------------------

PACKAGE = Path(msopgen_wrap.__file__).parent


def used_codes() -> dict[str, set[str]]:
    """Return code -> packages that raise it."""
    codes: dict[str, set[str]] = {}
    for path in PACKAGE.rglob("*.py"):
        area = path.relative_to(PACKAGE).parts[0]
        for code in re.findall(r'["\'](OPG\d{3})["\']', path.read_text(encoding="utf-8")):
            codes.setdefault(code, set()).add(area)
    return codes


def test_every_code_is_explained() -> None:
    assert sorted(c for c in used_codes() if not find(c)) == []


def test_explanations_are_unique_and_not_empty() -> None:
    codes = [c for e in all_explanations() for c in e.codes]
    assert sorted({c for c in codes if codes.count(c) > 1}) == []
    assert all(e.title and e.body for e in all_explanations())


def test_lowering_and_compiler_have_codes_of_their_own() -> None:
    for code, areas in used_codes().items():
        assert not {"schedule", "build"} <= areas, code


# ---- ``opgen doctor`` on versions of torch; and that everything names the same tested version ----

ROOT = Path(__file__).resolve().parents[2]


def torch_check(monkeypatch: pytest.MonkeyPatch, version: str, npu: str | None) -> HealthCheck:
    found: dict[str, Any] = {"version": version}
    monkeypatch.setattr(doctor_command, "probe", lambda code, env: found)
    monkeypatch.setattr(doctor_command, "_version", lambda name: npu)
    return next(check for check in doctor_command.torch_checks() if check.name == "torch")


VERSIONS = [
    ("2.13.0", "ok", "2.13.0"),
    ("2.13.1+cpu", "ok", "2.13.1+cpu"),
    ("2.14.0", "ok", "2.14.0 (seen to work, tested is 2.13.0)"),
    ("2.15.0", "warning", "2.15.0 (not tried, tested is 2.13.0)"),
    ("2.6.0", "warning", "2.6.0 (not tried, tested is 2.13.0)"),
    ("2.1.0", "warning", "2.1.0 (not tried, tested is 2.13.0)"),
    ("2.130.0", "warning", "2.130.0 (not tried, tested is 2.13.0)"),
]


@pytest.mark.parametrize(("version", "status", "detail"), VERSIONS)
def test_versions(monkeypatch: pytest.MonkeyPatch, version: str, status: str, detail: str) -> None:
    check = torch_check(monkeypatch, version, None)
    assert (check.status, check.detail) == (status, detail)
    assert check.cure == ("" if status == "ok" else "pip install torch==2.13.0")


def test_the_cure_beside_torch_npu_names_the_cpu_build(monkeypatch: pytest.MonkeyPatch) -> None:
    cure = torch_check(monkeypatch, "2.9.0", "2.9.0").cure
    assert "CPU build of torch 2.13.0" in cure and "pip install torch==" not in cure


PINS = [
    ("pyproject.toml", r'npu = \["torch==([\d.]+)", "torch_npu==([\d.]+)"\]'),
    ("scripts/environment.sh", r"OPGEN_TORCH:-([\d.]+)"),
    ("README.md", r"Tested with torch ([\d.]+\d)"),
    ("README.zh.md", r"以 torch ([\d.]+\d) 测试"),
    ("msopgen_wrap/npu/README.md", r"Tested with torch ([\d.]+\d) and torch_npu ([\d.]+\d)"),
    ("msopgen_wrap/explain/stages.md", r"pip install torch==([\d.]+\d)"),
]


@pytest.mark.parametrize(("path", "pattern"), PINS, ids=[path for path, _ in PINS])
def test_every_place_names_the_tested_version(path: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
    assert found and set(found.groups()) == {torch_versions.TESTED}

"""Failures of every command: exit codes, JSON and nothing else with --json, a full disk."""

from __future__ import annotations

import errno
import importlib
import json
import os
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msopgen_wrap.build import toolchain
from msopgen_wrap.cli import app, output
from msopgen_wrap.diagnostics import OpgenError, disk_full_message, machine_error

SPEC = "op: Demo\ninputs:\n  x: float32\noutputs:\n  y: like x\ncompute: x + 1\n"
# exec has no --json: what it prints is the program's.
WITH_JSON = [name for name in app.COMMANDS if name != "exec"]
NEEDED = {"new": ["s.yaml"], "check": ["s.yaml"], "plan": ["s.yaml"], "run": ["s.asc"]}


def run_json(capfd: Any, *args: str) -> tuple[int, Any]:
    """Run a command with --json; its whole standard output must be one JSON document."""
    code = app.run([*args, "--json"])
    return code, json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("name", WITH_JSON)
def test_wrong_usage_is_json(name: str, capfd: Any) -> None:
    option = "--block-dim=none" if name == "run" else "--nope"
    code, value = run_json(capfd, name, *NEEDED.get(name, []), option)
    assert code == output.USAGE and value["ok"] is False
    assert [d["code"] for d in value["diagnostics"]] == ["OPG096"]


FAILURES = [
    (ZeroDivisionError("oops"), output.INTERNAL, "OPG099"),
    (FileNotFoundError(errno.ENOENT, "gone"), output.INTERNAL, "OPG099"),
    (KeyboardInterrupt(), output.INTERRUPTED, "OPG097"),
    (OSError(errno.ENOSPC, "No space left on device", "/a"), output.ENVIRONMENT, "OPG094"),
    (OSError(errno.EROFS, "Read-only file system", "/a"), output.ENVIRONMENT, "OPG095"),
]


@pytest.mark.parametrize("name", WITH_JSON)
def test_every_failure_of_every_command_is_json(
    name: str, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    command = importlib.import_module(f"msopgen_wrap.cli.{name}_command").command
    for error, expected, code in FAILURES:

        def broken(error: BaseException = error, **_: Any) -> None:
            raise error

        monkeypatch.setattr(command, "callback", broken)
        got, value = run_json(capfd, name, *NEEDED.get(name, []))
        assert (got, value["ok"]) == (expected, False), error
        assert [d["code"] for d in value["diagnostics"]] == [code], error


def test_json_of_exec_is_the_programs(capfd: Any) -> None:
    assert app._wants_json(["exec", "--", "python", "--json"]) is False
    assert app._wants_json(["run", "a.asc", "--", "--json"]) is False
    assert app._wants_json(["check", "--json", "a.yaml"]) is True


def test_nothing_else_reaches_standard_output() -> None:
    """What C code and child processes print with --json goes to standard error."""
    code = (
        "import ctypes, os, subprocess\n"
        "from msopgen_wrap.cli import output\n"
        "libc = ctypes.CDLL(None)\n"
        "print('before')\n"
        "with output.json_only():\n"
        "    libc.printf(b'from C\\n')\n"
        "    os.write(1, b'from a descriptor\\n')\n"
        "    subprocess.run(['echo', 'from a child'])\n"
        "    output.print_json({'a': 1})\n"
        "print('after')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    head, *body, tail = done.stdout.splitlines()
    assert (head, tail) == ("before", "after")
    assert json.loads("\n".join(body)) == {"a": 1}
    assert all(f"from {who}" in done.stderr for who in ("C", "a descriptor", "a child"))


MACHINES = [
    ({"OPGEN_CXX": "/nonexistent/g++"}, "OPG301"),
    ({"OPGEN_CACHE_DIR": "/proc/nonexistent"}, "OPG305"),
]


@pytest.mark.parametrize("name", sorted(app.COMPILING))
@pytest.mark.parametrize(("env", "code"), MACHINES, ids=[code for _, code in MACHINES])
def test_the_machine_is_looked_at_first(
    name: str, env: dict[str, str], code: str, tmp_path: Path
) -> None:
    """Nothing is imported, rendered or read before: the target need not even exist."""
    program = (
        "import sys; from msopgen_wrap.cli import app; code = app.run(sys.argv[1:]);"
        "print('torch' in sys.modules); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, name, "nothing.yaml"],
        capture_output=True,
        text=True,
        env={**os.environ, **env},
        cwd=tmp_path,
    )
    assert done.returncode == output.ENVIRONMENT and f"error[{code}]" in done.stderr
    assert done.stdout.strip() == "False" and list(tmp_path.iterdir()) == []


def test_the_help_of_every_command_gives_the_exit_codes(capfd: Any) -> None:
    for name in app.COMMANDS:
        assert app.run([name, "--help"]) == 0
        assert "exit code" in " ".join(capfd.readouterr().out.lower().split()), name
    codes = (output.OK, output.FINDINGS, output.USAGE, output.ENVIRONMENT, output.INTERNAL)
    assert all(f"{code} " in output.EXIT_CODES for code in (*codes, output.INTERRUPTED))


ERRORS = [
    (OSError(errno.ENOSPC, "No space left on device"), "OPG094"),
    (OSError(errno.EDQUOT, "Disk quota exceeded"), "OPG094"),
    (OSError(errno.EFBIG, "File too large"), "OPG094"),
    (OSError("16384 requested and 0 written"), "OPG094"),  # numpy
    (PermissionError(errno.EACCES, "Permission denied", "/x"), "OPG095"),
    (OSError(errno.EMFILE, "Too many open files"), "OPG095"),
    (FileNotFoundError(errno.ENOENT, "No such file", "/x"), None),
    (OSError("something"), None),
]


@pytest.mark.parametrize(("error", "code"), ERRORS, ids=[str(e) for e, _ in ERRORS])
def test_errors_of_the_machine(error: OSError, code: str | None) -> None:
    found = machine_error(error)
    assert (found.code if found else None) == code
    if found and error.filename:
        assert "/x" in f"{found.what} {found.location.file}"


COMPILERS = [
    ("fatal error: error writing to /a.s: No space left on device", "OPG094"),
    ("/usr/bin/ld: final link failed: No space left on device", "OPG094"),
    ("g++: internal compiler error: File size limit exceeded signal terminated as", "OPG094"),
    ("a.cpp:1:1: error: expected ';'", "OPG303"),
]


@pytest.mark.parametrize(("message", "code"), COMPILERS)
def test_a_full_disk_in_a_compilers_words(message: str, code: str) -> None:
    with pytest.raises(OpgenError, match=code):
        toolchain.run_compiler(["sh", "-c", 'echo "$0" >&2; exit 1', message], None)
    assert (disk_full_message(message) is None) == (code == "OPG303")


def limited(bytes_: int, *args: object, stdout: Any = subprocess.PIPE) -> Any:
    """Run opgen with a limit on the size of files."""
    return subprocess.run(
        [sys.executable, "-m", "msopgen_wrap.cli", *map(str, args)],
        stdout=stdout,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (bytes_, bytes_)),
    )


def test_a_project_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    (tmp_path / "s.yaml").write_text(SPEC)
    done = limited(2000, "new", tmp_path / "s.yaml", "-o", tmp_path / "p")
    assert done.returncode == output.ENVIRONMENT, done.stderr
    assert "error[OPG094]" in done.stderr and "limit on file sizes" in done.stderr
    assert [p.name for p in tmp_path.iterdir()] == ["s.yaml"]


@pytest.mark.parametrize("args", [["explain"], ["list", "--json"]])
def test_a_full_disk_behind_standard_output(args: list[str]) -> None:
    with open("/dev/full", "w") as full:
        done = limited(1 << 30, *args, stdout=full)
    assert done.returncode == output.ENVIRONMENT
    assert "error[OPG094]" in done.stderr and "Exception" not in done.stderr


def test_a_plan_for_a_soc_without_kernels_names_file_and_op(tmp_path: Path, capfd: Any) -> None:
    path = tmp_path / "s.yaml"
    path.write_text(SPEC + "soc: [ascend310p]\n")
    for args in (["plan"], ["check", "--deep"], ["new", "-o", str(tmp_path / "p")]):
        assert app.run([*args, str(path)]) == output.FINDINGS
        printed = "".join(capfd.readouterr())
        assert f"{path}: error[OPG312]: Demo: " in printed

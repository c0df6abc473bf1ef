"""Failures of commands: exit codes, JSON, a full disk, and what ``check --deep`` refuses."""

from __future__ import annotations

import errno
import importlib
import json
import os
import re
import resource
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from msopgen_wrap.build import toolchain
from msopgen_wrap.cli import app, output
from msopgen_wrap.cli.check_command import deep_findings
from msopgen_wrap.diagnostics import OpgenError, disk_full_message, machine_error
from msopgen_wrap.spec.loader import load_spec
from msopgen_wrap.torch_import import quiet_torch

# ---- Failures of every command: exit codes, JSON and nothing else with --json, a full disk -------

SPEC = "op: Demo\ninputs:\n  x: float32\noutputs:\n  y: like x\ncompute: x + 1\n"
# exec has no --json: what it prints is the program's.
WITH_JSON = [name for name in app.COMMANDS if name != "exec"]
NEEDED = {"new": ["s.yaml"], "check": ["s.yaml"], "plan": ["s.yaml"], "run": ["s.asc"]}
NEEDED |= {
    "fuse": ["model.py:make"],
    "bench": ["s.yaml"],
    "tune": ["s.yaml"],
    "profile": ["s.yaml"],
}


def run_json(capfd: Any, *args: str) -> tuple[int, Any]:
    """Run a command with --json; its whole standard output must be one JSON document."""
    code = app.run([*args, "--json"])
    return code, json.loads(capfd.readouterr().out)


@pytest.mark.parametrize("name", WITH_JSON)
def test_wrong_usage_is_json(name: str, capfd: Any) -> None:
    # Programs get the options that these two do not know.
    option = "--block-dim=none" if name in ("run", "profile") else "--nope"
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


@pytest.mark.parametrize("target", ["cpu", "npu", "onnxruntime", "tflite"])
def test_a_file_in_the_way_of_the_output(target: str, tmp_path: Path, capfd: Any) -> None:
    (tmp_path / "s.yaml").write_text(SPEC)
    (tmp_path / "file").write_text("mine")
    assert app.run(["new", str(tmp_path / "s.yaml"), "-o", str(tmp_path / "p")]) == output.OK
    capfd.readouterr()
    out = tmp_path / "file" / "below"
    code, value = run_json(capfd, "build", str(tmp_path / "p"), "--target", target, "-o", str(out))
    (problem,) = value["diagnostics"]
    assert (code, problem["code"]) == (output.FINDINGS, "OPG098")
    assert "file' is a file" in problem["why"]
    assert (tmp_path / "file").read_text() == "mine"


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


# ---- ``check --deep`` refuses what ``opgen test`` would refuse before a launch, and is quiet -----

KERNEL = """
#include "kernel_operator.h"
extern "C" __global__ __aicore__ void by_hand(GM_ADDR x, GM_ADDR y, GM_ADDR workspace,
                                              GM_ADDR tiling) {
    BODY
}
"""
# Spec, kernel source if any, and the codes that are found.
SPECS = {
    "an attr that is an axis of a view": (
        """
op: UnsqueezeAt
inputs:
  x: {dtype: float32, rank: 1}
outputs:
  y: {dtype: x, shape: "[x[0], 1]"}
attrs:
  n: 1
compute: x.unsqueeze(n) * 2
""",
        "",
        {"OPG202"},
    ),
    "a kernel that does not compile": (
        """
op: ByHand
inputs: {x: float32}
outputs: {y: like x}
compute: x
backward: none
kernel: by_hand.cpp
""",
        KERNEL.replace("BODY", "no_such_type t;"),
        {"OPG303"},
    ),
    "a kernel that names what is absent": (
        """
op: ByHand
inputs: {z: float32, x: {dtype: float32, optional: true, shape: like z}}
outputs: {y: like z}
compute: z if x is None else z + x
backward: none
kernel: by_hand.cpp
""",
        KERNEL.replace("GM_ADDR x", "GM_ADDR z, GM_ADDR x").replace(
            "BODY", "AscendC::GlobalTensor<DTYPE_X> source;"
        ),
        {"OPG303"},
    ),
    "integers that lie apart in memory, one to a row": (
        """
op: Counted
inputs:
  x: {dtype: float32, rank: 2}
  k: {dtype: int32, shape: "[x[0], 2]"}
outputs: {y: "[x[0]]"}
compute: x.sum(-1) * k[..., 0]
backward: none
""",
        "",
        {"OPG073"},
    ),
    "a case with a longer list than the default": (
        """
op: Weighted
inputs: {x: float32}
outputs: {y: like x}
attrs: {weights: [0.5, 2.0]}
compute: x * weights[0] + weights[-1]
cases:
  - {x: [3, 5], weights: [1.0, 2.0, 4.0]}
""",
        "",
        {"OPG073"},
    ),
    "a good spec": (
        """
op: PerToken
inputs:
  x: {dtype: float32, rank: [2, 3]}
  w: {dtype: x, shape: "[x[-1]]", optional: true}
outputs: {y: like x}
attrs: {eps: 1.0e-5}
compute: |
  y = x / (x.abs().mean(-1, keepdim=True) + eps)
  if w is not None:
      y = y * w
""",
        "",
        set(),
    ),
}


@pytest.mark.parametrize("name", SPECS)
def test_deep_check(name: str, tmp_path: Path) -> None:
    text, kernel, codes = SPECS[name]
    path = tmp_path / "spec.yaml"
    path.write_text(text, encoding="utf-8")
    (tmp_path / "by_hand.cpp").write_text(kernel, encoding="utf-8")
    found = deep_findings(load_spec(path))
    assert {d.code for d in found} == codes, [str(d) for d in found]
    if "Weighted" in text:
        assert "weights has 3 numbers, the kernel is made for 2" in found[0].why
        assert "x=3x5 weights=(1.0, 2.0, 4.0)" in found[0].what
        assert len(found) == 1
    if "Counted" in text:
        assert "not contiguous along the rows, as integers must be" in found[0].why
        assert len(found) == 3
        assert re.search(r"refuses \d+ cases, the last shown is", found[-1].what)


def test_nothing_is_printed_for_a_good_spec(tmp_path: Path) -> None:
    path = tmp_path / "spec.yaml"
    path.write_text(SPECS["a good spec"][0], encoding="utf-8")
    command = [sys.executable, "-m", "msopgen_wrap.cli", "check", "--deep", str(path)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines() == ["1 spec, 1 valid: no findings"]


def test_torch_is_heard_again_afterwards(caplog: pytest.LogCaptureFixture) -> None:
    import logging

    with quiet_torch():
        logging.getLogger("torch.fx").error("while running")
    logging.getLogger("torch.fx").error("later")
    assert [r.message for r in caplog.records] == ["later"]

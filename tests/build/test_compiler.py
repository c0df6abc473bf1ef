"""The compiler: which one is taken, the recorded commands, and its errors as diagnostics."""

from __future__ import annotations

import json
import platform
import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.build.compiler_errors import (
    MOST_ERRORS,
    compiler_diagnostics,
    missing_header,
)
from msopgen_wrap.build.toolchain import Toolchain, find_toolchain, run_compiler
from msopgen_wrap.cli import app
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.resources import data_dir

# ---- Which compilers are taken -------------------------------------------------------------------

OTHER = "x86_64" if platform.machine() in ("aarch64", "arm64") else "aarch64"


def compiler(folder: Path, version: str, machine: str) -> str:
    """Write a script that answers as a compiler does; return its path."""
    script = folder / f"g++-{version}-{machine}"
    script.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = -dumpmachine ] && echo {machine} && exit\n'
        f'echo "g++ (made up) {version}"\n'
    )
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(
    ("version", "machine", "says"),
    [
        ("8.3", f"{platform.machine()}-linux-gnu", "gcc 8.3"),
        ("12.2", f"{OTHER}-linux-gnu", f"for {OTHER}-linux-gnu"),
    ],
)
def test_a_compiler_that_cannot_serve_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, machine: str, says: str
) -> None:
    monkeypatch.setenv("OPGEN_CXX", compiler(tmp_path, version, machine))
    with pytest.raises(OpgenError) as failure:
        find_toolchain()
    assert "OPG302" in str(failure.value)
    assert says in str(failure.value)


def test_a_cross_compiler_in_cxx_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPGEN_CXX", raising=False)
    monkeypatch.setenv("CXX", compiler(tmp_path, "12.2", f"{OTHER}-linux-gnu"))
    assert find_toolchain().is_native


@pytest.mark.parametrize("name", ["x86_64-linux-gnu", "amd64-portbld-freebsd14"])
def test_names_of_one_machine_are_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "AMD64")
    assert Toolchain("g++", "gcc", (12, 2), name).is_native


# ---- compile_commands.json: every command compiles its source as it stands -----------------------


@pytest.mark.parametrize("style", ["8.1", "9.x"])
def test_every_command_compiles_its_source(style: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    spec = str(data_dir("op_specs") / "elementwise" / "fused_add_relu.yaml")
    given = ["new", spec, "-o", str(project), "--style", style, "--compile-commands"]
    assert app.run(given) == 0
    rows = json.loads((project / "compile_commands.json").read_text(encoding="utf-8"))
    names = ["op_kernel/fused_add_relu.cpp", "op_host/fused_add_relu.cpp"]
    names.append("op_api/aclnn_fused_add_relu.cpp")
    assert [Path(row["file"]).relative_to(project).as_posix() for row in rows] == names
    for row in rows:
        done = subprocess.run(row["arguments"], cwd=row["directory"], capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
    # A second run finds nothing of its own edited.
    assert app.run(given) == 0


# ---- Compiler and linker output as diagnostics: every error, at the user's line, with a cure -----

USED = """\
In file included from k.cpp:1:
tensor.h: In instantiation of 'void Add() [with T = bool]':
k.cpp:7:9:   required from here
tensor.h:40:3: error: static assertion failed: no such type
   40 |   static_assert(x);
k.cpp:9:5: error: 'z' was not declared in this scope
k.cpp:9:5: error: 'z' was not declared in this scope
"""


def _read(stderr, source="k.cpp"):
    path = Path(source) if source else None
    return compiler_diagnostics(stderr, path, code="OPG303", what="", compiler="gcc 12")


def test_every_error_once_at_the_line_of_the_user():
    found = [(d.location.file, d.location.line, d.location.column, d.what) for d in _read(USED)]
    assert found == [
        ("k.cpp", 7, 9, "static assertion failed: no such type (reported in tensor.h:40)"),
        ("k.cpp", 9, 5, "'z' was not declared in this scope"),
    ]


def test_a_crash_of_the_compiler_is_no_error_of_the_source():
    text = "k.cpp:3:1: required from here\ncube.h:149:24: internal compiler error: Segfault\n"
    (found,) = _read(text)
    assert (found.location.file, found.location.line) == ("cube.h", 149)
    assert "internal compiler error: Segfault" in found.what
    assert "OPGEN_CXX" in found.fix


@pytest.mark.parametrize(
    "text, cure",
    [
        ("data.h: No such file or directory", "give the folder of data.h with -I"),
        ("'data.h' file not found", "give the folder of data.h with -I"),
        ("'Foo' is not a member of 'AscendC'", "the emulation lacks it"),
        ("expected ';' before '}' token", ""),
    ],
)
def test_cures(text, cure):
    (found,) = _read(f"k.cpp:5:10: fatal error: {text}\n")
    assert cure in found.fix if cure else found.fix == ""


def test_a_flood_is_cut():
    assert len(_read("".join(f"k.cpp:{i}:1: error: e\n" for i in range(1, 99)))) == MOST_ERRORS


def test_linker_errors_name_what_is_missing():
    (found,) = _read(
        "/usr/bin/ld: k.o: in function `main':\nk.cpp:(.text+0x9): undefined "
        "reference to `helper()'\ncollect2: error: ld returned 1 exit status\n"
    )
    assert found.what == "undefined reference to `helper()'" and "source" in found.fix


def test_a_real_compiler(tmp_path):
    source = tmp_path / "two.cpp"
    source.write_text("int a = b;\nint c = d;\n")
    with pytest.raises(OpgenError) as caught:
        run_compiler([find_toolchain().cxx, "-fsyntax-only", str(source)], source)
    assert [d.location.line for d in caught.value.diagnostics] == [1, 2]


@pytest.mark.parametrize(
    ("text", "header"),
    [
        ("util/dag.h: No such file or directory", "util/dag.h"),
        ("'util/dag.h' file not found", "util/dag.h"),
        ("op_host: 'util/dag.h' file not found", "util/dag.h"),
        ("x.cpp does not compile: dag.h: No such file or directory", "dag.h"),
        ("'x' was not declared in this scope", ""),
    ],
)
def test_missing_headers_of_both_compilers(text: str, header: str) -> None:
    assert missing_header(text) == header

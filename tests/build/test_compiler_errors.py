"""Compiler and linker output as diagnostics: every error, at the user's line, with a cure."""

from pathlib import Path

import pytest

from msopgen_wrap.build.compiler_errors import (
    MOST_ERRORS,
    compiler_diagnostics,
    missing_header,
)
from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.diagnostics import OpgenError

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

"""CMake files: what is a command, which conditions can be told, and what a build takes."""

from __future__ import annotations

import pytest

from msopgen_wrap.build.cmake_language import CMakeError, Scope, commands

KNOWN = {"SOC": "Ascend910B3", "MODE": "cpu", "LIST": "a;b", "NUM": "3", "OFFISH": "OFF", "E": ""}

CONDITIONS = [
    ("TRUE", True),
    ("OFF", False),
    ("0", False),
    ('""', False),
    ("NUM", True),
    ("OFFISH", False),
    ("E", False),
    ("${NUM}", True),
    ("UNKNOWN", None),
    ("NOT UNKNOWN", None),
    ("NOT OFFISH", True),
    ('MODE STREQUAL "cpu"', True),
    ('"${MODE}" STREQUAL "npu"', False),
    ("${MODE} STREQUAL cpu", True),
    ('UNKNOWN STREQUAL "cpu"', None),
    ('"${UNKNOWN}" STREQUAL "cpu"', None),
    ('SOC MATCHES "^Ascend910B"', True),
    ("SOC MATCHES 310P", False),
    ("a IN_LIST LIST", None),  # a plain word on the left may be a variable
    ('"a" IN_LIST LIST', True),
    ('"c" IN_LIST LIST', False),
    ("NUM EQUAL 3", True),
    ("NUM GREATER 3", False),
    ("NUM LESS_EQUAL 3", True),
    ("DEFINED MODE", True),
    ("DEFINED UNKNOWN", None),
    ("EXISTS /x", None),
    ("TARGET x", None),
    ("CMAKE_VERSION VERSION_LESS 3.16", None),
    ("UNKNOWN AND OFFISH", False),
    ("UNKNOWN AND NUM", None),
    ("UNKNOWN OR NUM", True),
    ("UNKNOWN OR OFFISH", None),
    ("NOT (UNKNOWN OR NUM)", False),
    ('(MODE STREQUAL "npu" OR MODE STREQUAL "cpu") AND NOT OFFISH', True),
    ("DEFINED ENV{HOME}", None),
    ("$ENV{HOME}", None),
    ("NUM NUM", None),
]


@pytest.mark.parametrize(("condition", "holds"), CONDITIONS, ids=[c for c, _ in CONDITIONS])
def test_conditions(condition, holds):
    (command,) = commands(f"if({condition})")
    assert Scope(dict(KNOWN)).holds(command.words) is holds


def taken(text: str, **known: str) -> list[tuple[str, bool]]:
    found = Scope(dict(known)).taken(text)
    return [(" ".join(c.texts), c.certain) for c in found if c.name == "say"]


CHAIN = """
if(MODE STREQUAL "a")
  say(1)
elseif(MODE STREQUAL "b")
  say(2)
  if(DEEP)
    say(3)
  endif()
else()
  say(4)
endif()
say(5)
"""

BRANCHES = [
    ({"MODE": "a"}, [("1", True), ("5", True)]),
    ({"MODE": "b", "DEEP": "ON"}, [("2", True), ("3", True), ("5", True)]),
    ({"MODE": "b"}, [("2", True), ("3", False), ("5", True)]),
    ({"MODE": "c"}, [("4", True), ("5", True)]),
    ({}, [("1", False), ("2", False), ("3", False), ("4", False), ("5", True)]),
]


@pytest.mark.parametrize(("known", "said"), BRANCHES, ids=str)
def test_branches(known, said):
    assert taken(CHAIN, **known) == said


VARIABLES = [
    ("set(A x)\nsay(${A})", ["x"]),
    ("set(A x y)\nsay(${A})", ["x;y"]),
    ("set(A x)\nset(B ${A}-${A})\nsay(${B})", ["x-x"]),
    ("option(A doc ON)\nif(A)\nsay(1)\nendif()", ["1"]),
    ("option(A doc)\nif(A)\nsay(1)\nendif()", []),
    ("set(K new CACHE STRING doc)\nsay(${K})", ["known"]),
    ("set(K new CACHE STRING doc FORCE)\nsay(${K})", ["new"]),
    ("set(K new)\nsay(${K})", ["new"]),
    ("if(U)\nset(K a)\nelse()\nset(K b)\nendif()\nsay(${K})", ["${K}"]),
    ("list(APPEND K more)\nsay(${K})", ["known;more"]),
    ("list(SORT K)\nsay(${K})", ["${K}"]),
    ("set(A x)\nunset(A)\nif(A)\nsay(1)\nendif()", []),
    ("function(f)\nset(K inner)\nsay(${ARGN})\nendfunction()\nsay(${K})", ["${ARGN}", "known"]),
    ("foreach(A x y)\nset(K ${A})\nendforeach()\nsay(${K})", ["${K}"]),
    ("# say(1)\n#[[ say(2)\n]]\nsay([[a b]])", ["a b"]),
    ('say("a # b" "c \\"d\\"")', ['a # b c "d"']),
]


@pytest.mark.parametrize(("text", "said"), VARIABLES, ids=[v[0] for v in VARIABLES])
def test_variables(text, said):
    assert [words for words, _ in taken(text, K="known")] == said


@pytest.mark.parametrize(
    ("text", "line"),
    [("a(\nb", 1), ("\na)", 2), ("a\nb()", 2), ('a("x', 1), ("()", 1), ("a(1)\n}", 2)],
)
def test_what_is_no_cmake_has_a_line(text, line):
    with pytest.raises(CMakeError) as caught:
        commands(text)
    assert caught.value.line == line

"""The list of slow tests names tests that exist, and leaves each file one."""

from __future__ import annotations

import slow_tests

TIMES = """\
12.00s call     tests/a/test_one.py::test_long[x y]
6.00s call     tests/a/test_one.py::test_shorter
9.00s setup    tests/a/test_one.py::test_short
0.10s call     tests/a/test_one.py::test_short
8.00s call     tests/a/test_two.py::test_only
9.00s call     tests/a/test_two.py::test_other
"""


def test_listed_tests_exist() -> None:
    assert [test for test in slow_tests.listed() if not slow_tests.exists(test)] == []


def test_long_calls_are_chosen_but_one_of_each_file() -> None:
    seconds = slow_tests.called(TIMES)
    assert seconds["tests/a/test_one.py::test_short"] == 0.1
    assert slow_tests.chosen(seconds, 4.0) == {
        "tests/a/test_one.py::test_long[x y]",
        "tests/a/test_one.py::test_shorter",
        "tests/a/test_two.py::test_other",
    }


def test_unknown_tests_do_not_exist() -> None:
    assert slow_tests.exists("tests/test_slow_list.py::test_unknown_tests_do_not_exist[a]")
    assert not slow_tests.exists("tests/test_slow_list.py::test_gone")
    assert not slow_tests.exists("tests/gone.py::test_listed_tests_exist")

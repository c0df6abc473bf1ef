"""What a text behind ``--attr NAME=`` means for attrs of each type."""

from __future__ import annotations

from typing import Any

import pytest

from msopgen_wrap.foreign.run_inputs import AttrText, attr_value

VALUES = [
    ("none", "str", "none"),
    ("None", "str", "None"),
    ("true", "str", "true"),
    ("1", "str", "1"),
    ("[1,2]", "str", "[1,2]"),
    ("'none'", "str", "none"),
    ('"1.5"', "str", "1.5"),
    ("", "str", ""),
    ("none", "char", "none"),
    ("none", "int", None),
    ("none", "", "none"),
    ("None", "", None),
    ("tanh", "", "tanh"),
    ("True", "bool", True),
    ("false", "bool", False),
    ("0", "bool", 0),
    ("3", "int", 3),
    ("1e-5", "float", 1e-5),
    ("[1, 2]", "list_int", [1, 2]),
    ("[[1],[2]]", "list_list_int", [[1], [2]]),
]


@pytest.mark.parametrize(("text", "kind", "value"), VALUES)
def test_texts(text: str, kind: str, value: Any) -> None:
    assert attr_value(AttrText(text), kind) == value
    assert type(attr_value(AttrText(text), kind)) is type(value)


def test_values_of_a_case_file_stay() -> None:
    assert attr_value("none", "int") == "none" and attr_value(None, "str") is None

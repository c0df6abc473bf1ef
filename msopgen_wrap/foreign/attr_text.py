"""Attr values as a command line gives them: text, whose meaning depends on the attr's type."""

from __future__ import annotations

import ast
from typing import Any

_WORDS = {"true": True, "false": False, "none": None}
_TEXT_TYPES = ("str", "string", "std::string", "char")


class AttrText(str):
    """The text behind ``--attr NAME=``, before the type of the attr is known."""


def attr_value(value: Any, kind: str) -> Any:
    """Return what an attr of type ``kind`` takes; values that are no ``AttrText`` stay.

    For a text attr it is the text itself (``none`` is a word there), without the quotes around it.
    For others it is a Python literal, ``true``, ``false``, or ``none`` for the default; where the
    type is not known (``""``) only ``None`` means the default.
    """
    if not isinstance(value, AttrText):
        return value
    text = str(value)
    literal = _literal(text)
    if kind in _TEXT_TYPES:
        return literal if isinstance(literal, str) else text
    if text.lower() in _WORDS and (kind or text != "none"):
        return _WORDS[text.lower()]
    return literal


def _literal(text: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        return text

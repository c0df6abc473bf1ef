"""Values and prose as text of the target languages: literals that compile, comments that end."""

from __future__ import annotations

import math
import re

_ESCAPES = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\r": "\\r", "\t": "\\t"}


def cpp_string(text: str) -> str:
    """Return a C++ (or torch schema) string literal."""
    return '"' + "".join(_ESCAPES.get(c, c) for c in text) + '"'


def cpp_int(value: int) -> str:
    """Return a C++ integer literal; the most negative number has none of its own."""
    return f"{int(value)}" if value > -(2**63) else "(-9223372036854775807 - 1)"


def cpp_float(value: float) -> str:
    """Return a C++ literal of type float, inf and nan included."""
    number = float(value)
    if math.isnan(number):
        return '__builtin_nanf("")'
    if math.isinf(number):
        return "__builtin_inff()" if number > 0 else "-__builtin_inff()"
    text = repr(number)
    return (text if any(c in text for c in ".e") else text + ".0") + "f"


def cpp_comment(line: str) -> str:
    """Return a line for a ``//`` comment: a backslash at its end would take the next line in.

    Lines may be wrapped at blanks later, so no word ends in a backslash.
    """
    return re.sub(r"\\(?=\s|$)", r"\\.", line)


def python_doc(text: str) -> str:
    """Return text for the inside of a triple-quoted Python string, without the quotes."""
    text = text.replace("\\", "\\\\").replace('"""', "'''")
    return text[:-1] + "'" if text.endswith('"') else text

"""Text of the generated sources: the jinja environment, and literals and comments that compile."""

from __future__ import annotations

import math
import re
from functools import cache
from typing import Any

import jinja2

from msopgen_wrap.resources import data_dir


@cache
def environment(folder: str = "") -> jinja2.Environment:
    """Return the environment of ``templates/<folder>``: undefined names are errors.

    Its templates may include those of other folders, by their path in ``templates``.
    """
    templates = data_dir("templates")
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader([templates / folder, templates]),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )
    env.filters["percent_d"] = lambda name: f"{name} %d"
    env.filters["regex_typename"] = lambda name: f"typename {name}"
    return env


def render_template(name: str, /, **values: Any) -> str:
    """Return ``templates/<name>.jinja`` filled with ``values``."""
    return environment().get_template(name + ".jinja").render(**values)


def render_block(folder: str, name: str, block: str, values: dict[str, Any]) -> str:
    """Return one block of ``templates/<folder>/<name>`` filled with ``values``."""
    template = environment(folder).get_template(name)
    return "".join(template.blocks[block](template.new_context(values)))


def static_text(name: str) -> str:
    """Return a file of the templates folder that is copied as it is."""
    return (data_dir("templates") / name).read_text(encoding="utf-8")


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

"""The jinja environment of the generated sources."""

from __future__ import annotations

from functools import cache
from typing import Any

import jinja2

from msopgen_wrap.resources import data_dir


@cache
def environment(folder: str = "") -> jinja2.Environment:
    """Return the environment of ``templates/<folder>``: undefined names are errors."""
    env = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_dir("templates") / folder),
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

"""The jinja environment of this package."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import jinja2

from msopgen_wrap.resources import data_dir


@lru_cache(maxsize=1)
def _environment() -> jinja2.Environment:
    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_dir("templates")),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        trim_blocks=True,
        lstrip_blocks=True,
        autoescape=False,
    )


def render_template(name: str, /, **values: Any) -> str:
    """Return ``templates/<name>.jinja`` filled with ``values``."""
    return _environment().get_template(name + ".jinja").render(**values)


def static_text(name: str) -> str:
    """Return a file of the templates folder that is copied as it is."""
    return (data_dir("templates") / name).read_text(encoding="utf-8")

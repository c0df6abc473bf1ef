"""Render the pytest file of each op of a project."""

from __future__ import annotations

from collections.abc import Sequence

import jinja2

from msopgen_wrap.render.files import GeneratedFile
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.model import OpSpec


def render_tests(specs: Sequence[OpSpec]) -> list[GeneratedFile]:
    """Return ``tests/test_<op>.py`` for every spec."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(data_dir("templates")),
        keep_trailing_newline=True,
        undefined=jinja2.StrictUndefined,
    )
    template = environment.get_template("tests/test_op.py.jinja")
    return [
        GeneratedFile(
            f"tests/test_{spec.name}.py",
            template.render(op=spec.op, name=spec.name, spec_path=f"specs/{spec.name}.yaml"),
        )
        for spec in specs
    ]

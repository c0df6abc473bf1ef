"""Write a test report to a file: JSON, Markdown or HTML, chosen by the file's ending."""

from __future__ import annotations

import json
from pathlib import Path

import jinja2

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.resources import data_dir
from msopgen_wrap.run.accuracy_rules import RULES
from msopgen_wrap.run.report_figures import coverage_matrix, error_picture, worst_case
from msopgen_wrap.run.results import TestReport
from msopgen_wrap.run.run_environment import environment_text

_TEMPLATES = {".md": "report/report.md.jinja", ".html": "report/report.html.jinja"}


def _used_rules(report: TestReport) -> set[str]:
    return {rule for op in report.ops for rules in op.rules.values() for rule in rules}


def write_report(report: TestReport, path: Path) -> None:
    """Write ``report`` to ``path``.

    Raises:
        OpgenError: the ending is none of .json, .md, .html, or the file cannot be written.
    """
    if path.suffix == ".json":
        text = json.dumps(report.as_dict(), indent=2) + "\n"
    elif path.suffix in _TEMPLATES:
        environment = jinja2.Environment(
            loader=jinja2.FileSystemLoader(data_dir("templates")),
            autoescape=path.suffix == ".html",
            undefined=jinja2.StrictUndefined,
        )
        text = environment.get_template(_TEMPLATES[path.suffix]).render(
            report=report,
            environment=environment_text(report.environment),
            picture=error_picture,
            matrix=coverage_matrix,
            worst_case=worst_case,
            rules={name: RULES[name] for name in RULES if name in _used_rules(report)},
        )
    else:
        raise OpgenError(
            Diagnostic(
                "OPG903",
                f"cannot write a report to {path.name!r}",
                Location(str(path)),
                why="the ending chooses the format",
                fix="use a name that ends in .json, .md or .html",
            )
        )
    try:
        path.write_text(text, encoding="utf-8")
    except OSError as error:
        raise OpgenError(
            Diagnostic(
                "OPG904",
                f"cannot write the report: {error.strerror}",
                Location(str(path)),
                fix="choose a folder that exists and that you may write to",
            )
        ) from error

"""The generated CANN projects, file by file, as they are meant to look."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.project.cann_project import STYLES, CannOptions, render_cann_project

from .conftest import ATTRS, make_spec

GOLDEN = Path(__file__).parent / "golden"
# Long files whose behaviour other tests exercise.
SKIPPED = ("scripts/install.sh", "framework/onnx_plugin/onnx_attributes.h")


@pytest.mark.parametrize("style", STYLES)
def test_project(style, golden, request):
    specs = [make_spec(attrs=ATTRS), make_spec("SampleLists", "sample_lists", lists=True)]
    files = render_cann_project(specs, CannOptions("acme", style))
    shown = {f.path: f.text for f in files if f.path not in SKIPPED}
    for path, text in shown.items():
        # The kit's version changes with every release.
        text = "\n".join(
            "opgen_version=*" if line.startswith("opgen_version=") else line
            for line in text.split("\n")
        )
        golden(GOLDEN / style / path, text)
    if not request.config.getoption("--update-golden"):
        known = {
            p.relative_to(GOLDEN / style).as_posix()
            for p in (GOLDEN / style).rglob("*")
            if p.is_file()
        }
        assert known == set(shown), "golden files without a generated one, or the other way round"

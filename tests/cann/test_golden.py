"""The generated CANN projects, file by file, as they are meant to look."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from msopgen_wrap.project.cann_project import STYLES, CannOptions, render_cann_project

from .conftest import ATTRS, make_spec

GOLDEN = Path(__file__).parent / "golden"
# Long files whose behaviour other tests exercise.
SKIPPED = ("scripts/install.sh", "framework/onnx_plugin/onnx_attributes.h")


@pytest.mark.parametrize("style", STYLES)
def test_project(style, golden):
    specs = [make_spec(attrs=ATTRS), make_spec("SampleLists", "sample_lists", lists=True)]
    files = render_cann_project(specs, CannOptions("acme", style))
    # The kit's version changes with every release.
    shown = {
        f.path: re.sub(r"^opgen_version=.*$", "opgen_version=*", f.text, flags=re.MULTILINE)
        for f in files
        if f.path not in SKIPPED
    }
    golden(GOLDEN / f"project-{style}.golden", shown)

"""A kernel that calls SyncAll declares a type with hardware synchronisation.

With ``KERNEL_TYPE_AIV_ONLY`` the device does not open the module that passes flags between cores:
SyncAll hangs on the board although it works on a CPU.
"""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from msopgen_wrap.build.rewriting.source_text import blank_comments
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.render.building_blocks import include_blocks
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import find_specs, load_spec

BLOCKS = data_dir("ascendc_kernels") / "include"
TEMPLATES = sorted(data_dir("templates").glob("*/kernel.cpp.jinja"))
WRITTEN = sorted((data_dir("ascendc_kernels") / "ops").rglob("op_kernel/*.cpp"))
GOLDEN = sorted((Path(__file__).parent / "golden").rglob("op_kernel/*.cpp.golden"))
SPECS = find_specs([data_dir("op_specs")])

_DECLARED = re.compile(r"\bKERNEL_TASK_TYPE(?:_DEFAULT)?\s*\(([^)]*)\)")
_INCLUDE = re.compile(r'#\s*include\s+"(opgen/[\w./]+)"')
# Kinds without the module behind cross-core flags.
_PLAIN = ("KERNEL_TYPE_AIV_ONLY", "KERNEL_TYPE_AIC_ONLY")


def all_text(source: str) -> str:
    """Return the code of a kernel and of the blocks it includes, comments blanked."""
    texts, pending, seen = [source], [source], set()
    while pending:
        for name in _INCLUDE.findall(pending.pop()):
            # opgen/project.h is made for each project and has macros only
            if name not in seen and (BLOCKS / name).is_file():
                seen.add(name)
                texts.append((BLOCKS / name).read_text(encoding="utf-8"))
                pending.append(texts[-1])
    return "\n".join(blank_comments(t) for t in texts)


def template_text(path: Path) -> str:
    """Return a kernel template with the includes of the blocks that it calls."""
    return include_blocks(path.read_text(encoding="utf-8"))


def problem(source: str) -> str:
    """Return what is wrong with the declared kernel type, empty when it is right."""
    text = all_text(source)
    declared = [d.split(",")[-1].strip() for d in _DECLARED.findall(text)]
    if not declared:
        return "no kernel type is declared"
    if re.search(r"\bSyncAll\s*[(<]", text) and any(d in _PLAIN for d in declared):
        return f"SyncAll in a kernel that declares {declared}"
    return ""


@pytest.mark.parametrize("path", [*TEMPLATES, *WRITTEN, *GOLDEN], ids=lambda p: p.name)
def test_sources(path):
    assert problem(template_text(path)) == ""


def test_the_check_sees_a_wrong_type():
    row = template_text(next(p for p in TEMPLATES if p.parent.name == "row"))
    assert "SyncAll in a kernel" in problem(row.replace("MIX_AIV_1_0", "AIV_ONLY"))


@pytest.mark.slow
@pytest.mark.parametrize("style", ["8.1", "9.x"])
@pytest.mark.parametrize("path", SPECS, ids=lambda p: p.stem)
def test_library(path, style):
    for file in render_project([load_spec(path)], ProjectOptions(vendor="acme", style=style)):
        if re.fullmatch(r"op_kernel/[^/]+\.cpp", file.path):
            assert problem(file.text) == "", file.path

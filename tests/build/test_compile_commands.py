"""compile_commands.json: every command compiles its source as it stands."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest

from msopgen_wrap.cli import app
from msopgen_wrap.resources import data_dir


@pytest.mark.parametrize("style", ["8.1", "9.x"])
def test_every_command_compiles_its_source(style: str, tmp_path: Path) -> None:
    project = tmp_path / "project"
    spec = str(data_dir("op_specs") / "elementwise" / "fused_add_relu.yaml")
    given = ["new", spec, "-o", str(project), "--style", style, "--compile-commands"]
    assert app.run(given) == 0
    rows = json.loads((project / "compile_commands.json").read_text(encoding="utf-8"))
    names = ["op_kernel/fused_add_relu.cpp", "op_host/fused_add_relu.cpp"]
    names.append("op_api/aclnn_fused_add_relu.cpp")
    assert [Path(row["file"]).relative_to(project).as_posix() for row in rows] == names
    for row in rows:
        done = subprocess.run(row["arguments"], cwd=row["directory"], capture_output=True)
        assert done.returncode == 0, done.stderr.decode()
    # A second run finds nothing of its own edited.
    assert app.run(given) == 0

"""The commands of the tutorial and of the examples, run as a reader would run them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

# --------------------------------------------------------------------------------------------------
# The commands of the tutorial in README.md: the same in both languages, and they run in order.

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = {"README.md": "## Five minutes", "README.zh.md": "## 五分钟"}


def section(name: str) -> str:
    text = (ROOT / name).read_text(encoding="utf-8")
    start = text.index(SECTIONS[name])
    return text[start : text.index("\n## ", start + 1)]


def commands(name: str) -> list[str]:
    """The commands of all shell blocks, and those written in the text, in order."""
    found = []
    for block, inline in re.findall(
        r"```sh\n(.*?)```|`(opgen (?:\w+) \S+\.yaml[^`\n]*)`", section(name), re.S
    ):
        found += [inline] if inline else [row.strip() for row in block.splitlines() if row.strip()]
    return found


def spec(name: str) -> str:
    (block,) = re.findall(r"```yaml\n(.*?)```", section(name), re.S)
    return "\n".join(row[3:] for row in block.splitlines()) + "\n"


def test_both_languages_have_the_same_commands_and_spec() -> None:
    english, chinese = commands("README.md"), commands("README.zh.md")
    assert english == chinese and len(english) >= 8
    assert spec("README.md") == spec("README.zh.md")


def test_every_command_is_one_line_that_can_be_pasted() -> None:
    """A pasted block keeps its indentation, which Python code inside quotes does not survive."""
    for row in commands("README.md"):
        assert subprocess.run(["bash", "-n", "-c", row]).returncode == 0, row
        assert not row.startswith("less ")


@pytest.mark.slow
def test_the_tutorial_runs(tmp_path: Path) -> None:
    (tmp_path / "scaled_swish.yaml").write_text(spec("README.md"), encoding="utf-8")
    folder = tmp_path / "bin"
    folder.mkdir()
    for name, arguments in (("opgen", "-m msopgen_wrap.cli"), ("python", "")):
        script = folder / name
        script.write_text(f'#!/bin/sh\nexec {sys.executable} {arguments} "$@"\n')
        script.chmod(0o755)
    rows = [
        r.replace("export PYTHONPATH=", f"export PYTHONPATH={ROOT}:") for r in commands("README.md")
    ]
    env = {**os.environ, "PATH": f"{folder}:{os.environ['PATH']}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        ["bash", "-e", "-c", "\n".join(rows)], cwd=tmp_path, env=env, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.rstrip().endswith("emulated")


# ---- The examples of the documentation, run as a reader would run them ---------------------------

EXAMPLES = Path(__file__).parents[2] / "docs" / "examples"
SAID = {
    "ascendc_program": "The missing flag was found.",
    "handwritten_kernel": "0 failed, 0 not applicable",
    "torch_module": "forward by emulated",
}


def test_every_example_is_run() -> None:
    assert {p.parent.name for p in EXAMPLES.glob("*/run.sh")} == set(SAID)


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(SAID))
def test_example(name: str, tmp_path: Path) -> None:
    path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
    command = ["bash", str(EXAMPLES / name / "run.sh"), str(tmp_path / "work")]
    done = subprocess.run(
        command, env={**os.environ, "PATH": path}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert SAID[name] in done.stdout

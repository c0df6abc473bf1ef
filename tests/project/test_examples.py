"""The examples of the documentation, run as a reader would run them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

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

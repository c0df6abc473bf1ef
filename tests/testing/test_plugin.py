"""The pytest plugin: one test per check, skipped where a check does not apply."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

FILE = """
import pytest
import torch

def right(x):
    return x * x

def wrong(x):
    return x * x + 1

@pytest.mark.opgen_check(right, right, shapes=[((3, 4),)], skip=["compile", "export", "onnx"])
def test_right(opgen_check):
    opgen_check()

@pytest.mark.opgen_check(wrong, right, shapes=[((3, 4),)], checks=["forward", "gradients"])
def test_wrong(opgen_check):
    opgen_check()

def test_all_at_once(opgen_check):
    report = opgen_check(right, right, [((3, 4),)], checks=["forward", "mutation"])
    assert [c.name for c in report.checks] == ["forward", "mutation"]
"""


def test_each_check_is_a_test(tmp_path: Path) -> None:
    (tmp_path / "test_ops.py").write_text(FILE, encoding="utf-8")
    command = [sys.executable, "-m", "pytest", "-rA", "-q", "-p", "no:cacheprovider", "."]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    text = done.stdout
    assert "PASSED test_ops.py::test_right[finite-differences]" in text, text + done.stderr
    assert "FAILED test_ops.py::test_wrong[forward]" in text
    assert "PASSED test_ops.py::test_wrong[gradients]" in text
    assert "PASSED test_ops.py::test_all_at_once" in text
    assert "opcheck does not apply" in text and "test_right[opcheck]" not in text
    assert "again: check_op(wrong, right, [((3, 4),)], [torch.float32], checks=['forward'])" in text
    assert "1 failed, 13 passed, 1 skipped" in text

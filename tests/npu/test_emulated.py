"""Tests of torch_npu on the emulation: each file of ``cases/`` in a process of its own.

torch_npu changes torch for the whole process (even a CPU kernel), so nothing of it is imported
here. The interpreter is this one when it has torch_npu, else OPGEN_NPU_PYTHON.
"""

from __future__ import annotations

import functools
import importlib.util
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

#: Cases that build packages or start many processes.
SLOW = {"custom_ops", "op_library", "processes", "errors"}
CASES = [
    pytest.param(path, id=name, marks=[pytest.mark.slow] if name in SLOW else [])
    for path in sorted((Path(__file__).parent / "cases").glob("case_*.py"))
    for name in [path.stem.removeprefix("case_")]
]
ROOT = Path(__file__).resolve().parents[2]


@functools.lru_cache(maxsize=1)
def interpreter() -> str | None:
    """A Python with torch_npu, or None."""
    if importlib.util.find_spec("torch_npu") is not None:
        return sys.executable
    other = os.environ.get("OPGEN_NPU_PYTHON")
    return other if other and Path(other).exists() else None


def environment() -> dict[str, str]:
    """A clean environment: the emulation, nothing of CANN, one thread per process."""
    drop = ("ASCEND_", "OPGEN_NPU", "OPGEN_SOC", "TORCH_DEVICE_BACKEND", "PYTEST_")
    env = {k: v for k, v in os.environ.items() if not k.startswith(drop)}
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(ROOT), env.get("PYTHONPATH", "")]))
    env["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    env["OMP_NUM_THREADS"] = "1"
    return env


@pytest.mark.parametrize("case", CASES)
def test_case(case: Path) -> None:
    python = interpreter()
    if python is None:
        pytest.skip("no Python with torch_npu (pip install 'opgen[npu]', or set OPGEN_NPU_PYTHON)")
    command = [python, "-m", "pytest", "-q", "-rs", "-p", "msopgen_wrap.pytest_npu"]
    command += ["--npu=emulation", "-p", "no:cacheprovider", str(case)]
    done = subprocess.run(
        command, capture_output=True, text=True, env=environment(), cwd=ROOT, timeout=3600
    )
    text = done.stdout[-6000:] + done.stderr[-3000:]
    assert done.returncode == 0, text
    passed = re.search(r"(\d+) passed", done.stdout)
    assert passed and int(passed.group(1)) > 0, f"nothing ran:\n{text}"

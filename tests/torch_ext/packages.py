"""Generated torch packages for tests, imported in a process of their own."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from filelock import FileLock

from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_ext.render import render_torch_ext


def write_package(root: Path, specs: Sequence[OpSpec], vendor: str) -> Path:
    """Write ``root/torch_ext/<vendor>`` and return ``root``."""
    for file in render_torch_ext(specs, vendor):
        path = root / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file.text, encoding="utf-8")
    return root


def built_once(factory: pytest.TempPathFactory, name: str, build: Callable[[Path], None]) -> Path:
    """Return a folder that ``build`` fills once for all workers of a test run.

    Each worker sets up fixtures of its own, and a package of many ops takes minutes to compile.
    """
    base = factory.getbasetemp()
    root = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / name
    with FileLock(f"{root}.lock"):
        done = root / "built"
        if not done.exists():
            build(root)
            done.touch()
    return root


def run_python(root: Path, code: str, **environment: str | None) -> str:
    """Run ``code`` with the package importable; return what it printed."""
    env = dict(os.environ, PYTHONPATH=str(root / "torch_ext"))
    for name, value in environment.items():
        env.pop(name, None)
        if value is not None:
            env[name] = value
    done = subprocess.run(
        [sys.executable, "-c", code], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout

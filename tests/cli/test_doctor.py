"""``opgen doctor`` on versions of torch; and that everything names the same tested version."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from msopgen_wrap.cli import doctor_command
from msopgen_wrap.diagnostics import HealthCheck
from msopgen_wrap.torch_ext import torch_versions

ROOT = Path(__file__).resolve().parents[2]


def torch_check(monkeypatch: pytest.MonkeyPatch, version: str, npu: str | None) -> HealthCheck:
    found: dict[str, Any] = {"version": version}
    monkeypatch.setattr(doctor_command, "probe", lambda code, env: found)
    monkeypatch.setattr(doctor_command, "_version", lambda name: npu)
    return next(check for check in doctor_command.torch_checks() if check.name == "torch")


VERSIONS = [
    ("2.13.0", "ok", "2.13.0"),
    ("2.13.1+cpu", "ok", "2.13.1+cpu"),
    ("2.14.0", "ok", "2.14.0 (seen to work, tested is 2.13.0)"),
    ("2.15.0", "warning", "2.15.0 (not tried, tested is 2.13.0)"),
    ("2.6.0", "warning", "2.6.0 (not tried, tested is 2.13.0)"),
    ("2.1.0", "warning", "2.1.0 (not tried, tested is 2.13.0)"),
    ("2.130.0", "warning", "2.130.0 (not tried, tested is 2.13.0)"),
]


@pytest.mark.parametrize(("version", "status", "detail"), VERSIONS)
def test_versions(monkeypatch: pytest.MonkeyPatch, version: str, status: str, detail: str) -> None:
    check = torch_check(monkeypatch, version, None)
    assert (check.status, check.detail) == (status, detail)
    assert check.cure == ("" if status == "ok" else "pip install torch==2.13.0")


def test_the_cure_beside_torch_npu_names_the_cpu_build(monkeypatch: pytest.MonkeyPatch) -> None:
    cure = torch_check(monkeypatch, "2.9.0", "2.9.0").cure
    assert "CPU build of torch 2.13.0" in cure and "pip install torch==" not in cure


PINS = [
    ("pyproject.toml", r'npu = \["torch==([\d.]+)", "torch_npu==([\d.]+)"\]'),
    ("scripts/environment.sh", r"OPGEN_TORCH:-([\d.]+)"),
    ("README.md", r"Tested with torch ([\d.]+\d)"),
    ("README.zh.md", r"以 torch ([\d.]+\d) 测试"),
    ("msopgen_wrap/npu/README.md", r"Tested with torch ([\d.]+\d) and torch_npu ([\d.]+\d)"),
    ("msopgen_wrap/explain/stages.md", r"pip install torch==([\d.]+\d)"),
]


@pytest.mark.parametrize(("path", "pattern"), PINS, ids=[path for path, _ in PINS])
def test_every_place_names_the_tested_version(path: str, pattern: str) -> None:
    found = re.search(pattern, (ROOT / path).read_text(encoding="utf-8"))
    assert found and set(found.groups()) == {torch_versions.TESTED}

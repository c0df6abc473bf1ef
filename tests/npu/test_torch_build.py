"""torch_npu beside builds of torch: CUDA builds are found before anything is imported."""

from __future__ import annotations

import struct
import sys
from pathlib import Path
from typing import Any

import pytest

from msopgen_wrap.cli import app, output
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.npu import activation, doctor, runtime_build
from msopgen_wrap.npu.runtime_build import TorchNpuWheel

CUDA = "cuda: Optional[str] = '13.0'\n"
CPU = "cuda: Optional[str] = None\n"


def wheel(tmp_path: Path, cuda: str, version: str = "2.14.0") -> TorchNpuWheel:
    for name in ("torch", "torch_npu"):
        (tmp_path / name).mkdir(exist_ok=True)
    (tmp_path / "torch" / "version.py").write_text(f"__version__ = '{version}'\n{cuda}")
    return TorchNpuWheel(tmp_path / "torch_npu", version, tmp_path / "torch")


BUILDS = [
    (CPU, ""),
    (CUDA, "13.0"),
    ("cuda = '12.1'\n", "12.1"),
    ('cuda: Optional[str] = "12.8"\n', "12.8"),
    ("cuda = None\nhip = '6.0'\n", ""),
    ("", ""),
]


@pytest.mark.parametrize(("text", "version"), BUILDS)
def test_cuda_version(tmp_path: Path, text: str, version: str) -> None:
    assert doctor.cuda_version(wheel(tmp_path, text).torch) == version


def test_only_cuda_builds_are_refused(tmp_path: Path) -> None:
    doctor.check_build(None)
    doctor.check_build(wheel(tmp_path, CPU))
    with pytest.raises(OpgenError, match="OPG708") as caught:
        doctor.check_build(wheel(tmp_path, CUDA))
    fix = caught.value.diagnostics[0].fix
    assert "CPU build of torch 2.14.0" in fix and "--no-deps torch_npu==2.14.0" in fix


def test_a_torch_npu_with_a_table_of_its_own_is_taken(tmp_path: Path) -> None:
    """Older releases do not use libc10's table: their library has no such symbol."""
    found = wheel(tmp_path, CUDA, "2.6.0")
    (found.folder / "lib").mkdir()
    head = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, *[0] * 10)
    (found.folder / "lib" / "libtorch_npu.so").write_bytes(head)
    assert doctor.build_problem(found) is None


def test_doctor_exec_and_the_hook_say_so_first(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: Any
) -> None:
    found = wheel(tmp_path, CUDA)
    monkeypatch.setattr(runtime_build, "find_wheel", lambda: found)
    monkeypatch.setattr(doctor, "find_wheel", lambda: found)
    monkeypatch.setattr(runtime_build, "build_runtime", lambda *_: pytest.fail("built something"))
    problems = [c for c in doctor.health_checks() if c.status == "problem"]
    assert [c.name for c in problems] == ["torch_npu and torch"]
    assert "CPU build" in problems[0].cure
    with pytest.raises(OpgenError, match="OPG708"):
        activation.preload()
    assert app.run(["exec", "--", sys.executable, "-c", "print('started')"]) == output.ENVIRONMENT
    out, err = capfd.readouterr()
    assert "OPG708" in err and "started" not in out


def test_the_cures_do_not_bring_the_cuda_build() -> None:
    cure = doctor.install_cure()
    assert "pip install torch==" not in cure and "torch_npu==2.13.0" in cure

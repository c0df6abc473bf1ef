"""The built wheel works outside the checkout: specs, templates and C++ travel in it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
SPEC = """\
op: ScaledSwish
doc: scale * x * sigmoid(beta * x)
inputs:
  x: {dtype: [float32]}
outputs:
  y: {dtype: x, shape: like x}
attrs:
  beta: 1.0
  scale: {type: float, default: 1.0}
compute: scale * x * torch.sigmoid(beta * x)
"""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build the wheel from this checkout."""
    out = tmp_path_factory.mktemp("wheel")
    command = [
        sys.executable,
        "-m",
        "build",
        "--wheel",
        "--no-isolation",
        "-o",
        str(out),
        str(ROOT),
    ]
    subprocess.run(command, check=True, capture_output=True, text=True)
    (path,) = out.glob("opgen-*.whl")
    return path


def test_wheel_holds_the_data_folders(wheel: Path) -> None:
    names = zipfile.ZipFile(wheel).namelist()
    for entry in (
        "ascendc_kernels/emulation/include/kernel_operator.h",
        "ascendc_kernels/emulation/src/core/launch.cpp",
        "ascendc_kernels/emulation/instructions.csv",
        "ascendc_kernels/emulation/platform_facts.csv",
        "ascendc_kernels/include/opgen/tile.h",
        "op_specs/op_spec.schema.json",
        "op_specs/elementwise/fused_add_relu.yaml",
        "templates/elementwise/kernel.cpp.jinja",
    ):
        assert f"msopgen_wrap/_data/{entry}" in names
    assert not [n for n in names if n.endswith((".so", ".o", ".pyc"))]


def test_a_platform_wheel_carries_its_library(tmp_path: Path) -> None:
    folder = tmp_path / "x86_64-x86-64"
    folder.mkdir()
    (folder / "libascendc_emulation-0.so").write_bytes(b"library")
    environment = {
        **os.environ,
        "OPGEN_WHEEL_PREBUILT": str(tmp_path),
        "OPGEN_WHEEL_TAG": "manylinux_2_34_x86_64",
    }
    command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "-o", "out", str(ROOT)]
    subprocess.run(command, check=True, capture_output=True, cwd=tmp_path, env=environment)
    (path,) = (tmp_path / "out").glob("opgen-*.whl")
    assert path.name.endswith("-py3-none-manylinux_2_34_x86_64.whl")
    data = "msopgen_wrap/_data/ascendc_kernels/prebuilt"
    names = zipfile.ZipFile(path).namelist()
    assert f"{data}/x86_64-x86-64/libascendc_emulation-0.so" in names


@pytest.mark.slow
def test_wheel_runs_outside_the_repository(wheel: Path, tmp_path: Path) -> None:
    """Install into a fresh environment, leave the repository, scaffold and test an op."""
    home = tmp_path / "venv"
    subprocess.run([sys.executable, "-m", "venv", str(home)], check=True)
    python = home / "bin" / "python"
    install = [
        str(python),
        "-m",
        "pip",
        "install",
        "--quiet",
        "--no-deps",
        "--no-index",
        str(wheel),
    ]
    subprocess.run(install, check=True)
    # torch and the other dependencies come from this environment; a .pth file adds their folder but
    # not what is installed there in editable form, so msopgen_wrap can only come from the wheel.
    site = subprocess.run(
        [str(python), "-c", "import sysconfig; print(sysconfig.get_paths()['purelib'])"],
        check=True,
        capture_output=True,
        text=True,
    ).stdout.strip()
    dependencies = sysconfig.get_paths()["purelib"]
    (Path(site) / "dependencies.pth").write_text(dependencies + "\n", encoding="utf-8")

    work = tmp_path / "elsewhere"
    work.mkdir()
    (work / "scaled_swish.yaml").write_text(SPEC, encoding="utf-8")
    environment = {k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "OPGEN_"))}
    if cache := os.environ.get("OPGEN_CACHE_DIR"):
        environment["OPGEN_CACHE_DIR"] = cache

    def run(*command: str) -> str:
        done = subprocess.run(
            command, cwd=work, env=environment, capture_output=True, text=True, timeout=1200
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    origin = run(str(python), "-c", "import msopgen_wrap; print(msopgen_wrap.__file__)")
    assert Path(origin.strip()).is_relative_to(home)
    opgen = str(home / "bin" / "opgen")
    run(opgen, "new", "scaled_swish.yaml", "-o", "project", "--vendor", "acme")
    assert (work / "project" / "op_kernel" / "scaled_swish.cpp").is_file()
    assert "PASS" in run(opgen, "test", "project", "-k", "13x7")

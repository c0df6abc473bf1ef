"""Small packages for the installer tests: real scripts, hand-made contents."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from msopgen_wrap.build.toolchain import machine_name
from msopgen_wrap.package.builder import make_run
from msopgen_wrap.project.cann_project import render_install_scripts
from msopgen_wrap.spec.model import Code, OpSpec, ShapeLike, TensorParam


def op(name: str, snake: str, soc: tuple[str, ...] = ("ascend910b",)) -> OpSpec:
    """A minimal one-input spec."""
    return OpSpec(
        op=name,
        name=snake,
        doc="",
        inputs=(TensorParam("x", ("float16", "float32")),),
        outputs=(TensorParam("y", ("float16", "float32"), shape=ShapeLike("x")),),
        attrs=(),
        compute=Code("x"),
        kernel=None,
        tiling=None,
        backward="none",
        cases=(),
        tolerance={},
        soc=soc,
    )


@pytest.fixture
def package(tmp_path: Path) -> Callable[..., Path]:
    """Return ``make(vendor, ops, content, target, extra) -> .run``."""

    def make(
        vendor: str = "acme",
        ops: Sequence[OpSpec] = (op("AddX", "add_x"),),
        content: str = "1",
        target: str = "cpu",
        extra: Sequence[tuple[str, str]] = (("arch", machine_name()),),
    ) -> Path:
        root = tmp_path / f"pack_{vendor}_{content}_{target}_{len(list(tmp_path.iterdir()))}"
        vendor_dir = root / "packages/vendors" / vendor
        (vendor_dir / "op_api/lib").mkdir(parents=True)
        (vendor_dir / "op_api/lib/libcust_opapi.so").write_text(content)
        (vendor_dir / "op_api/lib/link.so").symlink_to("libcust_opapi.so")
        scripts = render_install_scripts(
            ops, vendor, ["ascend910b"], target=target, style="8.1", extra=extra, folder=""
        )
        for script in scripts:
            (root / script.path).write_text(script.text)
        (vendor_dir / "version.info").write_text(
            next(s.text for s in scripts if s.path == "version.info")
        )
        return make_run(
            root,
            tmp_path / f"{root.name}.run",
            label=f"test package of {vendor}",
            folder_name=f"out_{vendor}",
            help_lines=["  --quiet              say less"],
        )

    return make


@pytest.fixture
def run(tmp_path: Path) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Return ``run(package, *options, path=(), **environment)``: the package in a clean env."""

    def call(
        package: Path, *options: str, path: Sequence[Path] = (), shell: str = "sh", **env: str
    ) -> subprocess.CompletedProcess[str]:
        search = ":".join([*map(str, path), os.environ["PATH"]])
        return subprocess.run(
            [shell, str(package), *options],
            env={"PATH": search, "HOME": str(tmp_path), "TMPDIR": str(tmp_path), **env},
            cwd=tmp_path,
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return call

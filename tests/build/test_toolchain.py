"""Which compilers are taken."""

from __future__ import annotations

import platform
from pathlib import Path

import pytest

from msopgen_wrap.build.toolchain import Toolchain, find_toolchain
from msopgen_wrap.diagnostics import OpgenError

OTHER = "x86_64" if platform.machine() in ("aarch64", "arm64") else "aarch64"


def compiler(folder: Path, version: str, machine: str) -> str:
    """Write a script that answers as a compiler does; return its path."""
    script = folder / f"g++-{version}-{machine}"
    script.write_text(
        "#!/bin/sh\n"
        f'[ "$1" = -dumpmachine ] && echo {machine} && exit\n'
        f'echo "g++ (made up) {version}"\n'
    )
    script.chmod(0o755)
    return str(script)


@pytest.mark.parametrize(
    ("version", "machine", "says"),
    [
        ("8.3", f"{platform.machine()}-linux-gnu", "gcc 8.3"),
        ("12.2", f"{OTHER}-linux-gnu", f"for {OTHER}-linux-gnu"),
    ],
)
def test_a_compiler_that_cannot_serve_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, version: str, machine: str, says: str
) -> None:
    monkeypatch.setenv("OPGEN_CXX", compiler(tmp_path, version, machine))
    with pytest.raises(OpgenError) as failure:
        find_toolchain()
    assert "OPG302" in str(failure.value)
    assert says in str(failure.value)


def test_a_cross_compiler_in_cxx_is_passed_over(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("OPGEN_CXX", raising=False)
    monkeypatch.setenv("CXX", compiler(tmp_path, "12.2", f"{OTHER}-linux-gnu"))
    assert find_toolchain().is_native


@pytest.mark.parametrize("name", ["x86_64-linux-gnu", "amd64-portbld-freebsd14"])
def test_names_of_one_machine_are_the_same(monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    monkeypatch.setattr(platform, "machine", lambda: "AMD64")
    assert Toolchain("g++", "gcc", (12, 2), name).is_native

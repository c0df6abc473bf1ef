"""Headers that are parsed once: g++ uses them, and objects and messages are as without them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from pathlib import Path

import pytest

from msopgen_wrap.build import compiled_objects, precompiled_header, toolchain
from msopgen_wrap.build.compiled_objects import compile_object
from msopgen_wrap.build.operators import build_operators
from msopgen_wrap.build.precompiled_header import PrecompiledHeader
from msopgen_wrap.build.toolchain import common_flags, find_toolchain
from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs

pytestmark = pytest.mark.skipif(
    find_toolchain().family != "gcc", reason="precompiled headers are made with g++ only"
)


class Commands:
    """Commands of the compiler, and what it read precompiled."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.run: list[list[str]] = []
        self.read: dict[str, list[str]] = {}
        for module in (compiled_objects, precompiled_header):
            monkeypatch.setattr(module, "run_compiler", self.compile)

    def compile(self, command: Sequence[str], source: Path | None, **options: str) -> str:
        self.run.append(list(command))
        if source is None:
            return toolchain.run_compiler(command, source, **options)
        # "!" marks a precompiled header that was read, "x" one that could not be.
        text = toolchain.run_compiler([*command, "-H"], source, **options)
        self.read["/".join(source.parts[-2:])] = re.findall(
            r"^[!x] .*/(.*)\.gch$", text, re.MULTILINE
        )
        assert not re.search(r"^x ", text, re.MULTILINE)
        return text


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Commands:
    return Commands(monkeypatch)


@pytest.fixture
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))


def sources(folder: Path, body: str) -> tuple[Path, PrecompiledHeader, list[str]]:
    (folder / "inner.h").write_text("#pragma once\ninline int number() { return 3; }\n")
    (folder / "outer.h").write_text('#pragma once\n#include "inner.h"\n')
    source = folder / "source.cpp"
    source.write_text(f'#include "outer.h"\n{body}\n')
    flags = ["-O1", f"-I{folder}"]
    header = PrecompiledHeader("begin", ("outer.h",), (*common_flags(find_toolchain()), *flags))
    return source, header, flags


@pytest.mark.usefixtures("own_cache")
def test_an_edited_header_makes_a_new_object(tmp_path: Path, commands: Commands) -> None:
    source, header, flags = sources(tmp_path, "int twice() { return 2 * number(); }")
    first = compile_object(source, flags, header=header)
    assert commands.read[f"{tmp_path.name}/source.cpp"] == ["begin.h"]
    assert compile_object(source, flags, header=header) == first
    assert compile_object(source, flags) == first, "the object is the same without the header"
    assert len(commands.run) == 2
    (tmp_path / "inner.h").write_text("#pragma once\ninline int number() { return 4; }\n")
    second = compile_object(source, flags, header=header)
    assert len(commands.run) == 4
    assert second.read_bytes() != first.read_bytes()


@pytest.mark.usefixtures("own_cache")
def test_an_error_is_reported_without_the_header(tmp_path: Path, commands: Commands) -> None:
    source, header, flags = sources(tmp_path, "int twice() { return nothing; }")
    with pytest.raises(OpgenError) as failure:
        compile_object(source, flags, header=header)
    assert "nothing" in str(failure.value)
    assert "-include" not in commands.run[-1]


@pytest.mark.usefixtures("own_cache")
def test_an_error_in_the_header_is_the_sources(tmp_path: Path, commands: Commands) -> None:
    source, header, flags = sources(tmp_path, "")
    (tmp_path / "inner.h").write_text("int broken(\n")
    with pytest.raises(OpgenError) as failure:
        compile_object(source, flags, header=header)
    assert failure.value.diagnostics[0].location.file.endswith("inner.h")


def test_no_header_for_another_compiler(tmp_path: Path) -> None:
    _, header, _ = sources(tmp_path, "")
    clang = toolchain.Toolchain("/usr/bin/clang++", "clang", (14, 0), "x86_64-linux-gnu")
    assert header.file(clang) is None


def test_generated_sources_read_it(tmp_path: Path, commands: Commands) -> None:
    (spec,) = load_specs([data_dir("op_specs") / "elementwise" / "fused_add_relu.yaml"])
    spec = dataclasses.replace(spec, name="begins", op="Begins")
    for file in render_project([spec], ProjectOptions(parts=("op_host", "op_kernel"))):
        path = tmp_path / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{file.text}// {tmp_path}: no object of an earlier run\n")
    build_operators([spec], tmp_path)
    assert commands.read["op_kernel/begins.cpp"] == ["device.h"]
    assert commands.read["op_host/begins.cpp"] == ["host.h"]

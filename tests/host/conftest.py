"""Compiles op_host sources once per session."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from msopgen_wrap.build.emulation import compile_shared
from msopgen_wrap.run.op_runtime import OpRuntime


@pytest.fixture(scope="session")
def load_ops(tmp_path_factory: pytest.TempPathFactory) -> Callable[[dict[str, str]], OpRuntime]:
    """Return a function that compiles {file name: text} as one host library and loads it."""
    runtime = OpRuntime()

    def load(files: dict[str, str]) -> OpRuntime:
        folder: Path = tmp_path_factory.mktemp("op_host")
        for name, text in files.items():
            path = folder / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        # One translation unit: the headers are read once, which is most of the time.
        unity = folder / "unity.cpp"
        names = [name for name in files if name.endswith(".cpp")]
        unity.write_text("".join(f'#include "{name}"\n' for name in names), encoding="utf-8")
        runtime.load_host(
            compile_shared(
                [unity], include_dirs=[folder, folder / "op_host"], opt="-O0", output_name="libh.so"
            )
        )
        return runtime

    return load

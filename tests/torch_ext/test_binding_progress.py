"""What the first import of a package says while it compiles the binding: on a terminal only."""

from __future__ import annotations

import os
import pty
import sys
from pathlib import Path

import pytest

from msopgen_wrap.torch_ext import build as kit_build


@pytest.mark.parametrize("terminal", [True, False], ids=["terminal", "pipe"])
def test_the_first_import_says_that_it_compiles(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, terminal: bool
) -> None:
    module = kit_build._runtime()
    package = tmp_path / "acme"
    (package / "csrc").mkdir(parents=True)
    (package / "csrc" / "binding.cpp").write_text("int nothing;\n")
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))

    def compiled(csrc: Path, output: Path) -> None:
        output.parent.mkdir(parents=True)
        output.touch()

    monkeypatch.setattr(module, "compile_binding", compiled)
    reading, writing = pty.openpty() if terminal else os.pipe()
    with open(writing, "w") as stream:
        monkeypatch.setattr(sys, "stderr", stream)
        module.build(package)
        module.build(package)  # there already: says nothing
        stream.write("end\n")
        stream.flush()
        text = ""
        while not text.endswith("end\n"):  # a terminal may hand over a line at a time
            text += os.read(reading, 4096).decode().replace("\r\n", "\n")
        monkeypatch.undo()
    os.close(reading)
    said = "compiling the torch binding of acme (once) ...\n" if terminal else ""
    assert text == said + "end\n"

"""Options and fixtures that every area's tests share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from msopgen_wrap.torch_import import keep_unusable_backends_out

# These tests are about CPU tensors; those of tests/npu/cases activate the emulation before (--npu).
keep_unusable_backends_out(always=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the code generates now into the golden files, instead of comparing",
    )


@pytest.fixture(autouse=True)
def _own_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what `--timeout` of a command that ran in this process sets for its children."""
    monkeypatch.delenv("OPGEN_TIMEOUT", raising=False)


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, str], None]:
    """Return ``check(path, text)``: the golden file must hold ``text``; see ``--update-golden``."""
    update = request.config.getoption("--update-golden")

    def check(path: Path, text: str) -> None:
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
            return
        assert path.is_file(), f"no golden file {path}; make it with --update-golden"
        assert text == path.read_text(encoding="utf-8"), f"{path.name} differs; --update-golden"

    return check

"""Options and fixtures that every area's tests share."""

from __future__ import annotations

import logging
import zlib
from collections.abc import Callable
from pathlib import Path

import pytest

from msopgen_wrap.torch_import import import_torch, keep_unusable_backends_out

# These tests are about CPU tensors; those of tests/npu/cases activate the emulation before (--npu).
keep_unusable_backends_out(always=True)


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what the code generates now into the golden files, instead of comparing",
    )


# Tests that are slow by their measured times; see scripts/slow_tests.py.
_SLOW = Path(__file__).with_name("slow_tests.txt")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the list as slow, before ``-m`` chooses."""
    slow = set(_SLOW.read_text(encoding="utf-8").splitlines())
    for item in items:
        if item.nodeid in slow:
            item.add_marker(pytest.mark.slow)


def pytest_collection_finish() -> None:
    """Keep pytest's log handlers away from torch's record of its own work.

    pytest adds them to every logger that does not propagate. While this one has a handler, torch
    formats a stack trace for each guard of a graph, a quarter of the time that tracing takes.
    """
    logging.getLogger("torch.__trace").propagate = True


@pytest.fixture(autouse=True)
def _own_time_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    """Undo what `--timeout` of a command that ran in this process sets for its children."""
    monkeypatch.delenv("OPGEN_TIMEOUT", raising=False)


@pytest.fixture(autouse=True)
def _own_random_numbers(request: pytest.FixtureRequest) -> None:
    """Give each test the same random data in every run and beside any other tests.

    Data drawn anew meets, once in some hundred runs, an element whose terms cancel, where no kernel
    of float32 keeps to a relative bound.
    """
    import_torch().manual_seed(zlib.crc32(request.node.nodeid.encode()))


_HEADING = "======== "


@pytest.fixture
def golden(request: pytest.FixtureRequest) -> Callable[[Path, dict[str, str]], None]:
    """Return ``check(path, files)``: a golden file must hold these texts and no others.

    A golden file holds the files of one project, each under a heading with its path; see
    ``--update-golden``.
    """
    update = request.config.getoption("--update-golden")

    def check(path: Path, files: dict[str, str]) -> None:
        assert not [name for name, text in files.items() if f"\n{_HEADING}" in f"\n{text}"]
        if update:
            path.parent.mkdir(parents=True, exist_ok=True)
            parts = [f"{_HEADING}{name}\n{files[name]}" for name in sorted(files)]
            path.write_text("".join(parts), encoding="utf-8")
            return
        assert path.is_file(), f"no golden file {path}; make it with --update-golden"
        parts = f"\n{path.read_text(encoding='utf-8')}".split(f"\n{_HEADING}")[1:]
        # Splitting took the last newline of all texts but the last one's.
        held = dict(f"{part}\n".split("\n", 1) for part in [*parts[:-1], parts[-1][:-1]])
        assert set(files) == set(held), "generated files come or go; --update-golden"
        for name, text in files.items():
            assert text == held[name], f"{name} differs from {path.name}; --update-golden"

    return check

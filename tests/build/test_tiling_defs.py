"""The tiling structs of a host library: read by loading it once, not in every process."""

from __future__ import annotations

from pathlib import Path

import pytest

from msopgen_wrap.build import cache, operators
from msopgen_wrap.run import op_runtime

ROWS = [{"name": "Demo", "class": "DemoTilingData", "size": 8, "fields": []}]


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The contents of the libraries that are loaded."""
    contents: list[str] = []

    class Runtime:
        def load_host(self, path: Path) -> None:
            contents.append(path.read_text())

        def tiling_defs(self) -> list[dict[str, object]]:
            return ROWS

    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(op_runtime, "OpRuntime", Runtime)
    return contents


def test_a_library_is_loaded_once(tmp_path: Path, loaded: list[str]) -> None:
    host = tmp_path / "libop_host.so"
    for content, so_far in [("a", ["a"]), ("a", ["a"]), ("bb", ["a", "bb"]), ("a", ["a", "bb"])]:
        host.write_text(content)
        assert operators._tiling_defs(host) == ROWS
        assert loaded == so_far


def test_one_that_is_unknown_is_not_loaded_by_a_lookup(tmp_path: Path, loaded: list[str]) -> None:
    host = tmp_path / "libop_host.so"
    host.write_text("a")
    with cache.without_building(), pytest.raises(cache.NotCached):
        operators._tiling_defs(host)
    assert not loaded

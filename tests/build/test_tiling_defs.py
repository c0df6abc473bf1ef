"""The tiling structs of a host library: read by loading it once, not in every process."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from msopgen_wrap.build import cache, operators

ROWS = [{"name": "Demo", "class": "DemoTilingData", "size": 8, "fields": []}]


@pytest.fixture
def loaded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The contents of the libraries that are loaded."""
    contents: list[str] = []

    def load(path: bytes) -> int:
        contents.append(Path(path.decode()).read_text())
        return 0

    library = SimpleNamespace(
        opgen_load_host=load,
        opgen_tiling_defs_json=lambda: json.dumps(ROWS).encode(),
        opgen_last_error=lambda: b"",
    )
    monkeypatch.setenv("OPGEN_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(operators, "load_emulation_library", lambda: library)
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

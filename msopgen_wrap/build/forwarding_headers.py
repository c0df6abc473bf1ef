"""Headers under CANN's include names that only include headers of ours.

CANN has many include names for one header: one per release, per API and per layer. Their table is
``ascendc_kernels/emulation/forwarding_headers.csv``: a name, and the headers that it includes,
separated by spaces. The files are written into the build cache, keyed by the table's content.
"""

from __future__ import annotations

import csv
import io
from pathlib import Path

from ..resources import data_dir
from . import cache

_folders: dict[tuple[str, int], Path] = {}


def table_path() -> Path:
    """Return the path of the table."""
    return data_dir("ascendc_kernels") / "emulation" / "forwarding_headers.csv"


def forwarding_table() -> dict[str, tuple[str, ...]]:
    """Return the include names of the table and the headers that each includes, in order."""
    return _rows(table_path().read_text(encoding="utf-8"))


def _rows(text: str) -> dict[str, tuple[str, ...]]:
    rows = csv.DictReader(io.StringIO(text))
    return {row["name"]: tuple(row["includes"].split()) for row in rows}


def forwarding_folder() -> Path:
    """Return the folder that holds a file per name of the table, writing it when there is none.

    Raises:
        OpgenError: OPG305 when the build cache cannot be written.
    """
    path = table_path()
    place = (str(cache.cache_dir()), path.stat().st_mtime_ns)
    folder = _folders.get(place)
    if folder is None or not folder.is_dir():
        text = path.read_text(encoding="utf-8")

        def write(stage: Path) -> list[Path]:
            for name, headers in _rows(text).items():
                target = stage / "include" / name
                target.parent.mkdir(parents=True, exist_ok=True)
                # In angle brackets: a header of the same name beside this one is not meant.
                lines = "".join(f"#include <{header}>\n" for header in headers)
                target.write_text(lines, encoding="utf-8")
            return []

        entry, _ = cache.cached("headers", cache.text_hash(text), "forwarding headers", write)
        folder = _folders[place] = entry / "include"
    return folder

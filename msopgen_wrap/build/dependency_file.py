"""The files that a compilation read, as g++ and clang++ list them (``-MD``)."""

from __future__ import annotations

import re
from pathlib import Path


def read_dependencies(path: Path) -> list[Path]:
    """Read a make-style dependency file; return the files that the next build depends on.

    The compiler's own headers are left out: its version covers them.
    """
    text = path.read_text(encoding="utf-8", errors="replace").replace("\\\n", " ")
    names = re.split(r"(?<!\\)\s+", text.split(":", 1)[1].strip())
    files = [n.replace("\\ ", " ").replace("$$", "$") for n in names if n]
    return [Path(name) for name in files if not name.startswith("/usr/")]

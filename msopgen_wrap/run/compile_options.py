"""What a project's build files say about automatic synchronisation.

CANN's compiler inserts barriers and flags of its own (``--cce-auto-sync``, on by default in msopgen
projects and ``<<<>>>`` builds). A project that switches that off has to synchronise in its source,
and check mode then demands it (``OPGEN_CHECK=auto-sync=project``: as ``off``, but as a warning,
since public kernels built so leave out some barriers and flags).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_BUILD_FILES = ("CMakeLists.txt", "op_host/CMakeLists.txt", "op_kernel/CMakeLists.txt")
_CALL = re.compile(r"\b(\w*compile_options)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)", re.IGNORECASE)
_FLAG = re.compile(r"^--cce-auto-sync(?:=(on|off))?$")


def auto_sync_off(root: Path, op: str | None = None) -> bool:
    """Return whether the build files below ``root`` switch automatic synchronisation off.

    Args:
        op: op type that ``add_ops_compile_options`` has to name, or ALL; None: any.
    """
    state = True
    for name in _BUILD_FILES:
        path = root / name
        if not path.is_file():
            continue
        text = path.read_text(encoding="utf-8", errors="replace")
        text = re.sub(r"#.*", "", text)
        for call in _CALL.finditer(text):
            words = re.split(r"[\s;<>\"]+", call[2].strip())
            if not _names(call[1], words, op):
                continue
            for word in words:
                if flag := _FLAG.match(word):
                    state = flag[1] != "off"
    return not state


def _names(function: str, words: list[str], op: str | None) -> bool:
    """Whether a call is about the op: only ``add_ops_compile_options`` is about one."""
    if op is None or function.lower() != "add_ops_compile_options":
        return True
    if "OP_NAME" in words[:-1]:
        return words[words.index("OP_NAME") + 1] in (op, "ALL")
    return words[0] in (op, "ALL")


def check_options(off: bool) -> str | None:
    """Return the value of ``OPGEN_CHECK`` for a run, None to leave it: the user's choice wins."""
    given = os.environ.get("OPGEN_CHECK", "")
    if not off or _decided(given.split(",")):
        return None
    return ",".join(item for item in (given, "auto-sync=project") if item)


@contextmanager
def synchronised_by_source(library: Any, off: bool) -> Iterator[None]:
    """Demand explicit synchronisation inside if ``off``, unless the user has chosen."""
    if check_options(off) is None:
        yield
        return
    library.opgen_sanitizer_option(b"auto-sync=project")
    try:
        yield
    finally:
        library.opgen_sanitizer_option(b"auto-sync=on")


def _decided(items: Iterable[str]) -> bool:
    return any(item.strip().startswith("auto-sync=") for item in items)

"""Precompile ``kernel_operator.h`` once per arch: a kernel check mostly waits for its parsing.

Used only where it cannot change the meaning of a kernel: nothing of the project may define a macro
before the header is included. A failure is always judged by a compile without it.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from pathlib import Path

from msopgen_wrap.build.toolchain import find_toolchain, run_compiler
from msopgen_wrap.cann.tiling_prelude import strip_comments
from msopgen_wrap.diagnostics import OpgenError

_HEADER = "kernel_operator.h"
_INCLUDE = re.compile(r"#\s*include\s*[\"<]([^\">]+)[\">]")
_DEFINE = re.compile(r"#\s*(?:define|undef)\s+(\w+)([^\n]*)")


def may_precompile(kernel: Path, folders: Sequence[Path]) -> bool:
    """Return whether including ``kernel_operator.h`` first leaves ``kernel`` as it is.

    Follows the project's own headers in order; a macro defined before the device header (other than
    an include guard) could change what that header declares.
    """
    return _walk(kernel, folders, set()) is not False


def _walk(path: Path, folders: Sequence[Path], seen: set[Path]) -> bool | None:
    """Return True when the device header was reached, False at a macro before it, else None."""
    if path in seen:
        return None
    seen.add(path)
    text = strip_comments(path.read_text(encoding="utf-8", errors="replace"))
    for line in text.splitlines():
        include = _INCLUDE.search(line)
        if include is not None:
            if include[1].endswith(_HEADER):
                return True
            for folder in (path.parent, *folders):
                inner = (folder / include[1]).resolve()
                if inner.is_file():
                    result = _walk(inner, folders, seen)
                    if result is not None:
                        return result
                    break
            continue
        define = _DEFINE.search(line)
        if define is not None and define[2].strip():
            return False  # a guard has no value
    return None


class HeaderCache:
    """Precompiled device headers of one verify run, one per set of flags; thread-safe."""

    def __init__(self, folder: Path):
        self._folder = folder
        self._lock = threading.Lock()
        self._made: dict[tuple[str, ...], Path | None] = {}

    def flags(self, base: tuple[str, ...]) -> tuple[str, ...]:
        """Return what to put in front of ``base`` to use the header, () when it cannot be made.

        Args:
            base: flags that the header depends on: standard, macros, include folders.
        """
        tool = find_toolchain().cxx
        if "clang" in tool:
            return ()  # reads precompiled headers in another way
        with self._lock:
            if base not in self._made:
                self._made[base] = self._make(tool, base, len(self._made))
            header = self._made[base]
        return ("-include", str(header)) if header else ()

    def _make(self, tool: str, base: tuple[str, ...], number: int) -> Path | None:
        header = self._folder / f"device_{number}.h"
        header.write_text(f'#include "{_HEADER}"\n', encoding="utf-8")
        command = [tool, *base, "-x", "c++-header", str(header), "-o", f"{header}.gch"]
        try:
            run_compiler(command, header, code="OPG611")
        except OpgenError:
            return None  # the kernels' own checks show what is wrong with it
        return header

"""Calls that ask no gradient, without the Python kernel of autograd.

``torch.library.register_autograd`` registers a Python function, which costs some ten microseconds
in every call. ``csrc/autograd_entry.cpp`` stands before it and calls it only when a gradient is
asked. It is compiled once per torch version, for the packages of all vendors. Without it (no
compiler, ``OPGEN_AUTOGRAD_ENTRY=0``) calls do the same and take longer.
"""

from __future__ import annotations

import ctypes
import os
import warnings
from collections.abc import Sequence
from pathlib import Path

from . import build

_entered: set[str] = set()


def install(package: Path, ops: Sequence[str]) -> bool:
    """Let calls of ``ops`` that ask no gradient go on below autograd; return whether they do.

    Args:
        package: folder that holds ``csrc/autograd_entry.cpp``.
        ops: qualified names (``vendor::op``) of ops without written arguments.
    """
    if os.environ.get("OPGEN_AUTOGRAD_ENTRY") == "0":
        return False
    path = _library(package)
    if path is None:
        return False
    enter = ctypes.CDLL(str(path)).opgen_autograd_entry
    enter.argtypes, enter.restype = [ctypes.c_char_p], ctypes.c_bool
    for op in ops:
        if op not in _entered and enter(op.encode()):
            _entered.add(op)
    return _entered.issuperset(ops)


def is_installed(op: str) -> bool:
    """Whether calls of ``op`` (``vendor::op``) without gradient pass the Python kernel by."""
    return op in _entered


def _library(package: Path) -> Path | None:
    """Return the library for this torch: the package's own, or the cache's, compiled if need be.

    None without a compiler, or when the source does not compile against this torch; the latter is
    said in every process and tried once.
    """
    path = build.find_entry(package)
    if path is not None:
        return path
    try:
        build.find_compiler()
    except RuntimeError:
        return None
    failure = build.cached(build.entry_identity(package / "csrc"), "failure.txt")
    try:
        if failure.is_file():
            raise RuntimeError(failure.read_text(encoding="utf-8"))
        return build.build_entry(package)
    except (RuntimeError, OSError) as error:
        if isinstance(error, RuntimeError):
            _remember(failure, str(error))
        text = f"calls of {package.name} take some microseconds more: {error}"
        warnings.warn(text, stacklevel=4)
        return None


def _remember(failure: Path, text: str) -> None:
    try:
        failure.parent.mkdir(parents=True, exist_ok=True)
        failure.write_text(text, encoding="utf-8")
    except OSError:
        pass  # tried again at the next import

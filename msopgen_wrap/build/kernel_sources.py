"""A kernel's own sources as g++ takes them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..diagnostics import Diagnostic, Location, OpgenError
from . import cache
from .device_dialect import host_text
from .source_overlay import local_sources, mirrored, overlay_flags, write_overlay
from .source_text import blank_comments

# ASSERT is empty in the device compiler's release builds, so a missing semicolon before it passes
# there: "x = y\n ASSERT(...);". A comment line in front is a false alarm without consequence.
_OPEN_STATEMENT = re.compile(r"[\w\]](?<!\belse)(?<!\bdo)\s+ASSERT\(")


def open_assert_flags(texts: Iterable[str]) -> list[str]:
    """Return the macro for sources that lack the semicolon before an ``ASSERT``."""
    return ["-DOPGEN_OPEN_ASSERT"] if any(_OPEN_STATEMENT.search(t) for t in texts) else []


@dataclass(frozen=True)
class KernelSources:
    """A kernel and its own headers as g++ takes them.

    Attributes:
        main: the kernel file, or its rewritten copy.
        flags: compiler flags that the sources ask for.
        texts: of all of them, comments blanked.
    """

    main: Path
    flags: tuple[str, ...]
    texts: tuple[str, ...]


def kernel_sources(source: Path, folders: Sequence[Path]) -> KernelSources:
    """Read a kernel and the headers it reaches; rewrite what g++ does not take.

    Args:
        source: the kernel file.
        folders: the user's include folders.

    Raises:
        OpgenError: OPG303, the file cannot be read.
    """
    source = source.resolve()
    try:
        originals = local_sources(source, folders)
    except OSError as error:
        text = f"cannot read {source}: {error.strerror}"
        raise OpgenError(Diagnostic("OPG303", text, Location(str(source)))) from error
    flags = open_assert_flags(originals.values())
    texts = tuple(blank_comments(t) for t in originals.values())
    rewritten = {path: host_text(text) for path, text in originals.items()}
    if rewritten == originals:
        return KernelSources(source, tuple(flags), texts)
    for path, text in rewritten.items():
        rewritten[path] = f'#line 1 "{path}"\n{text}'
    key = cache.text_hash(*(f"{p}\0{t}" for p, t in rewritten.items()), *map(str, folders))

    def build(folder: Path) -> list[Path]:
        write_overlay(folder / "root", rewritten)
        return []

    root, _ = cache.cached("source", key, source.name, build)
    root = root / "root"
    flags += overlay_flags(root, source, folders)
    return KernelSources(mirrored(root, source), tuple(flags), texts)

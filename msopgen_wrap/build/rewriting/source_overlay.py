"""The user's own sources that a compilation reads, and rewritten copies of them."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)


def local_sources(source: Path, folders: Sequence[Path]) -> dict[Path, str]:
    """Return the source and the headers it reaches, as text by absolute path.

    Args:
        source: absolute path.
        folders: include folders of the user; other headers are left out.

    Raises:
        OSError: the source itself cannot be read; headers that cannot are the compiler's business.
    """
    found = {source: _text(source)}
    roots = [f.absolute() for f in folders]
    known: dict[tuple[Path, str, bool], Path | None] = {}
    waiting = [source]
    while waiting:
        path = waiting.pop()
        for quoted, angled in _INCLUDE.findall(found[path]):
            key = (path.parent, quoted or angled, bool(quoted))
            if key not in known:
                places = [path.parent, *roots, source.parent] if quoted else roots
                known[key] = _first_file(quoted or angled, places)
            header = known[key]
            if header is None or header in found:
                continue
            try:
                found[header] = _text(header)
            except OSError:
                continue
            waiting.append(header)
    return found


def _text(path: Path) -> str:
    # Without the mark that editors on Windows begin a file with: text may come to stand before it.
    return path.read_text(encoding="utf-8-sig", errors="surrogateescape")


def _first_file(name: str, folders: Sequence[Path]) -> Path | None:
    for folder in folders:
        candidate = folder / name
        if candidate.is_file():
            return candidate.resolve()
    return None


def write_overlay(root: Path, texts: Mapping[Path, str]) -> None:
    """Mirror rewritten files below ``root``, so that includes of one another find the copies.

    Args:
        texts: rewritten text by absolute path; all that :func:`local_sources` found.
    """
    for path, text in texts.items():
        target = mirrored(root, path)
        target.parent.mkdir(parents=True, exist_ok=True)
        for name in {quoted for quoted, _ in _INCLUDE.findall(text) if quoted.startswith("/")}:
            if Path(name).resolve() in texts:
                # Relative: the mirror may be moved as a whole.
                near = os.path.relpath(mirrored(root, Path(name).resolve()), target.parent)
                text = text.replace(f'"{name}"', f'"{near}"')
        target.write_text(text, encoding="utf-8", errors="surrogateescape")


def overlay_flags(root: Path, source: Path, folders: Sequence[Path]) -> list[str]:
    """Return the compiler flags that find the mirrored files, and then the original ones.

    Args:
        source: absolute path of the original; its folder comes last.
        folders: the include folders the originals are found by.
    """
    originals = [f.absolute().resolve() for f in folders]
    copies = [mirrored(root, folder) for folder in originals]
    flags = [f"-I{folder}" for folder in (*copies, *originals) if folder.is_dir()]
    near = (mirrored(root, source.parent), source.parent)
    flags += [f"-I{folder}" for folder in near if folder.is_dir()]
    # Line tables name the originals, like __FILE__.
    return [*flags, f"-fdebug-prefix-map={root}="]


def mirrored(root: Path, path: Path) -> Path:
    """Return where ``path`` is mirrored below ``root``."""
    return root / path.relative_to(path.anchor)

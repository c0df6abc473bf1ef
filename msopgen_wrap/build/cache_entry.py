"""One folder of the build cache: its manifest, and whether it still holds what was built.

``manifest.json`` records the inputs that the build read (path to content hash) and the outputs that
it wrote (path to size, modification time and content hash). An entry whose output was truncated or
changed since, or whose manifest cannot be read, is not used.
"""

from __future__ import annotations

import hashlib
import json
import os
from dataclasses import dataclass
from pathlib import Path

from ..resources import data_dir

MANIFEST = "manifest.json"
_hashes: dict[tuple[str, int, int], str] = {}


def file_hash(path: Path) -> str:
    """Return the content hash of a file; remembered per path, size and mtime in this process."""
    stat = path.stat()
    key = (str(path), stat.st_mtime_ns, stat.st_size)
    if key not in _hashes:
        _hashes[key] = hashlib.sha256(path.read_bytes()).hexdigest()[:24]
    return _hashes[key]


def moved_text(text: str) -> str:
    """Return text (an argument, a path) with the kit's own C++ folder as ``<kit>``.

    Two installations of one version then share what they compile from it.
    """
    return text.replace(str(data_dir("ascendc_kernels")), "<kit>")


def _moved_path(name: str) -> Path:
    return Path(name.replace("<kit>", str(data_dir("ascendc_kernels")), 1))


@dataclass(frozen=True)
class Manifest:
    """What an entry was built from and holds.

    Attributes:
        label: human text for listings.
        deps: input file -> content hash; a hash that no file has marks one edited while building.
        outputs: file below the entry -> size in bytes, modification time in ns, content hash.
    """

    label: str
    deps: dict[str, str]
    outputs: dict[str, tuple[int, int, str]]

    def write(self, folder: Path) -> None:
        """Write it into the entry's folder."""
        text = json.dumps(self.__dict__, indent=1)
        (folder / MANIFEST).write_text(text, encoding="utf-8")

    def is_current(self, folder: Path) -> bool:
        """Whether every input and every output still has the recorded content."""
        try:
            return all(
                file_hash(_moved_path(name)) == digest for name, digest in self.deps.items()
            ) and all(_unchanged(folder / name, *facts) for name, facts in self.outputs.items())
        except OSError:
            return False


def _unchanged(path: Path, size: int, mtime: int, digest: str) -> bool:
    stat = path.stat()
    if stat.st_size != size:
        return False
    # A copied cache has other times: then the content decides.
    return stat.st_mtime_ns == mtime or file_hash(path) == digest


def describe_outputs(folder: Path) -> dict[str, tuple[int, int, str]]:
    """Return the ``outputs`` of a folder that was just built."""
    outputs = {}
    for path in sorted(p for p in folder.rglob("*") if p.is_file() and p.name != MANIFEST):
        stat = path.stat()
        name = path.relative_to(folder).as_posix()
        outputs[name] = (stat.st_size, stat.st_mtime_ns, file_hash(path))
    return outputs


def read_manifest(folder: Path) -> Manifest | None:
    """Return the manifest of an entry, None where there is none of the right form."""
    try:
        raw = json.loads((folder / MANIFEST).read_text(encoding="utf-8"))
        label, deps, outputs = raw["label"], raw["deps"], raw["outputs"]
        if not isinstance(label, str) or not all(isinstance(v, str) for v in deps.values()):
            return None
        facts = {str(n): (int(v[0]), int(v[1]), str(v[2])) for n, v in outputs.items()}
    except (OSError, ValueError, TypeError, KeyError, IndexError, AttributeError, RecursionError):
        return None
    return Manifest(label, deps, facts)


def folder_size(folder: Path) -> int:
    """Return the bytes of all files below a folder."""
    return sum(p.stat().st_size for p in folder.rglob("*") if p.is_file() and not p.is_symlink())


def used_now(folder: Path) -> None:
    """Note that an entry was used."""
    os.utime(folder)

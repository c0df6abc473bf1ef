"""The build cache: a folder of entries keyed by content, safe for concurrent processes.

``<cache>/<kind>/<key>/`` holds one compiled result. ``key`` covers command line, compiler and (for
``-march=native`` code) the CPU. Headers are covered by a dependency manifest beside the result:
an entry is used only while every file the compiler read still has the recorded content.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import platformdirs
from filelock import FileLock

from ..diagnostics import Diagnostic, OpgenError
from ..resources import data_dir

_MANIFEST = "manifest.json"
_hashes: dict[tuple[str, int, int], str] = {}


def cache_dir() -> Path:
    """Return (and create) the cache folder: ``OPGEN_CACHE_DIR`` or the platform's user cache.

    Raises:
        OpgenError: OPG305 when it cannot be written.
    """
    path = Path(os.environ.get("OPGEN_CACHE_DIR") or platformdirs.user_cache_dir("opgen"))
    path = path.expanduser().absolute()
    try:
        path.mkdir(parents=True, exist_ok=True)
        if not os.access(path, os.W_OK):
            raise PermissionError(13, "not writable")
    except OSError as error:
        raise OpgenError(
            Diagnostic(
                "OPG305",
                f"the build cache {path} cannot be used: {error.strerror or error}",
                why="compiled kernels and the emulation library are kept there",
                fix="set OPGEN_CACHE_DIR to a writable folder",
            )
        ) from error
    return path


def moved_text(text: str) -> str:
    """Return text (an argument, a path) with the kit's own C++ folder as ``<kit>``.

    Two installations of one version then share what they compile from it.
    """
    return text.replace(str(data_dir("ascendc_kernels")), "<kit>")


def _moved_path(name: str) -> Path:
    return Path(name.replace("<kit>", str(data_dir("ascendc_kernels")), 1))


def text_hash(*parts: str) -> str:
    """Return a 24 digit hash of the parts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:24]


def file_hash(path: Path) -> str:
    """Return the content hash of a file; remembered per path, size and mtime in this process."""
    stat = path.stat()
    key = (str(path), stat.st_mtime_ns, stat.st_size)
    if key not in _hashes:
        _hashes[key] = hashlib.sha256(path.read_bytes()).hexdigest()[:24]
    return _hashes[key]


@dataclass(frozen=True)
class CacheEntry:
    """One entry, for ``opgen cache``: kind, key, what it was built from, bytes, last use (Unix)."""

    kind: str
    key: str
    label: str
    size: int
    used: float
    path: Path


def _valid(folder: Path, manifest: dict) -> bool:
    for name, digest in manifest["deps"].items():
        try:
            if file_hash(_moved_path(name)) != digest:
                return False
        except OSError:
            return False
    return all((folder / name).exists() for name in manifest["outputs"])


def _lookup(root: Path) -> Path | None:
    for manifest_path in sorted(root.glob(f"*/{_MANIFEST}")):
        try:
            manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            continue
        if _valid(manifest_path.parent, manifest):
            with contextlib.suppress(OSError):
                os.utime(manifest_path.parent)
            return manifest_path.parent
    return None


def cached(
    kind: str, key: str, label: str, build: Callable[[Path], list[Path]]
) -> tuple[Path, bool]:
    """Return the folder of an entry, building it when there is no valid one.

    Args:
        kind: folder name of this sort of result ("object", "shared", "library").
        key: hash of everything that is known before building.
        label: human text for listings.
        build: called with an empty folder; writes the outputs there and returns the input files it
            read. Runs under a lock of this key; a crash leaves nothing behind.

    Returns:
        The folder and whether it was built now.
    """
    root = cache_dir() / kind / key
    found = _lookup(root)
    if found:
        return found, False
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(str(root) + ".lock"):
        found = _lookup(root)
        if found:
            return found, False
        stage = Path(tempfile.mkdtemp(prefix=".stage-", dir=root.parent))
        try:
            # Hash inputs by the content seen before the compiler ran: a file edited meanwhile must
            # not look up to date afterwards.
            started = time.time_ns()
            inputs = build(stage)
            deps = {}
            for path in sorted({p.absolute() for p in inputs}):
                unchanged = path.stat().st_mtime_ns < started
                deps[moved_text(str(path))] = file_hash(path) if unchanged else "edited"
            outputs = sorted(p.name for p in stage.iterdir())
            manifest = {"label": label, "deps": deps, "outputs": outputs}
            (stage / _MANIFEST).write_text(json.dumps(manifest, indent=1), encoding="utf-8")
            target = root / text_hash(*(f"{k}={v}" for k, v in deps.items()))[:12]
            if target.exists():
                shutil.rmtree(target)
            os.replace(stage, target)
        finally:
            if stage.exists():
                shutil.rmtree(stage, ignore_errors=True)
        _prune(root, keep=4)
        return target, True


def stored(kind: str, key: str, label: str, name: str, data: bytes) -> Path:
    """Return the path of a file with this content, writing it when it is not there.

    Args:
        kind, key, label: as for :func:`cached`.
        name: the file's name.
        data: what ``key`` stands for.
    """

    def build(folder: Path) -> list[Path]:
        (folder / name).write_bytes(data)
        return []

    return cached(kind, key, label, build)[0] / name


def _prune(root: Path, keep: int) -> None:
    """Keep the newest variants of one key; older ones belong to edited headers."""
    folders = sorted(
        (p for p in root.iterdir() if p.is_dir()), key=lambda p: p.stat().st_mtime, reverse=True
    )
    for folder in folders[keep:]:
        shutil.rmtree(folder, ignore_errors=True)


def entries() -> Iterator[CacheEntry]:
    """List the entries of the cache."""
    root = cache_dir()
    for manifest_path in sorted(root.glob(f"*/*/*/{_MANIFEST}")):
        folder = manifest_path.parent
        try:
            manifest = json.loads(manifest_path.read_text(encoding="utf-8"))
            size = sum(p.stat().st_size for p in folder.iterdir())
            used = folder.stat().st_mtime
        except (OSError, ValueError):
            continue
        kind, key = folder.parent.parent.name, folder.parent.name
        yield CacheEntry(kind, key, manifest.get("label", ""), size, used, folder)


def clear(kind: str | None = None, older_than_days: float | None = None) -> tuple[int, int]:
    """Remove entries; return how many and how many bytes.

    Args:
        kind: only this kind; None: all.
        older_than_days: only those not used for that long.
    """
    count = size = 0
    limit = time.time() - (older_than_days or 0) * 86400
    for entry in list(entries()):
        if kind is not None and entry.kind != kind:
            continue
        if older_than_days is not None and entry.used > limit:
            continue
        shutil.rmtree(entry.path, ignore_errors=True)
        count += 1
        size += entry.size
    return count, size

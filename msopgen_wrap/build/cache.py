"""The build cache: a folder of entries keyed by content, safe for concurrent processes.

``<cache>/<kind>/<key>/`` holds one compiled result. ``key`` covers command line and compiler.
``manifest.json`` in it records the inputs that the build read (path to content hash; of headers
those of the kit and the user) and the outputs that it wrote (path to size, modification time and
content hash). An entry is used only while every input has the recorded content and every output is
as it was written; one whose manifest cannot be read is not used.
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
from filelock import FileLock, Timeout

from ..diagnostics import Diagnostic, OpgenError
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


__all__ = [
    "CacheEntry",
    "NotCached",
    "cache_dir",
    "cached",
    "clear",
    "entries",
    "file_hash",
    "others_may_write",
    "stored",
    "text_hash",
    "without_building",
]


class NotCached(Exception):
    """The cache holds no valid entry, and nothing may be built (see :func:`without_building`)."""


_lookups_only = False


@contextlib.contextmanager
def without_building() -> Iterator[None]:
    """Make every thread of this process only look entries up; what is missing is NotCached."""
    global _lookups_only
    before, _lookups_only = _lookups_only, True
    try:
        yield
    finally:
        _lookups_only = before


def cache_dir() -> Path:
    """Return (and create) the cache folder: ``OPGEN_CACHE_DIR`` or the platform's user cache.

    Raises:
        OpgenError: OPG305 when it cannot be written.
    """
    path = Path(os.environ.get("OPGEN_CACHE_DIR") or platformdirs.user_cache_dir("opgen"))
    path = path.expanduser().absolute()
    try:
        path.mkdir(parents=True, exist_ok=True, mode=0o700)
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


def others_may_write(path: Path) -> bool:
    """Whether users other than this one may change what the kit will load from ``path``."""
    stat = path.stat()
    return bool(stat.st_mode & 0o002) or stat.st_uid not in (0, os.geteuid())


def text_hash(*parts: str) -> str:
    """Return a 24 digit hash of the parts."""
    digest = hashlib.sha256()
    for part in parts:
        data = part.encode()
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return digest.hexdigest()[:24]


@dataclass(frozen=True)
class CacheEntry:
    """One entry, for ``opgen cache``: kind, key, what it was built from, bytes, last use (Unix)."""

    kind: str
    key: str
    label: str
    size: int
    used: float
    path: Path


def _lookup(root: Path) -> Path | None:
    for manifest_path in sorted(root.glob(f"*/{MANIFEST}")):
        folder = manifest_path.parent
        manifest = read_manifest(folder)
        if manifest and manifest.is_current(folder):
            with contextlib.suppress(OSError):
                used_now(folder)
            return folder
    return None


def cached(
    kind: str, key: str, label: str, build: Callable[[Path], list[Path]], *, keep: int = 4
) -> tuple[Path, bool]:
    """Return the folder of an entry, building it when there is no valid one.

    Args:
        kind: folder name of this sort of result ("object", "shared", "library").
        key: hash of everything that is known before building.
        label: human text for listings.
        build: called with an empty folder; writes the outputs there and returns the input files it
            read. Runs under a lock of this key; a crash leaves nothing behind.
        keep: how many results of this key, for other contents of the inputs, stay.

    Returns:
        The folder and whether it was built now.

    Raises:
        NotCached: there is none, inside :func:`without_building`.
    """
    root = cache_dir() / kind / key
    found = _lookup(root)
    if found:
        return found, False
    if _lookups_only:
        raise NotCached(f"{kind}/{key}")
    root.mkdir(parents=True, exist_ok=True)
    with FileLock(_lock_of(root)):
        found = _lookup(root)
        if found:
            return found, False
        _remove_stages(root)
        stage = Path(tempfile.mkdtemp(prefix=_stage_prefix(root), dir=root.parent))
        try:
            # Hash inputs by the content seen before the compiler ran: a file edited meanwhile must
            # not look up to date afterwards.
            started = time.time_ns()
            inputs = build(stage)
            deps = {}
            for path in sorted({p.absolute() for p in inputs}):
                unchanged = path.stat().st_mtime_ns < started
                deps[moved_text(str(path))] = file_hash(path) if unchanged else "edited"
            Manifest(label, deps, describe_outputs(stage)).write(stage)
            target = root / text_hash(*(f"{k}={v}" for k, v in deps.items()))[:12]
            if target.exists():
                shutil.rmtree(target)
            os.replace(stage, target)
        finally:
            if stage.exists():
                shutil.rmtree(stage, ignore_errors=True)
        _prune(root, keep)
        return target, True


def _lock_of(root: Path) -> str:
    return f"{root}.lock"


def _stage_prefix(root: Path) -> str:
    return f".stage-{root.name}-"


def _remove_stages(root: Path) -> None:
    """Remove what a killed process left of this key; the caller holds the key's lock."""
    for stage in root.parent.glob(f"{_stage_prefix(root)}*"):
        shutil.rmtree(stage, ignore_errors=True)


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


def _folders_in(folder: Path) -> list[Path]:
    """List a folder's folders, without the stages of builds under way.

    Other processes add and remove entries meanwhile: a folder that is gone has none.
    """
    try:
        with os.scandir(folder) as found:
            return sorted(Path(e) for e in found if e.is_dir() and not e.name.startswith("."))
    except OSError:
        return []


def entries() -> Iterator[CacheEntry]:
    """List the entries of the cache, those that cannot be read included (label "unreadable")."""
    kinds = _folders_in(cache_dir())
    for folder in (f for kind in kinds for key in _folders_in(kind) for f in _folders_in(key)):
        manifest = read_manifest(folder)
        label = manifest.label if manifest else "unreadable"
        try:
            size, used = folder_size(folder), folder.stat().st_mtime
        except OSError:
            continue
        yield CacheEntry(folder.parent.parent.name, folder.parent.name, label, size, used, folder)


def clear(kind: str | None = None, older_than_days: float | None = None) -> tuple[int, int]:
    """Remove entries, and what interrupted builds left; return how many entries and bytes.

    Keys that a process is building right now are left alone.

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
    for folder in sorted(p for p in cache_dir().glob(kind or "*") if p.is_dir()):
        _sweep(folder)
    return count, size


def _sweep(folder: Path) -> None:
    """Remove empty keys, and locks and stages that no process holds, of one kind."""
    keys = {p.name for p in folder.iterdir() if p.is_dir() and not p.name.startswith(".")}
    keys |= {p.name.removesuffix(".lock") for p in folder.glob("*.lock")}
    keys |= {p.name.removeprefix(".stage-").rpartition("-")[0] for p in folder.glob(".stage-*-*")}
    for key in sorted(keys):
        root = folder / key
        lock = FileLock(_lock_of(root))
        try:
            lock.acquire(timeout=0)
        except Timeout:
            continue
        try:
            _remove_stages(root)
            with contextlib.suppress(OSError):
                root.rmdir()
            if not root.exists():
                with contextlib.suppress(OSError):
                    os.unlink(_lock_of(root))
        finally:
            lock.release()
    with contextlib.suppress(OSError):
        folder.rmdir()

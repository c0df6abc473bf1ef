"""Write a project to disk without ever losing the user's edits.

``opgen.json`` records the sha256 of every generated file. A file whose content differs from its
record was edited by the user; it is only replaced when told to. Everything is staged first, so an
error leaves the project as it was, and no file is ever half-written.
"""

from __future__ import annotations

import contextlib
import difflib
import hashlib
import os
import shutil
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError, disk_full
from msopgen_wrap.manifest import MANIFEST, Manifest, digest, read_manifest
from msopgen_wrap.render.files import GeneratedFile


@dataclass
class Changes:
    """What writing a project does, or did; paths relative to the project, sorted.

    Attributes:
        created, updated, removed: files that are new, replaced, and no longer generated.
        unchanged: number of files that already hold what would be written.
        kept: edited files that stay, because what is generated for them did not change.
        conflicts: edited files whose generated content changed too; nothing is written while
            there are any, unless forced.
    """

    created: list[str] = field(default_factory=list)
    updated: list[str] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    conflicts: list[str] = field(default_factory=list)
    unchanged: int = 0

    def as_dict(self) -> dict[str, object]:
        """Return the JSON form."""
        return dict(vars(self))


def plan_changes(files: Sequence[GeneratedFile], root: Path) -> Changes:
    """Compare what is generated with what is on disk; writes nothing.

    Raises:
        OpgenError: OPG091 (bad manifest), OPG092 (a path leaves the project).
    """
    manifest = read_manifest(root)
    recorded = manifest.files if manifest else {}
    changes = Changes()
    generated = set()
    for file in files:
        generated.add(file.path)
        target = _inside(root, file.path)
        new = digest(file.text)
        current = _digest_of(target)
        if current is None:
            changes.created.append(file.path)
        elif current == new:
            changes.unchanged += 1
        elif current == recorded.get(file.path):
            changes.updated.append(file.path)
        elif recorded.get(file.path) == new:
            changes.kept.append(file.path)
        else:
            changes.conflicts.append(file.path)
    for path, old in sorted(recorded.items()):
        if path in generated:
            continue
        current = _digest_of(_inside(root, path))
        if current == old:
            changes.removed.append(path)
        elif current is not None:
            changes.kept.append(path)
    return changes


def write_project(
    files: Sequence[GeneratedFile],
    root: Path,
    manifest: Manifest,
    *,
    force: bool = False,
    keep: bool = False,
) -> Changes:
    """Bring the project at ``root`` to ``files`` and return what changed.

    Args:
        files: everything that belongs to the project.
        root: its folder; created if needed.
        manifest: vendor, style, SoCs and specs to record; its hashes are computed here.
        force: replace edited files too.
        keep: leave edited files as they are and write the rest.

    When there are conflicts and neither ``force`` nor ``keep`` is given, nothing is written.

    Raises:
        OpgenError: OPG091, OPG092, OPG093 (the folder cannot be written).
    """
    changes = plan_changes(files, root)
    if changes.conflicts and not (force or keep):
        return changes
    skip: set[str] = set()
    if force:
        forced = [p for p in (*changes.conflicts, *changes.kept) if p in {f.path for f in files}]
        changes.updated = sorted({*changes.updated, *forced})
        changes.kept = [p for p in changes.kept if p not in forced]
        changes.conflicts = []
    else:
        skip = {*changes.conflicts, *changes.kept}
    hashes = {f.path: digest(f.text) for f in files}
    old = read_manifest(root)
    for path in changes.conflicts:
        # The record stays that of the text the user's edit started from.
        hashes[path] = old.files.get(path, "") if old else ""
    final = Manifest(manifest.vendor, manifest.style, manifest.soc, manifest.specs, hashes)
    wanted = {*changes.created, *changes.updated} - skip
    try:
        _apply([f for f in files if f.path in wanted], root, changes.removed, final.text())
    except OSError as error:
        name = error.filename or root
        raise OpgenError(
            disk_full(error)
            or Diagnostic(
                "OPG093",
                f"cannot write the project: {error.strerror or error}",
                Location(str(name)),
                fix="choose a writable folder with -o",
            )
        ) from error
    return changes


def _apply(files: list[GeneratedFile], root: Path, removed: list[str], manifest: str) -> None:
    """Stage all texts, then move them into place; a new project appears in one rename."""
    parent = root.absolute().parent
    parent.mkdir(parents=True, exist_ok=True)
    fresh = not root.exists()
    stage = Path(tempfile.mkdtemp(prefix=".opgen-stage-", dir=parent if fresh else root))
    try:
        for file in files:
            _write(stage / file.path, file.text, file.executable)
        _write(stage / MANIFEST, manifest, False)
        if fresh:
            os.chmod(stage, 0o777 & ~_umask())
            os.rename(stage, root)
            return
        for file in files:
            target = root / file.path
            target.parent.mkdir(parents=True, exist_ok=True)
            os.replace(stage / file.path, target)
        for path in removed:
            (root / path).unlink(missing_ok=True)
            _prune_empty(root, (root / path).parent)
        # Last: until now the old record describes the old files, and new ones equal their text.
        current = root / MANIFEST
        if not current.exists() or current.read_text(encoding="utf-8") != manifest:
            os.replace(stage / MANIFEST, current)
    finally:
        shutil.rmtree(stage, ignore_errors=True)


def _write(path: Path, text: str, executable: bool) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text.encode("utf-8"))
    if executable:
        path.chmod(0o777 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _prune_empty(root: Path, folder: Path) -> None:
    while folder != root and root in folder.parents:
        try:
            folder.rmdir()
        except OSError:
            return
        folder = folder.parent


def _inside(root: Path, path: str) -> Path:
    """Return ``root / path``; refuses paths and symbolic links that lead out of the project."""
    pure = PurePosixPath(path)
    target = root / pure
    bad = pure.is_absolute() or ".." in pure.parts or not pure.parts
    if not bad and root.exists():
        bad = root.resolve() not in (target.parent.resolve() / pure.name).parents
    if bad:
        raise OpgenError(
            Diagnostic(
                "OPG092",
                f"'{path}' leads out of the project",
                Location(str(root)),
                why="a symbolic link in the project points outside, or opgen.json was edited",
                fix="remove the link, or scaffold into another folder",
            )
        )
    return target


def _digest_of(path: Path) -> str | None:
    try:
        return hashlib.sha256(path.read_bytes()).hexdigest()
    except FileNotFoundError:
        return None
    except OSError:
        return ""  # a folder or an unreadable file stands in the way: never equal, so a conflict


def diff_project(files: Sequence[GeneratedFile], root: Path) -> str:
    """Return a unified diff from what is on disk to what would be generated."""
    changes = plan_changes(files, root)
    touched = {*changes.created, *changes.updated, *changes.conflicts}
    chunks = []
    for file in files:
        if file.path in touched:
            chunks.append(_diff(file.path, _text_of(root / file.path), file.text))
    for path in changes.removed:
        chunks.append(_diff(path, _text_of(root / path), None))
    return "".join(chunks)


def _text_of(path: Path) -> str | None:
    with contextlib.suppress(OSError):
        return path.read_bytes().decode("utf-8", "replace")
    return None


def _diff(path: str, old: str | None, new: str | None) -> str:
    lines = difflib.unified_diff(
        (old or "").splitlines(keepends=True),
        (new or "").splitlines(keepends=True),
        "/dev/null" if old is None else f"a/{path}",
        "/dev/null" if new is None else f"b/{path}",
    )
    return "".join(line if line.endswith("\n") else line + "\n" for line in lines)

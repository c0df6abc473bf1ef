"""``opgen.json``: what a project was made of, and the hash of every generated file."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msopgen_wrap import __version__
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError

if TYPE_CHECKING:
    from msopgen_wrap.spec.model import OpSpec

MANIFEST = "opgen.json"
FORMAT = 1
# Kinds of projects that are torch extensions, by the ``style`` in their manifest.
BACKENDS = ("torch-cpp", "torch-cuda")


@dataclass(frozen=True)
class Manifest:
    """``opgen.json``: the user's choices, the specs and the hash of every generated file."""

    vendor: str
    style: str
    soc: tuple[str, ...]
    specs: tuple[str, ...]
    files: dict[str, str]

    def text(self) -> str:
        """Return the JSON text."""
        value = {
            "format": FORMAT,
            "opgen": __version__,
            "vendor": self.vendor,
            "style": self.style,
            "soc": list(self.soc),
            "specs": list(self.specs),
            "files": dict(sorted(self.files.items())),
        }
        return json.dumps(value, indent=2) + "\n"


def refuse_extension(root: Path, manifest: Manifest) -> None:
    """Raise OPG574 for a torch extension, which commands for CANN projects cannot take."""
    if manifest.style in BACKENDS:
        raise OpgenError(
            Diagnostic(
                "OPG574",
                f"{root} is a torch extension ({manifest.style})",
                Location(str(root / MANIFEST)),
                "it has no kernel for Ascend, no host code and no package",
                f"pip install --no-build-isolation {root}, then pytest {root}/tests; or scaffold "
                "the op for Ascend in another folder",
            )
        )


def read_manifest(root: Path) -> Manifest | None:
    """Return the manifest of the project at ``root``, or None when there is none.

    Raises:
        OpgenError: OPG091, the file is there but cannot be understood.
    """
    path = root / MANIFEST
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except NotADirectoryError as error:
        raise OpgenError(
            Diagnostic("OPG093", f"'{root}' is a file, not a folder", Location(str(root)))
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise _bad_manifest(path, str(error)) from error
    try:
        data: dict[str, Any] = json.loads(text)
        if data["format"] != FORMAT:
            raise _bad_manifest(path, f"its format is {data['format']}, this kit knows {FORMAT}")
        return Manifest(
            str(data["vendor"]),
            str(data["style"]),
            tuple(str(s) for s in data["soc"]),
            tuple(str(s) for s in data["specs"]),
            {str(k): str(v) for k, v in data["files"].items()},
        )
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise _bad_manifest(path, f"{type(error).__name__}: {error}") from error


def _bad_manifest(path: Path, reason: str) -> OpgenError:
    return OpgenError(
        Diagnostic(
            "OPG091",
            f"cannot read {MANIFEST}: {reason}",
            Location(str(path)),
            why="it records which files were generated, so that edits are never overwritten",
            fix="restore it from version control, or scaffold into a new folder",
        )
    )


def digest(text: str) -> str:
    """Return the sha256 of a text as UTF-8."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


@dataclass(frozen=True)
class ProjectTree:
    """A project made by ``opgen new``.

    Attributes:
        root: folder that holds ``opgen.json``.
        vendor: vendor of its package.
        style: ``8.1`` or ``9.x``.
        soc: SoCs it was scaffolded for; empty: those of the specs.
        specs: its ops, in manifest order.
    """

    root: Path
    vendor: str
    style: str
    soc: tuple[str, ...]
    specs: tuple[OpSpec, ...]


def read_project(root: Path) -> ProjectTree:
    """Read the project at ``root``.

    Raises:
        OpgenError: OPG650, not a project; OPG091, its manifest cannot be understood; or what is
            wrong with its specs.
    """
    from msopgen_wrap.spec.loader import load_specs

    place = root / MANIFEST
    manifest = read_manifest(root) if root.is_dir() else None
    if manifest is None:
        raise OpgenError(
            Diagnostic(
                "OPG650",
                f"{root} is not a project",
                Location(str(place)),
                f"it has no {MANIFEST}",
                "scaffold one: opgen new SPEC.yaml -o DIR",
            )
        )
    refuse_extension(root, manifest)
    specs = load_specs([root / name for name in manifest.specs])
    if not specs:
        raise OpgenError(
            Diagnostic(
                "OPG651",
                f"{root} has no ops",
                Location(str(place)),
                "its list of specs is empty",
                "scaffold again: opgen new SPEC.yaml -o DIR",
            )
        )
    return ProjectTree(root, manifest.vendor, manifest.style, manifest.soc, tuple(specs))

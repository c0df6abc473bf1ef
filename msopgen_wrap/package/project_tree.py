"""Read a scaffolded project: its manifest and its specs."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.manifest import MANIFEST, read_manifest
from msopgen_wrap.spec.model import OpSpec


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

"""Read a scaffolded project: its manifest and its specs."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec.model import OpSpec

MANIFEST = "opgen.json"


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
        OpgenError: OPG650, not a project; or what is wrong with its specs.
    """
    from msopgen_wrap.spec.loader import load_specs

    manifest = root / MANIFEST
    try:
        data = json.loads(manifest.read_text(encoding="utf-8"))
        names = [str(name) for name in data["specs"]]
        vendor = str(data["vendor"])
        soc = tuple(str(s) for s in data.get("soc", data.get("socs", ())))
        style = str(data.get("style", "8.1"))
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        reason = f"it has no {MANIFEST}" if not manifest.is_file() else f"bad {MANIFEST}: {error}"
        raise OpgenError(
            Diagnostic(
                "OPG650",
                f"{root} is not a project",
                Location(str(manifest)),
                reason,
                "scaffold one: opgen new SPEC.yaml -o DIR",
            )
        ) from None
    specs = load_specs([root / name for name in names])
    if not specs:
        raise OpgenError(
            Diagnostic(
                "OPG651",
                f"{root} has no ops",
                Location(str(manifest)),
                "its list of specs is empty",
                "scaffold again: opgen new SPEC.yaml -o DIR",
            )
        )
    return ProjectTree(root, vendor, style, soc, tuple(specs))

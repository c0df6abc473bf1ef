"""What ``opgen test`` was pointed at: projects, spec files, or folders of specs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.manifest import MANIFEST, read_manifest
from msopgen_wrap.run.worker import Job


def resolve_target(
    targets: Sequence[Path], soc: str, vendor: str, mode: str, large: bool, match: str
) -> Iterator[Job]:
    """Yield one job per project and one for all given specs together.

    Raises:
        OpgenError: a target does not exist or holds no spec, or a manifest cannot be understood.
    """
    specs: list[Path] = []
    projects: list[Path] = []
    problems: list[Diagnostic] = []
    for target in targets or (Path("."),):
        if (target / MANIFEST).is_file():
            projects.append(target)
        elif target.is_dir():
            found = sorted(target.rglob("*.yaml"))
            if not found:
                problems.append(
                    Diagnostic(
                        "OPG901",
                        f"{target} is neither a project nor a folder with specs",
                        Location(str(target)),
                        why=f"it has no {MANIFEST} and no .yaml file",
                        fix="name a spec file, or scaffold a project: opgen new SPEC.yaml -o DIR",
                    )
                )
            specs += found
        elif target.is_file():
            specs.append(target)
        else:
            problems.append(
                Diagnostic(
                    "OPG902",
                    f"{target} does not exist",
                    Location(str(target)),
                    fix="check the path; `opgen list` shows the specs that come with the kit",
                )
            )
    if problems:
        raise OpgenError(problems)
    if specs:
        yield Job(tuple(str(s) for s in specs), None, soc, vendor, mode, large, match)
    for project in projects:
        manifest = read_manifest(project)
        assert manifest is not None
        paths = tuple(str(project / spec) for spec in manifest.specs)
        yield Job(paths, str(project), soc, manifest.vendor, mode, large, match)

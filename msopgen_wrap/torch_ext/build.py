"""Compile the torch binding of a generated project, by the code that the package itself carries."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.manifest import read_manifest
from msopgen_wrap.resources import data_dir
from msopgen_wrap.torch_import import import_torch


def _runtime() -> ModuleType:
    """Return the package's own build module, from the templates."""
    import_torch()
    path = data_dir("templates") / "torch_ext" / "runtime" / "build.py"
    spec = importlib.util.spec_from_file_location("opgen_torch_ext_build", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def package_dir(project: Path, vendor: str | None = None) -> Path:
    """Return ``torch_ext/<vendor>`` of a project.

    Raises:
        OpgenError: OPG323 when there is no such package, or several and no vendor is given; OPG091,
            the manifest cannot be understood.
    """
    root = Path(project) / "torch_ext"
    if vendor is None:
        manifest = read_manifest(Path(project))
        vendor = manifest.vendor if manifest else None
    found = sorted(p.parent.parent for p in root.glob("*/csrc/binding.cpp"))
    if vendor is not None:
        found = [p for p in found if p.name == vendor]
    if len(found) != 1:
        names = ", ".join(p.name for p in found) or "none"
        raise OpgenError(
            Diagnostic(
                "OPG323",
                f"cannot tell the torch package of {project}: found {names}",
                Location(str(root)),
                why="it lies in torch_ext/<vendor>/, with csrc/binding.cpp",
                fix="run 'opgen new' on the specs, or name the vendor",
            )
        )
    return found[0]


def build_binding(project: Path, vendor: str | None = None, *, into_package: bool = False) -> Path:
    """Return the compiled binding of a project (about 4 s; at once when nothing changed).

    Args:
        project: root of the generated project.
        vendor: its vendor; default: what ``opgen.json`` says.
        into_package: write it, and the autograd entry for this torch, into
            ``torch_ext/<vendor>/``, where a wheel of the package takes them along; else into the
            cache of built bindings, where importing the package finds it.

    Raises:
        OpgenError: OPG323 (no package), OPG324 (it does not compile), OPG320 (no torch).
    """
    package = package_dir(project, vendor)
    try:
        runtime = _runtime()
        binding: Path = runtime.build(package, into_package=into_package)
        if into_package and runtime.find_entry(package) != package / runtime.ENTRY:
            runtime.build_entry(package, into_package=True)
        return binding
    except (RuntimeError, OSError) as error:
        raise OpgenError(
            Diagnostic(
                "OPG324",
                str(error),
                Location(str(package / "csrc" / "binding.cpp")),
                why="torch.ops of the package are defined by it",
            )
        ) from error

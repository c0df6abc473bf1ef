"""Where a fused model finds its ops: in the user's package, or in one that is built for it."""

from __future__ import annotations

import hashlib
import importlib
import importlib.util
import json
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from filelock import FileLock

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.resources import data_dir
from msopgen_wrap.spec.loader import load_specs, parse_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

_log = logging.getLogger(__name__)


@dataclass
class OpSource:
    """The ops that may be called.

    Attributes:
        specs: what to look for.
        vendor: namespace of torch ops that exist; None: packages are built for the ops found.
        chosen: the user named the ops; those of the library are taken only where they save bytes.
    """

    specs: list[OpSpec]
    vendor: str | None
    chosen: bool

    def op(self, spec: OpSpec) -> Callable[..., Any]:
        """Return the torch op of a spec, built when it has to be.

        Raises:
            OpgenError: OPG742, the package has no such op; those of building.
        """
        if self.vendor is None:
            namespace = getattr(torch.ops, built_package(spec).__name__)
        else:
            namespace = getattr(torch.ops, self.vendor)
        try:
            return getattr(namespace, spec.name).default  # type: ignore[no-any-return]
        except AttributeError:
            raise OpgenError(
                Diagnostic(
                    "OPG742",
                    f"torch.ops.{self.vendor} has no op {spec.name}",
                    why=f"it is not in the package '{self.vendor}', or that is not imported",
                    fix="build the package with this spec, or leave `ops` out: the op is then "
                    "built for the model",
                )
            ) from None


def op_source(specs: Any, ops: str | ModuleType | None) -> OpSource:
    """Return the ops that ``fuse`` is given.

    Args:
        specs: specs, paths of spec files or folders, or texts of specs; one of these or several;
            None: those of the package, else the op library.
        ops: a vendor's package or its name; None builds a package.

    Raises:
        OpgenError: OPG742, or the problems of the specs.
    """
    vendor = None
    if ops is not None:
        package = _imported(ops) if isinstance(ops, str) else ops
        if not isinstance(package, ModuleType):
            raise OpgenError(
                Diagnostic(
                    "OPG742",
                    f"`ops` is of type {type(ops).__name__}",
                    why="it is a vendor's package, or the name of one",
                    fix="fuse(model, example, ops='acme')",
                )
            )
        vendor = package.__name__
        if specs is None:
            specs = _specs_of(package)
    chosen = specs is not None
    found = _loaded([data_dir("op_specs")] if specs is None else specs)
    if not found:
        raise OpgenError(Diagnostic("OPG742", "fuse was given no op to look for"))
    return OpSource(found, vendor, chosen)


def _loaded(given: Any) -> list[OpSpec]:
    items = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    found: list[OpSpec] = []
    for item in items:
        if isinstance(item, OpSpec):
            found.append(item)
        elif isinstance(item, str) and "\n" in item:
            result = parse_spec(item)
            if result.spec is None:
                raise OpgenError([d for d in result.diagnostics if d.severity == "error"])
            found.append(result.spec)
        elif isinstance(item, (str, Path)) and str(item):
            found += load_specs([item])
        else:
            raise OpgenError(
                Diagnostic(
                    "OPG742",
                    "an empty text is no spec"
                    if isinstance(item, str)
                    else f"{type(item).__name__} is no spec",
                    why="specs are OpSpec objects, paths, or texts in YAML",
                    fix="fuse(model, example, specs=['my_op.yaml'])",
                )
            )
    return [spec for spec in found if not spec.differentiated]


def _imported(vendor: str) -> ModuleType:
    try:
        return importlib.import_module(vendor)
    except ImportError as error:
        raise OpgenError(
            Diagnostic(
                "OPG742",
                f"the package '{vendor}' cannot be imported: {error}",
                why="its ops are torch.ops.<vendor>.<op>, which the import registers",
                fix="put the project's torch_ext folder on PYTHONPATH, or leave `ops` out",
            )
        ) from error


def _specs_of(package: ModuleType) -> list[OpSpec]:
    """Return the specs of the project that a package lies in."""
    root = Path(str(getattr(package, "__file__", "") or "")).resolve().parent.parent.parent
    manifest = root / "opgen.json"
    try:
        json.loads(manifest.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        raise OpgenError(
            Diagnostic(
                "OPG742",
                f"the specs of package '{package.__name__}' are not beside it",
                why="an installed package holds ops, not the formulas that they stand for",
                fix="give them: fuse(model, example, specs='project/specs', ops='"
                f"{package.__name__}')",
            )
        ) from None
    return load_specs([root / "specs"])


_built: dict[str, ModuleType] = {}


def built_package(spec: OpSpec) -> ModuleType:
    """Return the imported torch package of one op, compiled into the build cache when it is new.

    Its name, which is the namespace of the op, follows from what is generated.

    Raises:
        OpgenError: the op cannot be planned or compiled.
    """
    key = f"{spec.path}\0{spec.source}" if spec.source else repr(spec)
    if key not in _built:
        _log.info("compiling the kernels of %s, unless the build cache has them", spec.op)
        _built[key] = _build(spec)
    return _built[key]


def _build(spec: OpSpec) -> ModuleType:
    from msopgen_wrap.build.cache import cache_dir
    from msopgen_wrap.package.layout import build_local_vendor
    from msopgen_wrap.project.tree import ProjectOptions, render_project
    from msopgen_wrap.run.cached_specs import with_known_gradients
    from msopgen_wrap.spec.loader import with_gradients

    specs = with_gradients([spec])
    if spec.backward == "kernel":
        specs = with_known_gradients(specs)
    draft = render_project(specs, ProjectOptions(vendor="opgenfuse"))
    digest = hashlib.sha256()
    for file in draft:
        digest.update(f"{file.path}\0{file.text}\0".encode())
    vendor = f"opgenfuse_{digest.hexdigest()[:10]}"
    folder = cache_dir() / "fusion" / vendor
    folder.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f"{folder}.lock"):
        for file in render_project(specs, ProjectOptions(vendor=vendor)):
            path = folder / file.path
            if path.is_file() and path.read_text(encoding="utf-8") == file.text:
                continue
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
        local = build_local_vendor(folder, specs, folder / "local" / vendor)
    where = str(folder / "torch_ext")
    sys.path.insert(0, where)
    try:
        importlib.invalidate_caches()
        module = importlib.import_module(vendor)
    finally:
        sys.path.remove(where)
    module.add_vendor_folder(local)
    return module


def searched(specs: Sequence[OpSpec]) -> tuple[list[OpSpec], dict[str, str]]:
    """Return the specs that models are searched for, and why the others are not."""
    from msopgen_wrap.fusion.patterns import unusable_reason

    reasons = {spec.op: unusable_reason(spec) for spec in specs}
    return (
        [s for s in specs if not reasons[s.op]],
        {op: reason for op, reason in reasons.items() if reason},
    )

"""Specs and scaffolded projects as ops for ``check_op``: the torch op that runs the kernel."""

from __future__ import annotations

import functools
import importlib
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

from msopgen_wrap.build import cache
from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.manifest import MANIFEST, read_manifest, refuse_extension
from msopgen_wrap.package.layout import build_local_vendor
from msopgen_wrap.project.tree import ProjectOptions, render_project
from msopgen_wrap.run.cached_specs import kit_hash, known_grid, with_known_gradients
from msopgen_wrap.run.case_runner import tolerance_of
from msopgen_wrap.run.coverage import traits
from msopgen_wrap.run.golden import make_inputs
from msopgen_wrap.run.op_case import TestCase, combined_attrs
from msopgen_wrap.spec.attrs import attr_problem
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.findings import suggestion
from msopgen_wrap.spec.loader import load_specs, with_gradients
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.testing.samples import Sample, dtype_of, map_tensors, tensors
from msopgen_wrap.torch_ext.signature import fresh_outputs
from msopgen_wrap.torch_import import quiet_torch, torch

# A project of one op takes a few thousand elements at a time: gradients are compared in a dozen
# ways, each in float64.
_MOST_ELEMENTS = 2048
_MOST_CASES = 6


@dataclass(frozen=True)
class Target:
    """An op of a project, ready to be called.

    Attributes:
        op: its overload in ``torch.ops``.
        package: the vendor's Python package.
        text: how a test names it.
    """

    spec: OpSpec
    op: Any
    package: ModuleType
    text: str

    def reference(self, *args: Any, **attrs: Any) -> Any:
        """Run the spec's ``compute`` on the arguments of the torch op.

        Floating attrs are rounded to float32, which is what CANN hands to an op.
        """
        names = [p.name for p in self.spec.inputs]
        given = dict(zip(names, args, strict=True))
        rounded = {
            name: torch.tensor(value, dtype=torch.float32).item()
            if isinstance(value, float)
            else value
            for name, value in attrs.items()
        }
        made = self._compute(given, rounded)
        for output in self.spec.outputs:
            if output.inplace:
                given[output.inplace].copy_(made[output.name])
        dtypes = _dtypes_of(self.spec, {**given, **attrs})
        fresh = [
            map_tensors(functools.partial(_in_kind, dtype=dtypes.get(p.name)), made[p.name])
            for p in fresh_outputs(self.spec)
        ]
        return fresh[0] if len(fresh) == 1 else tuple(fresh)

    @functools.cached_property
    def _compute(self) -> Callable[..., Mapping[str, Any]]:
        return compile_compute(self.spec, wrap_errors=False)

    def samples(self, shapes: Any, dtypes: Any, attrs: Any) -> list[Sample]:
        """Return some small cases of the op's grid, or those with the given shapes.

        Args:
            shapes: None, or a list of tuples with one shape per input of the spec.
            dtypes: None for all combinations, else dtypes of the first input.
            attrs: values that differ from the defaults, by name.
        """
        spec = self.spec
        wanted = None if dtypes is None else {dtype_of(d) for d in _listed(dtypes)}
        combos = [
            i
            for i in range(spec.combos)
            if wanted is None or getattr(torch, spec.inputs[0].dtypes[i]) in wanted
        ]
        if not combos:
            raise OpgenError(
                Diagnostic(
                    "OPG721",
                    f"{spec.op} takes none of the dtypes {dtypes!r}",
                    Location(spec.path),
                    why=f"{spec.inputs[0].name} is {', '.join(spec.inputs[0].dtypes)}",
                )
            )
        if shapes is None:
            with quiet_torch():
                cases = _representative(spec, known_grid(spec))
        else:
            cases = [TestCase(0, _by_name(spec, entry)) for entry in shapes]
        own = given_attrs(spec, attrs)
        defaults = spec.default_attrs
        found = []
        for combo in combos:
            for case in cases:
                if any(own.get(n, v) != v for n, v in spec.chosen_attrs(combo).items()):
                    continue  # the attrs ask for outputs of other dtypes
                values = combined_attrs(spec, combo, {**defaults, **case.attrs, **own})
                found.append(self._sample(TestCase(combo, case.shapes, values)))
        return list({s.label: s for s in found}.values())

    def _sample(self, case: TestCase) -> Sample:
        spec = self.spec
        inputs = make_inputs(spec, case)
        attrs = {}
        for attr in spec.attrs:
            value = case.attrs[attr.name]
            if attr.type == "dtype":
                value = dtype_of(value)
            attrs[attr.name] = list(value) if isinstance(value, tuple) else value
        shapes = tuple(case.shapes.get(p.name) for p in spec.inputs)
        written = [o for p in spec.inputs for o in spec.outputs if o.inplace == p.name]
        order = [*fresh_outputs(spec), *written]
        return Sample(
            case.label(spec),
            getattr(torch, spec.inputs[0].dtypes[case.combo]),
            tuple(inputs[p.name] for p in spec.inputs),
            attrs,
            repr(shapes),
            tuple(tolerance_of(spec, o, case.combo) for o in order),
        )

    def paste(self, check: str, sample: Sample) -> str:
        """Return a line of Python that runs one check on one case again."""
        attrs = f", attrs={sample.kwargs!r}" if sample.kwargs else ""
        return (
            f"check_op({self.text}, shapes=[{sample.shapes}], dtypes=[{sample.dtype}]{attrs}, "
            f"checks=[{check!r}]).raise_if_failed()"
        )


def given_attrs(spec: OpSpec, attrs: Any) -> dict[str, Any]:
    """Return the attrs that a user gives an op of a spec.

    Raises:
        OpgenError: OPG721: by position, an attr that the op does not have, or a value outside.
    """
    known = {a.name: a for a in spec.attrs}
    listed = ", ".join(known) or "none"
    why, fix = f"attrs of {spec.op}: {listed}", ""
    problem = "" if isinstance(attrs, Mapping) or not attrs else "they are given by name"
    own = dict(attrs) if isinstance(attrs, Mapping) else {}
    for name, value in own.items():
        if name not in known:
            problem, fix = f"there is no '{name}'", suggestion(str(name), known)
        elif not _of_type(value, known[name].type):
            problem = f"'{name}' is of type {known[name].type}, not {value!r}"
        else:
            problem = problem or attr_problem(known[name], value)
    if problem:
        what = f"attrs of {spec.op} cannot be read: {problem}"
        raise OpgenError(Diagnostic("OPG721", what, Location(spec.path), why, fix))
    return own


def _of_type(value: Any, kind: str) -> bool:
    """Whether a value in Python can be an attr of a type of a spec."""
    if kind.startswith("list_"):
        inner = kind.removeprefix("list_")
        return isinstance(value, (list, tuple)) and all(_of_type(v, inner) for v in value)
    if kind == "dtype":
        return isinstance(value, (str, torch.dtype))
    if kind in ("int", "float") and isinstance(value, bool):
        return False
    kinds: dict[str, tuple[type, ...]] = {"int": (int,), "float": (int, float), "bool": (bool,)}
    return isinstance(value, kinds.get(kind, (str,)))


def _listed(dtypes: Any) -> Sequence[Any]:
    if isinstance(dtypes, (str, torch.dtype)):
        return [dtypes]
    return list(dtypes)


def _in_kind(tensor: torch.Tensor, dtype: str | None) -> torch.Tensor:
    """Return an output in the dtype that the spec declares; double stays double."""
    if dtype is None or (tensor.dtype is torch.float64 and "float" in dtype):
        return tensor
    return tensor.to(getattr(torch, dtype))


def _dtypes_of(spec: OpSpec, given: Mapping[str, Any]) -> dict[str, str]:
    """Return the dtypes of the outputs for the inputs; {} for inputs in other dtypes (float64)."""
    for combo in range(spec.combos):
        if all(
            str(t.dtype) == f"torch.{p.dtypes[combo]}"
            for p in spec.inputs
            for t in tensors(given[p.name])
        ) and all(
            dtype_of(given[name]) is getattr(torch, value)
            for name, value in spec.chosen_attrs(combo).items()
            if name in given
        ):
            return {o.name: o.dtypes[combo] for o in spec.outputs}
    return {}


def _by_name(spec: OpSpec, entry: Any) -> dict[str, Any]:
    entries = (entry,) if len(spec.inputs) == 1 and _is_one(entry) else entry
    if not isinstance(entries, (tuple, list)) or len(entries) != len(spec.inputs):
        raise OpgenError(
            Diagnostic(
                "OPG721",
                f"shapes of {spec.op} cannot be read: {entry!r}",
                Location(spec.path),
                why=f"a case has one shape for each of {', '.join(p.name for p in spec.inputs)}",
            )
        )
    return {
        p.name: tuple(tuple(s) for s in shape) if isinstance(shape, list) else shape
        for p, shape in zip(spec.inputs, entries, strict=True)
    }


def _is_one(entry: Any) -> bool:
    return isinstance(entry, tuple) and all(isinstance(d, int) for d in entry)


def _representative(spec: OpSpec, grid: Sequence[TestCase]) -> list[TestCase]:
    """Return few small cases that between them have what the grid's cases have."""
    told: set[Any] = set()
    chosen: list[TestCase] = []
    small = [c for c in grid if c.values == "normal" and c.combo == 0 and _size(c) > 0]
    small = [c for c in small if _size(c) <= _MOST_ELEMENTS] or small[:1]
    # Of like cases the one with most elements: a single element tells little.
    for case in sorted(small, key=_size, reverse=True):
        own = traits(spec, case)
        marks = {
            ("ranks", tuple(own["ranks"])),
            ("aligned", own["aligned"]),
            ("broadcast", own["broadcast"]),
            ("absent", tuple(own["absent"])),
            *((n, repr(v)) for n, v in case.attrs.items()),
        }
        if marks - told and len(chosen) < _MOST_CASES:
            told |= marks
            chosen.append(case)
    return chosen


def _size(case: TestCase) -> int:
    from msopgen_wrap.run.worker import elements

    return elements(case.shapes)


# ---- making the op -------------------------------------------------------------------------------

_folders: list[tempfile.TemporaryDirectory[str]] = []
_loaded: dict[str, Path] = {}


def load_target(given: str | Path | OpSpec, name: str) -> Target:
    """Build the torch op of a spec or a project and import it into this process.

    Args:
        given: a spec, the file of one, or the folder of a project.
        name: of the op, snake_case, where there are several.

    Raises:
        OpgenError: OPG724 (which op, another package of the vendor), OPG902 (no such file), or
            whatever keeps the op from being planned and compiled.
    """
    if isinstance(given, OpSpec):
        return _of_spec(given, f"load_specs([Path({given.path!r})])[0]")
    path = Path(given)
    if not path.exists():
        raise OpgenError(Diagnostic("OPG902", f"{path} does not exist", Location(str(path))))
    if not path.is_dir():
        return _of_spec(_chosen(load_specs([path]), name, path), repr(str(path)))
    manifest = read_manifest(path)
    if manifest is None:
        raise OpgenError(
            Diagnostic(
                "OPG724",
                f"{path} is no project",
                Location(str(path)),
                why=f"it has no {MANIFEST}",
                fix="opgen new SPEC.yaml -o DIR makes one",
            )
        )
    refuse_extension(path, manifest)
    specs = load_specs([path / spec for spec in manifest.specs])
    spec = _chosen(specs, name, path)
    text = repr(str(path)) + (f", name={name!r}" if name else "")
    return _loaded_target(spec, specs, path.resolve(), manifest.vendor, text)


def _chosen(specs: Sequence[OpSpec], name: str, path: Path) -> OpSpec:
    fitting = [s for s in specs if not name or s.name == name]
    if not name:  # the op of a gradient is tested through its forward op
        fitting = [s for s in fitting if not s.differentiated]
    if len(fitting) == 1:
        return fitting[0]
    raise OpgenError(
        Diagnostic(
            "OPG724",
            f"{path} has no op {name!r}" if name else f"{path} has {len(fitting)} ops",
            Location(str(path)),
            why=f"it has {', '.join(s.name for s in specs)}",
            fix="check_op(..., name='one_of_them')",
        )
    )


def _of_spec(spec: OpSpec, text: str) -> Target:
    if spec.compute is None:
        raise OpgenError(
            Diagnostic("OPG722", f"{spec.op} has no compute to compare with", Location(spec.path))
        )
    key = cache.text_hash(kit_hash(), spec.path, spec.source, repr(spec))
    vendor = f"checked_{key[:12]}"
    specs = with_known_gradients(with_gradients([spec]))
    spec = specs[0]

    def build(folder: Path) -> list[Path]:
        for file in render_project(specs, ProjectOptions(vendor=vendor)):
            path = folder / file.path
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(file.text, encoding="utf-8")
        return []

    project = cache.cached("checked", key, f"project of {spec.op}", build)[0]
    return _loaded_target(spec, specs, project, vendor, text)


def _loaded_target(
    spec: OpSpec, specs: Sequence[OpSpec], project: Path, vendor: str, text: str
) -> Target:
    package = _import_package(project, vendor)
    if vendor not in _loaded:
        # The kernels stay in the build cache; the folder only names them.
        folder = tempfile.TemporaryDirectory(prefix="opgen-check-")
        _folders.append(folder)
        package.add_vendor_folder(build_local_vendor(project, specs, Path(folder.name) / vendor))
        _loaded[vendor] = project
    op = getattr(getattr(torch.ops, vendor), spec.name).default
    return Target(spec, op, package, text)


def _import_package(project: Path, vendor: str) -> ModuleType:
    wanted = project / "torch_ext" / vendor / "__init__.py"
    known = sys.modules.get(vendor)
    if known is None:
        sys.path.insert(0, str(wanted.parents[1]))
        try:
            known = importlib.import_module(vendor)
        finally:
            sys.path.remove(str(wanted.parents[1]))
    origin = getattr(known, "__file__", None)
    if origin is None or Path(origin).resolve() != wanted.resolve():
        raise OpgenError(
            Diagnostic(
                "OPG724",
                f"another package {vendor!r} is loaded in this process: {origin}",
                Location(str(project)),
                why="torch.ops has one namespace per vendor",
                fix="check the project in a process of its own",
            )
        )
    return known


def onnx_export(package: ModuleType) -> Callable[..., Any]:
    """Return the package's own export, which adds the decomposition that ONNX Runtime runs."""

    def export(module: torch.nn.Module, args: tuple[Any, ...], path: str) -> None:
        package.onnx.export(module, args, path)

    return export

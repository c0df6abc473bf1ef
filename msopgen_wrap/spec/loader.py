"""Load op specs: YAML text to a checked ``OpSpec``, or every problem in it at once.

``FILE.py:name`` stands for an op that is written as a Python function; the file is read, not run.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec.asked_gradients import asking_attr
from msopgen_wrap.spec.builder import SpecBuilder
from msopgen_wrap.spec.findings import Findings, listed, suggestion
from msopgen_wrap.spec.gradient import REFERENCE, gradient_name, gradient_text, not_a_kernel
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.python_file import python_target, read_python
from msopgen_wrap.spec.reader import Reader
from msopgen_wrap.spec.saved_outputs import recorded_saving
from msopgen_wrap.spec.yaml_nodes import parse_yaml

SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class LoadResult:
    """What one spec file gave: a spec unless there are errors, and the findings in file order."""

    path: str
    spec: OpSpec | None
    diagnostics: list[Diagnostic] = field(default_factory=list)


def parse_spec(text: str, path: str = "") -> LoadResult:
    """Parse and check a spec given as text.

    Args:
        text: the YAML.
        path: the file's name for messages; ``kernel:`` files are looked up beside it.

    Never raises for bad input: problems are in ``diagnostics``.
    """
    findings = Findings()
    root = parse_yaml(text, path, findings)
    spec = None
    if root is not None:
        reader = Reader(findings)
        fix = "start with 'op: FusedAddRelu' and 'inputs:'"
        mapping = reader.mapping(root, "a spec", fix)
        if mapping is not None:
            spec = SpecBuilder(mapping, reader, path, text).build()
    return LoadResult(path, None if findings.has_errors else spec, findings.sorted())


def read_spec(path: str | Path) -> LoadResult:
    """Read and check a spec file; a file that cannot be read is a diagnostic too."""
    name = str(path)
    target = python_target(name)
    if target is not None:
        return _read_python_op(*target)
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        reason = error.strerror or str(error)
        problem = Diagnostic("OPG001", f"cannot read the spec: {reason}", Location(name))
        return LoadResult(name, None, [problem])
    except ValueError as error:  # a NUL in the path
        return LoadResult(name, None, [Diagnostic("OPG001", f"not a path: {error}")])
    if b"\0" in data[:4096] and not data.startswith((b"\xff\xfe", b"\xfe\xff")):
        problem = Diagnostic(
            "OPG001",
            "the spec is not a text file",
            Location(name),
            why="it holds NUL bytes, as programs and images do",
            fix="name a YAML file",
        )
        return LoadResult(name, None, [problem])
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        column = error.start - (data.rfind(b"\n", 0, error.start) + 1) + 1
        problem = Diagnostic(
            "OPG001",
            "the spec is not UTF-8 text",
            Location(name, line, column),
            fix="save the file as UTF-8",
        )
        return LoadResult(name, None, [problem])
    return parse_spec(text.replace("\r\n", "\n"), name)


def _read_python_op(file: str, name: str) -> LoadResult:
    from msopgen_wrap.spec.python_function import read_function

    try:
        parsed = read_python(file)
        name = name or _only_op([node.name for node, _ in parsed.ops()], file)
    except OpgenError as error:
        return LoadResult(file, None, error.diagnostics)
    return LoadResult(f"{file}:{name}", *read_function(parsed, name))


def _only_op(names: list[str], file: str) -> str:
    if len(names) == 1:
        return names[0]
    what = f"{file} holds {len(names)} ops" if names else f"{file} has no function under @op"
    fix = f"name one: {file}:{names[0]}" if names else "write @op above the function"
    raise OpgenError(Diagnostic("OPG074", what, Location(file, 1, 1), listed(names), fix))


def load_spec(path: str | Path) -> OpSpec:
    """Return the spec in ``path``.

    Raises:
        OpgenError: with every problem of the file.
    """
    result = read_spec(path)
    if result.spec is None:
        raise OpgenError([d for d in result.diagnostics if d.severity == "error"])
    return result.spec


def find_specs(paths: Iterable[str | Path]) -> list[Path]:
    """Return the spec files among ``paths``; folders are searched for ``*.yaml`` in sorted order.

    ``FILE.py`` stands for each of its ops, ``FILE.py:name``.

    Raises:
        OpgenError: a path does not exist, or a folder holds no spec.
    """
    found: dict[Path, None] = {}
    problems = []
    for given in paths:
        path = Path(given)
        if inside := python_ops(path):
            found.update(dict.fromkeys(inside))
        elif path.is_dir():
            inside = [p for p in sorted(path.rglob("*")) if _is_spec_file(p)]
            if not inside:
                problems.append(Diagnostic("OPG001", f"no spec (*.yaml) in folder '{path}'"))
            found.update(dict.fromkeys(inside))
        elif path.exists():
            found[path] = None
        else:
            near = [str(p.name) for p in path.parent.glob("*.y*ml")] if path.parent.is_dir() else []
            fix = suggestion(path.name, near)
            problems.append(Diagnostic("OPG001", f"no such file: '{path}'", fix=fix))
    if problems:
        raise OpgenError(problems)
    return list(found)


def python_ops(path: str | Path) -> list[Path]:
    """Return ``FILE.py:name`` for the ops that a path names; none when it is no Python file."""
    target = python_target(path)
    if target is None or not Path(target[0]).is_file():
        return []
    file, name = target
    if name:
        return [Path(path)]
    try:
        names = [node.name for node, _ in read_python(file).ops()]
    except OpgenError:
        names = []  # reading the op tells why
    return [Path(f"{file}:{name}") for name in names] or [Path(file)]


def _is_spec_file(path: Path) -> bool:
    hidden = any(part.startswith(".") for part in path.parts if part not in (".", ".."))
    return path.suffix in SUFFIXES and path.is_file() and not hidden


def read_specs(paths: Iterable[str | Path]) -> list[LoadResult]:
    """Read several specs; an op that is defined twice is a warning (OPG012): see ``load_specs``."""
    results = [read_spec(p) for p in find_specs(paths)]
    first: dict[str, str] = {}
    checked = []
    for result in results:
        spec = result.spec
        if spec is not None:
            other = first.setdefault(spec.name, result.path)
            if other != result.path:
                clash = Diagnostic(
                    "OPG012",
                    f"op {spec.op} is already defined in {other}",
                    Location(result.path, 1, 1),
                    why="a project holds each op once; file names come from the op's name",
                    fix="rename the op or leave one file out",
                    severity="warning",
                )
                result = LoadResult(result.path, spec, [*result.diagnostics, clash])
        checked.append(result)
    return checked


def load_specs(paths: Iterable[str | Path]) -> list[OpSpec]:
    """Return the specs of all files and folders, as one project holds them.

    An op with ``backward: kernel`` is followed by the op of its gradients, unless a file has that.
    ``backward: auto`` is ``kernel`` where a file has it; else it is decided where kernels are
    planned (``families.gradients``).

    Raises:
        OpgenError: with every problem of every file, and ops that are defined twice (OPG012).
    """
    results = read_specs(paths)
    findings = [d for r in results for d in r.diagnostics]
    errors = [
        replace(d, severity="error")
        for d in findings
        if d.severity == "error" or (d.code == "OPG012" and d.severity == "warning")
    ]
    if errors:
        raise OpgenError(errors)
    return with_gradients([r.spec for r in results if r.spec is not None])


def with_gradients(specs: list[OpSpec]) -> list[OpSpec]:
    """Return specs and, behind each with ``backward: kernel``, the op of its gradients.

    A file that has that op keeps it. Where it says ``gradient_of`` of another formula than the op
    has today, it is derived again.
    """
    given = {spec.name: spec for spec in specs}
    found: dict[str, OpSpec] = {}
    for spec in specs:
        own = given.get(gradient_name(spec))
        if own is not None:
            spec = _with_recorded_choices(spec, own)
        found.setdefault(spec.name, spec)
        if spec.backward != "kernel":
            continue
        derived = gradient_spec(spec)
        # Written gradients stand in the spec of the op; a file with them is one that was derived.
        stale = spec.written or (own is not None and own.differentiated)
        if own is None or (stale and _differs(own, derived)):
            found[derived.name] = derived
        elif not _fits(own, derived):
            raise OpgenError(_other_gradient(spec, own, derived))
    return list(found.values())


def _with_recorded_choices(spec: OpSpec, own: OpSpec) -> OpSpec:
    """Return an op with the choices that an op called like its gradient stands for.

    A file of another formula than the op has today records nothing of what is saved.
    """
    saving = recorded_saving(spec, own)
    if spec.backward == "auto" and _is_gradient(saving, own):
        spec, saving = (replace(s, backward="kernel") for s in (spec, saving))
    if spec.backward != "kernel" or not spec.choose_saved:
        return spec
    derived = gradient_spec(saving)
    fits = not _differs(own, derived) if own.differentiated else _fits(own, derived)
    return saving if fits else spec


def _is_gradient(spec: OpSpec, own: OpSpec) -> bool:
    """Whether an op called like the gradient of ``spec`` is that."""
    try:
        derived = gradient_spec(spec)
    except OpgenError:
        return False
    return own.differentiated or _fits(own, derived)


def _differs(own: OpSpec, derived: OpSpec) -> bool:
    """Whether an op derived once has another formula, parameters or dtypes than it has today."""

    def parts(spec: OpSpec) -> list[object]:
        tensors = [(p.name, p.dtypes, p.shape) for p in (*spec.inputs, *spec.outputs)]
        attrs = [(a.name, a.type, a.default, a.allowed) for a in spec.attrs]
        formula = spec.compute.text.strip() if spec.compute else ""
        return [tensors, attrs, formula, spec.deterministic, spec.hf32]

    return parts(own) != parts(derived)


def _signature(spec: OpSpec) -> list[list[str]]:
    return [[p.name for p in params] for params in (spec.inputs, spec.outputs, spec.attrs)]


def _fits(own: OpSpec, derived: OpSpec) -> bool:
    """Whether an op can be called as the derived one; it may compute all gradients in every call.

    The last attr of the derived op says which of several are asked for.
    """
    *tensors, attrs = _signature(derived)
    asking = asking_attr(derived, set())
    fitting = [attrs] if asking is None else [attrs, [n for n in attrs if n != asking.name]]
    return _signature(own) in [[*tensors, names] for names in fitting]


def _other_gradient(spec: OpSpec, own: OpSpec, derived: OpSpec) -> Diagnostic:
    inputs, outputs, _ = _signature(derived)
    return Diagnostic(
        "OPG050",
        f"op {own.op} does not have the parameters of the gradient of {spec.op}",
        Location(own.path, 1, 1),
        f"'backward: kernel' calls it with {listed(inputs)} for {listed(outputs)}, and the attrs "
        f"of {spec.op}",
        f"give it these, or rename it: opgen then derives {own.op}",
    )


def gradient_spec(spec: OpSpec, *, choosing: bool = True) -> OpSpec:
    """Return the op that computes the gradients of ``spec``.

    Args:
        choosing: whether a call may ask for some of several gradients.

    Raises:
        OpgenError: with why it has none.
    """
    text = gradient_text(spec, choosing=choosing)
    result = parse_spec(text, f"{spec.path} (gradient)")
    if result.spec is None:
        problem = next(d for d in result.diagnostics if d.severity == "error")
        why = f"the op of the gradients cannot be written: {problem.what}"
        fix = f"{problem.fix}; or {REFERENCE}" if problem.fix else REFERENCE
        raise OpgenError(not_a_kernel(spec, why, fix))
    return result.spec

"""What is tuned of a spec: its knobs, their ranges, and the calls that count."""

from __future__ import annotations

import functools
import math
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.spec.given_shapes import MissingShape, completed_shapes, given_shape
from msopgen_wrap.spec.loader import load_specs
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.spec.python_file import python_target
from msopgen_wrap.spec.shapes import tensor_shapes

# Sizes that are tuned where the user gives none: the largest ones of the test grid.
DEFAULT_SIZES = 2


@dataclass(frozen=True)
class Call:
    """A call whose time is modelled: the dtype combination, shapes and attrs, and its name."""

    combo: int
    shapes: dict[str, Any]
    attrs: dict[str, Any]
    label: str


@dataclass
class Group:
    """Calls that get one schedule: all dtypes at the same sizes.

    Attributes:
        elements: of the largest tensor.
        last: size of the last axis of ``Subject.last_of``, 0 where it has none.
    """

    elements: int
    last: int
    calls: list[Call] = field(default_factory=list)


@dataclass
class Subject:
    """What the search needs to know of a spec, as data that JSON can hold.

    Attributes:
        path: of the spec, ``FILE.py:NAME`` for a function.
        knobs: those of its family.
        longest: the longest tile that UB holds, 0 where tiles are no knob.
        cores: vector cores of the smallest chip.
        buffers: copies of queues that a build of its own is made for; empty where the tiling
            chooses them per call, or cannot.
        last_of: the input whose last axis tells calls of equal size apart, "" for none.
        asked: the knobs of each entry of the schedule that the spec has.
    """

    path: str
    op: str
    family: str
    soc: str
    knobs: list[str]
    longest: int
    cores: int
    buffers: list[int]
    last_of: str
    asked: list[dict[str, Any]]
    groups: list[Group]

    def as_dict(self) -> dict[str, Any]:
        """Return the JSON form."""
        return asdict(self)

    @staticmethod
    def from_dict(data: dict[str, Any]) -> Subject:
        """Return the subject of :meth:`as_dict`."""
        groups = [
            Group(g["elements"], g["last"], [Call(**c) for c in g["calls"]]) for g in data["groups"]
        ]
        return Subject(**{**data, "groups": groups})


def subject(arguments: dict[str, Any]) -> dict[str, Any]:
    """Plan a spec and find what can be tuned; a task of an engine.

    Args:
        arguments: ``spec``; ``shapes``, a list of texts such as ``x=4,1024 y=1024``; ``dtype``, ""
            for all; ``soc``, "" for the first of the spec.

    Raises:
        OpgenError: the spec or its plan has errors, OPG382 nothing to tune, OPG383 shapes or
            dtypes that the op does not take.
    """
    from msopgen_wrap.families import plan_op
    from msopgen_wrap.families.schedule_checks import longest_tile

    spec = chosen_spec(arguments["spec"])
    soc = arguments.get("soc") or spec.soc[0]
    if spec.kernel is not None:
        raise OpgenError(_nothing(spec, "its kernel is handwritten, and so is its tiling"))
    spec = replace(spec, soc=(soc,))
    plan = plan_op(spec)
    knobs = list(plan.family.knobs_of(plan))
    if not knobs:
        raise OpgenError(_nothing(spec, f"kernels of the family {plan.family.name} have no knobs"))
    parts = [p for p in plan.parts if "buffers" in p.family.knobs]
    constant = any(p.family.constant_buffers for p in parts)
    most = max((b.most_buffers() for p in parts for b in p.bodies), default=1)
    if most < 2 and "buffers" in knobs:
        knobs.remove("buffers")
    calls = _given_calls(spec, arguments) or _largest_calls(spec, arguments.get("dtype", ""))
    last_of = _last_input(spec, calls)
    return Subject(
        path=arguments["spec"],
        op=spec.op,
        family=plan.family.name,
        soc=soc,
        knobs=knobs,
        longest=longest_tile(plan),
        cores=min(part.cores[soc] for part in plan.parts),
        buffers=[1] if constant and most > 1 else [],
        last_of=last_of,
        asked=[entry.knobs() for entry in spec.schedule],
        groups=_groups(spec, calls, last_of),
    ).as_dict()


def chosen_spec(path: str) -> OpSpec:
    """Return the op of a spec file, without that of its gradients.

    Raises:
        OpgenError: the spec has errors.
    """
    return _loaded(path, spec_source(path))


@functools.lru_cache(maxsize=4)
def _loaded(path: str, source: str) -> OpSpec:
    """Return the op of a spec with this text: a worker measures one spec many times."""
    return load_specs([path])[0]


def spec_source(path: str) -> str:
    """Return the text that a spec is written in.

    Raises:
        OpgenError: OPG001, the file cannot be read.
    """
    target = python_target(path)
    name = Path(path) if target is None else Path(target[0])
    try:
        return name.read_bytes().decode("utf-8")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        reason = getattr(error, "strerror", None) or str(error)
        problem = Diagnostic("OPG001", f"cannot read the spec: {reason}", Location(path))
        raise OpgenError(problem) from error


def _nothing(spec: OpSpec, why: str) -> Diagnostic:
    return Diagnostic(
        "OPG382",
        f"there is nothing to tune in {spec.op}",
        Location(spec.path),
        why,
        "`opgen profile` shows where its time goes",
    )


def _given_calls(spec: OpSpec, arguments: dict[str, Any]) -> list[Call]:
    """Return the calls of the shapes that the user gave, for every dtype that is wanted."""
    from msopgen_wrap.graph.kept_tensors import frozen_shapes
    from msopgen_wrap.graph.sample import sample_attrs
    from msopgen_wrap.run.op_case import combined_attrs
    from msopgen_wrap.run.tiling_decisions import RefusedShapes, check_shapes

    calls, problems = [], []
    attrs = sample_attrs(spec)
    combos = _combos(spec, arguments.get("dtype", ""))
    for text in arguments.get("shapes", ()):
        try:
            shapes = frozen_shapes(_parsed(spec, text))
            check_shapes(spec, shapes, attrs)
        except (RefusedShapes, ValueError) as refusal:
            problems.append(_refused(spec, text, str(refusal)))
            continue
        calls += [
            Call(
                combo,
                shapes,
                combined_attrs(spec, combo, attrs),
                _label(spec, combo, shapes),
            )
            for combo in combos
        ]
    if problems:
        raise OpgenError(problems)
    return calls


def _refused(spec: OpSpec, text: str, why: str) -> Diagnostic:
    return Diagnostic(
        "OPG383",
        f"{spec.op} cannot be called with --shapes '{text[:80]}'",
        Location(spec.path),
        why,
        "one --shapes per call, its inputs separated by blanks: --shapes 'x=4,1024 y=1024'",
    )


def _parsed(spec: OpSpec, text: str) -> dict[str, Any]:
    """Return the shapes of a text; inputs left out take those of their rule or of the first one.

    Raises:
        ValueError: the text names no input, or has no shape for it.
    """
    params = {p.name: p for p in spec.inputs}
    shapes: dict[str, Any] = {}
    for part in text.split():
        name, mark, body = part.partition("=")
        if not mark or name not in params:
            raise ValueError(f"'{name}' is no input; inputs: {', '.join(params)}")
        try:
            shapes[name] = given_shape(params[name], body)
        except ValueError as error:
            raise ValueError(f"'{body}' is no shape: {error}") from None
    if not shapes:
        raise ValueError("it gives no shape")
    try:
        return completed_shapes(spec, shapes)
    except MissingShape as error:
        raise ValueError(f"the shape of '{error.name}' is needed, too: {error}") from error


def _combos(spec: OpSpec, dtype: str) -> list[int]:
    combos = [i for i in range(spec.combos) if dtype in ("", spec.inputs[0].dtypes[i])]
    if not combos:
        known = dict.fromkeys(spec.inputs[0].dtypes)
        raise OpgenError(
            Diagnostic(
                "OPG383",
                f"{spec.op} does not take the dtype {dtype}",
                Location(spec.path),
                f"dtypes of {spec.inputs[0].name}: {', '.join(known)}",
                "leave --dtype out to tune for all of them",
            )
        )
    return combos


def _largest_calls(spec: OpSpec, dtype: str) -> list[Call]:
    """Return the largest cases of the test grid and of the spec, with the attrs they have."""
    from msopgen_wrap.run.cached_specs import known_grid
    from msopgen_wrap.torch_import import quiet_torch

    combos = _combos(spec, dtype)
    with quiet_torch():
        grid = [c for c in known_grid(spec) if c.values == "normal" and c.combo in combos]
    grid = [c for c in grid if not c.block_dim]
    sizes = {repr((c.shapes, c.attrs)): _elements(c.shapes) for c in grid}
    largest = sorted(sizes, key=lambda key: -sizes[key])[:DEFAULT_SIZES]
    return [
        Call(c.combo, c.shapes, c.attrs, _label(spec, c.combo, c.shapes))
        for c in grid
        if repr((c.shapes, c.attrs)) in largest
    ]


def _label(spec: OpSpec, combo: int, shapes: dict[str, Any]) -> str:
    from msopgen_wrap.graph.kept_tensors import shape_text

    own = " ".join(f"{k}={shape_text(v)}" for k, v in shapes.items() if v is not None)
    return f"{','.join(dict.fromkeys(p.dtypes[combo] for p in spec.inputs))} {own}"


def _elements(shapes: dict[str, Any]) -> int:
    return max(
        (math.prod(one) for shape in shapes.values() for one in tensor_shapes(shape)), default=0
    )


def _last_input(spec: OpSpec, calls: list[Call]) -> str:
    """Return the largest of the inputs that every call has as a single tensor with an axis."""
    fitting = [
        p.name
        for p in spec.inputs
        if p.kind is ParamKind.REQUIRED and all(c.shapes.get(p.name) for c in calls)
    ]
    return max(fitting, key=lambda n: max(math.prod(c.shapes[n]) for c in calls), default="")


def _groups(spec: OpSpec, calls: list[Call], last_of: str) -> list[Group]:
    groups: dict[tuple[int, int], Group] = {}
    for call in calls:
        elements = largest_tensor(spec, call)
        last = call.shapes[last_of][-1] if last_of else 0
        groups.setdefault((elements, last), Group(elements, last)).calls.append(call)
    return [groups[key] for key in sorted(groups)]


def largest_tensor(spec: OpSpec, call: Call) -> int:
    """Return the elements of the largest input or output of a call, as conditions mean them."""
    from msopgen_wrap.run.golden import NotApplicable, meta_results
    from msopgen_wrap.run.op_case import TestCase
    from msopgen_wrap.torch_import import quiet_torch

    most = _elements(call.shapes)
    try:
        with quiet_torch():
            results = meta_results(spec, TestCase(call.combo, call.shapes, call.attrs))
    except NotApplicable as refusal:
        raise OpgenError(_refused(spec, call.label, str(refusal))) from refusal
    for value in (results or {}).values():
        for tensor in value if isinstance(value, (list, tuple)) else [value]:
            most = max(most, tensor.numel())
    return most

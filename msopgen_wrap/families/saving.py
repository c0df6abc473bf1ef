"""Which outputs forward keeps for a kernel of the gradients, where the spec leaves it to the kit.

An output that eager PyTorch keeps, too, is saved where backward then moves fewer bytes. Forward
writes its outputs anyway, so that saving one costs no write; what is no output is computed again.
Where derivatives are formulas of the output (of a softmax), it takes the place of the inputs.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.moved_bytes import MovedBytes, moved_bytes
from msopgen_wrap.graph.kept_tensors import (
    KeptTensors,
    element_count,
    frozen_shapes,
    kept_tensors,
    shape_text,
    shapes_by_size,
    tree_leaves,
)
from msopgen_wrap.graph.sample import candidate_shapes, sample_attrs
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.gradient import FLOATS, gradient_inputs
from msopgen_wrap.spec.loader import gradient_spec
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.saved_outputs import saveable_outputs
from msopgen_wrap.spec.shapes import evaluate
from msopgen_wrap.torch_import import torch

# Each output more is a plan more; ops that give several results which PyTorch keeps are rare.
_MOST_CANDIDATES = 3


@dataclass(frozen=True)
class Alternative:
    """A set of outputs that forward may save.

    Attributes:
        save: the outputs.
        moved: what a call of the op of the gradients moves that computes all of them.
        saved: bytes that forward keeps, the inputs that are read included.
        unread: inputs whose elements no gradient depends on.
    """

    save: tuple[str, ...]
    moved: MovedBytes
    saved: int
    unread: tuple[str, ...]


@dataclass(frozen=True)
class SavingChoice:
    """What forward saves, and why.

    Attributes:
        save: the outputs.
        alternatives: what was compared; empty where there was nothing to choose from.
        left: why an output was no candidate, by name.
        where: shapes and dtype of the call that is counted.
        eager: bytes that PyTorch keeps in that call.
    """

    save: tuple[str, ...] = ()
    alternatives: tuple[Alternative, ...] = ()
    left: dict[str, str] = field(default_factory=dict)
    where: str = ""
    eager: int = 0

    def as_dict(self) -> dict[str, Any]:
        """Return the choice as JSON-ready data."""
        return asdict(self)

    def lines(self, save: tuple[str, ...]) -> list[str]:
        """Return what ``opgen plan`` says: a line per output.

        Args:
            save: what forward saves: the choice, or what the spec says.
        """
        rows = [
            f"{name}: saved; the spec says it" if name in save else f"{name}: computed again; {why}"
            for name, why in self.left.items()
        ]
        known = {frozenset(a.save): a for a in self.alternatives}
        for name in dict.fromkeys(n for a in self.alternatives for n in a.save):
            others = frozenset(save) - {name}
            with_it, without = known.get(others | {name}), known.get(others)
            if with_it is None or without is None:
                with_it, without = known.get(frozenset({name})), known.get(frozenset())
            if with_it is None or without is None:
                continue
            state = "saved" if name in save else "computed again"
            rows.append(
                f"{name}: {state}; saved: backward moves {with_it.moved.text()}, forward keeps "
                f"{with_it.saved:,}; computed again: {without.moved.text()}, {without.saved:,}"
            )
        if known:
            rows.append(f"bytes at {self.where}; eager PyTorch keeps {self.eager:,}")
        return rows


@dataclass(frozen=True)
class _Call:
    """A call for which bytes are counted: shapes of the inputs, what PyTorch keeps."""

    shapes: dict[str, Any]
    attrs: dict[str, Any]
    combo: int
    kept: KeptTensors


def saving_choice(spec: OpSpec) -> SavingChoice:
    """Choose what forward saves for the op of the gradients that is derived from ``spec``.

    Returns:
        Nothing saved where no alternative can be planned or counted.
    """
    spec = replace(spec, save=(), choose_saved=False)
    candidates = saveable_outputs(spec)
    calls = [call for call in _calls(spec) if call] if candidates else []
    if not calls:
        return SavingChoice(left=dict.fromkeys(candidates, "compute does not run without data"))
    eager = frozenset.intersection(*(call.kept.kept_outputs for call in calls))
    left = {n: "eager PyTorch does not keep it" for n in candidates if n not in eager}
    names = [name for name in candidates if name in eager]
    left |= dict.fromkeys(names[_MOST_CANDIDATES:], "others come first")
    names = names[:_MOST_CANDIDATES]
    sets = [(), *((name,) for name in names), *([tuple(names)] if len(names) > 1 else [])]
    call = calls[0]
    found = []
    for save in sets if names else ():
        alternative = _alternative(replace(spec, save=save), call)
        if alternative is None and not save:
            return SavingChoice(left=left | dict.fromkeys(names, "no kernel computes it again"))
        found += [alternative] if alternative is not None else []
    if not found:
        return SavingChoice(left=left)
    fitting = [a for a in found if all(_kept(spec, c, a) <= c.kept.kept for c in calls)]
    best = min(fitting or found[:1], key=lambda a: (a.moved.total, a.saved, a.moved.instructions))
    first, shape = next(iter(call.shapes.items()))
    where = f"{first}={shape_text(shape)} in {spec.inputs[0].dtypes[call.combo]}"
    return SavingChoice(best.save, tuple(found), left, where, call.kept.kept)


def _calls(spec: OpSpec) -> Iterator[_Call | None]:
    """Yield calls per combination of dtypes: at the largest case, and at other shapes."""
    attrs = sample_attrs(spec)
    combos = [i for i in range(spec.combos) if spec.inputs[0].dtypes[i] in FLOATS]
    shapes = []
    for given in shapes_by_size(spec, attrs):
        try:
            kept_tensors(spec, given, attrs, combos[0])
        except Exception:  # what torch says of shapes that compute does not take
            continue
        shapes.append(given)
        if len(shapes) == 2:
            break
    for given in shapes:
        for combo in combos:
            try:
                yield _Call(given, attrs, combo, kept_tensors(spec, given, attrs, combo))
            except Exception:
                yield None


def _alternative(spec: OpSpec, call: _Call) -> Alternative | None:
    """Plan the op of the gradients with what ``spec`` saves; None where that is not possible."""
    from msopgen_wrap.families.planner import plan_op

    try:
        derived = _narrowed(gradient_spec(spec, choosing=False), spec, call)
        plan = plan_op(derived)
    except OpgenError:
        return None
    read = plan.inputs_read()
    unread = tuple(name for name in gradient_inputs(spec) if name not in read)
    if spec.save and unread and not _independent(derived, unread):
        return None
    shapes = _gradient_shapes(derived, call)
    if shapes is None:
        return None
    found = Alternative(spec.save, moved_bytes(plan, shapes, call.attrs), 0, unread)
    return replace(found, saved=_kept(spec, call, found))


def _narrowed(derived: OpSpec, spec: OpSpec, call: _Call) -> OpSpec:
    """Return the op of the gradients for the dtypes and ranks of a call: its plan says enough.

    A proof that the kernel serves other ranks would take most of the time.
    """
    wanted = [p.dtypes[call.combo] for p in spec.inputs]
    own = [derived.param(p.name).dtypes for p in spec.inputs]
    place = next((i for i, row in enumerate(zip(*own, strict=True)) if list(row) == wanted), 0)

    def narrow(params: tuple[TensorParam, ...]) -> tuple[TensorParam, ...]:
        return tuple(_with_rank(replace(p, dtypes=(p.dtypes[place],)), call) for p in params)

    cases = tuple(replace(c, dtypes=None) for c in derived.cases if c.dtypes in (None, (place,)))
    return replace(
        derived, inputs=narrow(derived.inputs), outputs=narrow(derived.outputs), cases=cases
    )


def _with_rank(param: TensorParam, call: _Call) -> TensorParam:
    shape = call.shapes.get(param.name)
    if param.shape is not None or param.kind is ParamKind.DYNAMIC or shape is None:
        return param
    return replace(param, min_rank=len(shape), max_rank=len(shape))


def _kept(spec: OpSpec, call: _Call, alternative: Alternative) -> int:
    """Return the bytes that forward keeps in a call: inputs that are read, and saved outputs."""
    own = [t for name, t in call.kept.inputs.items() if name not in alternative.unread]
    own += [call.kept.outputs[name] for name in alternative.save]
    return sum(tensor.nbytes for tensor in tree_leaves(own) if tensor is not None)


def _gradient_shapes(derived: OpSpec, call: _Call) -> dict[str, Any] | None:
    """Return the shapes of a call of the op of the gradients, None where a rule does not say."""
    given = {**call.kept.inputs, **call.kept.outputs}
    shapes: dict[str, Any] = {}
    try:
        for param in derived.inputs:
            own = given.get(param.name)
            if param.name in call.shapes and own is None:
                shapes[param.name] = None
            elif param.shape is not None:
                shapes[param.name] = tuple(evaluate(param.shape, shapes, call.attrs))
            else:
                leaves = tree_leaves(own)
                many = isinstance(own, list)
                sizes = [tuple(t.shape) for t in leaves]
                shapes[param.name] = tuple(sizes) if many else sizes[0]
        for param in derived.outputs:
            assert param.shape is not None
            shapes[param.name] = tuple(evaluate(param.shape, shapes, call.attrs))
    except Exception:
        return None
    return shapes


def _independent(derived: OpSpec, unread: tuple[str, ...]) -> bool:
    """Whether PyTorch's gradients, too, are the same whatever the elements of some inputs are.

    The kernel's graph has formulas of its own for a few functions. What is differentiated again
    is the reference, which sees zeros in the place of inputs that are not saved.
    """
    attrs = sample_attrs(derived)
    function = compile_compute(derived, wrap_errors=False)
    for shapes in map(frozen_shapes, candidate_shapes(derived, attrs)):
        if sum(map(element_count, shapes.values())) > 100_000:
            continue
        generator = torch.Generator().manual_seed(5)

        def draw(name: str, shape: Any, generator: Any = generator) -> Any:
            dtype = derived.param(name).dtypes[0]
            if dtype not in FLOATS:
                return torch.ones(shape, dtype=getattr(torch, dtype))
            return torch.rand(shape, generator=generator, dtype=torch.float64) + 0.5

        def drawn(name: str, shape: Any) -> Any:
            if shape is None:
                return None
            many = bool(shape) and isinstance(shape[0], tuple)
            return [draw(name, s) for s in shape] if many else draw(name, shape)

        inputs = {name: drawn(name, shape) for name, shape in shapes.items()}
        zeros = {name: torch.zeros_like(inputs[name]) for name in unread}
        try:
            one, other = function(inputs, attrs), function({**inputs, **zeros}, attrs)
        except Exception:  # shapes that compute does not take
            continue
        pairs = zip(tree_leaves(one), tree_leaves(other), strict=True)
        return all(torch.allclose(a, b, equal_nan=True) for a, b in pairs)
    return False

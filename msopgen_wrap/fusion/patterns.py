"""Patterns of an op: its ``compute`` as terms, per variant, with attrs that can be recognised.

A pattern is traced on sample shapes and matched loosely (numbers and axes are anything); once the
inputs are known, the op is traced again at their shapes with the attrs found, and matched strictly.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.fusion.conversion import Converter
from msopgen_wrap.fusion.shared_inputs import shared_patterns
from msopgen_wrap.fusion.terms import Term, flattened, leaf, size
from msopgen_wrap.graph.compute_function import compute_function
from msopgen_wrap.graph.decomposition_table import decompositions
from msopgen_wrap.graph.sample import candidate_shapes, sample_attrs
from msopgen_wrap.graph.trace_rewrites import without_mutations
from msopgen_wrap.graph.tracing import quiet_attempts
from msopgen_wrap.graph.variants import MAX_VARIANTS, Variant, variant_count, variants
from msopgen_wrap.spec.model import Attr, OpSpec, ParamKind
from msopgen_wrap.torch_import import torch

MAX_PATTERNS = 48


@dataclass(eq=False)
class Pattern:
    """The formula of an op in one variant.

    Attributes:
        outputs: output name -> term; leaves carry the names of inputs.
        attrs: the values that it was traced with, by name.
        open: float attrs whose traced values are stand-ins, to be recognised in constants.
        shaping: int attrs, which stand for axes or numbers of the model.
        same: input -> the input whose tensor it is, where one tensor is given for both.
    """

    spec: OpSpec
    variant: Variant
    outputs: dict[str, Term]
    attrs: dict[str, Any]
    open: tuple[str, ...] = ()
    shaping: tuple[str, ...] = ()
    steps: int = field(default=0)
    same: Mapping[str, str] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Return the op with its variant, for reports."""
        label = self.variant.label()
        return f"{self.spec.op} ({label})" if label else self.spec.op


def unusable_reason(spec: OpSpec) -> str:
    """Return why an op cannot be looked for in models, empty when it can."""
    if spec.compute is None:
        return "its spec has no compute"
    if spec.differentiated:
        return "it is the op of a gradient"
    if any(p.kind is ParamKind.DYNAMIC for p in (*spec.inputs, *spec.outputs)):
        return "it takes or gives lists of tensors"
    if any(p.inplace for p in spec.outputs):
        return "it works in place"
    if not spec.inputs:
        return "it has no inputs"
    if (count := variant_count(spec)) > MAX_VARIANTS:
        return f"it has {count} graph variants, and at most {MAX_VARIANTS} are looked for"
    return ""


_patterns: dict[tuple[str, str], list[Pattern]] = {}


def patterns(spec: OpSpec) -> list[Pattern]:
    """Return the patterns of an op, those that say most first; kept for later calls."""
    key = (spec.op, spec.source or repr(spec))
    if key not in _patterns:
        found = list(itertools.islice(_all_patterns(spec), MAX_PATTERNS))
        found += [shared for pattern in found for shared in _shared(pattern)]
        _patterns[key] = sorted(found, key=lambda p: (-p.steps, -len(p.variant.present)))
    return _patterns[key]


def _shared(pattern: Pattern) -> Iterator[Pattern]:
    """Yield the pattern with one tensor for several inputs, where that is another formula."""
    names = given_inputs(pattern.spec, pattern.variant)
    for outputs, same in shared_patterns(pattern, names):
        steps = max(size(term) for term in outputs.values())
        yield replace(pattern, outputs=outputs, same=same, steps=steps)


def _all_patterns(spec: OpSpec) -> Iterator[Pattern]:
    for variant in variants(spec):
        if spec.chosen_attrs(0):
            return  # a pattern serves all dtypes of its op
        if any(a.type == "dtype" and dict(variant.attrs)[a.name] == "bool" for a in spec.attrs):
            continue
        plain = {**sample_attrs(spec), **dict(variant.attrs)}
        free = [a for a in spec.attrs if a.name not in dict(variant.attrs)]
        shaping = tuple(a.name for a in free if a.type in ("int", "list_int"))
        floats = [a for a in free if a.type == "float"]
        stand_ins = {a.name: _stand_in(i, a) for i, a in enumerate(floats)}
        settings: list[tuple[dict[str, Any], tuple[str, ...]]] = [(plain, ())]
        if floats:
            settings.insert(0, ({**plain, **stand_ins}, tuple(stand_ins)))
        for attrs, names in settings:
            pattern = _traced_anywhere(spec, variant, attrs)
            if pattern is not None:
                pattern.open, pattern.shaping = names, shaping
                yield pattern


def _stand_in(position: int, attr: Attr) -> float:
    """Return a value for a float attr that no constant of a formula has by chance."""
    value = 0.3127394651 + 0.0713958317 * position
    low = -math.inf if attr.minimum is None else attr.minimum
    high = math.inf if attr.maximum is None else attr.maximum
    if low <= value <= high:
        return value
    if math.isinf(high):
        return low + value
    return high - value if math.isinf(low) else low + (high - low) * (value % 1.0)


def _traced_anywhere(spec: OpSpec, variant: Variant, attrs: dict[str, Any]) -> Pattern | None:
    dtypes = {p.name: getattr(torch, p.dtypes[0]) for p in spec.inputs}
    dtypes = {n: torch.float32 if d.is_floating_point else d for n, d in dtypes.items()}
    for shapes in itertools.islice(candidate_shapes(spec, attrs), 4):
        pattern = traced(spec, variant, attrs, shapes, dtypes)
        if pattern is not None:
            return pattern
    return None


_traced: dict[Any, Pattern | None] = {}


def traced(
    spec: OpSpec,
    variant: Variant,
    attrs: Mapping[str, Any],
    shapes: Mapping[str, Any],
    dtypes: Mapping[str, Any],
) -> Pattern | None:
    """Trace ``compute`` at given shapes, dtypes and attrs; None where it does not take them."""
    key = (
        (spec.op, spec.source or repr(spec), variant),
        tuple((n, repr(v)) for n, v in attrs.items()),
        tuple((n, tuple(s), dtypes[n]) for n, s in shapes.items()),
    )
    if key not in _traced:
        _traced[key] = _trace(spec, variant, dict(attrs), shapes, dtypes)
    return _traced[key]


def given_inputs(spec: OpSpec, variant: Variant) -> list[str]:
    """Return the inputs that calls of a variant pass."""
    return [
        p.name for p in spec.inputs if p.kind is not ParamKind.OPTIONAL or p.name in variant.present
    ]


def run_compute(spec: OpSpec, attrs: Mapping[str, Any]) -> Callable[..., list[Any]]:
    """Return ``f(names, tensors)`` that gives the outputs of ``compute`` in order."""
    function = compute_function(spec)

    def run(names: list[str], tensors: Any) -> list[Any]:
        inputs: dict[str, Any] = {p.name: None for p in spec.inputs}
        inputs.update(zip(names, tensors, strict=True))
        outputs = function(inputs, dict(attrs))
        return [outputs[p.name] for p in spec.outputs]

    return run


def _trace(
    spec: OpSpec,
    variant: Variant,
    attrs: dict[str, Any],
    shapes: Mapping[str, Any],
    dtypes: Mapping[str, Any],
) -> Pattern | None:
    from torch.fx.experimental.proxy_tensor import make_fx

    names = given_inputs(spec, variant)
    run = run_compute(spec, attrs)
    functional = torch.func.functionalize(lambda *t: run(names, t), remove="mutations")
    mode = torch._subclasses.fake_tensor.FakeTensorMode(allow_non_fake_inputs=True)
    try:
        with torch.no_grad(), mode, quiet_attempts():
            tensors = [torch.empty(tuple(shapes[n]), dtype=dtypes[n]) for n in names]
            module = make_fx(functional, decomposition_table=decompositions())(*tensors)
            without_mutations(module.graph)  # decompositions of norms add eps in place
    except Exception:  # compute does not take these shapes or attrs
        return None
    terms: dict[Any, Any] = {}
    converter = Converter(terms, of_model=False)
    inputs = iter(names)
    outputs: dict[str, Term] = {}
    for node in module.graph.nodes:
        if node.op == "placeholder":
            terms[node] = leaf(next(inputs))
        elif node.op == "output":
            done: dict[int, Term] = {}
            for param, result in zip(spec.outputs, node.args[0], strict=True):
                if result is not None and isinstance(terms.get(result), Term):
                    outputs[param.name] = flattened(terms[result], done)
        else:
            converter.convert(node)
    if not outputs:
        return None
    steps = max(size(term) for term in outputs.values())
    return Pattern(spec, variant, outputs, attrs, steps=steps)

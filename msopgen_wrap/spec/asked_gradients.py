"""Which gradients a call asks for, and from which outputs: an attr of the op of the gradients.

Its values are subsets of the gradients, ``all`` first. A gradient that a call does not ask for has
the shape ``[0]``: it holds nothing, so no kernel computes it. Each value is a variant with a kernel
of its own; an op with many gradients has those subsets that models use, not every one.

Values as ``all from y`` are for calls where only ``y`` has a gradient: the other outputs take no
part in the derivative. Zeros for them would meet infinite derivatives, and be read for nothing.
Such a value has all gradients: subsets of inputs times subsets of outputs would be too many.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from msopgen_wrap.spec.model import (
    Attr,
    DimConst,
    OpSpec,
    ParamKind,
    ShapeChoice,
    ShapeList,
    ShapeRule,
)
from msopgen_wrap.spec.shapes import chosen_rule

EVERY = "all"
NOTHING = ShapeList((DimConst(0),))
# More gradients than this have no subset each: their kernels would be most of the package.
_MOST_SINGLE = 4
# Of variants of one kernel: subsets times values of other attrs times absent inputs.
_MOST_VARIANTS = 16
_FROM = " from "


def asked_subsets(
    targets: tuple[str, ...], arriving: tuple[str, ...], attrs: tuple[Attr, ...], spec: OpSpec
) -> dict[str, tuple[str, ...]]:
    """Return the subsets of gradients that a call may ask for, by the value of the attr.

    All of them come first; then each alone (of at most four), then all but the first, which is what
    the first layer of a model asks for; then all from each output alone (``all from y``), where
    the op has several. Empty where the op always computes all it has from all outputs.

    Args:
        targets: the inputs that have a gradient.
        arriving: the outputs whose gradients arrive.
        attrs: the other attrs of the op of the gradients.
        spec: the forward op.
    """
    if any(spec.param(name).kind is ParamKind.DYNAMIC for name in (*targets, *arriving)):
        return {}
    others = 2 ** sum(p.kind is ParamKind.OPTIONAL for p in spec.inputs)
    others *= math.prod(_values(a) for a in attrs)
    ends = [targets[:1], targets[1:]] if len(targets) > 1 else []
    single = [(name,) for name in targets] if ends and len(targets) <= _MOST_SINGLE else []
    several = 1 < len(arriving) <= _MOST_SINGLE and not spec.written
    sources = arriving if several else ()
    every = EVERY if EVERY not in targets else f"{EVERY}_of_them"
    for subsets, outputs in (
        ([*single, *ends[1:]] if single else ends, sources),
        (ends, sources),
        ([], sources),
        (ends, ()),
    ):
        found = {every: targets} | {"+".join(names): names for names in subsets}
        found |= {f"{every}{_FROM}{name}": targets for name in outputs}
        if len(found) > 1 and len(found) * others <= _MOST_VARIANTS:
            return found
    return {}


def source_outputs(value: str) -> tuple[str, ...]:
    """Return the outputs whose gradients arrive with a value of the attr; empty: all of them."""
    return tuple(value.partition(_FROM)[2].split("+")) if _FROM in value else ()


def _values(attr: Attr) -> int:
    if attr.allowed:
        return len(attr.allowed)
    return {"bool": 2, "dtype": _MOST_VARIANTS}.get(attr.type, 1)


def asked_name(spec: OpSpec) -> str:
    """Return the name of the attr: ``asked``, with underscores where the op has that name."""
    taken = {p.name for p in (*spec.inputs, *spec.outputs)} | {a.name for a in spec.attrs}
    formulas = " ".join(code.text for code in spec.written.values())
    name = "asked"
    while name in taken or name in formulas:
        name += "_"
    return name


def asked_shape(name: str, target: str, rule: str, subsets: Mapping[str, tuple[str, ...]]) -> str:
    """Return the shape rule of a gradient with the condition that it is asked for.

    Args:
        name: of the attr.
        target: the input whose gradient it is.
        rule: the shape that the gradient has.
        subsets: as ``asked_subsets`` returns them; empty: no condition.
    """
    if not subsets:
        return rule
    values = [value for value, names in subsets.items() if target in names]
    return f"{rule} if {name} in ({', '.join(map(json.dumps, values))}) else [0]"


def _condition(rule: ShapeRule | None) -> str:
    """Return the attr that says whether an output holds anything; an empty text: none does."""
    if isinstance(rule, ShapeChoice) and rule.otherwise == NOTHING:
        return rule.test.name
    return ""


def asking_attr(spec: OpSpec, used: set[str]) -> Attr | None:
    """Return the attr of an op of gradients that says which are asked for, None if it has none.

    Args:
        used: the names that its formula uses; an attr of the forward op is none that asks.
    """
    names = {_condition(p.shape) for p in spec.outputs} - {""} - used
    return next((a for a in spec.attrs if a.name in names), None)


def asked_outputs(spec: OpSpec, attrs: Mapping[str, Any]) -> frozenset[str]:
    """Return the outputs that hold something in a call with these attrs.

    Args:
        attrs: those of the call; absent ones have their default.
    """
    given = spec.default_attrs | dict(attrs)
    return frozenset(
        p.name
        for p in spec.outputs
        if not (_condition(p.shape) in given and _chosen(p.shape, given) == NOTHING)
    )


def _chosen(rule: ShapeRule | None, attrs: Mapping[str, Any]) -> ShapeRule | None:
    return None if rule is None else chosen_rule(rule, attrs)

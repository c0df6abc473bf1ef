"""Variants of an op: which attr values and which optional inputs change the graph."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.spec.model import DTYPES, OpSpec, ParamKind, ShapeChoice, ShapeRule

MAX_VARIANTS = 64


@dataclass(frozen=True)
class Variant:
    """One graph of an op.

    Attributes:
        attrs: the variant attrs with their values, in spec order.
        present: names of the optional inputs that are passed.
    """

    attrs: tuple[tuple[str, Any], ...] = ()
    present: tuple[str, ...] = ()

    def label(self) -> str:
        """Return a short text for plans and comments, empty for the only variant."""
        parts = [f"{name}={value}" for name, value in self.attrs]
        parts += [f"with {name}" for name in self.present]
        return ", ".join(parts)


def variant_values(spec: OpSpec) -> dict[str, tuple[Any, ...]]:
    """Return the closed value set of every attr that selects a variant.

    An attr that is the dtype of an output has one value in each combination of dtypes.
    """
    values: dict[str, tuple[Any, ...]] = {}
    chosen = spec.chosen_attrs(0)
    for attr in spec.attrs:
        if attr.name in chosen:
            continue
        if attr.allowed:
            values[attr.name] = tuple(attr.allowed)
        elif attr.type == "bool":
            values[attr.name] = (False, True)
        elif attr.type == "dtype":
            values[attr.name] = tuple(DTYPES)
    return values


def shape_rules(spec: OpSpec, variant: Variant) -> tuple[ShapeRule | None, ...]:
    """Return the shape rules of the whole op's tensors as the attrs of a variant choose them.

    Conditions on other attrs stay.
    """
    known = dict(variant.attrs)
    whole = spec.whole or spec
    rules = [p.shape for p in (*whole.inputs, *whole.outputs)]
    return tuple(rule if rule is None else _chosen(rule, known) for rule in rules)


def _chosen(rule: ShapeRule, known: dict[str, Any]) -> ShapeRule:
    if not isinstance(rule, ShapeChoice):
        return rule
    if rule.test.name not in known:
        return replace(
            rule, then=_chosen(rule.then, known), otherwise=_chosen(rule.otherwise, known)
        )
    return _chosen(rule.then if rule.test.holds(known) else rule.otherwise, known)


def variant_count(spec: OpSpec) -> int:
    """Return how many variants an op has, be they too many or not."""
    count = 2 ** sum(p.kind is ParamKind.OPTIONAL for p in spec.inputs)
    return math.prod(map(len, variant_values(spec).values()), start=count)


def variants(spec: OpSpec) -> list[Variant]:
    """Return every variant, attrs varying slowest; raises OPG210 when there are too many."""
    closed = variant_values(spec)
    optional = [p.name for p in spec.inputs if p.kind is ParamKind.OPTIONAL]
    count = variant_count(spec)
    if count > MAX_VARIANTS:
        raise OpgenError(
            Diagnostic(
                "OPG210",
                f"{spec.op} has {count} graph variants; at most {MAX_VARIANTS} are generated",
                spec.compute.location if spec.compute else spec.outputs[0].location,
                "every allowed attr value and every optional input doubles or multiplies the "
                "number of kernels in one binary",
                "make attrs plain numbers (they travel as tiling data), or split the op",
            )
        )
    result = []
    for combination in itertools.product(*closed.values()):
        attrs = tuple(zip(closed, combination, strict=True))
        for mask in range(2 ** len(optional)):
            present = tuple(n for i, n in enumerate(optional) if not mask >> i & 1)
            result.append(Variant(attrs, present))
    return result

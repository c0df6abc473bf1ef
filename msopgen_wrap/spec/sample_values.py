"""Values of attrs that samples and tests take in place of defaults that show nothing."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.spec.model import (
    DimAttr,
    DimBinary,
    DimExpr,
    DimScaled,
    DimSlice,
    OpSpec,
    ShapeList,
)
from msopgen_wrap.spec.shapes import plain_rules


def given_lists(spec: OpSpec) -> dict[str, Any]:
    """Return the lists of sizes whose default is zeros, with the first value of a case.

    Such a default says that the sizes, or factors of sizes, are not given; outputs are empty then.
    """
    rules = [rule for p in spec.outputs if p.shape is not None for rule in plain_rules(p.shape)]
    items = [item for rule in rules if isinstance(rule, ShapeList) for item in rule.items]
    names = {n for i in items if not isinstance(i, DimSlice) for n in _size_attrs(i)}
    values: dict[str, Any] = {}
    for attr in spec.attrs:
        if attr.name in names and isinstance(attr.default, tuple) and not any(attr.default):
            given = [c.attrs[attr.name] for c in spec.cases if any(c.attrs.get(attr.name, ()))]
            if given:
                values[attr.name] = given[0]
    return values


def _size_attrs(expr: DimExpr) -> set[str]:
    """Return the list attrs whose elements are a size, or what a size is multiplied by."""
    if isinstance(expr, DimAttr):
        return {expr.name} if expr.index is not None else set()
    if isinstance(expr, DimScaled):
        return _size_attrs(expr.factor)
    if isinstance(expr, DimBinary) and expr.op == "max":
        return _size_attrs(expr.left) | _size_attrs(expr.right)
    return set()

"""Reductions that keep their axes: what the gradient of a reduction over axes of an attr needs.

Whether the op keeps them is an attr (``keepdim``). Its gradient reads what lines up with the input
in either case, so its formula always keeps them and the attr is gone.
"""

from __future__ import annotations

import ast

from msopgen_wrap.spec.model import OpSpec, ShapeReduce
from msopgen_wrap.spec.shapes import rule_attrs

# Reductions whose last argument by position is `keepdim`.
_REDUCTIONS = frozenset(("sum", "mean", "amax", "amin", "nansum", "nanmean", "logsumexp"))


def keepdim_attrs(spec: OpSpec) -> frozenset[str]:
    """Return the attrs that only say whether a reduction keeps its axes: the gradient has none."""
    rules = [p.shape for p in spec.outputs]
    named = {r.keepdim for r in rules if isinstance(r, ShapeReduce) and isinstance(r.keepdim, str)}
    named -= {n for r in rules if r and not isinstance(r, ShapeReduce) for n in rule_attrs(r)}
    assert spec.compute is not None
    tree = ast.parse(spec.compute.text.strip())
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and node.id in named and node not in _keepdims(tree):
            named.discard(node.id)
    return frozenset(str(name) for name in named)


def _keepdims(tree: ast.AST) -> list[ast.expr]:
    """Return the arguments of reductions that say whether these keep their axes."""
    found: list[ast.expr] = []
    for call in ast.walk(tree):
        if not isinstance(call, ast.Call) or not isinstance(call.func, ast.Attribute):
            continue
        found += [k.value for k in call.keywords if k.arg == "keepdim"]
        if call.func.attr in _REDUCTIONS and len(call.args) > 1:
            found.append(call.args[-1])
    return found


def with_kept_axes(spec: OpSpec, text: str) -> str:
    """Return a formula whose reductions keep their axes, where an attr says whether they do."""
    dropped = keepdim_attrs(spec)
    if not dropped:
        return text
    margin = len(text) - len(text.lstrip())
    lines = text.lstrip().split("\n")
    names = [n for n in ast.walk(ast.parse(text.strip())) if isinstance(n, ast.Name)]
    for name in sorted(names, key=lambda n: (n.lineno, n.col_offset), reverse=True):
        if name.id in dropped:
            row = lines[name.lineno - 1].encode()
            row = row[: name.col_offset] + b"True" + row[name.end_col_offset :]
            lines[name.lineno - 1] = row.decode()
    return text[:margin] + "\n".join(lines)

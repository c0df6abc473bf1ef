"""Divide the variants of an op into groups that share passes.

The passes of a kernel are the same for all variants of a group. Variants that reduce other axes, or
none, get passes of their own; the tiling key of a call says which passes run.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.parts.phases import curable
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant, shape_rules
from msopgen_wrap.schedule.calls import reduced_dims, reduction_kind
from msopgen_wrap.schedule.kernel_classes import words
from msopgen_wrap.spec.model import OpSpec, ParamKind

Group = tuple[int, ...]
Planned = TypeVar("Planned")

# Values of an attr that a name lists.
_MOST_WORDS = 3


def planned_groups(
    spec: OpSpec, graphs: Sequence[TracedGraph], plan: Callable[[Group], Planned]
) -> list[tuple[Group, Planned]]:
    """Plan groups of variants, as large as one set of passes serves.

    Variants that reduce the same axes and have outputs of the same shapes are tried together, then
    in halves: attrs vary slowest, so a half mostly fixes the value of one.

    Args:
        spec: the op.
        graphs: the graph of every variant.
        plan: plans a group; raises OpgenError where no passes serve all of it.

    Raises:
        OpgenError: a single variant cannot be planned.
    """
    alike: dict[object, list[int]] = {}
    for index, traced in enumerate(graphs):
        key = (_reduced(traced), shape_rules(spec, traced.variant))
        alike.setdefault(key, []).append(index)
    found: list[tuple[Group, Planned]] = []
    pending = [tuple(group) for group in alike.values()]
    while pending:
        group = pending.pop(0)
        try:
            found.append((group, plan(group)))
        except OpgenError as error:
            if len(group) == 1 or not curable(error):
                raise
            half = (len(group) + 1) // 2
            pending[:0] = [group[:half], group[half:]]
    return sorted(found, key=lambda made: made[0])


def _reduced(traced: TracedGraph) -> frozenset[object]:
    """Return the axes of all reductions of a graph, with the rank of what they reduce."""
    found = set()
    for node in traced.graph.nodes:
        if reduction_kind(node):
            rank = len(node.args[0].meta["val"].shape)
            found.add((rank, tuple(sorted(reduced_dims(node, rank)))))
    return frozenset(found)


def group_names(spec: OpSpec, variants: Sequence[Variant], groups: Sequence[Group]) -> list[str]:
    """Return a CamelCase name per group: what its variants have that those of others lack.

    Returns:
        ``[""]`` for the only group; ``Group1`` ... where no short names tell the groups apart.
    """
    if len(groups) == 1:
        return [""]
    names = [_name(spec, variants, group) for group in groups]
    if "" in names or len(set(names)) < len(names):
        return [f"Group{number}" for number in range(1, len(groups) + 1)]
    return names


def _name(spec: OpSpec, variants: Sequence[Variant], group: Group) -> str:
    parts: list[str] = []
    for position, (name, _) in enumerate(variants[0].attrs):
        every = dict.fromkeys(v.attrs[position][1] for v in variants)
        own = dict.fromkeys(variants[i].attrs[position][1] for i in group)
        if len(own) < len(every):
            parts += [words(name, value) for value in own][: _MOST_WORDS + 1]
    for param in spec.inputs:
        given = {param.name in variants[i].present for i in group}
        if param.kind is ParamKind.OPTIONAL and len(given) == 1:
            parts.append(("With" if given == {True} else "Without") + words("", param.name))
    return "".join(parts) if len(parts) <= _MOST_WORDS else ""

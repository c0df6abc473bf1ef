"""The reduced axes of inputs of open rank, as graphs of several ranks show them.

At the least rank there may be none: the gradient of what is broadcast along all axes but the last
two is a sum over the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.row.axes import GraphAxes
from msopgen_wrap.families.row.body import ReducedAxes
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.schedule.calls import reduction_kind, target_name
from msopgen_wrap.schedule.open_axes import axis_views, viewed_axes
from msopgen_wrap.spec.model import OpSpec

# Reductions that give the element where there is one.
_OF_ONE = ("sum", "mean", "prod", "max", "min")
# What is between work on elements and may be other calls at another rank.
_VIEWS = ("expand", "permute", "reshape", "squeeze", "sym_size", "view")


def reduced_ranks(
    traced: TracedGraph, others: Sequence[TracedGraph]
) -> tuple[list[TracedGraph], list[TracedGraph]]:
    """Return the graphs of other ranks that reduce, and those that do the same work without.

    Where all graphs of other ranks lack reductions, nothing tells which axes are reduced, and all
    are returned as they are; so is one that does other work on elements.

    Args:
        traced: the graph of the sample, which reduces.
        others: its graphs at other ranks.
    """
    rest: list[TracedGraph] = []
    unreduced: list[TracedGraph] = []
    for other in others:
        alike = not _reductions(other) and _work(other) == _work(traced)
        (unreduced if alike else rest).append(other)
    plain = all(kind in _OF_ONE for kind in _reductions(traced))
    return (rest, unreduced) if rest and plain else (list(others), [])


def axes_of_ranks(
    spec: OpSpec, graphs: list[TracedGraph], unreduced: Sequence[TracedGraph]
) -> ReducedAxes | None:
    """Return what gives the reduced axes of graphs of several ranks.

    Args:
        spec: the op.
        graphs: those of the sample and of other ranks, which reduce.
        unreduced: those of ranks at which no axes are reduced.

    Returns:
        None where the rank is fixed, or no rule gives the axes of all ranks.
    """
    found: list[tuple[int, frozenset[int]]] = []
    for traced in graphs if len(graphs) > 1 else ():
        try:
            space = GraphAxes(spec, traced)
        except OpgenError:
            return None
        found.append((space.rank, space.reduced))
    if not found:
        return None
    rank, reduced = found[0]
    axes = tuple(sorted(reduced))
    rules = (
        ReducedAxes(kept=rank - len(reduced)),
        ReducedAxes(axes=tuple(a - rank for a in axes)),
        ReducedAxes(axes=axes),
        ReducedAxes(but=tuple(sorted(set(range(rank)) - reduced))),
    )
    found += [(_rank(traced), frozenset()) for traced in unreduced]
    return next((r for r in rules if all(r.at(n) == known for n, known in found)), None)


def _reductions(traced: TracedGraph) -> list[str]:
    return [kind for kind in map(reduction_kind, traced.graph.nodes) if kind]


def _rank(traced: TracedGraph) -> int:
    """Return the rank of what has the most axes in a graph."""
    values = [node.meta.get("val") for node in traced.graph.nodes]
    return max(len(value.shape) for value in values if hasattr(value, "shape"))


def _work(traced: TracedGraph) -> list[Any]:
    """Return the calls of a graph that are no reductions and reorder no axes, with their numbers.

    Axes are counted from the end.
    """
    named = set(axis_views(traced.graph))
    found: list[Any] = []
    for node in traced.graph.nodes:
        target = target_name(node)
        moves = any(word in target for word in _VIEWS)
        if node.op != "call_function" or reduction_kind(node) or moves:
            continue
        numbers: list[Any] = [a for a in node.args if isinstance(a, (bool, int, float, str))]
        if node in named:
            axes, rank = viewed_axes(node)
            numbers = [*(axis - rank for axis in axes), *numbers[1:]]
        found.append((target, numbers))
    return found

"""Which axes of a graph count from the front, or are more at a higher rank, as two traces show.

Each trace has one rank of the inputs whose rank is open. Views and reshapes that two traces have at
the same place in their graphs name the same axes, counted from one of the ends.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.views import kept_axes, kept_behind, reshapes
from msopgen_wrap.schedule.axis_names import OpenOrder
from msopgen_wrap.schedule.views import PLACE, SPLITS, Node
from msopgen_wrap.torch_import import torch

# Views that name axes: splits in their third argument, the others in the second one.
_AXIS_VIEWS = frozenset(
    (
        *("aten.flip.default", "aten.unsqueeze.default", "aten.squeeze.dim", "aten.squeeze.dims"),
        *("aten.select.int", "aten.slice.Tensor", "aten.unfold.default", PLACE, *SPLITS),
    )
)
_COUNTING = ("aten.arange.start_step", "prims.iota.default")


def axis_views(graph: torch.fx.Graph) -> list[Node]:
    """Return the views of a graph that name axes of what they are given.

    Left out are axes of size 1 at the end, of which there may be more at a higher rank.
    """
    left_out = {node for chain in chains_behind(graph) for node in chain}
    calls = [n for n in graph.nodes if n.op == "call_function" and n not in left_out]
    return [n for n in calls if str(n.target) in _AXIS_VIEWS]


def chains_behind(graph: torch.fx.Graph) -> list[list[Node]]:
    """Return the calls that give tensors axes of size 1 at the end, those of one tensor together.

    First come those of numbers that are counted along an axis of another tensor, where there may be
    none; then those of others, as of numbers per channel.
    """
    chains = []
    for node in graph.nodes:
        if str(node.target) in _COUNTING:
            chains.append(_axes_behind(node))
    known = {node for chain in chains for node in chain}
    for node in graph.nodes:
        if node not in known and _adds_last_axis(node):
            chain = [node, *_axes_behind(node)]
            chains.append(chain)
            known.update(chain)
    return chains


def _axes_behind(node: Node) -> list[Node]:
    """Return the calls behind one that give its result further axes of size 1 at the end."""
    chain: list[Node] = []
    user = _only_user(node)
    while user is not None and _adds_last_axis(user):
        chain.append(user)
        user = _only_user(user)
    return chain


def _only_user(node: Node) -> Node | None:
    return next(iter(node.users)) if len(node.users) == 1 else None


def _adds_last_axis(node: Node) -> bool:
    if str(node.target) != "aten.unsqueeze.default":
        return False
    source: Any = node.args[0]
    return node.args[1] in (-1, len(source.meta["val"].shape))


def viewed_axes(node: Node) -> tuple[list[int], int]:
    """Return the axes that a view of ``axis_views`` names, from the front, and of how many."""
    source: Any = node.args[0]
    target = str(node.target)
    rank = len(source.meta["val"].shape) + (target == "aten.unsqueeze.default")
    place = 2 if target in SPLITS else 1
    given: Any = node.args[place] if len(node.args) > place else 0
    axes = given if isinstance(given, (list, tuple)) else [given]
    return [axis % max(1, rank) for axis in axes], rank


def fronts(traced: TracedGraph, other: TracedGraph) -> frozenset[int]:
    """Return the numbers of the views whose axes are the same from the front at another rank."""
    ours, theirs = axis_views(traced.graph), axis_views(other.graph)
    if [n.target for n in ours] != [n.target for n in theirs]:
        return frozenset()
    found = set()
    for number, (one, two) in enumerate(zip(ours, theirs, strict=True)):
        (axes, rank), (others, other_rank) = viewed_axes(one), viewed_axes(two)
        from_end = [a - rank for a in axes] == [a - other_rank for a in others]
        if axes == others and not from_end:
            found.add(number)
    return frozenset(found)


def permutes(graph: torch.fx.Graph) -> list[Node]:
    """Return the calls of a graph that order all axes of a tensor, but where an attr does."""
    calls = [n for n in graph.nodes if str(n.target) == "aten.permute.default"]
    return [n for n in calls if isinstance(n.args[1], (list, tuple))]


def orders(traced: TracedGraph, other: TracedGraph) -> dict[int, OpenOrder]:
    """Return what permutes do at every rank that do not only order as many last axes at another.

    Returns:
        by the number of the permute: its first and its last axes; all others lie between them.
    """
    ours, theirs = permutes(traced.graph), permutes(other.graph)
    if len(ours) != len(theirs):
        return {}
    found = {}
    for number, (one, two) in enumerate(zip(ours, theirs, strict=True)):
        order = _open_order(list(one.args[1]), list(two.args[1]))  # type: ignore[arg-type]
        if order is not None:
            found[number] = order
    return found


def _open_order(one: list[int], two: list[int]) -> OpenOrder | None:
    """Return the first and the last axes of two orders between which all others lie.

    Returns:
        None where the ranks are the same, or the axes that are ordered are the last ones of both.
    """
    rank, other = len(one), len(two)
    if rank == other or _last_axes(one) == _last_axes(two):
        return None
    for count in range(min(rank, other) + 1):
        for front in range(count + 1):
            back = count - front
            between = [o[front : len(o) - back] for o in (one, two)]
            if any(axes != sorted(axes) for axes in between):
                continue
            ends = [
                {a, a - rank} & {b, b - other}
                for part in (slice(0, front), slice(-back, None) if back else slice(0, 0))
                for a, b in zip(one[part], two[part], strict=True)
            ]
            if all(ends):
                names = [min(end) for end in ends]
                return tuple(names[:front]), tuple(names[front:])
    return None


def _last_axes(order: list[int]) -> list[int]:
    """Return an order without the first axes that stay, counted from the end."""
    stay = next((i for i, axis in enumerate(order) if i != axis), len(order))
    return [axis - len(order) for axis in order[stay:]]


def behind(traced: TracedGraph, other: TracedGraph, ranked: str) -> frozenset[int]:
    """Return the numbers of the chains of axes behind tensors that grow with the rank."""
    ours, theirs = chains_behind(traced.graph), chains_behind(other.graph)
    more = len(other.shapes[ranked]) - len(traced.shapes[ranked])
    if len(ours) != len(theirs):
        return frozenset()
    pairs = enumerate(zip(ours, theirs, strict=True))
    return frozenset(i for i, (one, two) in pairs if len(two) - len(one) == more)


def tails(traced: TracedGraph, other: TracedGraph) -> frozenset[int]:
    """Return the numbers of the reshapes that change as many last axes at another rank."""
    return _alike(traced, other, _changed_last)


def heads(traced: TracedGraph, other: TracedGraph) -> frozenset[int]:
    """Return the numbers of the reshapes that change as many first axes at another rank."""
    return _alike(traced, other, _changed_first)


def _alike(
    traced: TracedGraph, other: TracedGraph, changed: Callable[[Any], int]
) -> frozenset[int]:
    """Return the numbers of the reshapes that change as many axes of one end at another rank."""
    ours, theirs = reshapes(traced.graph), reshapes(other.graph)
    if len(ours) != len(theirs):
        return frozenset()
    pairs = zip(map(changed, ours), map(changed, theirs), strict=True)
    return frozenset(i for i, (one, two) in enumerate(pairs) if one == two)


def _changed_last(node: Any) -> int:
    source = node.args[0]
    return len(source.meta["val"].shape) - kept_axes(source, node)


def _changed_first(node: Any) -> int:
    source = node.args[0]
    return len(source.meta["val"].shape) - kept_behind(source, node)

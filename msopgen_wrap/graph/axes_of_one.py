"""Axes of one element: reshapes and reductions of them.

A reshape that only adds or drops such axes is written as ``unsqueeze`` and ``squeeze``. PyTorch's
derivatives give a gradient back the axes that a reduction has dropped by a view with all sizes.
What such a view means for a tensor of another rank shows in the axes alone.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_RESHAPES = (_aten.view.default, _aten.reshape.default, _aten._unsafe_view.default)
_UNSQUEEZE = _aten.unsqueeze.default
# Reductions whose result along an axis of one element is that element.
_KEEPING_SINGLES = (
    _aten.sum.dim_IntList,
    _aten.mean.dim,
    _aten.amax.default,
    _aten.amin.default,
)


def name_axes_of_one(graph: Graph) -> None:
    """Rewrite a traced graph in place; no value changes."""
    for node in list(graph.nodes):
        if node.target not in _RESHAPES:
            continue
        source = node.args[0]
        dropped, added = changed_axes(sizes_of(source), sizes_of(node)) or ([], [])
        if not dropped and not added:
            continue
        result = source
        if dropped:
            result = _call(graph, node, _aten.squeeze.dims, result, dropped)
        for axis in added:
            result = _call(graph, node, _UNSQUEEZE, result, axis)
        node.replace_all_uses_with(result)
        graph.erase_node(node)


def drop_reductions_of_added(graph: Graph) -> None:
    """Reduce no axis that was added just before; the graph is rewritten in place.

    The values of a pass are lined up by their axes, of which it reduces those that its inputs have.
    A slice of one element is another matter: it has none where its tensor is empty.
    """
    for node in list(graph.nodes):
        while node.target in _KEEPING_SINGLES:
            source: Any = node.args[0]
            if source.target is not _UNSQUEEZE or len(node.args) < 2:
                break
            listed, *keep = node.args[1:]
            rank = source.meta["val"].dim()
            added = source.args[1] % rank
            dims = sorted(d % rank for d in listed or range(rank))  # type: ignore[union-attr]
            if added not in dims or source.meta["val"].dtype != node.meta["val"].dtype:
                break
            inner, rest = source.args[0], [d - (d > added) for d in dims if d != added]
            reduced = _call(graph, node, node.target, inner, rest, *keep) if rest else inner
            result = _call(graph, node, _UNSQUEEZE, reduced, added) if any(keep) else reduced
            node.replace_all_uses_with(result)
            graph.erase_node(node)
            if not rest:
                break
            node = reduced  # what it reduces may have got another axis


def sizes_of(node: Any) -> list[Any]:
    """Return the sizes of a node of a graph, as ``same_size`` compares them."""
    return [getattr(size, "node", size) for size in node.meta["val"].shape]


def changed_axes(one: list[Any], other: list[Any]) -> tuple[list[int], list[int]] | None:
    """Return the axes of size 1 of ``one`` that go and those of ``other`` that come.

    None where the shapes differ in more than these.

    Args:
        one, other: what :func:`sizes_of` returns of two tensors.
    """
    dropped: list[int] = []
    added: list[int] = []
    i = j = 0
    while i < len(one) or j < len(other):
        if i < len(one) and j < len(other) and same_size(one[i], other[j]):
            i, j = i + 1, j + 1
        elif j < len(other) and is_one(other[j]):
            added.append(j)
            j += 1
        elif i < len(one) and is_one(one[i]):
            dropped.append(i)
            i += 1
        else:
            return None
    return dropped, added


def is_one(size: Any) -> bool:
    """Whether a size is 1 in every call."""
    size = getattr(size, "node", size)
    known = size if isinstance(size, int) else size.maybe_as_int()
    return bool(known == 1)


def _call(graph: Graph, before: Node, target: Any, source: Node, *args: Any) -> Node:
    with graph.inserting_before(before):
        result = graph.call_function(target, (source, *args))
    value = source.meta["val"]
    with value.fake_mode:
        result.meta = {"val": target(value, *args)}
    return result

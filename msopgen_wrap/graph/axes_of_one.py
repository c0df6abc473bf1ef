"""Write a reshape that only adds or drops axes of size 1 as ``unsqueeze`` and ``squeeze``.

PyTorch's derivatives give a gradient back the axes that a reduction has dropped by a view with all
sizes. What such a view means for a tensor of another rank shows in the axes alone.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_RESHAPES = (_aten.view.default, _aten.reshape.default, _aten._unsafe_view.default)


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
            result = inserted_call(graph, node, _aten.squeeze.dims, result, dropped)
        for axis in added:
            result = inserted_call(graph, node, _aten.unsqueeze.default, result, axis)
        node.replace_all_uses_with(result)
        graph.erase_node(node)


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


def inserted_call(graph: Graph, before: Node, target: Any, source: Node, *args: Any) -> Node:
    """Return a new call of an operator on a tensor of a graph, in front of a node."""
    with graph.inserting_before(before):
        result = graph.call_function(target, (source, *args))
    value = source.meta["val"]
    with value.fake_mode:
        result.meta = {"val": target(value, *args)}
    return result

"""Pieces that a split gives, as slices of their own.

A split has several results, and a piece of it moves to inputs together with the others or not at
all. Slices move one by one.
"""

from __future__ import annotations

import operator
from typing import Any

from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_SPLITS = (_aten.split.Tensor, _aten.split_with_sizes.default)
END = 2**63 - 1  # of a slice that goes to the end of its axis


def is_split(node: Node) -> bool:
    """Whether a call gives pieces of a tensor along an axis."""
    return node.target in _SPLITS


def slice_pieces(split: Node) -> list[Node]:
    """Put a slice in the place of each piece of a split that is read, in place.

    Returns:
        The slices.
    """
    graph = split.graph
    source, sizes, *axis = split.args
    count = len(split.meta["val"])
    each: list[Any] = list(sizes) if isinstance(sizes, (list, tuple)) else [sizes] * count
    bounds: list[Any] = [0]
    made: list[Node] = []
    with graph.inserting_before(split):
        for size in each[:-1]:
            bounds.append(_sum(graph, bounds[-1], size))
    for piece in list(split.users):
        number = int(piece.args[1])  # type: ignore[arg-type]
        end = bounds[number + 1] if number + 1 < len(bounds) else END
        with graph.inserting_before(piece):
            args = (source, axis[0] if axis else 0, bounds[number], end)
            cut = graph.call_function(_aten.slice.Tensor, args)
        cut.meta = dict(piece.meta)
        piece.replace_all_uses_with(cut)
        graph.erase_node(piece)
        made.append(cut)
    graph.erase_node(split)
    return made


def _sum(graph: Graph, first: Any, second: Any) -> Any:
    """Return the sum of two sizes, numbers or nodes."""
    if first == 0 and isinstance(first, int):
        return second
    if isinstance(first, int) and isinstance(second, int):
        return first + second
    total = graph.call_function(operator.add, (first, second))
    values = [n.meta["val"] if isinstance(n, Node) else n for n in (first, second)]
    total.meta["val"] = values[0] + values[1]
    return total

"""Compute once what a formula says twice."""

from __future__ import annotations

from typing import Any

import torch
from torch.fx import Graph, Node
from torch.utils._pytree import tree_flatten


def share_repeated_work(graph: Graph) -> dict[Node, Node]:
    """Replace calls of one operator with the same arguments by the first one; no value changes.

    Parts of one kernel would each compute such a value: ``torch.cat([x @ y, x @ y + 1])`` has one
    product. Operators have no effects, and random ones take their seed as an argument. What is made
    of no tensor stays: it costs nothing, and outputs that are not asked for are zeros of their own.

    Returns:
        What was removed, and what stands in its place.
    """
    replaced: dict[Node, Node] = {}
    known: dict[Any, Node] = {}
    for node in list(graph.nodes):
        if node.op != "call_function" or not any(map(_is_tensor, node.all_input_nodes)):
            continue
        values, structure = tree_flatten((node.args, node.kwargs))
        # 1, 1.0 and True are equal, but not the same argument
        key = (node.target, structure, *((type(value), value) for value in values))
        try:
            found = known.setdefault(key, node)
        except TypeError:  # an argument without a hash, such as a symbolic number
            continue
        if found is not node:
            node.replace_all_uses_with(found)
            graph.erase_node(node)
            replaced[node] = found
    return replaced


def _is_tensor(node: Node) -> bool:
    return isinstance(node.meta.get("val"), torch.Tensor)

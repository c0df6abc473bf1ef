"""Compute once what a formula says twice."""

from __future__ import annotations

from typing import Any

from torch.fx import Graph, Node
from torch.utils._pytree import tree_flatten


def share_repeated_work(graph: Graph) -> None:
    """Replace calls of one operator with the same arguments by the first one; no value changes.

    Parts of one kernel would each compute such a value: ``torch.cat([x @ y, x @ y + 1])`` has one
    product. Operators have no effects, and random ones take their seed as an argument.
    """
    known: dict[Any, Node] = {}
    for node in list(graph.nodes):
        if node.op != "call_function":
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

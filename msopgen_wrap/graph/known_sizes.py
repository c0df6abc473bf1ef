"""Read sizes where they are first known: of inputs, not of what is computed from them.

A size that is read of a computed tensor keeps that tensor in the graph, and with it in every pass
that needs nothing else of it: the numbers of an ``arange`` behind a mask, of which a product takes
the sizes.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_SIZE = torch.ops.aten.sym_size.int


def share_sizes(graph: Graph) -> None:
    """Rewrite a traced graph in place; no value changes.

    A size of a computed tensor becomes the first node of the graph that has the same expression
    over sizes of inputs and attrs.
    """
    known: dict[Any, Node] = {}
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if not isinstance(value, torch.SymInt):
            continue
        found = known.setdefault(value.node.expr, node)
        computed = node.target is _SIZE and node.args[0].op != "placeholder"
        if computed and found is not node:
            node.replace_all_uses_with(found)
            graph.erase_node(node)

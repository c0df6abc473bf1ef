"""Read sizes where they are first known: of inputs, not of what is computed from them.

A size that is read of a computed tensor keeps that tensor in the graph, and with it in every pass
that needs nothing else of it: the numbers of an ``arange`` behind a mask, of which a product takes
the sizes.
"""

from __future__ import annotations

import operator
from typing import Any

from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_SIZE = torch.ops.aten.sym_size.int


def share_sizes(graph: Graph) -> None:
    """Rewrite a traced graph in place; no value changes.

    A size of a computed tensor becomes the first node of the graph that has the same expression
    over sizes of inputs and attrs, or a product of sizes of inputs where it is one.
    """
    known: dict[Any, Node] = {}
    axes = _axes_of_inputs(graph)
    for node in list(graph.nodes):
        value = node.meta.get("val")
        if not isinstance(value, torch.SymInt):
            continue
        expr = value.node.expr
        computed = node.target is _SIZE and node.args[0].op != "placeholder"
        if computed and expr not in known:
            product = _product(graph, node, value, known, axes)
            if product is not None:
                known[expr] = product
        found = known.setdefault(expr, node)
        if computed and found is not node:
            node.replace_all_uses_with(found)
            graph.erase_node(node)


def _axes_of_inputs(graph: Graph) -> dict[Any, tuple[Node, int]]:
    """Return which size of which input every symbol is, that of the first one with it."""
    found: dict[Any, tuple[Node, int]] = {}
    for node in graph.nodes:
        value = node.meta.get("val")
        if node.op == "placeholder" and isinstance(value, torch.Tensor):
            for axis, size in enumerate(value.shape):
                if isinstance(size, torch.SymInt) and size.node.expr.is_Symbol:
                    found.setdefault(size.node.expr, (node, axis))
    return found


def _product(
    graph: Graph, node: Node, value: Any, known: dict[Any, Node], axes: dict[Any, tuple[Node, int]]
) -> Node | None:
    """Write a size as a product of sizes of inputs before ``node``; None where it is none."""
    expr = value.node.expr
    if not expr.is_Mul or not all(factor in axes for factor in expr.args):
        return None
    result: Node | None = None
    for source, axis in sorted((axes[f] for f in expr.args), key=lambda at: at[1]):
        factor = source.meta["val"].shape[axis]
        if factor.node.expr not in known:
            with graph.inserting_before(node):
                size = graph.call_function(_SIZE, (source, axis))
            size.meta["val"] = factor
            known[factor.node.expr] = size
        size = known[factor.node.expr]
        if result is None:
            result = size
            continue
        with graph.inserting_before(node):
            joined = graph.call_function(operator.mul, (result, size))
        joined.meta["val"] = result.meta["val"] * size.meta["val"]
        result = joined
    return result

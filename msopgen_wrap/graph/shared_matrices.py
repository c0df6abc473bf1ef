"""Products of many matrices with the same one, as one product.

What a step of a loop multiplies by a matrix is multiplied for all steps together: PyTorch makes it
``bmm`` with that matrix repeated for each step. The rows of all steps are rows of one matrix, and
cores have few rows of a product to share otherwise.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.equal_sizes import same_sizes
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_RESHAPES = (_aten.view.default, _aten.reshape.default, _aten._unsafe_view.default)


def join_rows(graph: Graph) -> None:
    """Multiply the rows of all matrices at once where ``bmm`` multiplies each by one, in place."""
    for node in [n for n in graph.nodes if n.target is _aten.bmm.default]:
        rows, matrix = node.args[0], _repeated(node.args[1])
        if matrix is None:
            continue
        with graph.inserting_before(node):
            depth = _size(graph, matrix, 0)
            joined = _called(graph, _aten.view.default, rows, [-1, depth])
            product = _called(graph, _aten.mm.default, joined, matrix)
            sizes = [_size(graph, rows, 0), _size(graph, rows, 1), _size(graph, matrix, 1)]
            apart = _called(graph, _aten.view.default, product, sizes)
        apart.meta["val"] = node.meta["val"]  # with the symbols that others have
        node.replace_all_uses_with(apart)
        graph.erase_node(node)
    graph.eliminate_dead_code()


def _repeated(node: Any) -> Node | None:
    """Return the matrix that a list of matrices repeats; None for any other list."""
    sizes = node.meta["val"].shape
    while node.op == "call_function":
        source: Any = node.args[0]
        if node.target is _aten.expand.default:
            own = source.meta["val"]
            return source if own.dim() == 2 else _without_batch(source)
        if node.target not in _RESHAPES or not same_sizes(source.meta["val"].shape, sizes):
            return None
        node = source
    return None


def _without_batch(node: Any) -> Node | None:
    """Return the matrix that is given an axis of one in front; None for others."""
    added = node.target is _aten.unsqueeze.default and node.args[1] in (0, -3)
    return node.args[0] if added and node.args[0].meta["val"].dim() == 2 else None


def _size(graph: Graph, node: Any, axis: int) -> Any:
    size = node.meta["val"].shape[axis]
    if isinstance(size, int):
        return size
    made = graph.call_function(_aten.sym_size.int, (node, axis))
    made.meta["val"] = size
    return made


def _called(graph: Graph, target: Any, *args: Any) -> Node:
    node: Node = graph.call_function(target, args)
    given = torch.utils._pytree.tree_map(
        lambda a: a.meta["val"] if isinstance(a, Node) else a, args
    )
    # elements in order, whatever memory a tensor of PyTorch has
    node.meta["val"] = torch.reshape(*given) if target is _aten.view.default else target(*given)
    return node

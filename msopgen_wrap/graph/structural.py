"""Attrs that count something (``num_groups``): put back where a sample value went into the graph.

Such an attr divides sizes, so PyTorch takes it as a plain number. Graphs traced with two values
differ exactly where the attr is: a number that is the same in both is not the attr, whatever its
value is.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.scalars import AttrRef
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

# Other values to try; the sample's sizes may not be divisible by all of them.
_VALUES = (2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 17, 19, 24, 1)


def count_values(known: int) -> tuple[int, ...]:
    """Return the values to compare a trace with, other than the known one."""
    return tuple(v for v in _VALUES if v != known)


def restore_count(traced: Any, name: str, other: Any, value: int) -> bool:
    """Replace the numbers of ``traced`` that are attr ``name`` by a placeholder for it.

    Args:
        other: the graph traced with ``value``.

    Returns:
        Whether it differs in these numbers only.
    """
    places = _differences(traced.graph, other.graph, traced.structural[name], value)
    if places:
        _insert(traced, name, places)
    return places is not None


def _differences(
    first: Graph, second: Graph, known: int, value: int
) -> list[tuple[Node, tuple[Any, ...]]] | None:
    """Where the graphs hold the two values; None when they differ otherwise."""
    nodes, others = list(first.nodes), list(second.nodes)
    if len(nodes) != len(others):
        return None
    same = dict(zip(nodes, others, strict=True))
    places: list[tuple[Node, tuple[Any, ...]]] = []

    def compare(node: Node, path: tuple[Any, ...], a: Any, b: Any) -> bool:
        if isinstance(a, Node):
            return isinstance(b, Node) and same[a] is b
        if isinstance(a, (list, tuple)):
            return (
                isinstance(b, (list, tuple))
                and len(a) == len(b)
                and all(
                    compare(node, (*path, i), x, y)
                    for i, (x, y) in enumerate(zip(a, b, strict=True))
                )
            )
        if type(a) is type(b) and (a == b or (a != a and b != b)):
            return True
        if type(a) is int and type(b) is int and a == known and b == value:
            places.append((node, path))
            return True
        return False

    for node, other in same.items():
        if node.op != other.op or node.target != other.target:
            return None
        if sorted(node.kwargs) != sorted(other.kwargs):
            return None
        if not compare(node, ("args",), node.args, other.args):
            return None
        for key in node.kwargs:
            if not compare(node, ("kwargs", key), node.kwargs[key], other.kwargs[key]):
                return None
    return places


def _insert(traced: Any, name: str, places: list[tuple[Node, tuple[Any, ...]]]) -> None:
    graph: Graph = traced.graph
    last = [n for n in graph.nodes if n.op == "placeholder"]
    before = last[-1].next if last else next(iter(graph.nodes))
    with graph.inserting_before(before):
        symbol = graph.placeholder(f"attr_{name}")
    symbol.meta["val"] = traced.structural[name]
    traced.attrs[symbol.name] = AttrRef(name, True)
    for node, path in places:
        if path[0] == "args":
            node.args = _replaced(node.args, path[1:], symbol)
        else:
            node.kwargs = {
                key: _replaced(value, path[2:], symbol) if key == path[1] else value
                for key, value in node.kwargs.items()
            }


def _replaced(value: Any, path: tuple[Any, ...], symbol: Node) -> Any:
    if not path:
        return symbol
    items = [_replaced(v, path[1:], symbol) if i == path[0] else v for i, v in enumerate(value)]
    return tuple(items) if isinstance(value, tuple) else items

"""Which nodes of a graph others lead to."""

from __future__ import annotations

from collections.abc import Callable, Iterable

from msopgen_wrap.torch_import import torch

Node = torch.fx.Node


def reached(nodes: Iterable[Node], following: Callable[[Node], Iterable[Node]]) -> set[Node]:
    """Return nodes, what follows from them, and so on.

    Args:
        nodes: where to start.
        following: gives the next nodes of one, such as what it reads or what reads it.
    """
    found: set[Node] = set()
    pending = list(nodes)
    while pending:
        node = pending.pop()
        if node not in found:
            found.add(node)
            pending += following(node)
    return found

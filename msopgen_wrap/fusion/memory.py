"""Live memory of a graph: what its tensors take at once, and where one could take another's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msopgen_wrap.byte_counts import size_text
from msopgen_wrap.fusion.regions import bytes_of, is_view, storage_of
from msopgen_wrap.torch_import import torch


def peak_bytes(graph: Any, same: Mapping[int, int] | None = None) -> tuple[int, str]:
    """Return the most bytes of temporaries that are alive at once, and at which node.

    A temporary lives from the node that makes it to the last one that reads it or a view of it.
    Parameters, buffers and inputs are not counted; results are.

    Args:
        same: storage -> the storage that it is a reuse of.
    """
    shared = same or {}
    nodes = list(graph.nodes)
    own: dict[int, int] = {}
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    outside = {storage_of(n.meta.get("val")) for n in nodes if n.op in ("placeholder", "get_attr")}
    for i, node in enumerate(nodes):
        for value in torch.utils._pytree.tree_leaves(node.meta.get("val")):
            storage = storage_of(value)
            if storage is None or storage in outside:
                continue
            storage = shared.get(storage, storage)
            first.setdefault(storage, i)
            own[storage] = max(own.get(storage, 0), bytes_of(value))
        for given in node.all_input_nodes:
            for value in torch.utils._pytree.tree_leaves(given.meta.get("val")):
                storage = storage_of(value)
                if storage is not None:
                    last[shared.get(storage, storage)] = i
    peak, place = 0, ""
    for i, node in enumerate(nodes):
        if node.op == "call_function" and not is_view(node):
            alive = sum(size for s, size in own.items() if first[s] <= i <= last.get(s, first[s]))
            if alive > peak:
                peak, place = alive, node.name
    return peak, place


def memory_lines(graph: Any, prefix: str = "", same: Mapping[int, int] | None = None) -> list[str]:
    """Return what a report says of the live memory of a graph."""
    peak, place = peak_bytes(graph, same)
    if not peak:
        return []
    return [f"{prefix}temporaries take at most {size_text(peak)} at once (at {place})"]

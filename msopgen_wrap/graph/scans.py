"""Scans from the last element to the first, which formulas write with flips around a scan.

``x.flip(d).cumsum(d).flip(d)`` becomes ``opgen::reversed_cumsum(x, d)``: a kernel goes through the
elements backwards, and nothing is moved. So does the gradient of a sum up to each element.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
# Scans that are the same values from either end: positions are not.
_REVERSIBLE = ("cumsum", "cumprod", "logcumsumexp")


def _reversed(name: str) -> Callable[[Any, int], Any]:
    scan = getattr(torch, name)

    def apply(x: Any, dim: int) -> Any:
        return scan(x.flip(dim), dim).flip(dim)

    return apply


for _name in _REVERSIBLE:
    _LIBRARY.define(f"reversed_{_name}(Tensor x, int dim) -> Tensor")
    _LIBRARY.impl(f"reversed_{_name}", _reversed(_name), "CompositeExplicitAutograd")

_REVERSED = {
    getattr(_aten, name).default: getattr(torch.ops.opgen, f"reversed_{name}").default
    for name in _REVERSIBLE
}


def reverse_scans(graph: Graph) -> None:
    """Rewrite flips around a scan along the axis that they flip."""
    for node in list(graph.nodes):
        scan = node.args[0] if node.target is _aten.flip.default else None
        if not isinstance(scan, Node) or scan.target not in _REVERSED or scan.kwargs:
            continue
        axis = _flipped_axis(node)
        source: Any = scan.args[0]
        if axis is None or scan.args[1] != axis or not _is_flip(source, axis):
            continue
        with graph.inserting_before(node):
            made = graph.call_function(_REVERSED[scan.target], (source.args[0], axis))
        made.meta = dict(node.meta)
        node.replace_all_uses_with(made)
    graph.eliminate_dead_code()


def _flipped_axis(flip: Node) -> Any:
    axes: Any = flip.args[1]
    return axes[0] if len(axes) == 1 else None


def _is_flip(node: Any, axis: Any) -> bool:
    flips = isinstance(node, Node) and node.target is _aten.flip.default
    return flips and _flipped_axis(node) == axis

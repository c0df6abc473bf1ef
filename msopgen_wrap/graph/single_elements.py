"""Views that leave one element of an axis in the sample, and others in other calls.

A trace takes such an axis for one that has one element in every call: a sum along it is none.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.axes_of_one import is_one
from msopgen_wrap.graph.pieces import END
from msopgen_wrap.graph.views import slice_numbers
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_SLICE, _UNFOLD = torch.ops.aten.slice.Tensor, torch.ops.aten.unfold.default


def leaves_one(graph: Graph) -> bool:
    """Whether a view of a traced graph leaves one element by chance."""
    for node in graph.nodes:
        if node.target not in (_SLICE, _UNFOLD):
            continue
        source: Any = node.args[0]
        before, behind = source.meta["val"].shape, node.meta["val"].shape
        named: Any = node.args[1] if len(node.args) > 1 else 0
        axis = named % len(before)
        if is_one(behind[axis]) and not _is_number(before[axis]) and not _is_literal(node):
            return True
    return False


def _is_number(size: Any) -> bool:
    """Whether a size is one of the formula; an input's on which a trace has settled is not."""
    if isinstance(size, int):
        return True
    return size.node.maybe_as_int() is not None and not size.node._expr.is_symbol


def _is_literal(node: Node) -> bool:
    """Whether numbers of the formula say that a view leaves one element: ``x[2:3]``, ``x[-1:]``."""
    if node.target is not _SLICE:
        return False
    start, end, step = slice_numbers(node)
    if not (isinstance(start, int) and isinstance(end, int) and step == 1):
        return False
    if start < 0:
        return (0 if end == END else end) - start == 1
    return end - start == 1

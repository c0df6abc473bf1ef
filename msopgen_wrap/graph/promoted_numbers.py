"""Convert integer tensors without axes as PyTorch does beside tensors that have some.

The dtype of the result is that of the tensors with axes: ``b + x.argmax()`` of int8 ``b`` is int8,
and the position is converted to it first, which wraps. Nothing in a traced graph says so.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.wide_products import CONVERSIONS
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node


def convert_numbers(graph: Graph) -> None:
    """Insert these conversions into a traced graph, in place."""
    for node in list(graph.nodes):
        pointwise = torch.Tag.pointwise in getattr(node.target, "tags", ())
        if not pointwise or node.target in CONVERSIONS:
            continue
        target = _computed_in(node)
        if target is None:
            continue
        for argument in node.all_input_nodes:
            if _narrows(argument.meta.get("val"), target):
                node.replace_input_with(argument, _converted(graph, node, argument, target))


def _computed_in(node: Node) -> Any:
    """Return the integer type that a call is computed in; None for other calls."""
    values = [a.meta.get("val") for a in node.args if isinstance(a, Node)]
    tensors = [v for v in values if isinstance(v, torch.Tensor) and v.dtype is not torch.bool]
    if len(tensors) != 2:
        return None
    common = torch.result_type(*tensors)
    return None if common.is_floating_point or common.is_complex else common


def _narrows(value: Any, target: Any) -> bool:
    """Whether a value is an integer without axes that is wider than a type."""
    if not isinstance(value, torch.Tensor) or value.dim():
        return False
    whole = not value.is_floating_point() and value.dtype is not torch.bool
    return whole and value.dtype.itemsize > target.itemsize


def _converted(graph: Graph, reader: Node, argument: Node, target: Any) -> Node:
    with graph.inserting_before(reader):
        call = torch.ops.aten._to_copy.default
        converted = graph.call_function(call, (argument,), {"dtype": target})
    value = argument.meta["val"]
    with value.fake_mode:
        converted.meta["val"] = value.to(target)
    return converted

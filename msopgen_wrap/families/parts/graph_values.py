"""What the values of a graph are to its phases: given, filled, reduced, and what they lead to."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import Any

from msopgen_wrap.families.parts.operand_dtypes import is_view
from msopgen_wrap.families.parts.temporaries import temporary_dtype
from msopgen_wrap.graph.axes_of_one import changed_axes, sizes_of
from msopgen_wrap.graph.sizes import same_shape
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.walks import reached
from msopgen_wrap.schedule.anchors import ANCHORS
from msopgen_wrap.schedule.calls import (
    AXES_OF_ONE,
    HANDLERS,
    IDENTITY,
    RESHAPES,
    VIEW_OPS,
    reduction_kind,
    target_name,
)
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

# Constants with the shape of another tensor.
_FILLS = {"aten.full_like.default", "aten.zeros_like.default", "aten.ones_like.default"}
# What makes tensors of numbers that differ.
_COUNTS = {
    "aten.arange.default",
    "aten.arange.start",
    "aten.arange.start_step",
    "prims.iota.default",
}


def tags(node: Node) -> Sequence[Any]:
    """Return the tags of a call's operator."""
    return getattr(node.target, "tags", ()) if node.op == "call_function" else ()


def is_tensor(node: Any) -> bool:
    """Whether an argument of a call is a node that gives one tensor."""
    return isinstance(node, Node) and isinstance(node.meta.get("val"), torch.Tensor)


def is_unknown(node: Node) -> bool:
    """Whether a call has no lowering in any family."""
    if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
        return False
    name = target_name(node)
    known = {*HANDLERS, *VIEW_OPS, *RESHAPES, *IDENTITY, *ANCHORS}
    return name not in known and "sym_" not in name


def ancestors(node: Node) -> set[Node]:
    """Return the nodes that a node is made of, without itself."""
    return reached(node.all_input_nodes, lambda above: above.all_input_nodes)


def read_values(node: Node) -> set[Node]:
    """Return what a pass that makes a value reads: inputs, and each view of one by itself."""
    every = reached([node], lambda n: [] if is_given(n) else n.all_input_nodes)
    return {n for n in every if is_given(n) and is_tensor(n)}


def tensors_of(node: Node) -> list[Node]:
    """Return the tensors that a reduction gives."""
    if isinstance(node.meta.get("val"), (list, tuple)):
        return [user for user in node.users if target_name(user) == "operator.getitem"]
    return [node]


def is_given(node: Any) -> bool:
    """Whether a value is a placeholder, or views of one."""
    while isinstance(node, Node) and node.op == "call_function":
        if target_name(node) not in VIEW_OPS | RESHAPES | IDENTITY | {"operator.getitem"}:
            return False
        node = node.args[0]
    return not isinstance(node, Node) or node.op in ("placeholder", "get_attr")


def is_moved(node: Any) -> bool:
    """Whether a value is views of a placeholder of which one is more than a reshape."""
    while isinstance(node, Node) and node.op == "call_function":
        if target_name(node) in VIEW_OPS - AXES_OF_ONE:
            return True
        node = node.args[0]
    return False


def joins_axes(reshape: Node) -> bool:
    """Whether a reshape does more than to add and drop axes of size 1."""
    return changed_axes(sizes_of(reshape.args[0]), sizes_of(reshape)) is None


def is_input(node: Node) -> bool:
    """Whether an argument is no computed tensor: an input, a temporary or a number."""
    return node.op != "call_function" or not is_tensor(node)


def is_filled(node: Node) -> bool:
    """Whether a value is one number throughout, whatever gives its sizes."""
    if isinstance(node.meta.get("val"), (list, tuple)):  # of a split: pieces of what it splits
        return is_view(node) and is_filled(node.args[0])  # type: ignore[arg-type]
    if not is_tensor(node) or target_name(node) in _FILLS:
        return True
    if target_name(node) in _COUNTS:
        return False
    return node.op == "call_function" and all(map(is_filled, node.all_input_nodes))


def _is_reduced(node: Node) -> bool:
    """Whether a value depends on a reduction."""
    return any(map(reduction_kind, (node, *ancestors(node))))


def rest_behind(traced: TracedGraph, chosen: list[Node]) -> set[Node]:
    """Return what the outputs still take when the chosen values are given, those included."""
    cut = set(chosen)
    outputs = [n for n in traced.outputs.values() if isinstance(n, Node)]
    return reached(outputs, lambda n: [] if n in cut else n.all_input_nodes)


def sunk_values(traced: TracedGraph, needed: list[Node], rest: set[Node]) -> list[Node]:
    """Return the values that pointwise work makes of needed ones alone, as far down as it goes.

    Other arguments may be made of inputs alone. A number loses its axes of one on the way: how many
    there are depends on the rank of what was reduced.

    Args:
        rest: what is computed after the pass.
    """
    outputs = {n for n in traced.outputs.values() if isinstance(n, Node)}
    inside = dict.fromkeys(needed)
    for node in traced.graph.nodes:
        if node in inside or node in outputs or node not in rest or not is_tensor(node):
            continue
        alike = _is_number(node) or any(same_shape(node, n) for n in needed)
        if alike and _is_made_of(node, inside):
            inside[node] = None
    frontier = [
        n for n in inside if n in outputs or any(u in rest and u not in inside for u in n.users)
    ]
    return frontier if all(temporary_dtype(n) is not None for n in frontier) else needed


def _is_number(node: Node) -> bool:
    return not node.meta["val"].dim()


def _is_made_of(node: Node, values: Container[Node]) -> bool:
    """Whether pointwise work makes a tensor of some of the values, and of inputs alone."""
    target = target_name(node)
    pointwise = torch.Tag.pointwise in tags(node) or target in IDENTITY | _FILLS
    pointwise |= _is_number(node) and target in AXES_OF_ONE
    tensors = [n for n in node.all_input_nodes if is_tensor(n)]
    others = [n for n in tensors if n not in values]
    return pointwise and len(others) < len(tensors) and not any(map(_is_reduced, others))

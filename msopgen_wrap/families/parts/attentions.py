"""Find the attentions in a graph: two products, and between them a softmax of the first one.

Cut at its products, an attention would leave its scores in the workspace. So it is tried as one
pass, whose operands other passes write where they are computed; the family of attentions decides
whether it is one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.families.parts.operand_dtypes import input_dtypes, is_view, root
from msopgen_wrap.graph.wide_products import has_input_dtypes
from msopgen_wrap.schedule.anchors import ANCHORS, anchors
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, target_name
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

_SCALINGS = {"aten.mul.Tensor", "aten.mul.Scalar", "aten.div.Tensor", "aten.div.Scalar"}


@dataclass(frozen=True)
class FoundAttention:
    """A product of what may be a softmax of another product.

    Attributes:
        result: the second product.
        operands: queries and keys without the views and factors that the pass takes in, and values
            without views.
        products: what the products read of these.
        masks: what is added to the scores, or selects of them, without views: tensors that are no
            scores. Where heads share a mask, it is a view that repeats it. A choice between two
            numbers stands there as its condition.
    """

    result: Node
    operands: tuple[Node, ...]
    products: tuple[Node, ...]
    masks: tuple[Node, ...]


def attentions(nodes: Iterable[Node]) -> Iterator[FoundAttention]:
    """Yield what may be attentions, in the order of the graph."""
    for result in anchors(nodes, "contract"):
        weights, values = result.args[:2]
        scores = _scores(weights)
        if scores is not None and isinstance(values, Node):
            read: tuple[Any, ...] = (*scores.args[:2], values)
            operands = (*map(_unscaled, scores.args[:2]), root(values))
            masks = _masks(scores, weights)
            yield FoundAttention(result, operands, tuple(map(root, read)), masks)


def attention_dtypes(
    spec: OpSpec, attention: FoundAttention, inputs: Mapping[str, str]
) -> tuple[str, ...] | None:
    """Return the dtypes that all operands of an attention have, None where they differ.

    Args:
        inputs: placeholder of the graph -> input of the spec.
    """
    found: set[tuple[str, ...]] = set()
    for operand, read in zip(attention.operands, attention.products, strict=True):
        if operand.op == "placeholder":
            found.add(spec.param(inputs[operand.name]).dtypes)
        elif has_input_dtypes(read):
            found |= input_dtypes(spec)
        else:
            found.add(("float32",) * spec.combos)
    return found.pop() if len(found) == 1 else None


def _scores(weights: Any) -> Node | None:
    """Return the one product that exponentials are made of; None where it is not one."""
    found: set[Node] = set()
    exponential = False
    pending, seen = [weights], {weights}
    while pending:
        node = pending.pop()
        if not isinstance(node, Node) or node.op != "call_function":
            continue
        if target_name(node) in ANCHORS:
            found.add(node)
            continue
        exponential |= target_name(node) == "aten.exp.default"
        pending += [above for above in node.all_input_nodes if above not in seen]
        seen.update(node.all_input_nodes)
    only = found.pop() if exponential and len(found) == 1 else None
    return only if only is not None and ANCHORS[target_name(only)] == "contract" else None


def _masks(scores: Node, weights: Any) -> tuple[Node, ...]:
    """Return the tensors that join the scores on their way to the weights."""
    made = {scores}
    for node in scores.graph.nodes:
        if any(above in made for above in node.all_input_nodes):
            made.add(node)
    found: dict[Node, None] = {}
    pending, seen = [weights], {weights}
    while pending:
        node = pending.pop()
        for above in node.all_input_nodes if node is not scores else ():
            if above in made and above not in seen:
                pending.append(above)
                seen.add(above)
            elif above not in made and _axes(above):
                found[_condition(_mask(above))] = None
    return tuple(found)


def _mask(node: Node) -> Node:
    """Return what a mask is a view of, but for the view that repeats it for heads."""
    while is_view(node):
        source: Any = node.args[0]
        expanded = source
        while target_name(expanded) in IDENTITY:
            expanded = expanded.args[0]
        joined = target_name(node) in RESHAPES and _axes(node) < _axes(source)
        if joined and target_name(expanded) == "aten.expand.default":
            break
        node = source
    return node


def _axes(node: Node) -> int:
    value = node.meta.get("val")
    return value.dim() if isinstance(value, torch.Tensor) else 0


def _condition(mask: Node) -> Node:
    """Return what decides between two numbers, else the mask itself."""
    while target_name(mask) == "aten.where.self":
        condition, *choices = mask.all_input_nodes
        if any(map(_axes, choices)):
            break
        mask = _mask(condition)
    return mask


def _unscaled(operand: Any) -> Node:
    """Return what an operand is a view or a multiple of."""
    node = root(operand)
    while target_name(node) in _SCALINGS:
        factor = node.args[1]
        if isinstance(factor, Node) and isinstance(factor.meta.get("val"), torch.Tensor):
            break
        source: Any = node.args[0]
        node = root(source)
    return node

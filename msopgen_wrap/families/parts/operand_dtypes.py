"""The dtypes of temporaries: those of values, and what products of matrices ask of operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msopgen_wrap.families.parts.temporaries import temporary_dtype
from msopgen_wrap.schedule.anchors import ANCHORS
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, VIEW_OPS, target_name
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

# Families that multiply operands of one dtype on the cube.
CUBE = {"contract", "convolution"}

_VIEWS = VIEW_OPS | RESHAPES | IDENTITY
_FLOATS = {"float16", "bfloat16", "float32"}


def stored_dtypes(spec: OpSpec, node: Node, inputs: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the dtype of a temporary per combination.

    It is what the value is computed in, with two exceptions. The cube multiplies matrices of one
    dtype, so an operand of a product has that of the input it is multiplied by. A sort keeps the
    type of integers, so their values in order have that of the input.

    Args:
        inputs: placeholder of the graph -> input of the spec.
    """
    dtype = temporary_dtype(node)
    source = inputs.get(_sorted(node))
    dtypes = spec.param(source).dtypes if source is not None else ()
    if not _FLOATS.issuperset(dtypes):
        return tuple("float32" if d in _FLOATS else d for d in dtypes)
    if dtype != "float32":
        return None if dtype is None else (dtype,) * spec.combos
    for user, operand in _multiplied(node):
        for other in user.all_input_nodes:
            name = inputs.get(root(other).name) if other is not operand else None
            param = spec.param(name) if name is not None else None
            if param is not None and all(d.startswith(("float", "bfloat")) for d in param.dtypes):
                return param.dtypes
    return (dtype,) * spec.combos


def _multiplied(node: Node) -> list[tuple[Node, Node]]:
    """Return the products that a value is an operand of, with the view of it that they read."""
    found = []
    for user in node.users:
        if ANCHORS.get(target_name(user)) in CUBE:
            found.append((user, node))
        elif user.op == "call_function" and target_name(user) in _VIEWS:
            found += _multiplied(user)
    return found


def _sorted(node: Node) -> str:
    """Return the name of the placeholder whose elements a value has in order, "" for none."""
    if target_name(node) != "operator.getitem" or node.args[1] != 0:
        return ""
    call: Any = node.args[0]
    return root(call.args[0]).name if ANCHORS.get(target_name(call)) == "order" else ""


def root(node: Node) -> Node:
    """Return what a value is a view of."""
    while node.op == "call_function" and target_name(node) in _VIEWS:
        source: Any = node.args[0]
        node = source
    return node


def reshaped(anchor: Node) -> list[Node]:
    """Return the reshape of a product that takes joined axes apart, where nothing else reads it.

    In this shape a temporary has axes that mean the same at every rank.
    """
    users = list(anchor.users)
    is_product = ANCHORS.get(target_name(anchor)) == "contract"
    return users if is_product and len(users) == 1 and target_name(users[0]) in RESHAPES else []

"""The dtypes of temporaries that a product of matrices reads, and where it writes its own."""

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


def stored_dtypes(spec: OpSpec, node: Node, inputs: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the dtype of a temporary per combination.

    It is what the value is computed in, but for an operand of a product of matrices: the cube
    multiplies matrices of one dtype, so the operand has that of the input it is multiplied by.

    Args:
        inputs: placeholder of the graph -> input of the spec.
    """
    dtype = temporary_dtype(node)
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

"""The dtypes of temporaries: those of values, and what products of matrices ask of operands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msopgen_wrap.families.parts.temporaries import temporary_dtype
from msopgen_wrap.graph.moved_values import moved_from
from msopgen_wrap.graph.wide_products import has_input_dtypes
from msopgen_wrap.schedule.anchors import ANCHORS
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, VIEW_OPS, target_name
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

# Families that multiply operands of one dtype on the cube.
CUBE = {"contract", "convolution"}

_VIEWS = VIEW_OPS | RESHAPES | IDENTITY
_FLOATS = {"float16", "bfloat16", "float32"}


def stored_dtypes(spec: OpSpec, node: Node, inputs: Mapping[str, str]) -> tuple[str, ...] | None:
    """Return the dtype of a temporary per combination.

    It is what the value is computed in, with three exceptions. A sort keeps the type of integers,
    so values in order have that of the input where this can be one. A value that is only moved has
    the dtype of the inputs it consists of: what is computed of integers is int32, which is no type
    of all inputs where other combinations have floats, or int64. The cube multiplies matrices of
    one dtype: an operand of a product has that of the input it is multiplied by, or of the product
    in the formula where that multiplies two computed values in the dtype of the inputs.

    Args:
        inputs: placeholder of the graph -> input of the spec.
    """
    dtype = temporary_dtype(node)
    source = inputs.get(_sorted(node))
    dtypes = spec.param(source).dtypes if source is not None else ()
    if not _FLOATS.issuperset(dtypes):
        return dtypes
    whole = root(node)
    moved = _moved_dtypes(spec, whole, inputs)
    own = next(iter(moved)) if len(moved) == 1 else None
    if dtype is not None and own is not None and not _FLOATS.issuperset(own):
        return own
    if dtype != "float32":
        return None if dtype is None else (dtype,) * spec.combos
    for user, operand in _multiplied(node):
        for other in user.all_input_nodes:
            name = inputs.get(root(other).name) if other is not operand else None
            param = spec.param(name) if name is not None else None
            if param is not None and _are_floats(param):
                return param.dtypes
    if has_input_dtypes(whole):
        computed = input_dtypes(spec)
        own = computed.pop() if len(computed) == 1 else None
    elif _multiplied(node):
        own = None
    return own or (dtype,) * spec.combos


def input_dtypes(spec: OpSpec) -> set[tuple[str, ...]]:
    """Return the dtypes of the floating inputs of an op."""
    return {p.dtypes for p in spec.inputs if p.site is None and _are_floats(p)}


def _are_floats(param: TensorParam) -> bool:
    return _FLOATS.issuperset(param.dtypes)


def _moved_dtypes(spec: OpSpec, node: Node, inputs: Mapping[str, str]) -> set[tuple[str, ...]]:
    """Return the dtypes of the inputs that a value is moved from; none where it is computed."""
    names = [inputs.get(source.name) for source in moved_from(node) or ()]
    params = [spec.param(name) for name in names if name is not None]
    if len(params) < len(names):
        return set()
    return {param.dtypes for param in params}


def _multiplied(node: Node) -> list[tuple[Node, Node]]:
    """Return the products that a value is an operand of, with the view of it that they read."""
    found = []
    for user in node.users:
        if ANCHORS.get(target_name(user)) in CUBE:
            found.append((user, node))
        elif is_view(user):
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
    while is_view(node):
        source: Any = node.args[0]
        node = source
    return node


def is_view(node: Node) -> bool:
    """Whether a call gives elements of its first argument; so do the pieces that a split gives."""
    if node.op != "call_function":
        return False
    if target_name(node) == "operator.getitem":
        node = node.args[0]  # type: ignore[assignment]
    return target_name(node) in _VIEWS


def reshaped(anchor: Node) -> list[Node]:
    """Return the reshape of a product that takes joined axes apart, where nothing else reads it.

    In this shape a temporary has axes that mean the same at every rank.
    """
    users = list(anchor.users)
    is_product = ANCHORS.get(target_name(anchor)) == "contract"
    return users if is_product and len(users) == 1 and target_name(users[0]) in RESHAPES else []

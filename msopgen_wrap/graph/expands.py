"""Keep few values few: what ``expand`` makes of a tensor is moved behind its users.

The gradient of a mean is one number for many elements, repeated; pointwise work on it need not be
done for every element, and beside a tensor of all elements it need not be repeated at all. Views of
a number are only other shapes to repeat it in.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_EXPAND = torch.ops.aten.expand.default
_UNSQUEEZE = torch.ops.aten.unsqueeze.default
_SELECT = torch.ops.aten.select.int
_PERMUTE = torch.ops.aten.permute.default
# What reorders elements that are all the same changes nothing.
_REORDERINGS = (torch.ops.aten.flip.default, torch.ops.aten.roll.default)


def move_expands(graph: Graph) -> None:
    """Rewrite a traced graph in place; no value changes."""
    for node in graph.nodes:  # new ones come behind the present one
        if node.target is not _EXPAND or not (_is_number(node.args[0]) or _keeps_axes(node)):
            continue
        for user in list(node.users):
            _rewrite(graph, node, user)


def _rewrite(graph: Graph, repeated: Node, user: Node) -> None:
    number: Any = repeated.args[0]
    if user.op != "call_function":
        return
    tensors = [n for n in user.all_input_nodes if _shape(n) is not None]
    sizes: list[Any] = list(repeated.args[1])  # type: ignore[arg-type]
    pointwise = torch.Tag.pointwise in getattr(user.target, "tags", ())
    if not _is_number(number) and user.target is _SELECT:
        _select(graph, repeated, user)
        return
    if not _is_number(number) and not pointwise and user.target is not _UNSQUEEZE:
        return
    if user.target is _SELECT and len(sizes) > 1:
        place: Any = user.args[1]
        del sizes[place]
        _replace(graph, user, number, sizes)
    elif user.target in _REORDERINGS and -1 not in sizes:
        _replace(graph, user, number, sizes)
    elif user.target is _PERMUTE and -1 not in sizes:
        order: Any = user.args[1]
        _replace(graph, user, number, [sizes[axis] for axis in order])
    elif user.target is _UNSQUEEZE:
        axis: Any = user.args[1]
        sizes.insert(axis % (len(sizes) + 1), 1)
        source = number if _is_number(number) else _copy(graph, user, repeated)
        _replace(graph, user, source, sizes)
    elif user.target is _EXPAND and -1 not in user.args[1]:  # type: ignore[operator]
        _replace(graph, user, number, list(user.args[1]))  # type: ignore[arg-type]
    elif not pointwise:
        return
    elif _broadcasts_to(user, [number, *(n for n in tensors if n is not repeated)]):
        user.replace_input_with(repeated, number)
    elif tensors == [repeated]:
        _replace(graph, user, _copy(graph, user, repeated), sizes)


def _select(graph: Graph, repeated: Node, user: Node) -> None:
    """Replace a selection along a repeated axis: all of its elements are the same one."""
    single: Any = repeated.args[0]
    sizes: list[Any] = list(repeated.args[1])  # type: ignore[arg-type]
    place: Any = user.args[1]
    axis = place % len(sizes)
    shape = list(_shape(single))
    if not same_size(shape.pop(axis), 1) or -1 in sizes:
        return
    if single.target is _UNSQUEEZE and single.args[1] % len(sizes) == axis:
        source = single.args[0]
    else:
        with graph.inserting_before(user):
            source = graph.call_function(torch.ops.aten.squeeze.dims, (single, [axis]))
        value = single.meta["val"]
        with value.fake_mode:
            source.meta["val"] = value.squeeze(axis)
    del sizes[axis]
    if all(same_size(one, other) for one, other in zip(shape, _shape(user), strict=True)):
        user.replace_all_uses_with(source)
    else:
        _replace(graph, user, source, sizes)


def _copy(graph: Graph, user: Node, repeated: Node) -> Node:
    """Return the call of ``user`` on what ``repeated`` repeats."""
    number: Any = repeated.args[0]
    with graph.inserting_before(user):
        single = graph.node_copy(user, lambda n: number if n is repeated else n)
    value = number.meta["val"]
    with value.fake_mode:
        own = value.unsqueeze(user.args[1]) if user.target is _UNSQUEEZE else value
        single.meta["val"] = torch.empty_like(own, dtype=user.meta["val"].dtype)
    return single


def _broadcasts_to(user: Node, tensors: list[Node]) -> bool:
    """Whether pointwise work on these tensors gives the shape of ``user``."""
    shape = _shape(user)

    def has(tensor: Node, from_end: int) -> bool:
        own = _shape(tensor)
        return len(own) >= from_end and same_size(own[-from_end], shape[-from_end])

    return all(any(has(n, i) for n in tensors) for i in range(1, len(shape) + 1))


def _replace(graph: Graph, user: Node, number: Node, sizes: list[Any]) -> None:
    with graph.inserting_before(user.next):
        new = graph.call_function(_EXPAND, (number, sizes))
    new.meta = dict(user.meta)
    user.replace_all_uses_with(new)


def _shape(node: Any) -> Any:
    value = node.meta.get("val") if isinstance(node, Node) else None
    return value.shape if isinstance(value, torch.Tensor) else None


def _is_number(node: Any) -> bool:
    shape = _shape(node)
    return shape is not None and len(shape) == 0


def _keeps_axes(node: Node) -> bool:
    """Whether an ``expand`` repeats along axes that its source has, with size 1."""
    shape, sizes = _shape(node.args[0]), node.args[1]
    return shape is not None and len(shape) == len(sizes)  # type: ignore[arg-type]

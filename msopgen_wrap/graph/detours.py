"""Leave out axes of size 1 that pointwise work has only on its way.

PyTorch's derivatives of indices compare numbers of classes with one axis more than the result has,
and drop it again. A pass with reductions has no place for such an axis: here the values on the way
get the axes that the result has.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.axes_of_one import inserted_call, is_one
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_SQUEEZES = (_aten.squeeze.dims, _aten.squeeze.dim)
_UNSQUEEZE = _aten.unsqueeze.default
_EXPAND = _aten.expand.default
# Their result along an axis of one element is that element.
_REDUCTIONS = (
    _aten.sum.dim_IntList,
    _aten.mean.dim,
    _aten.amax.default,
    _aten.amin.default,
)
# Of the shape of their argument, and pointwise for this purpose.
_FILLS = (_aten.full_like.default, _aten.zeros_like.default, _aten.ones_like.default)


def drop_passing_axes(graph: Graph) -> None:
    """Rewrite a traced graph in place; no value changes.

    An axis that pointwise work on several values has is dropped from each of them instead, down to
    the ``unsqueeze`` or the ``expand`` that made it.
    """
    pending = [node for node in graph.nodes if node.target in _SQUEEZES]
    for node in list(graph.nodes):
        if node.target in _REDUCTIONS:
            _reduce_fewer(graph, node, pending)
    while pending:
        node = pending.pop()
        source: Any = node.args[0]
        axes = _dropped(node)
        if len(axes) > 1:
            passing = [axis for axis in axes if _ends(source, axis)]
            if not passing:
                continue
            rest, result = [a for a in axes if a not in passing], source
            for axis in reversed(passing):
                result = _squeezed(graph, node, result, [axis])
                pending.append(result)
            if rest:
                places = [axis - sum(p < axis for p in passing) for axis in rest]
                result = _squeezed(graph, node, result, places)
            _take(graph, node, result)
        elif len(axes) == 1 and source.target is _UNSQUEEZE:
            _behind_unsqueeze(graph, node, axes[0], pending)
        elif len(axes) == 1 and source.target is _EXPAND:
            _before_expand(graph, node, axes[0], pending)
        elif len(axes) == 1 and _is_pointwise(source) and _passes(source, axes[0]):
            _before_work(graph, node, axes[0], pending)


def drop_reductions_of_added(graph: Graph) -> None:
    """Reduce no axis that was added just before; the graph is rewritten in place.

    The values of a pass are lined up by their axes, of which it reduces those that its inputs have.
    A slice of one element is another matter: it has none where its tensor is empty.
    """
    for node in list(graph.nodes):
        while node.target in _REDUCTIONS:
            source: Any = node.args[0]
            if source.target is not _UNSQUEEZE or len(node.args) < 2:
                break
            listed, *keep = node.args[1:]
            rank = source.meta["val"].dim()
            added = source.args[1] % rank
            dims = sorted(d % rank for d in listed or range(rank))  # type: ignore[union-attr]
            if added not in dims or source.meta["val"].dtype != node.meta["val"].dtype:
                break
            inner, rest = source.args[0], [d - (d > added) for d in dims if d != added]
            reduced = inserted_call(graph, node, node.target, inner, rest, *keep) if rest else inner
            result = (
                inserted_call(graph, node, _UNSQUEEZE, reduced, added) if any(keep) else reduced
            )
            _take(graph, node, result)
            if not rest:
                break
            node = reduced  # what it reduces may have got another axis


def _reduce_fewer(graph: Graph, node: Node, pending: list[Node]) -> None:
    """Drop the axes of size 1 of what a reduction over all axes reads: it reduces none of them."""
    source: Any = node.args[0]
    rank = source.meta["val"].dim()
    listed: Any = node.args[1] if len(node.args) > 1 else []
    keeps = node.args[2] if len(node.args) > 2 else node.kwargs.get("keepdim", False)
    whole = not listed or len({int(a) % rank for a in listed}) == rank
    gone = [a for a in range(rank) if _ends(source, a)] if whole and not keeps else []
    for axis in reversed(gone):
        source = _squeezed(graph, node, source, [axis])
        pending.append(source)
    if gone:
        node.args = (source, list(range(rank - len(gone))), *node.args[2:])


def _dropped(node: Node) -> list[int]:
    """Return the axes that a squeeze drops in every call, counted from the front, in order."""
    source: Any = node.args[0]
    value, listed = source.meta.get("val"), node.args[1]
    if not isinstance(value, torch.Tensor):
        return []
    places = listed if isinstance(listed, (list, tuple)) else [listed]
    axes = sorted(int(a) % value.dim() for a in places)  # type: ignore[arg-type]
    return axes if all(is_one(value.shape[a]) for a in axes) else []


def _behind_unsqueeze(graph: Graph, node: Node, axis: int, pending: list[Node]) -> None:
    above: Any = node.args[0]
    below, shape = above.args[0], above.meta["val"].shape
    added = int(above.args[1]) % len(shape)
    first, last = sorted((added, axis))
    if all(map(is_one, shape[first : last + 1])):
        _take(graph, node, below)
        return
    inner = _squeezed(graph, node, below, [axis - (axis > added)])
    with graph.inserting_before(node):
        outer = graph.call_function(_UNSQUEEZE, (inner, added - (added > axis)))
    outer.meta = dict(node.meta)
    _take(graph, node, outer)
    pending.append(inner)


def _before_expand(graph: Graph, node: Node, axis: int, pending: list[Node]) -> None:
    repeated: Any = node.args[0]
    source, sizes = repeated.args[0], list(repeated.args[1])
    place = axis - len(sizes) + source.meta["val"].dim()
    if place >= 0:
        source = _squeezed(graph, node, source, [place])
        pending.append(source)
    del sizes[axis]
    with graph.inserting_before(node):
        expanded = graph.call_function(_EXPAND, (source, sizes))
    expanded.meta = dict(node.meta)
    _take(graph, node, expanded)


def _before_work(graph: Graph, node: Node, axis: int, pending: list[Node]) -> None:
    work: Any = node.args[0]
    rank = work.meta["val"].dim()

    def changed(argument: Node) -> Node:
        value = argument.meta.get("val")
        place = axis - rank + value.dim() if isinstance(value, torch.Tensor) else -1
        if place < 0:
            return argument
        pending.append(_squeezed(graph, node, argument, [place]))
        return pending[-1]

    args = torch.fx.node.map_arg(work.args, changed)
    kwargs = torch.fx.node.map_arg(work.kwargs, changed)
    with graph.inserting_before(node):
        moved = graph.call_function(work.target, args, kwargs)
    moved.meta = dict(node.meta)
    _take(graph, node, moved)


def _passes(work: Node, axis: int) -> bool:
    """Whether an axis of pointwise work ends in its origin in every argument that has it.

    A squeeze of anything else would only be another call.
    """
    rank = work.meta["val"].dim()
    for argument in work.all_input_nodes:
        value = argument.meta.get("val")
        place = axis - rank + value.dim() if isinstance(value, torch.Tensor) else -1
        if place >= 0 and not _ends(argument, place):
            return False
    return True


def _ends(node: Node, axis: int) -> bool:
    """Whether an axis was added, with size 1, on the way to ``node``."""
    shape = node.meta["val"].shape
    if not is_one(shape[axis]):
        return False
    if node.target is _UNSQUEEZE:
        added = int(node.args[1]) % len(shape)  # type: ignore[arg-type]
        first, last = sorted((added, axis))
        beside = all(map(is_one, shape[first : last + 1]))
        return beside or _ends(node.args[0], axis - (axis > added))  # type: ignore[arg-type]
    if node.target is _EXPAND:
        source: Any = node.args[0]
        place = axis - len(shape) + source.meta["val"].dim()
        return place < 0 or _ends(source, place)
    return _is_pointwise(node) and _passes(node, axis)


def _is_pointwise(node: Node) -> bool:
    target = node.target
    if not isinstance(target, torch._ops.OpOverload) or target is _aten.clone.default:
        return False
    conversions = (*_FILLS, _aten._to_copy.default)
    tensor = isinstance(node.meta.get("val"), torch.Tensor)
    return tensor and (torch.Tag.pointwise in target.tags or target in conversions)


def _squeezed(graph: Graph, before: Node, source: Node, axes: list[int]) -> Node:
    return inserted_call(graph, before, _aten.squeeze.dims, source, axes)


def _take(graph: Graph, node: Node, instead: Node) -> None:
    node.replace_all_uses_with(instead)
    graph.erase_node(node)

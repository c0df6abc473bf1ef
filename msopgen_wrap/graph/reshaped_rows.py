"""Move reshapes of rows behind the pointwise work on them.

``F.silu(F.group_norm(x, ...))`` reduces groups of channels, reshapes to the shape of ``x`` and goes
on there. A kernel with reductions has one space. So the pointwise work is done in the shape of the
groups, and its result is reshaped: an output is stored in any shape that has its elements in order.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msopgen_wrap.graph.axes_of_one import is_one
from msopgen_wrap.graph.sizes import same_shape
from msopgen_wrap.graph.views import (
    RESHAPES,
    has_named_tensors,
    is_pointwise,
    is_stored,
    is_tensor,
    keeps_order,
    made_of_inputs,
)
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_REDUCTIONS = (
    _aten.sum.dim_IntList,
    _aten.mean.dim,
    _aten.amax.default,
    _aten.amin.default,
    _aten.var.correction,
    _aten.prod.dim_int,
    _aten.any.dims,
    _aten.argmax.default,
    _aten.argmin.default,
)
_KEPT_ORDER = (*RESHAPES, _aten.unsqueeze.default, _aten.expand.default)
# Axes of the shape before a reshape, and axes behind it, which hold the same elements.
Groups = list[tuple[list[int], list[int]]]


def move_reshapes_behind_work(graph: Graph) -> None:
    """Rewrite a traced graph in place; no value changes.

    A reshape stays where something other than pointwise work reads it, and where that work reads a
    tensor which repeats along a part of what the reshape joined.
    """
    for node in list(graph.nodes):
        if node.target not in RESHAPES or is_stored(node) or not _has_rows(node.args[0]):
            continue
        groups = _groups(_sizes(node.args[0]), _sizes(node))
        sizes = None if groups is None else _written_sizes(graph, node.args[0])
        if groups is not None and sizes is not None:
            _Work(graph, node, groups, sizes).move()
    graph.eliminate_dead_code()


class _Work:
    """The pointwise work behind one reshape.

    Attributes:
        plain: nodes that are made of inputs by pointwise work and views alone.
        inside: nodes of the work -> the nodes that stand for them before the reshape.
    """

    def __init__(self, graph: Graph, reshape: Node, groups: Groups, sizes: Sequence[Any]) -> None:
        self.graph, self.reshape, self.groups, self.sizes = graph, reshape, groups, sizes
        self.source: Any = reshape.args[0]
        self.plain = made_of_inputs(graph)
        self.nodes = self._found()
        self.inside: dict[Any, Any] = {reshape: reshape.args[0]}

    def move(self) -> None:
        """Do the work before the reshape, where all that reads the reshape is such work."""
        within = {self.reshape, *self.nodes}
        leaving = [n for n in self.nodes if any(user not in within for user in n.users)]
        if not self.nodes or any(user not in within for user in self.reshape.users):
            return
        if len(leaving) > 1 and not all(map(is_stored, leaving)):
            return  # each would go through the workspace
        for node in self.nodes:
            self._redo(node)
        for node in leaving:
            self._leave(node, within)

    def _found(self) -> list[Node]:
        found: dict[Node, None] = {}
        node = self.reshape.next
        while node.op != "root":
            known = any(n is self.reshape or n in found for n in node.all_input_nodes)
            if known and is_pointwise(node) and self._as_large(node):
                others = [n for n in _tensors(node) if n is not self.reshape and n not in found]
                if not has_named_tensors(node) and all(map(self._has_place, others)):
                    found[node] = None
            node = node.next
        return list(found)

    def _as_large(self, node: Node) -> bool:
        """Whether what broadcasting makes of the reshaped tensor and others is as large as that."""
        return [*map(_traced, _sizes(node))] == [*map(_traced, _sizes(self.reshape))]

    def _has_place(self, node: Node) -> bool:
        """Whether a tensor that the work reads has a shape before the reshape."""
        if not len(_sizes(node)) or self._is_undone(node):
            return True
        return node in self.plain and keeps_order(node) and self._shape_of(node) is not None

    def _is_undone(self, node: Node) -> bool:
        """Whether a tensor is reshaped in the same way."""
        return node.target in RESHAPES and same_shape(node.args[0], self.source)

    def _shape_of(self, node: Node) -> list[Any] | None:
        """Return the sizes of a tensor before the reshape, None where it has none.

        It has all elements of what a group of axes holds, or one.
        """
        own, whole = _sizes(node), _sizes(self.reshape)
        missing = len(whole) - len(own)
        shape: list[Any] = [1] * len(self.sizes)
        for before, behind in self.groups:
            axes = [axis for axis in behind if not is_one(whole[axis])]
            repeated = [a < missing or is_one(own[a - missing]) for a in axes]
            if any(repeated) and not all(repeated):
                return None
            if not all(repeated):
                for axis in before:
                    shape[axis] = self.sizes[axis]
        return shape

    def _redo(self, node: Node) -> None:
        def before(argument: Any) -> Any:
            if not isinstance(argument, Node) or not is_tensor(argument):
                return argument
            if argument in self.inside:
                return self.inside[argument]
            if not len(_sizes(argument)):
                return argument
            if self._is_undone(argument):
                return argument.args[0]
            shape = self._shape_of(argument)
            assert shape is not None
            value = self.graph.call_function(_aten.reshape.default, (argument, shape))
            sizes = [getattr(s, "meta", {}).get("val", s) for s in shape]
            value.meta["val"] = argument.meta["val"].new_empty(sizes)
            return value

        with self.graph.inserting_before(node):
            arguments = tuple(before(argument) for argument in node.args)
            moved = self.graph.call_function(node.target, arguments, node.kwargs)  # type: ignore[arg-type]
        moved.meta = dict(node.meta)
        moved.meta["val"] = node.meta["val"].new_empty(self.source.meta["val"].shape)
        self.inside[node] = moved

    def _leave(self, node: Node, within: set[Node]) -> None:
        """Reshape what the work gives to others."""
        moved = self.inside[node]
        with self.graph.inserting_after(moved):
            arguments = (moved, *self.reshape.args[1:])
            shown = self.graph.call_function(self.reshape.target, arguments)  # type: ignore[arg-type]
        shown.meta = dict(node.meta)
        for user in [user for user in node.users if user not in within]:
            if user.target in RESHAPES and same_shape(user, moved):
                user.replace_all_uses_with(moved)
            else:
                user.replace_input_with(node, shown)


def _has_rows(value: Any) -> bool:
    """Whether a value is made by pointwise work of reductions, and of inputs."""
    pending, seen, found = [value], {value}, False
    while pending:
        node = pending.pop()
        if node.target in _REDUCTIONS:
            found = True
        elif not _keeps_order(node):
            return False
        inputs = [n for n in node.all_input_nodes if n not in seen]
        pending += inputs
        seen.update(inputs)
    return found


def _keeps_order(node: Node) -> bool:
    """Whether a node has the elements of its arguments in their order, or makes no tensor."""
    makes_tensor = node.op == "call_function" and is_tensor(node)
    return not makes_tensor or is_pointwise(node) or node.target in _KEPT_ORDER


def _written_sizes(graph: Graph, value: Any) -> list[Any] | None:
    """Return the sizes of a value as the graph writes them: of the view or input it is made of."""
    pending, seen = [value], {value}
    while pending:
        node = pending.pop()
        if node.target in RESHAPES:
            return list(node.args[1])
        if node.op == "placeholder":
            return _input_sizes(graph, node)
        inputs = [n for n in _tensors(node) if n not in seen and same_shape(n, value)]
        pending += inputs
        seen.update(inputs)
    return None


def _input_sizes(graph: Graph, node: Node) -> list[Any]:
    """Return the sizes of an input: numbers, and calls that read them."""
    read = {n.args[1]: n for n in node.users if n.target is _aten.sym_size.int and len(n.args) == 2}
    sizes: list[Any] = []
    for axis, size in enumerate(_sizes(node)):
        if not isinstance(size, torch.SymInt):
            sizes.append(size)
            continue
        if axis not in read:
            with graph.inserting_after(node):
                read[axis] = graph.call_function(_aten.sym_size.int, (node, axis))
            read[axis].meta["val"] = size
        sizes.append(read[axis])
    return sizes


def _groups(before: Sequence[Any], behind: Sequence[Any]) -> Groups | None:
    """Return which axes of two shapes hold the same elements, None where only axes of 1 differ.

    The sizes at which the graph is traced decide. They differ from each other, and the finished
    graph is tried at others where the op has no attr that counts.
    """
    first, second = ([(i, _traced(s)) for i, s in enumerate(shape)] for shape in (before, behind))
    groups: Groups = []
    rows, columns = ([pair for pair in pairs if pair[1] != 1] for pairs in (first, second))
    while rows and columns:
        (row, left), (column, right) = rows.pop(0), columns.pop(0)
        axes, others = [row], [column]
        while left != right:
            shorter = rows if left < right else columns
            if not shorter:
                return None
            axis, size = shorter.pop(0)
            (axes if shorter is rows else others).append(axis)
            left, right = (left * size, right) if shorter is rows else (left, right * size)
        groups.append((axes, others))
    if rows or columns or all(len(a) == len(b) == 1 for a, b in groups):
        return None  # axes of size 1 alone come and go
    return groups


def _traced(size: Any) -> int:
    return int(size.node.hint) if isinstance(size, torch.SymInt) else int(size)


def _tensors(node: Node) -> list[Node]:
    """Return the tensors among the arguments of a call."""
    return [n for n in node.all_input_nodes if is_tensor(n)]


def _sizes(node: Any) -> Sequence[Any]:
    shape: Sequence[Any] = node.meta["val"].shape
    return shape

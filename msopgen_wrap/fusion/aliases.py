"""Which values of a graph may share memory, and until when somebody reads it."""

from __future__ import annotations

import operator
from typing import Any

from msopgen_wrap.fusion.conversion import packet_name
from msopgen_wrap.fusion.regions import storage_of
from msopgen_wrap.fusion.terms import names_in
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
OpOverload = torch._ops.OpOverload

# Results of these are their operand itself in some cases, and the schema does not say so.
_MAY_BE_OPERAND = names_in("dropout alpha_dropout feature_dropout type_as reshape contiguous to")


class Aliases:
    """Values of one graph that may be the same memory form a class.

    What may be a view counts as one, whatever the example's strides made of it: kernels may give
    other strides than those that were traced.

    Args:
        graph: of a model, nodes with fake values in ``meta``.
    """

    def __init__(self, graph: Any) -> None:
        self.order = {node: i for i, node in enumerate(graph.nodes)}
        self._parent: dict[Any, Any] = {}
        storages: dict[int, Any] = {}
        for node in graph.nodes:
            for value in torch.utils._pytree.tree_leaves(node.meta.get("val")):
                storage = storage_of(value)
                if storage is not None and node.op != "output":
                    self._join(node, storages.setdefault(storage, node))
            for source in node.all_input_nodes if _may_alias(node) else ():
                self._join(node, source)
        self._members: dict[Any, list[Any]] = {}
        for node in graph.nodes:
            if node.op != "output":
                self._members.setdefault(self._root(node), []).append(node)

    def _root(self, node: Any) -> Any:
        while self._parent.get(node, node) is not node:
            node = self._parent[node]
        return node

    def _join(self, one: Any, other: Any) -> None:
        self._parent[self._root(one)] = self._root(other)

    def members(self, node: Any) -> list[Any]:
        """Return the values that may be the memory of a node, itself included."""
        return self._members[self._root(node)]

    def is_private(self, node: Any) -> bool:
        """Whether the memory belongs to a temporary: the graph makes it by plain operators."""
        return all(
            n.op == "call_function"
            and (isinstance(n.target, OpOverload) or n.target is operator.getitem)
            for n in self.members(node)
        )

    def is_read_after(self, node: Any, place: Any, *, but: tuple[Any, ...] = ()) -> bool:
        """Whether a value in the memory of ``node`` that exists at ``place`` is read after it.

        Args:
            but: values whose readers do not count.
        """
        now = self.order[place]
        return any(
            self.order[user] > now
            for member in self.members(node)
            if self.order[member] < now and member not in but
            for user in member.users
        )


def _may_alias(node: Any) -> bool:
    if node.op != "call_function":
        return False
    if not isinstance(node.target, OpOverload):
        return node.target not in (operator.add, operator.mul, operator.sub)
    if packet_name(node.target) in _MAY_BE_OPERAND:
        return True
    return any(a.alias_info is not None for a in node.target._schema.arguments)

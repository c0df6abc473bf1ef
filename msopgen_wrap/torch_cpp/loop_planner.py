"""A traced graph as loop nests.

A nest is planned from its results down: the value of a node is asked for at the axes of the nest
(``places``: which axis of the nest each axis of the node is), and asks for its arguments in turn.
Broadcast, ``unsqueeze``, ``squeeze`` and ``permute`` only change the places. Other views apply to
inputs and to temporaries, before the loops. Reductions over the same axes of the same shape share
a nest; others get nests of their own, and what they give is a temporary, a tensor of one value per
row. A matrix product is the reduction of a product: rows are elements of the result.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, reduction_kind, target_name
from msopgen_wrap.torch_cpp.loop_values import FULL, ROW, LoopNest, Store, Value
from msopgen_wrap.torch_cpp.nest_values import (
    PRODUCTS,
    NestValues,
    NotHere,
    Places,
    dtype_name,
    factors,
    shape_of,
    space_of,
)
from msopgen_wrap.torch_cpp.refusals import unsupported_call
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node


def split_products(graph: torch.fx.Graph) -> None:
    """Write ``addmm`` and ``baddbmm`` as a product and a sum, which the loops have."""
    aten = torch.ops.aten
    products = {aten.addmm.default: aten.mm.default, aten.baddbmm.default: aten.bmm.default}
    for node in list(graph.nodes):
        if node.target not in products:
            continue
        first, *factors_ = node.args
        scales = [(node.kwargs.get("alpha", 1), True), (node.kwargs.get("beta", 1), False)]
        with graph.inserting_before(node):
            product = graph.call_function(products[node.target], tuple(factors_))
            product.meta["val"] = node.meta["val"]
            terms = {True: product, False: first}
            for scale, of_product in scales:
                if scale != 1:
                    term = terms[of_product]
                    terms[of_product] = graph.call_function(aten.mul.Tensor, (term, scale))
                    terms[of_product].meta["val"] = term.meta["val"]
            total = graph.call_function(aten.add.Tensor, (terms[True], terms[False]))
            total.meta["val"] = node.meta["val"]
        node.replace_all_uses_with(total)
        graph.erase_node(node)


class LoopPlanner(NestValues):
    """Plans the nests of one traced graph; the arguments are those of ``NestValues``."""

    def plan(self) -> list[LoopNest]:
        """Return the nests in the order in which they run.

        Raises:
            OpgenError: OPG570 for what has no loop.
        """
        split_products(self.traced.graph)
        for node in self.traced.graph.nodes:
            if node.op == "call_function" and space_of(node) is not None:
                self._place_reduction(node)
        for name, node in self._results():
            self._place_output(name, node)
        return self.nests

    def _results(self) -> list[tuple[str, Any]]:
        """Return the nodes of the outputs, as the graph has them now."""
        end = next(n for n in self.traced.graph.nodes if n.op == "output")
        nodes: Any = end.args[0]
        given = zip(self.traced.outputs.items(), nodes, strict=True)
        return [(name, new if isinstance(old, Node) else old) for (name, old), new in given]

    # ---- nests ---------------------------------------------------------------------------------

    def _place_reduction(self, node: Node) -> None:
        space = space_of(node)
        assert space is not None
        shape, axes = space
        for index, nest in enumerate(self.nests):
            if (nest.shape, nest.reduced) == (shape, axes) and self._try(index, node):
                return
        self._open(shape, axes)
        if not self._try(len(self.nests) - 1, node):
            raise unsupported_call(self.spec, node, "it reduces a value that no loop gives")

    def _open(self, shape: tuple[str, ...], axes: frozenset[int]) -> int:
        self.nests.append(LoopNest(len(shape), shape, axes))
        self.values.append({})
        return len(self.nests) - 1

    def _try(self, index: int, node: Node) -> bool:
        nest, values = self.nests[index], self.values[index]
        kept = (list(nest.operands), list(nest.reductions), list(nest.domains), dict(values))
        stores = {n: list(self.nests[n].stores) for n in range(len(self.nests))}
        temporaries = dict(self.temporaries)
        try:
            self._reduce(index, node)
        except NotHere:
            nest.operands, nest.reductions, nest.domains = kept[0], kept[1], kept[2]
            self.values[index] = kept[3]
            self.temporaries = temporaries
            for n, rows in stores.items():
                self.nests[n].stores = rows
            return False
        self.home[node] = index
        return True

    def _reduce(self, index: int, node: Node) -> None:
        nest = self.nests[index]
        rank = nest.rank
        if target_name(node) in PRODUCTS:
            first, second = factors(node)
            batch = tuple(range(rank - 3))
            left = self.value(index, first, (*batch, rank - 3, rank - 1))
            right = self.value(index, second, (*batch, rank - 1, rank - 2))
            dtype = dtype_name(node.meta["val"])
            product = self.make("call", dtype, FULL, "product", (left, right), "aten.mul")
            kind, operand = "sum", product
            nest.product = True
        else:
            kind = str(reduction_kind(node))
            operand = self.value(index, node.args[0], tuple(range(rank)))
        value = node.meta["val"]
        value = value[0] if isinstance(value, (tuple, list)) else value
        result = self.make("reduction", dtype_name(value), ROW, node.name, (operand,), kind)
        result.depth = operand.depth + 1
        nest.reductions.append(result)
        nest.domains.append(frozenset(_loads(operand)))
        self.values[index][node] = result

    def _place_output(self, name: str, node: Any) -> None:
        storage = self.storages[name]
        tensor = self.unique(self.names[name])
        if not isinstance(node, Node):
            index = self._open((f"number of {name}",), frozenset())
            number = self.number(node)
            self.nests[index].stores.append(Store(number, tensor, storage, name))
            return
        reshaped = False
        inner = node
        while target_name(inner) in {*RESHAPES, *IDENTITY}:
            reshaped = reshaped or target_name(inner) in RESHAPES
            inner = inner.args[0]  # type: ignore[assignment]
        for index in range(len(self.nests)):
            nest = self.nests[index]
            if nest.has_rows and self._store(index, inner, tensor, storage, name, reshaped):
                return
        shape = tuple(map(str, shape_of(inner)))
        for index, nest in enumerate(self.nests):
            same = not nest.has_rows and nest.shape == shape and nest.reshaped == reshaped
            if same and self._store(index, inner, tensor, storage, name, reshaped):
                return
        index = self._open(shape, frozenset())
        if not self._store(index, inner, tensor, storage, name, reshaped):
            raise unsupported_call(self.spec, inner)

    def _store(
        self, index: int, node: Node, tensor: str, storage: str, name: str, reshaped: bool
    ) -> bool:
        nest = self.nests[index]
        places = self._result_places(nest, node)
        if places is None or any(where > index for where in self._homes(node)):
            return False
        kept = (list(nest.operands), dict(self.values[index]))
        try:
            value = self.value(index, node, places)
        except NotHere as error:
            nest.operands, self.values[index] = kept
            if not nest.has_rows:
                raise unsupported_call(
                    self.spec, error.node, "it is a view of a computed value"
                ) from None
            return False
        covers = tuple(map(str, shape_of(node))) == nest.shape
        if value.level == FULL and not covers:
            return False
        if value.level == ROW and covers:  # the same value for all elements of a row
            value = self.make("call", value.dtype, FULL, node.name, (value,), "aten._to_copy")
        nest.reshaped = nest.reshaped or reshaped
        nest.stores.append(Store(value, tensor, storage, name))
        return True

    def _result_places(self, nest: LoopNest, node: Node) -> Places | None:
        """Return how a result lies in a nest: as all of its elements, or one per row."""
        shape = tuple(map(str, shape_of(node)))
        if shape == nest.shape:
            return tuple(range(nest.rank))
        if not nest.has_rows:
            return None
        kept = tuple("1" if i in nest.reduced else s for i, s in enumerate(nest.shape))
        if shape == kept:
            return tuple(None if i in nest.reduced else i for i in range(nest.rank))
        rest = [i for i in range(nest.rank) if i not in nest.reduced]
        return tuple(rest) if shape == tuple(nest.shape[i] for i in rest) else None

    def _homes(self, node: Node, seen: set[Node] | None = None) -> set[int]:
        """Return the nests whose reductions a node is computed from."""
        seen = set() if seen is None else seen
        found: set[int] = set()
        for argument in [node, *node.all_input_nodes]:
            if argument in seen:
                continue
            seen.add(argument)
            if argument in self.home:
                found.add(self.home[argument])
            elif argument is not node:
                found |= self._homes(argument, seen)
        return found


def _loads(value: Value) -> set[int]:
    """Return the operands that a value reads for each element, without those behind reductions."""
    if value.kind == "load":
        return {value.operand} if value.level == FULL else set()
    if value.kind == "reduction":
        return set()
    more = [v for v in value.options.values() if isinstance(v, Value)]
    return {place for a in (*value.args, *more) for place in _loads(a)}

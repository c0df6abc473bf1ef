"""Read the call of a graph that puts the elements of rows in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from msopgen_wrap.families.anchor_reader import AnchorReader
from msopgen_wrap.graph.host_text import simplified
from msopgen_wrap.graph.scalars import Const, ScalarExpr, has_attr
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, VIEW_OPS, Node, target_name
from msopgen_wrap.torch_import import torch

_FIRST = Const(0)
# Shapes that hold the same elements: what removes the axis of a single element, too.
_SHAPES = RESHAPES | {"aten.squeeze.dim", "aten.squeeze.dims", "aten.unsqueeze.default"}


@dataclass(frozen=True)
class OrderCall:
    """One call.

    Attributes:
        tensor: the operand.
        pick: ``range``, ``median`` or ``nanmedian``, as ``graph/orders.py`` has it.
        values: the output that holds the values, "" where none does.
        places: the output that holds the position of each value in its row, "" where none does.
        axis: of the rows, from the front; that of an attr where ``attr`` names it.
        rank: of the tensor in the sample.
        attr: the attr that gives the axis, "" where it is fixed.
        descending: whether the largest elements come first.
        first: of the elements in order, the first one of the results.
        count: results per row; None: all elements.
    """

    tensor: str
    pick: str
    values: str
    places: str
    axis: int
    rank: int
    attr: str = ""
    descending: bool = False
    first: ScalarExpr = _FIRST
    count: ScalarExpr | None = None

    @property
    def chooses(self) -> bool:
        """Whether results are single elements, not the first ones of the order."""
        return self.pick != "range" or self.first != _FIRST

    def numbers(self) -> list[ScalarExpr]:
        """Return the numbers that the tiling function reads."""
        return [self.first, *([self.count] if self.count is not None else [])]


@dataclass
class OrderReader(AnchorReader):
    """Reads the call of a graph."""

    anchor = "order"
    makes = "a pass that sorts reads a tensor in memory and writes elements in order"

    def read(self) -> OrderCall:
        """Return the call whose results the outputs of the graph are.

        Raises:
            OpgenError: OPG350 where there is more in the graph than this family makes.
        """
        node, named = self.call_behind_outputs()
        arguments: Any = node.args
        given, pick, dim, descending, first, count = arguments
        tensor = self.tensor(given)
        shape = given.meta["val"].shape
        rank = max(1, len(shape))
        axis = int(dim) % rank
        call = OrderCall(
            tensor,
            str(pick),
            named.get(0, ""),
            named.get(1, ""),
            axis,
            rank,
            descending=bool(descending),
            first=simplified(self.number(first)),
            count=self._results(given, axis, count),
        )
        dims = [n for n in self.traced.structural if self._is_axis(n, call)]
        return replace(call, attr=dims[0]) if dims else call

    def _results(self, given: Any, axis: int, count: Any) -> ScalarExpr | None:
        """Return how many results a row has, None for all."""
        shape = given.meta["val"].shape
        if count is (shape[axis] if len(shape) else 1):
            return None
        number = simplified(self.number(count))
        # sizes of the sample that an attr has shaped are equal at its own value, maybe
        if isinstance(count, Node) and not (self.traced.structural and has_attr(number)):
            value, length = count.meta.get("val"), shape[axis] if len(shape) else 1
            symbols = [getattr(n, "node", None) for n in (value, length)]
            if None not in symbols and symbols[0].expr == symbols[1].expr:  # type: ignore[union-attr]
                return None
        return number

    def _is_axis(self, name: str, call: OrderCall) -> bool:
        value = self.traced.structural[name]
        whole = type(value) is int and -call.rank <= value < call.rank
        return whole and value % call.rank == call.axis

    def keeps_elements(self, node: Node, stored: bool) -> bool:
        """Whether an output has the elements of what a call of the graph reads, in int32 too."""
        kept = super().keeps_elements(node, stored)
        return kept or (stored and target_name(node) in _SHAPES) or _is_narrowed(node)

    def tensor(self, value: Any) -> str:
        """Return the operand that the call reads; raises OPG350 where it is no view of an input."""
        source = value
        while target_name(source) in VIEW_OPS | RESHAPES | IDENTITY:
            source = source.args[0]
        if source.op != "placeholder":
            raise self.refusal(value, "the tensor is computed")
        return super().tensor(value)


def _is_narrowed(node: Node) -> bool:
    """Whether a call gives positions in int32."""
    if target_name(node) != "aten._to_copy.default":
        return False
    source: Any = node.args[0]
    return node.meta["val"].dtype is torch.int32 and source.meta["val"].dtype is torch.int64

"""Read the call of a graph that puts the elements of rows in order."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.host_text import simplified
from msopgen_wrap.graph.scalars import Const, ScalarExpr
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, VIEW_OPS, Node, target_name
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.schedule.views import View
from msopgen_wrap.torch_import import torch

_FIRST = Const(0)
# Steps that leave the elements of a tensor in their order in memory.
_STEPS = {"unsqueeze", "squeeze", "reshape"}
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
class OrderReader(Lowerer):
    """Reads the call of a graph."""

    def read(self) -> OrderCall:
        """Return the call whose results the outputs of the graph are.

        Raises:
            OpgenError: OPG350 where there is more in the graph than this family makes.
        """
        results = {p.name: self._result(p.name) for p in self.spec.outputs}
        found = anchors(self.traced.graph.nodes, "order")
        node = next((call for call, _ in results.values() if call is not None), None)
        if node is None:
            raise self.refusal(found[0], "its results are not the outputs")
        if any(call is not node for call, _ in results.values()):
            raise self.refusal(node, "there are other outputs")
        places = [number for _, number in results.values()]
        if len(set(places)) < len(places):
            raise self.refusal(node, "an output is there twice")
        named = {number: name for name, (_, number) in results.items()}
        arguments: Any = node.args
        given, pick, dim, descending, first, count = arguments
        tensor = self._tensor(given)
        shape = given.meta["val"].shape
        rank = max(1, len(shape))
        axis = int(dim) % rank
        numbers = simplified(self._number(first)), self._results(given, axis, count)
        call = OrderCall(
            tensor,
            str(pick),
            named.get(0, ""),
            named.get(1, ""),
            axis,
            rank,
            descending=bool(descending),
            first=numbers[0],
            count=numbers[1],
        )
        dims = [n for n in self.traced.structural if self._is_axis(n, call)]
        return replace(call, attr=dims[0]) if dims else call

    def _results(self, given: Any, axis: int, count: Any) -> ScalarExpr | None:
        """Return how many results a row has, None for all."""
        shape = given.meta["val"].shape
        if count is (shape[axis] if len(shape) else 1):
            return None
        if isinstance(count, Node):
            value, length = count.meta.get("val"), shape[axis] if len(shape) else 1
            symbols = [getattr(n, "node", None) for n in (value, length)]
            if None not in symbols and symbols[0].expr == symbols[1].expr:  # type: ignore[union-attr]
                return None
        return simplified(self._number(count))

    def _is_axis(self, name: str, call: OrderCall) -> bool:
        value = self.traced.structural[name]
        whole = type(value) is int and -call.rank <= value < call.rank
        return whole and value % call.rank == call.axis

    def _result(self, name: str) -> tuple[Node | None, int]:
        """Return the call behind an output, and which of its results that is."""
        node = self.traced.outputs[name]
        stored = self.spec.param(name).site is None
        while (
            target_name(node) in IDENTITY
            or (stored and target_name(node) in _SHAPES)
            or _is_narrowed(node)
        ):
            node = node.args[0]
        number = 0
        if target_name(node) == "operator.getitem":
            node, number = node.args
        found = isinstance(node, Node) and node in anchors(self.traced.graph.nodes, "order")
        return (node if found else None), number

    def _tensor(self, value: Any) -> str:
        """Return the operand that the call reads.

        Raises:
            OpgenError: OPG350 where it is no input whose elements lie as they are read.
        """
        source = value
        while target_name(source) in VIEW_OPS | RESHAPES | IDENTITY:
            source = source.args[0]
        if source.op != "placeholder":
            raise self.refusal(value, "the tensor is computed")
        try:
            self._lower(value)
            found = self.values[value]
        except OpgenError as error:
            if any(d.code not in ("OPG331", "OPG332", "OPG333") for d in error.diagnostics):
                raise
            found = None
        if not isinstance(found, View) or found.counted is not None:
            raise self.refusal(value, "the tensor is computed")
        if any(step.op not in _STEPS for step in found.steps):
            raise self.refusal(value, "the tensor has its elements in another order")
        self.operands[found.tensor] = found
        return found.tensor

    def _number(self, value: Any) -> ScalarExpr:
        if isinstance(value, Node):
            self._lower(value)
        return self.scalar_expr(value)

    def _lower(self, node: Node) -> None:
        """Lower a node and what it is made of, in the order of the graph."""
        wanted, pending = {node}, [node]
        while pending:
            for above in pending.pop().all_input_nodes:
                if above not in wanted and above not in self.values:
                    wanted.add(above)
                    pending.append(above)
        for above in self.traced.graph.nodes:
            if above in wanted and above not in self.values:
                self.values[above] = self.lowered(above)

    def refusal(self, node: Node, why: str) -> OpgenError:
        """Return the error for a graph with more than one pass of this family makes."""
        return OpgenError(
            Diagnostic(
                "OPG350",
                f"{target_name(node)} is not all that a pass makes: {why}",
                self.location(""),
                "a pass that sorts reads a tensor in memory and writes elements in order",
                "split the op, or write the kernel with `kernel:`",
            )
        )


def _is_narrowed(node: Node) -> bool:
    """Whether a call gives positions in int32."""
    if target_name(node) != "aten._to_copy.default":
        return False
    source: Any = node.args[0]
    return node.meta["val"].dtype is torch.int32 and source.meta["val"].dtype is torch.int64

"""Read a graph whose outputs are the results of one call that reads a tensor in memory."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, ClassVar

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.scalars import ScalarExpr
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, Node, target_name
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.schedule.views import View

# Steps that leave the elements of a tensor in their order in memory.
DENSE_STEPS = frozenset({"unsqueeze", "squeeze", "reshape"})
# Refusals of a value that no view of an input is; another pass may write it.
_COMPUTED = ("OPG331", "OPG332", "OPG333")


@dataclass
class AnchorReader(Lowerer):
    """Reads the call of a graph, for the families whose calls have outputs of their own.

    Attributes:
        anchor: the family whose call it is.
        makes: what a pass of the family does, for refusals.
    """

    anchor: ClassVar[str]
    makes: ClassVar[str]

    def call_behind_outputs(self) -> tuple[Node, dict[int, str]]:
        """Return the call, and the outputs by which of its results they are.

        Raises:
            OpgenError: OPG350 where the outputs are something else.
        """
        results = {p.name: self._result(p.name) for p in self.spec.outputs}
        found = anchors(self.traced.graph.nodes, self.anchor)
        node = next((call for call, _ in results.values() if call is not None), None)
        if node is None:
            raise self.refusal(found[0], f"{target_name(found[0])} is not an output")
        if any(call is not node for call, _ in results.values()):
            raise self.refusal(node, "there are other outputs")
        places = [number for _, number in results.values()]
        if len(set(places)) < len(places):
            raise self.refusal(node, "an output is there twice")
        return node, {number: name for name, (_, number) in results.items()}

    def keeps_elements(self, node: Node, stored: bool) -> bool:
        """Whether an output has the elements of what a call of the graph reads.

        Args:
            stored: whether it is an output of the op, which may be stored in another shape.
        """
        return target_name(node) in IDENTITY or (stored and target_name(node) in RESHAPES)

    def _result(self, name: str) -> tuple[Node | None, int]:
        """Return the call behind an output, and which of its results that is."""
        node = self.traced.outputs[name]
        stored = self.spec.param(name).site is None
        while self.keeps_elements(node, stored):
            node = node.args[0]
        number = 0
        if target_name(node) == "operator.getitem":
            node, number = node.args
        found = isinstance(node, Node) and node in anchors(self.traced.graph.nodes, self.anchor)
        return (node if found else None), number

    def tensor(self, value: Any) -> str:
        """Return the operand that the call reads; raises as ``viewed`` does."""
        return self.viewed(value, DENSE_STEPS)

    def viewed(self, value: Any, steps: Collection[str]) -> str:
        """Return the operand that the call reads by a view with these steps.

        Raises:
            OpgenError: OPG350 where it is no input whose elements lie as they are read.
        """
        try:
            self.lower_with_sources(value)
            found = self.values[value]
        except OpgenError as error:
            if any(d.code not in _COMPUTED for d in error.diagnostics):
                raise
            found = None
        if not isinstance(found, View) or found.counted is not None:
            raise self.refusal(value, "the tensor is computed")
        if any(step.op not in steps for step in found.steps):
            raise self.refusal(value, "the tensor has its elements in another order")
        self.operands[found.tensor] = found
        return found.tensor

    def number(self, value: Any) -> ScalarExpr:
        """Return an argument of the call that is a number."""
        if isinstance(value, Node):
            self.lower_with_sources(value)
        return self.scalar_expr(value)

    def lower_with_sources(self, node: Node) -> None:
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
        """Return the error for a graph with more than one pass of the family makes."""
        return OpgenError(
            Diagnostic(
                "OPG350",
                f"{target_name(node)} is not all that a pass makes: {why}",
                self.location(""),
                self.makes,
                "split the op, or write the kernel with `kernel:`",
            )
        )

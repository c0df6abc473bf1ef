"""Read the call of a graph that joins the elements of windows: its tensor and its numbers."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.host_text import simplified
from msopgen_wrap.graph.scalars import Const, DimRef, ScalarExpr
from msopgen_wrap.schedule.anchors import anchors
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, Node, target_name
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.schedule.views import View

# Steps that leave the elements of a tensor in their order in memory.
_STEPS = {"unsqueeze", "squeeze", "reshape"}
_ONE = Const(1)


@dataclass(frozen=True)
class WindowCall:
    """One call.

    Attributes:
        tensor: the operand.
        kind: ``max`` or ``average``.
        values: the output that holds the values, "" where none does.
        positions: the output that holds the position of each value, "" where none does.
        axes: how many of the last axes have windows.
        size: elements of a window, per axis; none where there are ``outputs``.
        step: elements between the beginnings of windows.
        before: how far the first window begins before the tensor.
        dilation: elements between those of a window.
        outputs: how many windows share each axis evenly.
        ceil: whether a last window that reaches beyond the tensor counts.
        padded: whether an average counts what lies outside.
        divisor: what an average is divided by; None: by how many elements it counts.
        sizes: of a gradient, those of the axes that the windows are along.
        places: of the gradient of a maximum, the operand with the positions of the elements.
    """

    tensor: str
    kind: str
    values: str
    positions: str
    axes: int
    size: tuple[ScalarExpr, ...] = ()
    step: tuple[ScalarExpr, ...] = ()
    before: tuple[ScalarExpr, ...] = ()
    dilation: tuple[ScalarExpr, ...] = ()
    outputs: tuple[ScalarExpr, ...] = ()
    ceil: bool = False
    padded: bool = True
    divisor: ScalarExpr | None = None
    sizes: tuple[ScalarExpr, ...] = ()
    places: str = ""

    def numbers(self) -> list[ScalarExpr]:
        """Return the numbers that the tiling function reads."""
        every = [*self.size, *self.step, *self.before, *self.dilation, *self.outputs, *self.sizes]
        return [*every, self.divisor] if self.divisor is not None else every


@dataclass
class WindowReader(Lowerer):
    """Reads the call of a graph.

    Attributes:
        view: the tensor that it reads.
    """

    view: View | None = None
    _numbers: dict[Node, ScalarExpr] = field(default_factory=dict)

    def read(self) -> WindowCall:
        """Return the call whose results the outputs of the graph are.

        Raises:
            OpgenError: OPG350 where there is more in the graph than this family makes.
        """
        results = {p.name: self._result(p.name) for p in self.spec.outputs}
        found = anchors(self.traced.graph.nodes, "window")
        node = next((call for call, _ in results.values() if call is not None), None)
        if node is None:
            raise self.refusal(found[0], f"{target_name(found[0])} is not an output")
        if any(call is not node for call, _ in results.values()):
            raise self.refusal(node, "there are other outputs")
        places = [number for _, number in results.values()]
        if len(set(places)) < len(places):
            raise self.refusal(node, "an output is there twice")
        named = {number: name for name, (_, number) in results.items()}
        values, positions = named.get(0, ""), named.get(1, "")
        name, axes, numbers = self._arguments(node)
        return WindowCall(name, numbers.pop("kind", "max"), values, positions, axes, **numbers)

    def _result(self, name: str) -> tuple[Node | None, int]:
        """Return the call behind an output, and which of its results that is."""
        node = self.traced.outputs[name]
        stored = self.spec.param(name).site is None
        while target_name(node) in IDENTITY or (stored and target_name(node) in RESHAPES):
            node = node.args[0]
        number = 0
        if target_name(node) == "operator.getitem":
            node, number = node.args
        found = isinstance(node, Node) and node in anchors(self.traced.graph.nodes, "window")
        return (node if found else None), number

    def _arguments(self, node: Node) -> tuple[str, int, dict[str, Any]]:
        """Return the tensor, the number of axes, and the other arguments by name."""
        schema = node.target._schema.arguments  # type: ignore[union-attr]
        given: dict[str, Any] = dict(zip((a.name for a in schema), node.args, strict=False))
        tensor = self._tensor(given.pop("x"))
        found: dict[str, Any] = {}
        if "sizes" in given:
            found["kind"] = "max" if "positions" in given else "average"
        if "positions" in given:
            found["places"] = self._tensor(given.pop("positions"))
        for name, value in given.items():
            if isinstance(value, (list, tuple)):
                read = self._last_size if name == "sizes" else self._number
                found[name] = tuple(map(read, value))
            elif isinstance(value, Node) or type(value) is int:
                found[name] = self._number(value)
            else:
                found[name] = value
        return tensor, len(found.get("size") or found.get("outputs") or found["sizes"]), found

    def _tensor(self, value: Any) -> str:
        """Return the operand that the call reads.

        Raises:
            OpgenError: OPG350 where it is no input whose elements lie as they are read.
        """
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
        self.view = found
        self.operands[found.tensor] = found
        return found.tensor

    def _number(self, value: Any) -> ScalarExpr:
        return simplified(self._read(value))

    def _last_size(self, value: Any) -> ScalarExpr:
        """Return a size of one of the last axes, counted from the end at every rank."""
        size = self._read(value)
        if isinstance(size, DimRef) and size.signed is None:
            axis = size.axis - size.rank
            return DimRef(size.tensor, axis, 0, axis)
        return simplified(size)

    def _read(self, value: Any) -> ScalarExpr:
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
                "a pass over windows reads a tensor in memory and writes what the windows give",
                "split the op, or write the kernel with `kernel:`",
            )
        )

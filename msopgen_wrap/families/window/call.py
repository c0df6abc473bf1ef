"""Read the call of a graph that joins the elements of windows: its tensor and its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msopgen_wrap.families.anchor_reader import AnchorReader
from msopgen_wrap.graph.host_text import simplified
from msopgen_wrap.graph.scalars import DimRef, ScalarExpr
from msopgen_wrap.schedule.calls import Node
from msopgen_wrap.schedule.views import View


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
class WindowReader(AnchorReader):
    """Reads the call of a graph.

    Attributes:
        view: the tensor that it reads.
    """

    anchor = "window"
    makes = "a pass over windows reads a tensor in memory and writes what the windows give"

    view: View | None = None

    def read(self) -> WindowCall:
        """Return the call whose results the outputs of the graph are.

        Raises:
            OpgenError: OPG350 where there is more in the graph than this family makes.
        """
        node, named = self.call_behind_outputs()
        values, positions = named.get(0, ""), named.get(1, "")
        name, axes, numbers = self._arguments(node)
        return WindowCall(name, numbers.pop("kind", "max"), values, positions, axes, **numbers)

    def _arguments(self, node: Node) -> tuple[str, int, dict[str, Any]]:
        """Return the tensor, the number of axes, and the other arguments by name."""
        schema = node.target._schema.arguments  # type: ignore[union-attr]
        given: dict[str, Any] = dict(zip((a.name for a in schema), node.args, strict=False))
        tensor = self.tensor(given.pop("x"))
        found: dict[str, Any] = {}
        if "sizes" in given:
            found["kind"] = "max" if "positions" in given else "average"
        if "positions" in given:
            found["places"] = self.tensor(given.pop("positions"))
        for name, value in given.items():
            if isinstance(value, (list, tuple)):
                read = self._last_size if name == "sizes" else self._argument
                found[name] = tuple(map(read, value))
            elif isinstance(value, Node) or type(value) is int:
                found[name] = self._argument(value)
            else:
                found[name] = value
        return tensor, len(found.get("size") or found.get("outputs") or found["sizes"]), found

    def tensor(self, value: Any) -> str:
        """Return the operand that the call reads; raises OPG350 where it is no view of an input."""
        name = super().tensor(value)
        self.view = self.operands[name]
        return name

    def _argument(self, value: Any) -> ScalarExpr:
        return simplified(self.number(value))

    def _last_size(self, value: Any) -> ScalarExpr:
        """Return a size of one of the last axes, counted from the end at every rank."""
        size = self.number(value)
        if isinstance(size, DimRef) and size.signed is None:
            axis = size.axis - size.rank
            return DimRef(size.tensor, axis, 0, axis)
        return simplified(size)

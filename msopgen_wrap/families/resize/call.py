"""Read the call of a graph that resamples planes: its tensor, sizes and scales."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.families.anchor_reader import AnchorReader
from msopgen_wrap.graph.host_text import simplified
from msopgen_wrap.graph.scalars import ScalarExpr


@dataclass(frozen=True)
class ResizeCall:
    """One call.

    Attributes:
        tensor: the operand.
        mode: ``nearest``, ``nearest-exact``, ``linear`` or ``cubic``.
        lengths: sizes of the results, of each axis that is resampled.
        scales: of each axis, where they are given; else results and tensor have the same ends.
        corners: whether the first and the last elements of an axis are those of the results; the
            tiling function knows it by the variant.
    """

    tensor: str = ""
    mode: str = "linear"
    lengths: tuple[ScalarExpr, ...] = ()
    scales: tuple[ScalarExpr, ...] = ()
    corners: bool = field(default=False, compare=False)

    @property
    def taps(self) -> int:
        """How many elements along an axis a result is made of."""
        return {"linear": 2, "cubic": 4}.get(self.mode, 1)

    @property
    def depths(self) -> int:
        """How many planes of a volume a row of results is a sum of."""
        return self.taps if len(self.lengths) > 2 else 1

    @property
    def heights(self) -> int:
        """How many rows of each of them."""
        return self.taps if len(self.lengths) > 1 else 1

    def numbers(self) -> dict[str, tuple[ScalarExpr, ...]]:
        """Return the numbers that the tiling function reads."""
        return {"length": self.lengths, "scale": self.scales}


@dataclass
class ResizeReader(AnchorReader):
    """Reads the call of a graph."""

    anchor = "resize"
    makes = "a pass that resizes reads a tensor in memory and writes the results"

    def read(self) -> ResizeCall:
        """Return the call whose result the output of the graph is.

        Raises:
            OpgenError: OPG350 where there is more in the graph than this family makes.
        """
        node, _ = self.call_behind_outputs()
        x, mode, lengths, scales, corners = node.args
        return ResizeCall(
            self.tensor(x), str(mode), self._all(lengths), self._all(scales), bool(corners)
        )

    def _all(self, values: Any) -> tuple[ScalarExpr, ...]:
        return tuple(simplified(self.number(value)) for value in values)

"""Read a depthwise convolution from a traced graph: its tensors and its numbers."""

from __future__ import annotations

from dataclasses import dataclass

from msopgen_wrap.families.anchor_reader import DENSE_STEPS, AnchorReader
from msopgen_wrap.graph.host_text import simplified
from msopgen_wrap.graph.scalars import ScalarExpr
from msopgen_wrap.schedule.calls import target_name


@dataclass(frozen=True)
class DepthwiseCall:
    """One convolution.

    Attributes:
        image: the operand that is convolved.
        filters: the operand with the filters.
        bias: the operand that sums start with, "" where they start with 0.
        result: the output.
        strides, paddings, dilations: a number per spatial axis.
        sizes: of a gradient by the input, those of the input along the spatial axes.
        channels: and its number of channels.
    """

    image: str = ""
    filters: str = ""
    bias: str = ""
    result: str = ""
    strides: tuple[ScalarExpr, ...] = ()
    paddings: tuple[ScalarExpr, ...] = ()
    dilations: tuple[ScalarExpr, ...] = ()
    sizes: tuple[ScalarExpr, ...] = ()
    channels: tuple[ScalarExpr, ...] = ()

    def numbers(self) -> dict[str, tuple[ScalarExpr, ...]]:
        """Return the numbers of the window by what they are."""
        return {"strides": self.strides, "paddings": self.paddings, "dilations": self.dilations}

    def every(self) -> list[ScalarExpr]:
        """Return all numbers that the tiling function reads."""
        return [*self.strides, *self.paddings, *self.dilations, *self.sizes, *self.channels]


@dataclass
class DepthwiseReader(AnchorReader):
    """Reads the convolution of a graph."""

    anchor = "depthwise"
    makes = "a pass over planes reads an image and filters from memory and writes the result"

    def read(self) -> DepthwiseCall:
        """Return the convolution that the only output is.

        Raises:
            OpgenError: OPG350 where there is more in the graph than this family makes.
        """
        node, named = self.call_behind_outputs()
        image, filters, *rest = node.args
        tensors = [self.viewed(image, DENSE_STEPS | {"slice"}), self.tensor(filters)]
        if target_name(node) == "opgen.depthwise_gradient.default":
            tensors.append("")
            rest[-1] = [rest[-1]]
        else:
            bias = rest.pop(0)
            tensors.append("" if bias is None else self.tensor(bias))
        if len({*tensors}) < len(tensors):
            raise self.refusal(node, "it reads a tensor twice")
        numbers = (
            tuple(simplified(self.number(n)) for n in several)  # type: ignore[union-attr]
            for several in rest
        )
        return DepthwiseCall(*tensors, named[0], *numbers)

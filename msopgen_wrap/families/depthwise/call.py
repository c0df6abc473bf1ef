"""Read a depthwise convolution from a traced graph: its tensors and its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
        gradient = target_name(node) == "opgen.depthwise_gradient.default"
        bias: Any = None if gradient else rest.pop(0)
        names = [self.viewed(image, DENSE_STEPS | {"slice"}), self.tensor(filters)]
        names.append("" if bias is None else self.tensor(bias))
        if len({*names}) < len(names):
            raise self.refusal(node, "it reads a tensor twice")
        strides, paddings, dilations = map(self._numbers, rest[:3])
        sizes, channels = rest[3:] if gradient else ((), None)
        return DepthwiseCall(
            image=names[0],
            filters=names[1],
            bias=names[2],
            result=named[0],
            strides=strides,
            paddings=paddings,
            dilations=dilations,
            sizes=self._numbers(sizes),
            channels=self._numbers([channels]) if gradient else (),
        )

    def _numbers(self, given: Any) -> tuple[ScalarExpr, ...]:
        return tuple(simplified(self.number(number)) for number in given)

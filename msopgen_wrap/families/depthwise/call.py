"""Read a depthwise convolution from a traced graph: its tensors and its numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msopgen_wrap.families.anchor_reader import DENSE_STEPS, AnchorReader
from msopgen_wrap.graph.host_text import simplified
from msopgen_wrap.graph.scalars import ScalarExpr
from msopgen_wrap.schedule.calls import target_name

# What a call gives, and how the tiling function reads it.
FORWARD, BY_INPUT, BY_FILTERS = "Read", "ReadGradient", "ReadFilters"
_READ = {
    "opgen.depthwise.default": FORWARD,
    "opgen.depthwise_gradient.default": BY_INPUT,
    "opgen.depthwise_filters.default": BY_FILTERS,
}


@dataclass(frozen=True)
class DepthwiseCall:
    """One convolution, or a gradient of one.

    Attributes:
        read: which of these.
        image: the operand that is convolved; of a gradient by the input the one that arrives.
        filters: the operand with the filters; of a gradient by them the one that arrives.
        bias: the operand that sums start with, "" where they start with 0.
        result: the output.
        strides, paddings, dilations: a number per spatial axis.
        sizes: of a gradient, those of the input or of the filters along the spatial axes.
        count: of a gradient by the input its channels, of one by the filters the parts of the
            images.
    """

    read: str = FORWARD
    image: str = ""
    filters: str = ""
    bias: str = ""
    result: str = ""
    strides: tuple[ScalarExpr, ...] = ()
    paddings: tuple[ScalarExpr, ...] = ()
    dilations: tuple[ScalarExpr, ...] = ()
    sizes: tuple[ScalarExpr, ...] = ()
    count: tuple[ScalarExpr, ...] = ()

    def numbers(self) -> dict[str, tuple[ScalarExpr, ...]]:
        """Return the numbers of the window by what they are."""
        return {"strides": self.strides, "paddings": self.paddings, "dilations": self.dilations}

    def every(self) -> list[ScalarExpr]:
        """Return all numbers that the tiling function reads."""
        return [*self.strides, *self.paddings, *self.dilations, *self.sizes, *self.count]


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
        read = _READ[target_name(node)]
        bias: Any = rest.pop(0) if read == FORWARD else None
        names = [self.viewed(image, DENSE_STEPS | {"slice"}), self.tensor(filters)]
        names.append("" if bias is None else self.tensor(bias))
        if len({*names}) < len(names):
            raise self.refusal(node, "it reads a tensor twice")
        strides, paddings, dilations = map(self._numbers, rest[:3])
        sizes, *count = rest[3:] or [()]
        return DepthwiseCall(
            read=read,
            image=names[0],
            filters=names[1],
            bias=names[2],
            result=named[0],
            strides=strides,
            paddings=paddings,
            dilations=dilations,
            sizes=self._numbers(sizes),
            count=self._numbers(count),
        )

    def _numbers(self, given: Any) -> tuple[ScalarExpr, ...]:
        return tuple(simplified(self.number(number)) for number in given)

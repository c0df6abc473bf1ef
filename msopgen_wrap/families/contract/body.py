"""What a plan of matrix products holds: operands, result, and the blocks of the cube's memories."""

from __future__ import annotations

from dataclasses import dataclass, field

from msopgen_wrap.families.contract.reading import Product
from msopgen_wrap.schedule.cube import CubeBlock
from msopgen_wrap.schedule.plan import Body, OpPlan


@dataclass
class ProductBody(Body):
    """One kernel class: a product per output, all of the same matrices' sizes.

    Attributes:
        products: the product of every output.
        blocks: dtype combination -> the largest block.
    """

    products: tuple[Product, ...] = ()
    blocks: dict[int, CubeBlock] = field(default_factory=dict)

    def memory_rows(self) -> list[tuple[int, str, int]]:
        """Return what the largest base block of each combination uses of L1 and L0."""
        rows = []
        for combo, block in self.blocks.items():
            rows += [(combo, memory, used) for memory, used in block.used().items()]
        return rows


@dataclass
class ProductPlan(OpPlan[ProductBody]):
    """The plan of an op that multiplies matrices.

    Attributes:
        memories: bytes of the memories of a cube core.
    """

    memories: dict[str, int] = field(default_factory=dict)

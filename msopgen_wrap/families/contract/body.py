"""What a plan of matrix products holds: operands, result, and the blocks of the cube's memories."""

from __future__ import annotations

from dataclasses import dataclass, field

from msopgen_wrap.families.contract.reading import Product
from msopgen_wrap.schedule.cube import CubeBody
from msopgen_wrap.schedule.plan import OpPlan


@dataclass
class ProductBody(CubeBody):
    """One kernel class: a product per output, all of the same matrices' sizes.

    Attributes:
        products: the product of every output.
    """

    products: tuple[Product, ...] = ()


@dataclass
class ProductPlan(OpPlan[ProductBody]):
    """The plan of an op that multiplies matrices.

    Attributes:
        memories: bytes of the memories of a cube core.
    """

    memories: dict[str, int] = field(default_factory=dict)

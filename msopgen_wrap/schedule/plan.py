"""Plans: everything the renderers need to know about the kernels of an op, as plain data."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.program import Program
from msopgen_wrap.schedule.views import Span, View
from msopgen_wrap.spec.model import OpSpec

# Elements every tile length and core boundary is a multiple of: 256 elements of the smallest
# type (1 byte) are 256 bytes, and a mask of 256 elements is one 32-byte block.
UNIT = 256
# Tiles of the row family are multiples of this: a row tile has an eighth of the elements, and a
# mask of that many is one 32-byte block.
ROW_UNIT = 2048
# Events between two pipes that a core has at once.
EVENT_IDS = 8
# UB the framework keeps for itself at the top for Select with a tensor or scalar operand.
SELECT_RESERVE = 8192


@dataclass(frozen=True)
class Buffer:
    """One UB buffer of a kernel.

    Attributes:
        name: as in the kernel source.
        bytes_per_element: bytes per tile element of one copy.
        copies: 2 for double buffering.
        fixed: bytes that do not grow with the tile.
    """

    name: str
    bytes_per_element: float
    copies: int = 1
    fixed: int = 0

    @property
    def total(self) -> float:
        """Bytes per element over all copies."""
        return self.bytes_per_element * self.copies


@dataclass(frozen=True)
class Budget:
    """UB use of one body for one dtype combination and one mode.

    Attributes:
        buffers: all buffers.
        reserved: bytes kept free.
    """

    buffers: tuple[Buffer, ...]
    reserved: int = 0

    @property
    def bytes_per_element(self) -> float:
        """Bytes per tile element over all buffers."""
        return sum(b.total for b in self.buffers)

    @property
    def fixed(self) -> int:
        """Bytes that do not depend on the tile length, the reserve included."""
        return self.reserved + sum(b.fixed * b.copies for b in self.buffers)

    def tile_length(self, ub_bytes: int, unit: int = UNIT) -> int:
        """Return the longest tile (a multiple of ``unit``) that fits, 0 when none does."""
        room = ub_bytes - self.fixed
        if room <= 0 or self.bytes_per_element <= 0:
            return 0
        return int(room / self.bytes_per_element) // unit * unit

    def used(self, tile: int) -> int:
        """Return the bytes used with a tile of ``tile`` elements."""
        return self.fixed + int(tile * self.bytes_per_element)


@dataclass
class Body:
    """One kernel class: a program with its placement, shared by dtype combinations.

    Attributes:
        class_name: C++ class template.
        variant: index of the variant.
        combos: dtype combinations it serves.
        operands: loaded operands, in the order of the inputs.
        outputs: how many output queues it has.
        budgets: (combo, mode) -> UB budget.
        output_views: outputs that are written in another shape than they have.
        details: family-specific data (see the family's module).
        spans: sizes of the iteration space that no operand has.
    """

    class_name: str
    variant: int
    combos: tuple[int, ...]
    program: Program
    placement: Placement
    operands: dict[str, View]
    outputs: int = 1
    budgets: dict[tuple[int, str], Budget] = field(default_factory=dict)
    output_views: dict[str, View] = field(default_factory=dict)
    details: dict[str, Any] = field(default_factory=dict)
    spans: tuple[Span, ...] = ()

    def buffers_in_flight(self) -> int:
        """Return how many copies each queue has: 2, or 1 when event ids would run out.

        In a row kernel one id stays free for the exchange between cores, and queues of row
        operands have one copy.
        """
        if "row_operands" in self.details:
            rows = len(self.details["row_operands"])
            busy = max(2 * (len(self.operands) - rows) + rows, 2 * self.outputs)
            return 2 if busy < EVENT_IDS else 1
        return 2 if max(len(self.operands), self.outputs) <= 4 else 1


@dataclass
class OpPlan:
    """The plan of an op.

    Attributes:
        family: ``elementwise``, ``row``, ``foreach`` or ``handwritten``.
        variants: graph variants; the tiling key is ``10 * variant + mode``.
        bodies: kernel classes.
        modes: mode name -> last digit of the tiling key.
        socs: SoC family -> UB bytes that tiling sees (smallest chip of the family).
        cores: SoC family -> vector cores (smallest chip of the family).
        stretched: whether ``compute`` itself repeats elements (``expand``): an output may be larger
            than its only operand.
    """

    spec: OpSpec
    family: str
    variants: list[Variant]
    bodies: list[Body]
    modes: dict[str, int]
    socs: dict[str, int] = field(default_factory=dict)
    cores: dict[str, int] = field(default_factory=dict)
    stretched: bool = False
    details: dict[str, Any] = field(default_factory=dict)

    def body(self, variant: int, combo: int) -> Body:
        """Return the body that serves a variant and a dtype combination."""
        for body in self.bodies:
            if body.variant == variant and combo in body.combos:
                return body
        raise KeyError((variant, combo))

    def scalars(self) -> dict[str, Any]:
        """Return the scalar tiling fields of all bodies, by name."""
        merged: dict[str, Any] = {}
        for body in self.bodies:
            merged.update(body.program.scalars)
        return merged

    def spans(self) -> list[tuple[int, Span]]:
        """Return the sizes that no operand has, with the variant that they belong to."""
        return list(dict.fromkeys((body.variant, s) for body in self.bodies for s in body.spans))

    def output_views(self) -> dict[str, View]:
        """Return the outputs that are written in another shape; the same in every body."""
        return self.bodies[0].output_views if self.bodies else {}

    def operands(self) -> dict[str, View]:
        """Return the operands of all bodies, by name."""
        merged: dict[str, View] = {}
        for body in self.bodies:
            merged.update(body.operands)
        return merged

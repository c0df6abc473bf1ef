"""Plans: everything the renderers need to know about the kernels of an op, as plain data."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from msopgen_wrap.graph.scalars import ScalarExpr, tensors_of
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.program import Program, Scalar
from msopgen_wrap.schedule.views import Span, StoredShape, View
from msopgen_wrap.spec.model import OpSpec, TensorParam

if TYPE_CHECKING:
    from msopgen_wrap.families.family import Family
    from msopgen_wrap.schedule.demands import Demand

# Elements every tile length and core boundary is a multiple of: 256 elements of the smallest
# type (1 byte) are 256 bytes, and a mask of 256 elements is one 32-byte block.
UNIT = 256
# Rows that instructions copy or fill at once.
ROW_GROUP = 8
# UB budgets of row kernels: rows that stay in UB, with queues of one copy and of two; rows that
# stream through.
RESIDENT, DOUBLE, STREAMED = "resident", "resident, double-buffered", "streamed"
ROW_BUDGETS = (RESIDENT, DOUBLE, STREAMED)
# Events between two pipes that a core has at once.
EVENT_IDS = 8
# Queues of one direction, each of which has an event id.
MAX_OPERANDS = EVENT_IDS
# UB the framework keeps for itself at the top for Select with a tensor or scalar operand.
SELECT_RESERVE = 8192
# What a scratch tile takes beside its elements at most: `opgen::ScratchStep` adds 64 elements to it
# where its length is a multiple of 128, and `opgen::ScratchBytes` 64 before the first one.
_SCRATCH_GAP = 512


@dataclass(frozen=True)
class Buffer:
    """One UB buffer of a kernel.

    Attributes:
        name: as in the kernel source.
        bytes_per_element: bytes per tile element of one copy.
        copies: 2 for double buffering.
        fixed: bytes that do not grow with the tile.
        per_number: bytes per number of a row tile (row family), of one copy.
        per_row: bytes per row of a box (row family).
        spread: the operand that it holds where that may lack a dimension of the box (row family).
        spread_row: bytes of one copy per row of a box, where the operand is the same for all
            columns.
    """

    name: str
    bytes_per_element: float
    copies: int = 1
    fixed: int = 0
    per_number: float = 0
    per_row: int = 0
    spread: str = ""
    spread_row: int = 0

    @property
    def total(self) -> float:
        """Bytes per element over all copies."""
        return self.bytes_per_element * self.copies

    @staticmethod
    def scratch(name: str) -> Buffer:
        """Return a tile of the scratch buffer, with what keeps it apart from its neighbours."""
        return Buffer(name, 4, fixed=_SCRATCH_GAP)


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

    @property
    def bytes_per_number(self) -> float:
        """Bytes per number of a row tile over all buffers."""
        return sum(b.per_number * b.copies for b in self.buffers)

    @property
    def bytes_per_row(self) -> int:
        """Bytes per row of a box over all buffers."""
        return sum(b.per_row for b in self.buffers)

    def tile_length(self, ub_bytes: int, numbers: int = UNIT, rows: int = ROW_GROUP) -> int:
        """Return the longest tile (a multiple of ``UNIT``) that fits, 0 when none does.

        Args:
            ub_bytes: the size of UB.
            numbers: the length of row tiles.
            rows: the rows of a box, a multiple of ``ROW_GROUP``.
        """
        room = ub_bytes - self.used(0, numbers, rows)
        if room <= 0 or self.bytes_per_element <= 0:
            return 0
        return int(room / self.bytes_per_element) // UNIT * UNIT

    def used(self, tile: int, numbers: int = UNIT, rows: int = ROW_GROUP) -> int:
        """Return the bytes used with a tile of ``tile`` elements."""
        per_tile = int(tile * self.bytes_per_element) + int(numbers * self.bytes_per_number)
        return self.fixed + per_tile + rows * self.bytes_per_row


@dataclass
class Body:
    """One kernel class: a program with its placement, shared by dtype combinations.

    Attributes:
        class_name: C++ class template.
        variant: index of the variant.
        combos: dtype combinations it serves.
        operands: loaded operands, in the order of the inputs.
        indices: numbers counted from the index, by the name of their walk.
        outputs: how many output queues it has.
        budgets: (combo, mode) -> UB budget.
        output_views: outputs that are written in another shape than they have.
        stored_shapes: the sizes of temporaries that are written in another shape than they have.
        spans: sizes of the iteration space that no operand has.
        asked_buffers: copies of each queue that the spec asks for, where they are a constant.
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
    spans: tuple[Span, ...] = ()
    indices: dict[str, View] = field(default_factory=dict)
    stored_shapes: dict[str, StoredShape] = field(default_factory=dict)
    asked_buffers: int | None = None

    @property
    def packs_operands(self) -> bool:
        """Whether the buffers of one queue hold a tile of every operand.

        They do where queues of two copies each would take more event ids than there are.
        """
        return 2 * len(self.operands) > EVENT_IDS

    @property
    def packs_outputs(self) -> bool:
        """Whether the buffers of one queue hold a tile of every output."""
        return 2 * self.outputs > EVENT_IDS

    def times_loaded(self, operand: str) -> tuple[int, int]:
        """Return how often an operand passes into UB.

        Returns:
            The number where what a tile is made of stays in UB, and where it streams through.
        """
        return 1, 1

    def memory_rows(self) -> list[tuple[int, str, int]]:
        """Return what a body uses of other memories than UB: combination, memory, bytes."""
        return []

    def buffers_in_flight(self) -> int:
        """Return how many copies each queue has: as many as it can, or fewer as the spec asks."""
        most = self.most_buffers()
        return most if self.asked_buffers is None else min(most, self.asked_buffers)

    def most_buffers(self) -> int:
        """Return how many copies a queue can have: 2, or 1 when event ids would run out."""
        read = 1 if self.packs_operands else len(self.operands)
        written = 1 if self.packs_outputs else self.outputs
        return 2 if 2 * max(read, written) <= EVENT_IDS else 1


AnyBody = TypeVar("AnyBody", bound=Body)


@dataclass
class OpPlan(Generic[AnyBody]):
    """The plan of an op.

    Attributes:
        family: the family that made it.
        variants: graph variants; the tiling key is ``10 * variant + mode``.
        bodies: kernel classes.
        modes: mode name -> last digit of the tiling key.
        socs: SoC family -> UB bytes that tiling sees (smallest chip of the family).
        cores: SoC family -> vector cores (smallest chip of the family).
        part: CamelCase name of the part when the kernel runs several plans, "" otherwise.
        scalar_names: numbers that TilingFunc computes -> field of the tiling struct.
        narrow: 64-bit integers that kernels compute in int32; TilingFunc checks that they fit.
        demands: what each call must fulfil, by the index of the variant; TilingFunc checks it.
        instead: the plans in whose place this one runs in calls for which its tiling says so; it
            stands before them among the parts of a kernel.
    """

    spec: OpSpec
    family: Family
    variants: list[Variant]
    bodies: list[AnyBody]
    modes: dict[str, int]
    socs: dict[str, int] = field(default_factory=dict)
    cores: dict[str, int] = field(default_factory=dict)
    part: str = ""
    scalar_names: dict[Scalar, str] = field(default_factory=dict)
    narrow: list[ScalarExpr] = field(default_factory=list)
    demands: dict[int, list[Demand]] = field(default_factory=dict)
    instead: tuple[OpPlan[Any], ...] = ()

    @property
    def writes(self) -> tuple[TensorParam, ...]:
        """What the kernels write."""
        return self.spec.outputs

    def body(self, variant: int, combo: int) -> AnyBody:
        """Return the body that serves a variant and a dtype combination."""
        for body in self.bodies:
            if body.variant == variant and combo in body.combos:
                return body
        raise KeyError((variant, combo))

    @property
    def served(self) -> Sequence[int]:
        """The indices of the variants that the kernels serve."""
        own = self.spec.served
        return range(len(self.variants)) if own is None else own

    def scalars(self) -> dict[str, Any]:
        """Return the scalar tiling fields of all bodies, by name."""
        merged: dict[str, Any] = {}
        for body in self.bodies:
            merged.update(body.program.scalars)
        return merged

    @property
    def parts(self) -> list[OpPlan[Any]]:
        """The plans that run one after another in the kernel: this one, unless it was cut."""
        return [self]

    def elements_written(self, name: str, shape: Sequence[int], attrs: Mapping[str, Any]) -> int:
        """Return the number of elements of a temporary.

        Args:
            name: of the temporary, which a kernel of this plan writes.
            shape: of the largest tensor that it reads.
            attrs: those of the call.
        """
        return math.prod(shape)

    def tiling_attrs(self) -> set[str]:
        """Return the attrs that the family's tiling reads besides those in expressions."""
        return set()

    def inputs_read(self) -> frozenset[str]:
        """Return the inputs of the op whose elements a kernel loads, in any of its variants.

        What a kernel written by hand loads is not known: all of them.
        """
        parts = self.parts
        if not all(part.bodies for part in parts):
            return frozenset(p.name for p in self.spec.inputs)
        read = {view.tensor for part in parts for view in part.operands().values()}
        return frozenset(p.name for p in self.spec.inputs if p.name in read)

    def temporaries_read(self) -> list[str]:
        """Return the temporaries that the kernels or the tiling of a part read."""
        numbers = [s.expr for s in (*self.scalars().values(), *self.tiling_numbers().values())]
        views = [*self.operands().values(), *self.output_views().values()]
        numbers += [e for view in (*views, *self.indices().values()) for e in view.scalars()]
        numbers += [e for _, span in self.spans() for e in span.sizes]
        numbers += [e for shape in self.stored_shapes().values() for e in shape.sizes]
        read = {v.tensor for v in self.operands().values()} | {s.tensor for _, s in self.spans()}
        read |= {tensor for e in (*numbers, *self.narrow) for tensor in tensors_of(e)}
        return [p.name for p in self.spec.inputs if p.site is not None and p.name in read]

    def tiling_numbers(self) -> dict[str, Scalar]:
        """Return the numbers that the tiling function reads beside those of kernels, by name."""
        return {}

    def spans(self) -> list[tuple[int, Span]]:
        """Return the sizes that no operand has, with the variant that they belong to."""
        return list(dict.fromkeys((body.variant, s) for body in self.bodies for s in body.spans))

    def output_views(self) -> dict[str, View]:
        """Return the outputs that are written in another shape; the same in every body."""
        return self.bodies[0].output_views if self.bodies else {}

    def stored_shapes(self) -> dict[str, StoredShape]:
        """Return sizes of temporaries written in another shape; the same in every body."""
        return self.bodies[0].stored_shapes if self.bodies else {}

    def indices(self) -> dict[str, View]:
        """Return the numbers counted from the index in all bodies, by the name of their walk."""
        merged: dict[str, View] = {}
        for body in self.bodies:
            merged.update(body.indices)
        return merged

    def operands(self) -> dict[str, View]:
        """Return the operands of all bodies, by name."""
        merged: dict[str, View] = {}
        for body in self.bodies:
            merged.update(body.operands)
        return merged

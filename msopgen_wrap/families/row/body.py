"""Kernel classes with reductions: what a plan of the row family holds, and its use of UB."""

from __future__ import annotations

from dataclasses import dataclass

from msopgen_wrap.families.row.passes import Passes, Piece
from msopgen_wrap.schedule.kernel_classes import slot_order
from msopgen_wrap.schedule.plan import (
    EVENT_IDS,
    RESIDENT,
    SELECT_RESERVE,
    STREAMED,
    Body,
    Budget,
    Buffer,
    OpPlan,
)
from msopgen_wrap.schedule.program import COMPUTE_KIND, DIRECT, DTYPE_BYTES, MASK
from msopgen_wrap.schedule.views import FULL
from msopgen_wrap.spec.model import OpSpec

# Row tiles of scratch that merging takes (opgen/row_online.h).
SPARE_ROWS = {"AddExpSum": 4, "AddVariance": 5}


@dataclass(kw_only=True)
class RowBody(Body):
    """A kernel class with reductions.

    Attributes:
        resident, streamed: the program cut at its reductions, for rows that stay in UB and for
            those that stream through.
        pieces: per streamed pass its program and placement.
        row_operands: operands that do not span a reduced axis.
        row_outputs: outputs that do not span one.
        row_words, row_masks: numbers of row slots.
        kept: operands that many boxes share.
        root: the input whose shape is that of the space in each call, empty where none is known.
        covering: operands that have every element of the space in each call.
        holds: whether the last pass begins with the chunk that is in UB after the first one.
    """

    resident: Passes
    streamed: Passes
    pieces: list[Piece]
    row_operands: list[str]
    row_outputs: list[str]
    row_words: int
    row_masks: int
    kept: list[str]
    root: str
    covering: frozenset[str]
    holds: bool

    def buffers_in_flight(self) -> int:
        """Return how many copies each queue has: 2, or 1 when event ids would run out.

        One id stays free for the exchange between cores, and queues of row operands have one copy.
        """
        rows = len(self.row_operands)
        queues = len(self.operands) - rows - len(self.kept)
        busy = max(2 * queues + rows, 2 * self.outputs)
        return 2 if busy < EVENT_IDS else 1


@dataclass(frozen=True)
class ReducedAxes:
    """How the host finds the reduced axes of a call.

    Attributes:
        attr: the attr that names them, empty when none does.
        every: all axes, whatever the rank.
        axes: fixed axes, negative from the end.
    """

    attr: str = ""
    every: bool = False
    axes: tuple[int, ...] = ()


@dataclass
class RowPlan(OpPlan[RowBody]):
    """The plan of an op with reductions.

    Attributes:
        axes: how the host finds the reduced axes.
        squeezed: the temporaries it writes that lack the reduced axes.
    """

    axes: ReducedAxes = ReducedAxes()
    squeezed: frozenset[str] = frozenset()

    def tiling_attrs(self) -> set[str]:
        """Return the attr that names the reduced axes."""
        return {self.axes.attr} - {""}


def spare_rows(body: RowBody, mode: str) -> int:
    """Return how many row slots a mode needs beside those of the row values."""
    if mode != STREAMED:
        return 0
    merged = {p.merged.op for pairs in body.streamed.pairs for p in pairs}
    return max([1, *(SPARE_ROWS[op] for op in merged)])


def pass_words(body: RowBody) -> int:
    """Return how many scratch slots the passes of reductions need, those of outputs included."""
    return max((p.placement.words for p in body.pieces[:-1]), default=0)


def expands_operands(spec: OpSpec, body: RowBody, combo: int) -> bool:
    """Whether an operand is converted before it is expanded over a box."""
    return any(
        view.extent == FULL
        and not covers(body, name)
        and name not in body.kept
        and spec.param(view.tensor).dtypes[combo] not in DIRECT
        for name, view in body.operands.items()
    )


def covers(body: RowBody, name: str) -> bool:
    """Whether an operand has every element of the space in each call."""
    return name in body.covering


def needs_slot(spec: OpSpec, body: RowBody, name: str, combo: int) -> bool:
    """Whether a full operand is worked on in a scratch slot rather than in its queue's tile."""
    dtype = spec.param(body.operands[name].tensor).dtypes[combo]
    return COMPUTE_KIND[dtype] != MASK and (dtype not in DIRECT or not covers(body, name))


def row_budget(spec: OpSpec, body: RowBody, combo: int, mode: str) -> Budget:
    """Return the UB use of a row body in one of ``ROW_BUDGETS``."""
    copies = 1 if mode == RESIDENT else body.buffers_in_flight()
    buffers = []
    small = loaded = False
    for name, view in body.operands.items():
        dtype = spec.param(view.tensor).dtypes[combo]
        size = DTYPE_BYTES[dtype]
        small |= size == 1
        if view.extent != FULL:
            loaded = True
            buffers.append(Buffer(f"{name}Queue", 0, 1, per_number=size, per_row=32))
            continue
        if name in body.kept:
            buffers.append(Buffer(f"{name} (kept)", 4))
            continue
        buffers.append(Buffer(f"{name}Queue", size, copies))
        if needs_slot(spec, body, name, combo):
            buffers.append(Buffer(f"{name} (working copy)", 4))
    slots = body.placement.words
    for param in spec.outputs:
        dtype = param.dtypes[combo]
        size = DTYPE_BYTES[dtype]
        small |= size == 1
        if param.name in body.row_outputs:
            buffers.append(Buffer(f"{param.name}Queue", 0, copies, per_number=size))
            continue
        buffers.append(Buffer(f"{param.name}Queue", size, copies))
        produced = ("output", param.name) in slot_order(spec, body)
        if produced and dtype not in DIRECT and param.name not in body.placement.shared:
            slots += 1
    if mode == STREAMED:
        slots = max(slots, pass_words(body))
    buffers += [Buffer(f"scratch {slot}", 4) for slot in range(slots)]
    if expands_operands(spec, body, combo):
        buffers.append(Buffer("stage", 4))
    if small:
        buffers.append(Buffer("bytes", 2))
    for slot in range(body.placement.masks):
        buffers.append(Buffer(f"mask{slot}", 0.125))
    for slot in range(body.row_words + spare_rows(body, mode)):
        buffers.append(Buffer(f"row{slot}", 0, per_number=4))
    for slot in range(body.row_masks):
        buffers.append(Buffer(f"rowMask{slot}", 0, per_number=0.125))
    buffers.append(Buffer("rowBlocks", 0, per_row=64 if loaded else 32))
    reserved = SELECT_RESERVE if body.program.uses_masks else 0
    return Budget(tuple(buffers), reserved)

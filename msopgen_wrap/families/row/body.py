"""Kernel classes with reductions: what a plan of the row family holds, UB use and scratch tiles."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from msopgen_wrap.families.row.passes import Passes, Piece
from msopgen_wrap.families.row.stretched import Reduced
from msopgen_wrap.render.kernel import constant, member_name, type_name
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
from msopgen_wrap.schedule.program import COMPUTE_KIND, DIRECT, DTYPE_BYTES, MASK, STORED_KIND
from msopgen_wrap.schedule.views import FULL
from msopgen_wrap.spec.model import OpSpec, TensorParam

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
        kept: operands that are read by stride: those that many boxes share, and ``spread``.
        spread: those of ``kept`` that come through a queue, as their part changes with the box.
        root: the input whose shape is that of the space in each call, empty where none is known.
        covering: operands that have every element of the space in each call.
        holds: whether the last pass begins with the chunk that is in UB after the first one.
        columns: the outputs that are sums of columns; such a class has no passes over chunks.
        reductions: those of tensors that others may stretch.
    """

    resident: Passes
    streamed: Passes
    pieces: list[Piece]
    row_operands: list[str]
    row_outputs: list[str]
    row_words: int
    row_masks: int
    kept: list[str]
    spread: list[str]
    root: str
    covering: frozenset[str]
    holds: bool
    columns: tuple[TensorParam, ...] = ()
    reductions: tuple[Reduced, ...] = ()

    def times_loaded(self, operand: str) -> tuple[int, int]:
        """Return 1, and how many of the passes over chunks load an operand."""
        return 1, max(1, sum(operand in piece.operands for piece in self.pieces))

    def most_buffers(self) -> int:
        """Return how many copies a queue can have: 2, or 1 when event ids would run out.

        One id stays free for the exchange between cores, and queues of row operands have one copy.
        """
        rows = len(self.row_operands)
        queues = len(self.operands) - rows - len(self.kept) + len(self.spread)
        busy = max(2 * queues + rows, 2 * self.outputs)
        return 2 if busy < EVENT_IDS else 1


@dataclass(frozen=True)
class ReducedAxes:
    """How the host finds the reduced axes of a call.

    Attributes:
        attr: the attr that names them, empty when none does.
        kept: all axes but this many at the end, whatever the rank; None where they are fixed.
        axes: fixed axes, negative from the end.
        but: all axes but these, from the front, whatever the rank; None where they are others.
    """

    attr: str = ""
    kept: int | None = None
    axes: tuple[int, ...] = ()
    but: tuple[int, ...] | None = None

    def at(self, rank: int) -> set[int]:
        """Return the axes at a rank where no attr names them; one that is missing is negative."""
        if self.kept is not None:
            return set(range(rank - self.kept))
        if self.but is not None:
            return set(range(rank)) - set(self.but)
        return {a if a >= 0 else a + rank for a in self.axes}


@dataclass
class RowPlan(OpPlan[RowBody]):
    """The plan of an op with reductions.

    Attributes:
        axes: how the host finds the reduced axes.
        squeezed: the temporaries it writes that lack the reduced axes.
        columns: the outputs that are sums over the kept axes; ``spec`` has the others.
    """

    axes: ReducedAxes = ReducedAxes()
    squeezed: frozenset[str] = frozenset()
    columns: tuple[TensorParam, ...] = ()

    @property
    def writes(self) -> tuple[TensorParam, ...]:
        """What the kernels write, sums of columns last."""
        return (*self.spec.outputs, *self.columns)

    @property
    def whole_spec(self) -> OpSpec:
        """The spec with all outputs."""
        return replace(self.spec, outputs=self.writes)

    def elements_written(self, name: str, shape: Sequence[int], attrs: Mapping[str, Any]) -> int:
        """Return the number of elements of a temporary: one per row for values of rows."""
        if not any(name in body.row_outputs for body in self.bodies):
            return math.prod(shape)
        rank = len(shape)
        if self.axes.attr:
            value = attrs[self.axes.attr]
            given = list(value) if isinstance(value, (list, tuple)) else [value]
            axes = {axis % rank for axis in given} if given and rank else set(range(rank))
        else:
            axes = self.axes.at(rank)
        return math.prod(size for axis, size in enumerate(shape) if axis not in axes)

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
        if name in body.spread:
            buffers.append(Buffer(f"{name}Queue", size, copies, spread=name, spread_row=32))
            if dtype not in DIRECT:
                row = 4 * 32 // size
                wide = Buffer(f"{name} (widened)", 4, spread=name, spread_row=row)
                buffers.append(wide)
            continue
        if name in body.kept:
            buffers.append(Buffer(f"{name} (kept)", 4))
            continue
        buffers.append(Buffer(f"{name}Queue", size, copies))
        if needs_slot(spec, body, name, combo):
            buffers.append(Buffer.scratch(f"{name} (working copy)"))
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
    buffers += [Buffer(f"{p.name} (sums of columns)", 4) for p in body.columns]
    buffers += [Buffer.scratch(f"scratch {slot}") for slot in range(slots)]
    if expands_operands(spec, body, combo):
        buffers.append(Buffer.scratch("stage"))
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


def compute_kinds(spec: OpSpec, body: RowBody) -> dict[tuple[str, str], str]:
    """Return the type that each full operand and output is computed in, by role and name."""
    combo = body.combos[0]
    kinds: dict[tuple[str, str], str] = {}
    for role, name in slot_order(spec, body):
        dtype = _param(spec, body, role, name).dtypes[combo]
        kinds[role, name] = STORED_KIND[dtype]
    return {key: kind for key, kind in kinds.items() if kind != MASK}


def _param(spec: OpSpec, body: RowBody, role: str, name: str) -> TensorParam:
    if role == "input":
        return spec.param(body.operands[name].tensor)
    return next(p for p in spec.outputs if p.name == name)


def slot_lines(spec: OpSpec, body: RowBody) -> list[str]:
    """Return the constants: the first slot of every part of the scratch buffer, and its length.

    Operands come first, then intermediate values, then outputs: the passes that only reduce have
    no outputs, and may use their slots for more intermediate values.
    """
    lines: list[str] = []
    kinds = compute_kinds(spec, body)
    first = "0"

    def part(name: str, slots: str) -> None:
        nonlocal first
        lines.append(f"uint32_t {name}Slot = {first}")
        first = f"{name}Slot + {slots}" if slots != "0" else f"{name}Slot"

    def own(role: str, name: str) -> str:
        storage = type_name(_param(spec, body, role, name), role == "output", spec)
        return f"opgen::kOwnSlots<{kinds[role, name]}, {storage}>"

    for role, name in kinds:
        if role == "input":
            part(constant(name), own(role, name) if covers(body, name) else "1")
    words = body.placement.words
    more = pass_words(body) > words
    if words or more:
        part("kTmp", str(words))
    for role, name in kinds:
        if role == "output":
            prefix = constant(member_name(_param(spec, body, role, name), True, spec))
            shared = body.placement.shared.get(name)
            if shared is None:
                part(prefix, own(role, name))
            else:
                lines.append(f"uint32_t {prefix}Slot = {constant(shared.name)}Slot")
    if more:
        lines.append(f"uint32_t kOutputsEnd = {first}")
        lines.append(f"uint32_t kPassesEnd = kTmpSlot + {pass_words(body)}")
        first = "(kResident || kOutputsEnd > kPassesEnd ? kOutputsEnd : kPassesEnd)"
    if any(expands_operands(spec, body, combo) for combo in body.combos):
        part("kStage", f"({_stage_condition(spec, body, kinds)} ? 1 : 0)")
    lines.append(f"uint32_t kSlots = {first}")
    rows = body.row_words
    resident, streamed = (rows + spare_rows(body, m) for m in (RESIDENT, STREAMED))
    if body.columns:
        return [*lines, f"uint32_t kRows = {max(1, resident)}"]
    lines.append(f"uint32_t kRows = kResident ? {max(1, resident)} : {streamed}")
    return lines


def _stage_condition(spec: OpSpec, body: RowBody, kinds: dict[tuple[str, str], str]) -> str:
    conditions = []
    for name, view in body.operands.items():
        if name in body.kept or covers(body, name) or view.extent != "full":
            continue
        kind = kinds.get(("input", name), "half")
        storage = type_name(spec.param(view.tensor), False, spec)
        conditions.append(f"!opgen::Same<{kind}, {storage}>::value")
    return " || ".join(dict.fromkeys(conditions))

"""Plan calls that move elements by index: one call per variant, over views of tensors in memory."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.call_variants import (
    Sizes,
    axis_at_every_rank,
    different_variants,
    read_variants,
)
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.index.call import CallReader, IndexCall
from msopgen_wrap.graph.other_traces import traces_with_others
from msopgen_wrap.graph.scalars import with_attr
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.kernel_classes import class_name, share_classes
from msopgen_wrap.schedule.plan import SELECT_RESERVE, Body, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import CPP_TYPE, DTYPE_BYTES, Program, Scalar
from msopgen_wrap.schedule.views import Span
from msopgen_wrap.spec.model import OpSpec

# Fields of the tiling struct that stand for the table of a scatter and for its values.
NUMBERS = ("initialValue", "value")
# The modes, and the last digit of the tiling key of each. Elements: of gathers, by the batch from a
# part of the table in UB. Columns: of scatters, joined row by row under masks.
MODES = {"rows": 0, "elements": 1, "columns": 1}
# UB for the indices of one axis, as opgen/indexed.h has it.
INDEX_BYTES = 8192
# UB for the items of a batch that a window has, as opgen/window_items.h has it.
FOUND_BYTES = 5 * 4096 + 2 * 128
# Elements of a batch, and the bytes of an index, of the tiles and of the masks that find them, as
# opgen/gathered_elements.h has them.
BATCH_LANES = 1024
_INDEX_LANE, _PLACE_LANE, _MASK_LANE = 8, 16, 3 / 8
# Indexed axes of a gather whose elements are taken by the batch: each has a queue.
_MOST_BATCHED = 3
# Elements that the scalar unit joins: the vector unit has no arithmetic of 64 bits.
LONG = CPP_TYPE["int64"]
_WIDE = {"float32": ("float16", "bfloat16"), "int32": ("int8", "uint8", "int16", "int64")}


@dataclass
class IndexBody(Body):
    """The kernel class of a call.

    Attributes:
        compute: the C++ type that elements are added in, or converted through on their way to or
            from a temporary; "" where they keep their bits.
        combine: of a scatter, how its variant joins values.
    """

    compute: str = ""
    combine: str = ""

    @property
    def converts(self) -> bool:
        """Whether elements are computed in another type than their own."""
        return self.compute not in ("", LONG)


@dataclass
class IndexPlan(OpPlan[IndexBody]):
    """The plan of a call.

    Attributes:
        call: the call.
        axis: its axis for every rank; negative from the end.
    """

    call: IndexCall = field(default_factory=lambda: IndexCall("", (), 0, 1))
    axis: int = 0

    def tiling_attrs(self) -> set[str]:
        """Return the attr that gives the axis."""
        return {self.call.attr} if self.call.attr else set()


def plan_index(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> IndexPlan:
    """Plan the call of every variant and dtype combination.

    Raises:
        OpgenError: OPG350 where the graph is more than one call of views of inputs.
    """
    plan = IndexPlan(spec, family, variants, [], {"rows": MODES["rows"]})
    calls: list[tuple[IndexCall, int, dict[str, Any]]] = []
    for read in read_variants(spec, variants, list(plan.served), first, CallReader, _sizes_of):
        call = _with_axis_attr(spec, read.traced, read.call)
        # how values are joined is a matter of the variant's class, not of the tiling
        known = replace(call, axis=0, rank=0, combine="copy" if call.combine else "")
        calls.append((known, _axis_of_ranks(spec, read.others, call), read.operands))
        groups = _groups(spec, call, read.operands)
        numbers = _numbers(plan, call)
        for compute, combos in groups.items():
            name = class_name(spec, variants, read.index, combos, len(groups))
            program = Program(scalars=dict(numbers))
            body = IndexBody(
                name,
                read.index,
                tuple(combos),
                program,
                Placement(),
                read.operands,
                compute=compute,
                combine=call.combine,
                spans=call.spans(),
            )
            for combo in combos:
                body.budgets[combo, "rows"] = budget(spec, body, call, combo)
                if takes_elements(call):
                    plan.modes.setdefault("elements", MODES["elements"])
                    body.budgets[combo, "elements"] = element_budget(spec, body, call, combo)
                if takes_columns(call):
                    plan.modes.setdefault("columns", MODES["columns"])
                    body.budgets[combo, "columns"] = column_budget(spec, body, call, combo)
            plan.bodies.append(body)
    if any(found != calls[0] for found in calls):
        cure = "make the axis an attr without `allowed:`"
        raise OpgenError(different_variants(spec, "index other axes or tensors", cure))
    plan.call, plan.axis = calls[0][0], calls[0][1]
    share_classes(spec, variants, plan.bodies)
    return plan


def _sizes_of(call: IndexCall) -> Sizes:
    return call.spans(), tuple(number.expr for number in call.numbers if number is not None)


def _axis_of_ranks(spec: OpSpec, others: Sequence[TracedGraph], call: IndexCall) -> int:
    """Return the axis from the front or, negative, from the end: what holds at every rank.

    Raises:
        OpgenError: OPG204 where neither does.
    """
    found = [call, *(CallReader(spec, other, 0).read() for other in others)]
    axes = [(c.axis, c.axis - c.rank) for c in found]
    return axis_at_every_rank(spec, axes, bool(call.attr), f"the indexed axis of {spec.op}")


def _with_axis_attr(spec: OpSpec, traced: TracedGraph, call: IndexCall) -> IndexCall:
    """Prove that an attr which shapes the graph is the axis, or nothing, and name the axis' one.

    An attr that is a size is asked whether it is one, and shapes the graph no further.

    Raises:
        OpgenError: OPG202.
    """
    fixed = replace(call, attr="")
    named = ""
    for name, value in traced.structural.items():
        for other, again in traces_with_others(spec, traced, name):
            found = replace(CallReader(spec, again, 0).read(), attr="")
            # PyTorch takes a size of 1 for a number
            if _known(found, name, other) == _known(fixed, name, other):
                continue
            moved = type(value) is int and value % call.rank == call.axis
            if not moved or found != replace(fixed, axis=other % call.rank, rank=found.rank):
                raise OpgenError(_shapes(spec, name))
            named = name
    return replace(fixed, attr=named)


def _known(call: IndexCall, name: str, value: Any) -> IndexCall:
    """Return a call whose sizes are those of a value of an attr."""

    def known(span: Span | None) -> Span | None:
        if span is None:
            return None
        return replace(span, sizes=tuple(with_attr(size, name, value) for size in span.sizes))

    return replace(call, sizes=known(call.sizes), item_sizes=known(call.item_sizes))


def _shapes(spec: OpSpec, name: str) -> Diagnostic:
    return Diagnostic(
        "OPG202",
        f"attr {name!r} changes what compute does beyond the axis it indexes",
        spec.attr(name).location,
        "the kernel is generated once and must serve every value",
        "give it `allowed:` values, or use it only as `dim` or as a size",
    )


# ---- dtypes and UB -------------------------------------------------------------------------------


def _numbers(plan: IndexPlan, call: IndexCall) -> dict[str, Scalar]:
    """Return the numbers of the tiling struct that stand for tensors of a scatter."""
    found = dict(zip(NUMBERS, call.numbers, strict=True))
    if call.numbers[0] == call.numbers[1]:
        del found[NUMBERS[0]]  # one field is both
    numbers = {name: scalar for name, scalar in found.items() if scalar is not None}
    plan.scalar_names.update({scalar: name for name, scalar in numbers.items()})
    return numbers


def _groups(spec: OpSpec, call: IndexCall, operands: dict[str, Any]) -> dict[str, list[int]]:
    """Return the dtype combinations by the C++ type that elements are computed in.

    Raises:
        OpgenError: OPG332 for dtypes that a kernel does not convert or does not take as indices.
    """
    moved = [spec.param(operands[n].tensor) for n in (call.table, call.values) if n]
    found: dict[str, list[int]] = {}
    for combo in range(spec.combos):
        kinds = {spec.param(operands[name].tensor).dtypes[combo] for name in call.indices}
        if not kinds <= {"int32", "int64"}:
            raise OpgenError(_no_index(spec, sorted(kinds)))
        target = spec.outputs[0].dtypes[combo]
        compute = _compute_type([p.dtypes[combo] for p in moved], target, call)
        if compute is None:
            source = next((p.dtypes[combo] for p in moved if p.dtypes[combo] != target), target)
            raise OpgenError(_no_conversion(spec, source, target))
        found.setdefault(compute, []).append(combo)
    return found


def _compute_type(sources: list[str], target: str, call: IndexCall) -> str | None:
    """Return the C++ type in which elements are computed, "" for their own; None for no way."""
    numbers = any(number is not None for number in call.numbers)
    if set(sources) <= {target} and call.combine in ("", "copy") and not numbers:
        return ""
    if not call.combine:
        source = sources[0]
        narrow = target in _WIDE.get(source, ())
        return CPP_TYPE[source if narrow else target] if _converts(source, target) else None
    if {*sources, target} == {"int64"} and call.values:
        return LONG
    for wide, narrower in _WIDE.items():
        # sums do not wrap to 8 or 16 bits
        known = {wide, *(d for d in narrower if wide == "float32")}
        if {*sources, target} <= known:
            return CPP_TYPE[wide]
    return None


def _converts(source: str, target: str) -> bool:
    return source in _WIDE.get(target, ()) or target in _WIDE.get(source, ())


def _no_conversion(spec: OpSpec, source: str, target: str) -> Diagnostic:
    return Diagnostic(
        "OPG332",
        f"{spec.op} takes {source} by index and gives {target}",
        spec.outputs[0].location,
        "elements that are moved keep their type; sums, and numbers in place of a tensor, are of "
        "float16, bfloat16, float32 or int32, those of two tensors also of int64",
        "give the output the dtype of the tensor that is indexed",
    )


def _no_index(spec: OpSpec, dtypes: Sequence[str]) -> Diagnostic:
    return Diagnostic(
        "OPG332",
        f"the indices of {spec.op} are {' and '.join(dtypes)}",
        spec.compute.location if spec.compute else spec.outputs[0].location,
        "a kernel reads indices of int32 or int64",
        "give the index inputs one of these dtypes",
    )


def by_element(body: IndexBody) -> bool:
    """Whether a scatter takes single elements by the batch: what joins them is no comparison.

    The scalar unit joins them; which of two zeros, or of a number and NaN, the vector unit's
    comparisons give is its choice.
    """
    return body.combine in ("copy", "add", "multiply")


def takes_elements(call: IndexCall) -> bool:
    """Whether a gather may move single elements: its indices name those of the last axis."""
    last = not call.rows or bool(call.attr) or call.axis + len(call.indices) == call.rank
    return not call.combine and last and len(call.indices) <= _MOST_BATCHED


def element_budget(spec: OpSpec, body: IndexBody, call: IndexCall, combo: int) -> Budget:
    """Return the UB use of a body whose elements are taken by the batch; a tile is a window."""
    dtype = spec.param(body.operands[call.table].tensor).dtypes[combo]
    source, target = DTYPE_BYTES[dtype], DTYPE_BYTES[spec.outputs[0].dtypes[combo]]
    lanes = BATCH_LANES
    buffers = [
        Buffer("window", source),
        Buffer("queues", 0, 2 * len(call.indices), fixed=_INDEX_LANE * lanes),
        Buffer("places", 0, fixed=int((_PLACE_LANE + _MASK_LANE) * lanes)),
        Buffer("outQueue", 0, 2, fixed=target * lanes),
    ]
    if body.converts:
        buffers.append(Buffer("takenBuf", 0, fixed=source * lanes))
        if 1 in (source, target):
            buffers.append(Buffer("bytesBuf", 0, fixed=2 * lanes))
    return Budget(tuple(buffers), SELECT_RESERVE)


def takes_columns(call: IndexCall) -> bool:
    """Whether a scatter may join rows of items under masks: it has an index for each element."""
    return bool(call.combine) and not call.rows


def column_budget(spec: OpSpec, body: IndexBody, call: IndexCall, combo: int) -> Budget:
    """Return the UB use of a body whose columns are joined; a tile is a column of all rows."""
    target = DTYPE_BYTES[spec.outputs[0].dtypes[combo]]
    sizes = {
        n: DTYPE_BYTES[spec.param(view.tensor).dtypes[combo]] for n, view in body.operands.items()
    }
    wide = 4 if body.converts else target
    buffers = [Buffer("windowBuf", 0, per_number=wide)]
    if body.converts:
        stage = max(target, sizes.get(call.table, 1))
        buffers.append(Buffer("stageBuf", 0, per_number=stage))
    buffers += [
        Buffer("queue", _INDEX_LANE, 2),
        Buffer("buffer", 9),  # indices, their numbers, and masks of four bits
        Buffer("valueBuf", wide, 2),
    ]
    if call.values:
        buffers.append(Buffer("valueQueue", sizes[call.values], 2))
    return Budget(tuple(buffers), SELECT_RESERVE)


def joins_columns(body: IndexBody, need: Budget) -> bool:
    """Whether the vector unit joins the elements of a dtype combination under masks."""
    return body.compute != LONG and need.buffers[0].per_number in (2, 4)


def budget(spec: OpSpec, body: IndexBody, call: IndexCall, combo: int) -> Budget:
    """Return the UB use of a body for a dtype combination."""
    target = DTYPE_BYTES[spec.outputs[0].dtypes[combo]]
    names = {n: spec.param(body.operands[n].tensor).dtypes[combo] for n in body.operands}
    sizes = {name: DTYPE_BYTES[dtype] for name, dtype in names.items()}
    indices = Buffer("indices", 0, len(call.indices), fixed=INDEX_BYTES)
    if call.combine:
        wide = 4 if body.converts else target
        buffers = [Buffer("windowBuf", wide)]
        if body.converts:
            buffers.append(Buffer("stageBuf", max(target, sizes.get(call.table, 1))))
            buffers.append(Buffer("valueBuf", wide))
        if call.values:
            buffers.append(Buffer("valueQueue", sizes[call.values], 2))
        return Budget((*buffers, indices, Buffer("found", 0, fixed=FOUND_BYTES)))
    source = sizes[call.table]
    buffers = [Buffer("rowQueue", source, 2)]
    if body.compute:
        buffers.append(Buffer("outQueue", target, 2))
        if 1 in (source, target):
            buffers.append(Buffer("bytes", 2))
    return Budget((*buffers, indices))

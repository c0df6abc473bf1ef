"""Plan calls that put the elements of rows in order: one call per variant, over an input."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.dtypes import FLOATS
from msopgen_wrap.families.call_variants import (
    axis_at_every_rank,
    different_variants,
    read_variants,
)
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.order.call import OrderCall, OrderReader
from msopgen_wrap.graph.other_traces import traces_with_others
from msopgen_wrap.graph.scalars import Const
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule import lowerings  # noqa: F401  (register the lowerings)
from msopgen_wrap.schedule.buffers import Placement
from msopgen_wrap.schedule.kernel_classes import class_name, share_classes
from msopgen_wrap.schedule.plan import SELECT_RESERVE, Body, Budget, Buffer, OpPlan
from msopgen_wrap.schedule.program import DTYPE_BYTES, Program
from msopgen_wrap.spec.model import OpSpec

# How rows reach UB, and the last digit of the tiling key: as they lie in memory, or by way of the
# workspace, where rows along any axis lie one behind the other.
MODES = {"rows": 0, "workspace": 1}
# Dtypes of which float32 holds every value, and the digits of 16 bits that others are sorted by, as
# opgen/order_digits.h has them.
NARROW = (*FLOATS, "int8", "uint8", "int16")
DIGITS = {"int32": 2, "int64": 4}
_WORD_BYTES = 4
# Bytes of UB for numbers of NaN of runs, and for elements that are copied one by one, as
# opgen/order_runs.h has it.
COUNT_BYTES = 2 * 128 * 32 + 32
BLOCK_BYTES = 256 * (32 + 4)


@dataclass
class OrderBody(Body):
    """The kernel class of a call.

    Attributes:
        descending: whether the largest elements come first.
    """

    descending: bool = False


@dataclass
class OrderPlan(OpPlan[OrderBody]):
    """The plan of a call.

    Attributes:
        call: the call.
        axis: its axis for every rank; negative from the end.
    """

    call: OrderCall = field(default_factory=lambda: OrderCall("", "range", "", "", 0, 1))
    axis: int = 0

    def tiling_attrs(self) -> set[str]:
        """Return the attr that gives the axis."""
        return {self.call.attr} - {""}


def plan_order(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> OrderPlan:
    """Plan the call of every variant and dtype combination.

    Raises:
        OpgenError: OPG350 where the graph is more than one call over an input.
    """
    plan = OrderPlan(spec, family, variants, [], dict(MODES))
    calls: list[tuple[OrderCall, int, dict[str, Any]]] = []
    for read in read_variants(spec, variants, list(plan.served), first, OrderReader):
        call = _proved(spec, read.traced, read.call)
        _check_dtypes(spec, call)
        axis = _axis_of_ranks(spec, read.others, call)
        # what gives a number, such as that of the results, is no operand
        operands = {call.tensor: read.operands[call.tensor]}
        calls.append((replace(call, axis=0, rank=0, descending=False), axis, operands))
        combos = tuple(range(spec.combos))
        name = class_name(spec, variants, read.index, list(combos), 1)
        body = OrderBody(
            name,
            read.index,
            combos,
            Program(),
            Placement(),
            operands,
            len(spec.outputs),
            descending=call.descending,
        )
        for combo in combos:
            body.budgets[combo, "rows"] = budget(spec, call, combo)
            body.budgets[combo, "workspace"] = workspace_budget(spec, call, combo)
        plan.bodies.append(body)
    if any(found != calls[0] for found in calls):
        cure = "make the axis and the number of results attrs without `allowed:`"
        raise OpgenError(different_variants(spec, "sort along other axes", cure))
    plan.call, plan.axis = calls[0][0], calls[0][1]
    plan.narrow = [n for n in plan.call.numbers() if not isinstance(n, Const)]
    share_classes(spec, variants, plan.bodies)
    return plan


# ---- the axis ------------------------------------------------------------------------------------


def _axis_of_ranks(spec: OpSpec, others: Sequence[TracedGraph], call: OrderCall) -> int:
    """Return the axis from the front or, negative, from the end: what holds at every rank.

    Raises:
        OpgenError: OPG204 where neither does.
    """
    found = [call, *(OrderReader(spec, other, 0).read() for other in others)]
    axes = [(c.axis - c.rank, c.axis) for c in found]
    return axis_at_every_rank(spec, axes, bool(call.attr), f"the axis that {spec.op} sorts")


def _proved(spec: OpSpec, traced: TracedGraph, call: OrderCall) -> OrderCall:
    """Return the call with the attr that is its axis, proved by other values of the attrs.

    Raises:
        OpgenError: OPG202 where an attr changes something else.
    """
    fixed = replace(call, attr="")
    names_axis = ""
    for name, value in traced.structural.items():
        for other, again in traces_with_others(spec, traced, name):
            found = replace(OrderReader(spec, again, 0).read(), attr="")
            if found == fixed:
                continue
            moved = type(value) is int and value % call.rank == call.axis
            if not moved or found != replace(fixed, axis=other % call.rank, rank=found.rank):
                raise OpgenError(_shapes(spec, name))
            names_axis = name
    return replace(fixed, attr=names_axis)


def _shapes(spec: OpSpec, name: str) -> Diagnostic:
    return Diagnostic(
        "OPG202",
        f"attr {name!r} changes what compute does beyond the axis it sorts",
        spec.attr(name).location,
        "the kernel is generated once and must serve every value",
        "give it `allowed:` values, or use it only as `dim` or `k`",
    )


# ---- dtypes and UB -------------------------------------------------------------------------------


def _check_dtypes(spec: OpSpec, call: OrderCall) -> None:
    """Refuse what the sort instructions have no keys for.

    Raises:
        OpgenError: OPG332.
    """
    source = spec.param(call.tensor)
    for dtype in source.dtypes:
        if dtype not in (*NARROW, *DIGITS):
            raise OpgenError(_no_keys(spec, source.location, f"sorts {dtype}"))
    if call.values:
        values = spec.param(call.values)
        for combo, dtype in enumerate(values.dtypes):
            given = source.dtypes[combo]
            kept = values.site is not None and given in FLOATS and dtype == "float32"
            if dtype != given and not kept:
                if values.site is None and dtype in FLOATS and given in FLOATS:
                    raise OpgenError(_converts(spec, values.location, given, dtype))
                raise OpgenError(
                    _no_keys(spec, values.location, f"sorts {given} and gives {dtype}")
                )


def _no_keys(spec: OpSpec, location: Any, what: str) -> Diagnostic:
    return Diagnostic(
        "OPG332",
        f"{spec.op} {what}",
        location,
        "elements are sorted as floats or by digits of integers: those of float16, bfloat16, "
        "float32, int8, uint8, int16, int32 and int64, and keep their type",
        "leave the dtype out, or write the kernel with `kernel:`",
    )


def _converts(spec: OpSpec, location: Any, given: str, dtype: str) -> Diagnostic:
    """Return the refusal of values in another float: a pass after the sort may convert them."""
    return Diagnostic(
        "OPG350",
        f"{spec.op} sorts {given} and gives {dtype}",
        location,
        "a pass that sorts keeps the type of the elements",
        "give the output the dtype of what is sorted, or write the kernel with `kernel:`",
    )


def budget(spec: OpSpec, call: OrderCall, combo: int) -> Budget:
    """Return the UB use of a call: per element of a tile of rows, and per result."""
    given = spec.param(call.tensor).dtypes[combo]
    results = {
        f"{name}Queue": DTYPE_BYTES[spec.param(name).dtypes[combo]]
        for name in (call.values, call.places)
        if name
    }
    loaded = Buffer(f"{call.tensor}Queue", DTYPE_BYTES[given], 2)
    return _budget(call, loaded, results, given)


def workspace_budget(spec: OpSpec, call: OrderCall, combo: int) -> Budget:
    """Return the UB use of the step that sorts rows of the workspace, the largest of all."""
    given = spec.param(call.tensor).dtypes[combo]
    results = {"valuesQueue": _WORD_BYTES, "positionsQueue": _WORD_BYTES}
    # what is no integer of several digits is a float there
    key = given if given in DIGITS else "float32"
    return _budget(call, Buffer("elementsQueue", _WORD_BYTES), results, key)


def _budget(call: OrderCall, loaded: Buffer, results: dict[str, int], dtype: str) -> Budget:
    """Return the UB use of a call that sorts elements of a dtype."""
    buffers = [loaded, Buffer("records", 16), Buffer("positions", 4)]
    wide, nans = dtype in DIGITS, dtype in FLOATS
    if wide:
        buffers.append(Buffer("elements", DTYPE_BYTES[dtype]))
    if nans:
        buffers.append(Buffer("masks", 0.25))
    buffers += [Buffer(name, 0, per_number=size) for name, size in results.items()]
    if call.chooses:
        buffers.append(Buffer("chosen", 0, per_number=4))
    kept = (
        Buffer("blocks", 0, fixed=BLOCK_BYTES) if wide else Buffer("counts", 0, fixed=COUNT_BYTES)
    )
    buffers.append(kept)
    return Budget(tuple(buffers), SELECT_RESERVE if nans else 0)

"""Plan reductions of every tensor of a list: one number per tensor, all cores share all tensors."""

from __future__ import annotations

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.foreach.plan import check_tensors
from msopgen_wrap.families.row.body import RowBody, RowPlan, row_budget
from msopgen_wrap.families.row.passes import accumulators
from msopgen_wrap.families.row.plan import plan_row
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.plan import STREAMED, Budget, Buffer
from msopgen_wrap.spec.model import OpSpec

# As ListRecords of opgen/list_records.h has room for: a block each.
MAX_CORES = 64
# Blocks of one row that reductions without an instruction of their own take.
_ROW_BLOCKS = 8 * 32


def plan_reductions(
    family: Family, spec: OpSpec, variants: list[Variant], first: dict[int, TracedGraph]
) -> RowPlan:
    """Plan one pass over the tensors of the lists, and one over the results of each.

    Args:
        family: the family of the plan.
        spec: the op; all its tensors are lists.
        variants: its variants.
        first: graphs already traced for combination 0, by variant index.

    Raises:
        OpgenError: OPG314 where one pass over a tensor does not give its numbers; what the row
            family refuses.
    """
    plan = plan_row(family, spec, variants, first)
    plan.modes = {"flat": 0}
    check_tensors(plan)
    for body in plan.bodies:
        _check_pass(spec, body, plan)
        body.covering = frozenset(body.operands)
        body.budgets = {(combo, "flat"): _budget(spec, body, combo) for combo in body.combos}
    return plan


def records(body: RowBody) -> int:
    """Return how many numbers a core leaves of its part of a tensor."""
    return len(accumulators(body.streamed, 0))


def _check_pass(spec: OpSpec, body: RowBody, plan: RowPlan) -> None:
    """Refuse what one pass over the elements of a tensor does not give."""
    passes = body.streamed
    what = ""
    if len(body.row_outputs) < len(spec.outputs):
        what = "an output with more than one number per tensor"
    elif len(passes.rows) != 1 or passes.pairs[0]:
        what = "a reduction of what another reduction gives"
    elif not _all_axes(spec, plan):
        what = "a reduction along some axes of a tensor"
    elif any(i.op == "Position" for i in body.program.insts):
        what = "the position of an element"
    if what:
        raise OpgenError(
            Diagnostic(
                "OPG314",
                f"{spec.op} needs {what}, over tensor lists",
                spec.compute.location if spec.compute else spec.outputs[0].location,
                "a kernel on lists reads every tensor once and reduces all its elements; all cores "
                "share all tensors and join what they gathered when they have read everything",
                "make one op of the numbers and another one of what follows, call an op on single "
                "tensors, or use `kernel:`",
            )
        )


def _all_axes(spec: OpSpec, plan: RowPlan) -> bool:
    """Whether every element of a tensor is reduced, whatever its rank."""
    return plan.axes.every or (plan.axes.axes == (-1,) and spec.inputs[0].max_rank == 1)


def _budget(spec: OpSpec, body: RowBody, combo: int) -> Budget:
    streamed = row_budget(spec, body, combo, STREAMED)
    fixed = (
        Buffer("records", 0, fixed=MAX_CORES * 32),
        Buffer("rowBlocks", 0, fixed=_ROW_BLOCKS),
    )
    rows = tuple(b for b in streamed.buffers if b.name != "rowBlocks")
    return Budget((*rows, *fixed), streamed.reserved)

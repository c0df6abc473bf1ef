"""Plan kernels on tensor lists: what lists must have, and reductions of every tensor of a list."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.families.elementwise.plan import number_lists
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.row.body import RowBody, RowPlan, row_budget
from msopgen_wrap.families.row.passes import accumulators
from msopgen_wrap.families.row.plan import plan_row
from msopgen_wrap.graph.scalars import Binary, ReducedCount, ScalarExpr, Unary, tensors_of
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.plan import STREAMED, Budget, Buffer, OpPlan
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.shapes import holds_number
from msopgen_wrap.torch_import import torch

# What the kernel fills a tile with.
_FILLED = {"float16", "bfloat16", "float32", "int16", "int32"}


def check_lists(spec: OpSpec, numbers: bool = True) -> None:
    """Raise OPG313 when a single tensor stands beside lists, unless it holds one number.

    Args:
        spec: the op.
        numbers: whether there may be tensors of one number among the inputs.
    """
    for param in (*spec.inputs, *spec.outputs):
        number = numbers and param in spec.inputs and _is_number(param)
        if param.kind is not ParamKind.DYNAMIC and not number:
            raise OpgenError(
                Diagnostic(
                    "OPG313",
                    f"{param.name!r} is a single tensor beside tensor lists",
                    param.location,
                    "a foreach kernel walks all lists together, element by element; a pointwise "
                    'one also takes required inputs with one element (`shape: "[]"` or '
                    '`"[1]"`) of 16 or 32 bits',
                    "make it a list too, give it such a shape, pass a number as an attr, or use "
                    "`kernel:`",
                )
            )


def _is_number(param: TensorParam) -> bool:
    """Whether an input has one element in every call, which a kernel can fill a tile with."""
    fills = param.kind is ParamKind.REQUIRED and _FILLED.issuperset(param.dtypes)
    return fills and holds_number(param)


def check_numbers(spec: OpSpec, traced: TracedGraph, reduces: bool) -> None:
    """Refuse numbers per tensor where a kernel neither reads nor makes them.

    Args:
        spec: the op.
        traced: its graph.
        reduces: whether it reduces the tensors.

    Raises:
        OpgenError: OPG313 for inputs, OPG314 for outputs.
    """
    for name in number_lists(spec):
        param = spec.param(name)
        if not reduces and _FILLED.issuperset(param.dtypes):
            continue
        raise OpgenError(
            Diagnostic(
                "OPG313",
                f"{name!r} has one number for each tensor of the lists",
                param.location,
                "a pointwise foreach kernel fills a tile with the number of a tensor, which takes "
                "elements of 16 or 32 bits; a kernel that reduces the tensors reads their elements "
                "only",
                "make one op of the reductions and another one of what follows, or use `kernel:`",
            )
        )
    walked = [p.name for p in spec.inputs if p.kind is ParamKind.DYNAMIC and not holds_number(p)]
    if reduces or not walked or not traced.shapes[walked[0]]:
        return
    for param in spec.outputs:
        if not _rank(traced.outputs[param.name]):
            raise OpgenError(
                Diagnostic(
                    "OPG314",
                    f"{param.name!r} is one number per tensor, and no reduction of its elements",
                    param.location,
                    "a pointwise kernel on lists writes as many elements as it reads",
                    "reduce the elements of each tensor, or make another op of these numbers",
                )
            )


def _rank(result: Any) -> int:
    return result.meta["val"].dim() if isinstance(result, torch.fx.Node) else 0


def check_tensors(plan: OpPlan[Any]) -> None:
    """Refuse kernels that need more of a tensor than its elements, one after another.

    Raises:
        OpgenError: OPG314.
    """
    what = ""
    if any(view.steps for view in plan.operands().values()) or plan.output_views():
        what = "moves elements within the tensors of a list"
    elif plan.indices() or plan.spans():
        what = "reads positions or sizes of the tensors of a list"
    elif any(map(_reads_sizes, (*(s.expr for s in plan.scalars().values()), *plan.narrow))):
        what = "computes with the sizes of the tensors of a list"
    if what:
        spec = plan.spec
        raise OpgenError(
            Diagnostic(
                "OPG314",
                f"{spec.op} {what}",
                spec.compute.location if spec.compute else spec.outputs[0].location,
                "a kernel on lists goes through the elements of all tensors as if they lay end to "
                "end, with the same numbers for all of them",
                "call an op on single tensors, or use `kernel:`",
            )
        )


def _reads_sizes(expr: ScalarExpr) -> bool:
    if isinstance(expr, Unary):
        return _reads_sizes(expr.arg)
    if isinstance(expr, Binary):
        return _reads_sizes(expr.left) or _reads_sizes(expr.right)
    return isinstance(expr, ReducedCount) or bool(tensors_of(expr))


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
    return plan.axes.kept == 0 or (plan.axes.axes == (-1,) and spec.inputs[0].max_rank == 1)


def _budget(spec: OpSpec, body: RowBody, combo: int) -> Budget:
    streamed = row_budget(spec, body, combo, STREAMED)
    fixed = (
        Buffer("records", 0, fixed=MAX_CORES * 32),
        Buffer("rowBlocks", 0, fixed=_ROW_BLOCKS),
    )
    rows = tuple(b for b in streamed.buffers if b.name != "rowBlocks")
    return Budget((*rows, *fixed), streamed.reserved)

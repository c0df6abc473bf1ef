"""What ops on tensor lists must have for a kernel that walks all lists together."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.scalars import Binary, ReducedCount, ScalarExpr, Unary, tensors_of
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import DimConst, OpSpec, ParamKind, ShapeList, TensorParam

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
    ones = isinstance(param.shape, ShapeList) and set(param.shape.items) <= {DimConst(1)}
    one = ones or param.max_rank == 0
    return one and param.kind is ParamKind.REQUIRED and _FILLED.issuperset(param.dtypes)


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

"""What ops on tensor lists must have for a kernel that walks all lists together."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.graph.scalars import Binary, ReducedCount, ScalarExpr, Unary, tensors_of
from msopgen_wrap.schedule.plan import OpPlan
from msopgen_wrap.spec.model import OpSpec, ParamKind


def check_lists(spec: OpSpec) -> None:
    """Raise OPG313 when a single tensor stands beside lists."""
    for param in (*spec.inputs, *spec.outputs):
        if param.kind is not ParamKind.DYNAMIC:
            raise OpgenError(
                Diagnostic(
                    "OPG313",
                    f"{param.name!r} is a single tensor beside tensor lists",
                    param.location,
                    "a foreach kernel walks all lists together, element by element",
                    "make it a list too, pass a number as an attr, or use `kernel:`",
                )
            )


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

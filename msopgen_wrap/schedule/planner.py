"""Choose the family of an op, plan it, and prove that its buffers fit in UB."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant, variants
from msopgen_wrap.schedule.plan import ROW_UNIT, UNIT, Body, Budget, OpPlan
from msopgen_wrap.schedule.soc import SocLimits, soc_limits
from msopgen_wrap.spec.model import OpSpec


def plan_op(spec: OpSpec) -> OpPlan:
    """Plan the kernels of an op.

    Raises:
        OpgenError: ``compute`` cannot be traced or lowered, or a plan does not fit in UB. Every
            diagnostic names the op and the spec's file.
    """
    try:
        return _plan(spec)
    except OpgenError as error:
        raise OpgenError([_placed(d, spec) for d in error.diagnostics]) from error


def _placed(diagnostic: Diagnostic, spec: OpSpec) -> Diagnostic:
    """Add the op and the file to a diagnostic of a stage that knows neither."""
    if diagnostic.location.file:
        return diagnostic
    what = diagnostic.what if spec.op in diagnostic.what else f"{spec.op}: {diagnostic.what}"
    return replace(diagnostic, what=what, location=Location(spec.path))


def _plan(spec: OpSpec) -> OpPlan:
    if spec.kernel is not None:
        return OpPlan(spec, "handwritten", [Variant()], [], {})
    if spec.compute is None:
        raise OpgenError(Diagnostic("OPG040", f"{spec.op} has neither compute nor kernel"))
    every = variants(spec)
    traced = {0: trace(spec, every[0])}
    if is_row(traced[0]):
        from msopgen_wrap.schedule.row import plan_row

        plan = plan_row(spec, every, traced)
    else:
        from msopgen_wrap.schedule.elementwise import plan_elementwise

        plan = plan_elementwise(spec, every, traced)
    prove(plan)
    return plan


def is_row(traced: TracedGraph) -> bool:
    """Whether the graph reduces along an axis."""
    from msopgen_wrap.schedule.row_lowering import reduction_kind

    return any(reduction_kind(node) for node in traced.graph.nodes)


def prove(plan: OpPlan) -> None:
    """Record the SoC limits and check that every budget fits on every SoC of the spec."""
    problems: list[Diagnostic] = []
    unit = ROW_UNIT if plan.family == "row" else UNIT
    for soc in plan.spec.soc:
        limits = soc_limits(soc)
        plan.socs[soc] = limits.ub
        plan.cores[soc] = limits.cores
        for body in plan.bodies:
            for (combo, mode), budget in body.budgets.items():
                if budget.tile_length(limits.ub, unit) < unit:
                    problems.append(_too_big(plan, body, combo, mode, budget, limits))
                    break
    if problems:
        raise OpgenError(problems)


def _too_big(
    plan: OpPlan, body: Body, combo: int, mode: str, budget: Budget, limits: SocLimits
) -> Diagnostic:
    spec = plan.spec
    names = ", ".join(
        f"{b.name} {b.total:g} B" for b in sorted(budget.buffers, key=lambda b: -b.total)
    )
    need = budget.used(ROW_UNIT if plan.family == "row" else UNIT)
    dtypes = ",".join(p.dtypes[combo] for p in (*spec.inputs, *spec.outputs))
    return Diagnostic(
        "OPG310",
        f"{spec.op} ({dtypes}, {mode}) needs {need} B of UB for its smallest tile, "
        f"{limits.soc} has {limits.ub} B",
        spec.compute.location if spec.compute else spec.outputs[0].location,
        f"bytes per element: {names}",
        "split the op into two, read fewer inputs at once, or write the kernel with `kernel:`",
    )


def plan_dict(plan: OpPlan) -> dict[str, Any]:
    """Return the plan as JSON-ready data."""
    from msopgen_wrap.schedule.report import as_dict

    return as_dict(plan)

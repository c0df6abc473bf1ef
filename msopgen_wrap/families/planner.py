"""Choose the family of an op, plan it, and prove that its buffers fit in UB."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.families.attention import AttentionFamily
from msopgen_wrap.families.contract import Contract
from msopgen_wrap.families.convolution import Convolution
from msopgen_wrap.families.depthwise import Depthwise
from msopgen_wrap.families.elementwise import Elementwise
from msopgen_wrap.families.family import Family, PartFamily
from msopgen_wrap.families.foreach import Foreach
from msopgen_wrap.families.handwritten import Handwritten
from msopgen_wrap.families.index import Index
from msopgen_wrap.families.order import Order
from msopgen_wrap.families.parts import Parts
from msopgen_wrap.families.parts.curable import curable
from msopgen_wrap.families.parts.step_loops import loop_refusal
from msopgen_wrap.families.resize import Resize
from msopgen_wrap.families.row import Row
from msopgen_wrap.families.scan import Scan
from msopgen_wrap.families.schedule_checks import check_schedule
from msopgen_wrap.families.window import Window
from msopgen_wrap.graph.step_loops import first_step
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant, shape_rules, variants
from msopgen_wrap.schedule.calls import reduction_kind
from msopgen_wrap.schedule.demands import demands_of
from msopgen_wrap.schedule.plan import UNIT, Body, Budget, OpPlan
from msopgen_wrap.schedule.soc import SocLimits, soc_limits
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.size_loops import has_loops
from msopgen_wrap.torch_import import quiet_torch

# The first family that claims an op makes its kernels.
FAMILIES: tuple[Family, ...] = (
    Handwritten(),
    Scan(),
    Index(),
    AttentionFamily(),
    Contract(),
    Convolution(),
    Depthwise(),
    Window(),
    Resize(),
    Order(),
    Row(),
    Foreach(),
    Elementwise(),
)


def plan_op(spec: OpSpec) -> OpPlan[Any]:
    """Plan the kernels of an op.

    Raises:
        OpgenError: ``compute`` cannot be traced or lowered, or a plan does not fit in UB. Every
            diagnostic names the op and the spec's file.
    """
    try:
        with quiet_torch():
            plan = _plan_with_loops(spec)
            _take_demands(plan, plan.spec)
        check_schedule(plan)
        return plan
    except OpgenError as error:
        placed = [_placed(d, spec) for d in error.diagnostics]
        if spec.differentiated:
            placed = [_of_gradient(d) for d in placed]
        raise OpgenError(placed) from error


def _plan_with_loops(spec: OpSpec) -> OpPlan[Any]:
    """Plan an op with a pass that runs all steps of its loops, or else with passes for a step.

    Raises:
        OpgenError: neither plans.
    """
    try:
        return _plan(spec)
    except OpgenError as error:
        if spec.stepwise or spec.compute is None or not has_loops(spec.compute.text):
            raise
        refused = error
    over_axes = any(d.code == "OPG351" for d in refused.diagnostics)
    for loops in ("axes", "counts"):
        try:
            return _plan(replace(spec, stepwise=loops))
        except OpgenError as other:
            if over_axes and loops == "axes":
                refused = other
    raise refused


def _take_demands(plan: OpPlan[Any], spec: OpSpec) -> None:
    """Give what the calls of each variant must fulfil to the first part that serves it."""
    known: set[int] = set()
    for part in plan.parts:
        if part.bodies:  # a kernel written by hand has a tiling function of its own
            new = [i for i in part.served if i not in known]
            part.demands = {i: demands_of(spec, part.variants[i]) for i in new}
            known |= set(new)


# Refusals whose cure is a change of the formula that is differentiated.
_CURES_IN_THE_FORMULA = ("OPG201", "OPG202", "OPG203", "OPG204")


def _of_gradient(diagnostic: Diagnostic) -> Diagnostic:
    """Say what can be done about a formula that PyTorch has derived."""
    why = f"{diagnostic.why}; the kernel is that of a gradient, derived from the formula shown"
    fix = (
        "write 'backward: reference' in the spec of the forward op, or a formula for each gradient"
    )
    if diagnostic.code in _CURES_IN_THE_FORMULA and diagnostic.fix:
        fix = f"{diagnostic.fix}; or {fix}"
    return replace(diagnostic, why=why.removeprefix("; "), fix=fix)


def _placed(diagnostic: Diagnostic, spec: OpSpec) -> Diagnostic:
    """Add the op and the file to a diagnostic of a stage that knows neither."""
    if diagnostic.location.file:
        return diagnostic
    what = diagnostic.what if spec.op in diagnostic.what else f"{spec.op}: {diagnostic.what}"
    return replace(diagnostic, what=what, location=Location(spec.path))


def _plan(spec: OpSpec) -> OpPlan[Any]:
    if spec.kernel is None and spec.compute is None:
        raise OpgenError(Diagnostic("OPG040", f"{spec.op} has neither compute nor kernel"))
    every: list[Variant] = []
    first: dict[int, TracedGraph] = {}

    def traced() -> TracedGraph:
        if not first:
            every.extend(variants(spec))
            index = spec.served[0] if spec.served else 0
            first[index] = trace(spec, every[index])
        return next(iter(first.values()))

    if spec.stepwise and first_step(traced().graph) is not None:
        if spec.whole is not None:
            why = "its results lie in the workspace before other passes read them"
            raise OpgenError(loop_refusal(spec, why))
        return Parts(_plan).plan(spec, every, first)
    family = next(f for f in FAMILIES if f.claims(spec, traced))
    try:
        if isinstance(family, PartFamily):
            _trace_variants(spec, every, first)
        plan = family.plan(spec, every, first)
        prove(plan)
        check_in_place(plan)
    except OpgenError as error:
        parts = Parts(_plan)
        cut = isinstance(family, PartFamily) and spec.whole is None and curable(error)
        if not cut or not parts.claims(spec, traced):
            raise
        return parts.plan(spec, every, first)
    if spec.whole is not None:
        return plan
    return Parts(_plan).plan_in_slabs(spec, every, plan) or plan


def _trace_variants(spec: OpSpec, every: list[Variant], first: dict[int, TracedGraph]) -> None:
    """Trace all variants; raises OPG335 where one pass does not make all of them."""
    served = range(len(every)) if spec.served is None else spec.served
    for index in served:
        if index not in first:
            first[index] = trace(spec, every[index])
    shaped = {shape_rules(spec, every[index]) for index in served}
    if len(shaped) > 1:
        raise OpgenError(
            Diagnostic(
                "OPG335",
                f"the variants of {spec.op} have outputs of different shapes",
                spec.outputs[0].location,
                "a pass works through one shape in all variants that it serves",
                "split the op, or give its outputs one shape",
            )
        )
    reduces = {i: any(map(reduction_kind, first[i].graph.nodes)) for i in served}
    if len(set(reduces.values())) > 1:
        one, other = (
            next(every[i].label() for i in served if reduces[i] is found) for found in (True, False)
        )
        raise OpgenError(
            Diagnostic(
                "OPG335",
                f"the kernel for {one} reduces, that for {other} does not",
                spec.compute.location if spec.compute else spec.outputs[0].location,
                "a pass reduces in all variants that it serves, or in none",
                "split the op in two, or reduce in every variant",
            )
        )


def prove(plan: OpPlan[Any]) -> None:
    """Record the SoC limits and check that every budget fits on every SoC of the spec."""
    problems: list[Diagnostic] = []
    for soc in plan.spec.soc:
        limits = soc_limits(soc)
        plan.socs[soc] = limits.ub
        plan.cores[soc] = limits.cores
        for body in plan.bodies:
            for (combo, mode), budget in body.budgets.items():
                if budget.tile_length(limits.ub) < UNIT:
                    problems.append(_too_big(plan, body, combo, mode, budget, limits))
                    break
    if problems:
        raise OpgenError(problems)


def _too_big(
    plan: OpPlan[Any], body: Body, combo: int, mode: str, budget: Budget, limits: SocLimits
) -> Diagnostic:
    spec = plan.spec
    names = ", ".join(
        f"{b.name} {b.total:g} B" for b in sorted(budget.buffers, key=lambda b: -b.total)
    )
    need = budget.used(UNIT)
    params = [p for p in (*spec.inputs, *spec.outputs) if p.site is None]
    dtypes = ",".join(p.dtypes[combo] for p in params)
    return Diagnostic(
        "OPG310",
        f"{spec.op} ({dtypes}, {mode}) needs {need} B of UB for its smallest tile, "
        f"{limits.soc} has {limits.ub} B",
        spec.compute.location if spec.compute else spec.outputs[0].location,
        f"bytes per element: {names}",
        "split the op into two, read fewer inputs at once, or write the kernel with `kernel:`",
    )


def check_in_place(plan: OpPlan[Any]) -> None:
    """Refuse a pass that overwrites an input of which it reads moved elements.

    Raises:
        OpgenError: OPG339.
    """
    for output in plan.spec.outputs:
        for body in plan.bodies if output.inplace else ():
            moved = [v for v in body.operands.values() if v.tensor == output.inplace]
            if any(view.rearranged for view in moved):
                raise OpgenError(
                    Diagnostic(
                        "OPG339",
                        f"output {output.name!r} is in place and made of other elements of "
                        f"{output.inplace!r} than those it overwrites",
                        output.location,
                        "tiles and cores run in any order: an element would be overwritten before "
                        "another tile reads it",
                        "give the op an output of its own instead of `inplace:`",
                    )
                )

"""Cut an op into groups of outputs, each of which one family makes in one pass.

Variants that no passes serve together have passes of their own (``variant_groups``).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.parts.phases import Phases, PlanOne, curable
from msopgen_wrap.families.parts.variant_groups import Group, group_names, planned_groups
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.plan import Body, OpPlan
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.spec.names import camel_case


@dataclass
class PartsPlan(OpPlan[Body]):
    """The plan of an op that is made in several passes.

    Attributes:
        made: the plans, in the order in which they run: one per group of outputs, each after those
            that write the temporaries it reads. A call runs those that serve its variant.
        temporaries: what parts write to the workspace and later ones read.
        waits: per plan, whether it reads what other cores have written since all cores last waited
            for one another.
    """

    made: list[OpPlan[Any]] = field(default_factory=list)
    temporaries: list[TensorParam] = field(default_factory=list)
    waits: list[bool] = field(default_factory=list)

    @property
    def parts(self) -> list[OpPlan[Any]]:
        """The plans that run one after another."""
        return self.made


def plan_parts(
    family: Family, spec: OpSpec, variants: list[Variant], plan_one: PlanOne
) -> PartsPlan:
    """Plan the passes of all variants together or, where no passes serve all, of groups of them.

    Raises:
        OpgenError: a single output of a single variant cannot be planned.
    """
    made: list[list[OpPlan[Any]]] = []
    groups: list[Group] = [tuple(range(len(variants)))]
    try:
        made.append(_passes(spec, variants, plan_one))
    except OpgenError as error:
        if len(variants) == 1 or not curable(error):
            raise
        found = _passes_of_groups(spec, variants, plan_one)
        groups, made = [group for group, _ in found], [plans for _, plans in found]
    for plans, name in zip(made, group_names(spec, variants, groups), strict=True):
        for plan in plans:
            _name(plan, name)
    plans = [plan for passes in made for plan in passes]
    bodies = [body for plan in plans for body in plan.bodies]
    temporaries = [p for plan in plans for p in plan.spec.outputs if p.site is not None]
    return PartsPlan(
        spec,
        family,
        variants,
        bodies,
        {"parts": 0},
        made=plans,
        temporaries=temporaries,
        waits=[wait for passes in made for wait in _waits(passes)],
    )


def _passes_of_groups(
    spec: OpSpec, variants: list[Variant], plan_one: PlanOne
) -> list[tuple[Group, list[OpPlan[Any]]]]:
    """Plan groups of variants; temporaries have names of their own in each."""
    taken: set[str] = set()

    def plan(group: Group) -> list[OpPlan[Any]]:
        part = replace(spec, whole=spec, served=group)
        try:
            return [plan_one(part)]
        except OpgenError as error:
            if not curable(error):
                raise
        plans = _passes(part, variants, plan_one, taken)
        taken.update(p.name for plan in plans for p in plan.spec.temporaries)
        return plans

    return planned_groups(spec, [trace(spec, variant) for variant in variants], plan)


def _passes(
    spec: OpSpec, variants: list[Variant], plan_one: PlanOne, taken: Iterable[str] = ()
) -> list[OpPlan[Any]]:
    """Plan as few groups of outputs as a greedy search finds.

    Each output joins the first group whose plan can make it too. Every part reads what it needs of
    the inputs again. An output that no part makes by itself is cut into phases. Outputs in place
    are all made by the last part, with all others where that can make them: no part may read what
    it wrote.
    """
    inplace = [p for p in spec.outputs if p.inplace]
    if inplace:
        phases = Phases(spec, variants, plan_one, taken)
        try:
            phases.make(spec.outputs)
            return _used(phases.plans)
        except OpgenError as error:
            if len(inplace) == len(spec.outputs) or not curable(error):
                raise
    phases = Phases(spec, variants, plan_one, taken)
    for output in spec.outputs:
        if not output.inplace and not _join(phases.plans, output, plan_one):
            phases.make([output])
    if inplace:
        phases.make(inplace)
    return _used(phases.plans)


def _name(plan: OpPlan[Any], group: str) -> None:
    """Name a part by its outputs and its group, and drop the temporaries that it does not read."""
    read = plan.temporaries_read()
    kept = (p for p in plan.spec.inputs if p.site is None or p.name in read)
    plan.spec = replace(plan.spec, inputs=tuple(kept))
    outputs = "".join(camel_case(p.name) for p in plan.spec.outputs)
    plan.part = outputs + group
    for body in plan.bodies:
        body.class_name += outputs


def _join(plans: list[OpPlan[Any]], output: TensorParam, plan_one: PlanOne) -> bool:
    """Plan an output with the first part for outputs that can make it too."""
    for index, plan in enumerate(plans):
        if any(p.site is not None for p in plan.spec.outputs):
            continue
        try:
            plans[index] = plan_one(replace(plan.spec, outputs=(*plan.spec.outputs, output)))
            return True
        except OpgenError as error:
            if not curable(error):
                raise
    return False


def _used(plans: Sequence[OpPlan[Any]]) -> list[OpPlan[Any]]:
    """Return the plans without those whose temporaries no later one reads after all."""
    read: set[str] = set()
    kept: list[OpPlan[Any]] = []
    for plan in reversed(plans):
        if any(p.site is None or p.name in read for p in plan.spec.outputs):
            kept.insert(0, plan)
            read.update(plan.temporaries_read())
    return kept


def _waits(plans: Sequence[OpPlan[Any]]) -> list[bool]:
    """Return which passes wait for all cores.

    They read what others have written, or overwrite what others may still read.
    """
    waits: list[bool] = []
    written: set[str] = set()
    for plan in plans:
        overwrites = bool(waits) and any(p.inplace for p in plan.spec.outputs)
        waits.append(overwrites or not written.isdisjoint(plan.temporaries_read()))
        if waits[-1]:
            written = set()
        written |= {p.name for p in plan.spec.outputs if p.site is not None}
    return waits

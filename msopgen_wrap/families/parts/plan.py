"""Cut an op into groups of outputs, each of which one family makes in one pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.family import Family
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.schedule.plan import Body, OpPlan
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.spec.names import camel_case

PlanOne = Callable[[OpSpec], OpPlan[Any]]
# What the outputs of an op may need several passes for: reductions over different axes (335), axes
# that do not line up (336), outputs reshaped otherwise (337), of other shapes (338), too many
# operands (311), too much UB (310).
CURABLE = {"OPG310", "OPG311", "OPG335", "OPG336", "OPG337", "OPG338"}


@dataclass
class PartsPlan(OpPlan[Body]):
    """The plan of an op that is made in several passes.

    Attributes:
        made: a plan per group of outputs, in the order of the outputs.
    """

    made: list[OpPlan[Any]] = field(default_factory=list)

    @property
    def parts(self) -> list[OpPlan[Any]]:
        """The plans that run one after another."""
        return self.made


def plan_parts(
    family: Family, spec: OpSpec, variants: list[Variant], plan_one: PlanOne
) -> PartsPlan:
    """Plan as few groups of outputs as a greedy search finds.

    Each output joins the first group whose plan can make it too. Every part reads what it needs of
    the inputs again.

    Raises:
        OpgenError: a single output cannot be planned.
    """
    groups: list[list[TensorParam]] = []
    plans: list[OpPlan[Any]] = []
    for output in spec.outputs:
        for index, group in enumerate(groups):
            try:
                plans[index] = plan_one(_part(spec, [*group, output]))
            except OpgenError as error:
                if not curable(error):
                    raise
                continue
            group.append(output)
            break
        else:
            plans.append(plan_one(_part(spec, [output])))
            groups.append([output])
    for plan in plans:
        plan.part = "".join(camel_case(p.name) for p in plan.spec.outputs)
        for body in plan.bodies:
            body.class_name += plan.part
    bodies = [body for plan in plans for body in plan.bodies]
    return PartsPlan(spec, family, variants, bodies, {"parts": 0}, made=plans)


def curable(error: OpgenError) -> bool:
    """Whether fewer outputs may be planned where these were refused."""
    return all(d.code in CURABLE for d in error.diagnostics)


def _part(spec: OpSpec, outputs: list[TensorParam]) -> OpSpec:
    return replace(spec, outputs=tuple(outputs), whole=spec)

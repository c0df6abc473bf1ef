"""Cut an op into groups of outputs, each of which one family makes in one pass.

The passes of a kernel are the same for all variants of a group. Variants that reduce other axes, or
none, get passes of their own; the tiling key of a call says which passes run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.families.family import Family
from msopgen_wrap.families.parts.curable import curable
from msopgen_wrap.families.parts.one_pass import with_one_pass
from msopgen_wrap.families.parts.phases import Phases, PlanOne
from msopgen_wrap.families.parts.slabs import joined_slabs
from msopgen_wrap.families.parts.step_loops import StepLoop
from msopgen_wrap.graph.tracing import TracedGraph, trace
from msopgen_wrap.graph.variants import Variant, shape_rules
from msopgen_wrap.schedule.calls import reduced_dims, reduction_kind
from msopgen_wrap.schedule.kernel_classes import words
from msopgen_wrap.schedule.plan import Body, OpPlan
from msopgen_wrap.spec.asked_gradients import NOTHING
from msopgen_wrap.spec.model import OpSpec, ParamKind, TensorParam
from msopgen_wrap.spec.names import camel_case

Group = tuple[int, ...]
Planned = TypeVar("Planned")

# Values of an attr that a name lists.
_MOST_WORDS = 3


def planned_groups(
    spec: OpSpec, graphs: Sequence[TracedGraph], plan: Callable[[Group], Planned]
) -> list[tuple[Group, Planned]]:
    """Plan groups of variants, as large as one set of passes serves.

    Variants that reduce the same axes and have outputs of the same shapes are tried together, then
    in halves: attrs vary slowest, so a half mostly fixes the value of one.

    Args:
        spec: the op.
        graphs: the graph of every variant.
        plan: plans a group; raises OpgenError where no passes serve all of it.

    Raises:
        OpgenError: a single variant cannot be planned.
    """
    alike: dict[object, list[int]] = {}
    for index, traced in enumerate(graphs):
        key = (_reduced(traced), shape_rules(spec, traced.variant))
        alike.setdefault(key, []).append(index)
    found: list[tuple[Group, Planned]] = []
    pending = [tuple(group) for group in alike.values()]
    while pending:
        group = pending.pop(0)
        try:
            found.append((group, plan(group)))
        except OpgenError as error:
            if len(group) == 1 or not curable(error):
                raise
            half = (len(group) + 1) // 2
            pending[:0] = [group[:half], group[half:]]
    return sorted(found, key=lambda made: made[0])


def _reduced(traced: TracedGraph) -> frozenset[object]:
    """Return the axes of all reductions of a graph, with the rank of what they reduce."""
    found = set()
    for node in traced.graph.nodes:
        if reduction_kind(node):
            rank = len(node.args[0].meta["val"].shape)
            found.add((rank, tuple(sorted(reduced_dims(node, rank)))))
    return frozenset(found)


def group_names(spec: OpSpec, variants: Sequence[Variant], groups: Sequence[Group]) -> list[str]:
    """Return a CamelCase name per group: what its variants have that those of others lack.

    Returns:
        ``[""]`` for the only group; ``Group1`` ... where no short names tell the groups apart.
    """
    if len(groups) == 1:
        return [""]
    names = [_group_name(spec, variants, group) for group in groups]
    if "" in names or len(set(names)) < len(names):
        return [f"Group{number}" for number in range(1, len(groups) + 1)]
    return names


def _group_name(spec: OpSpec, variants: Sequence[Variant], group: Group) -> str:
    parts: list[str] = []
    for position, (name, _) in enumerate(variants[0].attrs):
        every = dict.fromkeys(v.attrs[position][1] for v in variants)
        own = dict.fromkeys(variants[i].attrs[position][1] for i in group)
        if len(own) < len(every):
            parts += [words(name, value) for value in own][: _MOST_WORDS + 1]
    for param in spec.inputs:
        given = {param.name in variants[i].present for i in group}
        if param.kind is ParamKind.OPTIONAL and len(given) == 1:
            parts.append(("With" if given == {True} else "Without") + words("", param.name))
    return "".join(parts) if len(parts) <= _MOST_WORDS else ""


@dataclass
class PartsPlan(OpPlan[Body]):
    """The plan of an op that is made in several passes.

    Attributes:
        made: the plans, in the order in which they run: one per group of outputs, each after those
            that write the temporaries it reads. A call runs those that serve its variant.
        temporaries: what parts write to the workspace and later ones read.
        slabs: those of outputs that parts write by themselves.
        loops: over neighbouring parts, which run once for each step.
        waits: per plan, whether it reads what other cores have written since all cores last waited
            for one another.
    """

    made: list[OpPlan[Any]] = field(default_factory=list)
    temporaries: list[TensorParam] = field(default_factory=list)
    slabs: list[TensorParam] = field(default_factory=list)
    loops: list[StepLoop] = field(default_factory=list)
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
    return _parts_plan(
        family, spec, variants, plan_one, _passes_of_groups(spec, variants, plan_one)
    )


def plan_in_slabs(
    family: Family, spec: OpSpec, variants: list[Variant], plan_one: PlanOne, alone: OpPlan[Any]
) -> PartsPlan | None:
    """Plan passes that write pieces of outputs to their places, in the stead of one for all.

    One pass of pointwise work reads and computes each piece for all elements of the output.

    Args:
        alone: the one pass.

    Returns:
        None where no output is joined of pieces, or no passes make these one by one.
    """
    passes = _slabs_instead(alone, spec, variants, plan_one)
    if passes is None:
        return None
    everything = tuple(range(len(variants)))
    return _parts_plan(family, spec, variants, plan_one, [(everything, passes)])


def _parts_plan(
    family: Family,
    spec: OpSpec,
    variants: list[Variant],
    plan_one: PlanOne,
    found: list[tuple[Group, _Passes]],
) -> PartsPlan:
    """Return the plan of an op from the passes of its groups of variants."""
    groups = [group for group, _ in found]
    made = [with_one_pass(passes.plans, plan_one) for _, passes in found]
    loops = _numbered_loops([passes.loops for _, passes in found], made)
    for plans, name in zip(made, group_names(spec, variants, groups), strict=True):
        for plan in plans:
            _name(plan, name)
    _tell_classes_apart(made, group_names(spec, variants, groups))
    plans = [plan for passes in made for plan in passes]
    bodies = [body for plan in plans for body in plan.bodies]
    single = [plan for plan in plans if not plan.instead]
    temporaries = [p for plan in single for p in plan.spec.outputs if p.site is not None]
    return PartsPlan(
        spec,
        family,
        variants,
        bodies,
        {"parts": 0},
        made=plans,
        temporaries=temporaries,
        slabs=_slabs(single),
        loops=loops,
        waits=[wait for passes in made for wait in _waits(passes)],
    )


@dataclass(frozen=True)
class _Passes:
    """The passes of a group of variants.

    Attributes:
        apart: variants that lack a value which fewer passes would have written.
        loops: over some of the passes.
    """

    plans: list[OpPlan[Any]]
    apart: frozenset[int] = frozenset()
    loops: tuple[StepLoop, ...] = ()

    @classmethod
    def of(cls, phases: Phases) -> _Passes:
        """Return the passes that were planned, without those that nothing reads."""
        plans = _used(phases.plans, phases.loops)
        return cls(plans, frozenset(phases.apart), tuple(phases.loops))

    @property
    def names(self) -> set[str]:
        """Those of the temporaries."""
        found = {p.name for plan in self.plans for p in plan.spec.temporaries}
        return found.union(*(loop.names for loop in self.loops))


def _passes_of_groups(
    spec: OpSpec, variants: list[Variant], plan_one: PlanOne
) -> list[tuple[Group, _Passes]]:
    """Plan all variants at once, or groups of them; temporaries have names of their own in each.

    A group is split where the passes of its pieces are fewer: a value that some of its variants
    lack cannot be written for all of them, and the way around it takes more passes.
    """
    taken: set[str] = set()
    everything = tuple(range(len(variants)))
    found: list[tuple[Group, _Passes]] = []

    def plan(group: Group) -> _Passes:
        # An output of no elements is there for other variants: no pass makes it.
        rules = shape_rules(spec, variants[group[0]])[len(spec.inputs) :]
        outputs = [p for p, rule in zip(spec.outputs, rules, strict=True) if rule != NOTHING]
        part = replace(spec, whole=spec, served=group, outputs=tuple(outputs))
        try:
            alone = plan_one(part)
        except OpgenError as error:
            if not curable(error):
                raise
        else:
            slabs = _slabs_instead(alone, part, variants, plan_one, taken)
            return slabs or _Passes([alone])
        passes = _passes(part, variants, plan_one, taken)
        taken.update(passes.names)
        return passes

    if len({shape_rules(spec, variant) for variant in variants}) == 1:
        try:
            found.append((everything, _passes(spec, variants, plan_one)))
            taken |= found[0][1].names
        except OpgenError as error:
            if len(variants) == 1 or not curable(error):
                raise
    if not found:
        found = planned_groups(spec, [trace(spec, variant) for variant in variants], plan)
    kept: list[tuple[Group, _Passes]] = []
    while found:
        group, passes = found.pop(0)
        taken -= passes.names
        pieces = _pieces(group, passes, plan)
        if pieces:
            found[:0] = pieces
        else:
            kept.append((group, passes))
            taken |= passes.names
    return sorted(kept, key=lambda made: made[0])


def _pieces(
    group: Group, passes: _Passes, plan: Callable[[Group], _Passes]
) -> list[tuple[Group, _Passes]]:
    """Return the plans of two pieces of a group; none where these do not save a pass."""
    sides = [tuple(i for i in group if (i in passes.apart) is side) for side in (False, True)]
    if not all(sides):
        return []
    try:
        pieces = [(side, plan(side)) for side in sides]
    except OpgenError as error:
        if not curable(error):
            raise
        return []
    most = max(len(piece.plans) for _, piece in pieces)
    return pieces if most < len(passes.plans) else []


def _passes(
    spec: OpSpec, variants: list[Variant], plan_one: PlanOne, taken: Iterable[str] = ()
) -> _Passes:
    """Plan as few groups of outputs as a greedy search finds.

    Each output joins the first group whose plan can make it too. Every part reads what it needs of
    the inputs again. An output that no part makes by itself is cut into phases. Outputs in place
    are all made by the last part, with all others where that can make them: no part may read what
    it wrote.
    """
    slabs = _passes_in_slabs(spec, variants, plan_one, taken, least=1)
    if slabs is not None:
        return slabs
    inplace = [p for p in spec.outputs if p.inplace]
    if inplace:
        phases = Phases(spec, variants, plan_one, taken)
        try:
            phases.make(spec.outputs)
            return _Passes.of(phases)
        except OpgenError as error:
            if len(inplace) == len(spec.outputs) or not curable(error):
                raise
    phases = Phases(spec, variants, plan_one, taken)
    for output in spec.outputs:
        if not output.inplace and not _join(phases.plans, output, plan_one):
            phases.make([output])
    if inplace:
        phases.make(inplace)
    return _Passes.of(phases)


def _slabs_instead(
    alone: OpPlan[Any],
    spec: OpSpec,
    variants: list[Variant],
    plan_one: PlanOne,
    taken: Iterable[str] = (),
) -> _Passes | None:
    """Plan passes that write the pieces of outputs in place of one; None where that one stays."""
    if alone.family.name != "elementwise":  # in others not every value is computed for all elements
        return None
    return _passes_in_slabs(spec, variants, plan_one, taken, least=2)


def _passes_in_slabs(
    spec: OpSpec, variants: list[Variant], plan_one: PlanOne, taken: Iterable[str], least: int
) -> _Passes | None:
    """Plan passes that write each piece of outputs that are joined of pieces to its place.

    Pieces of one size are made by one pass where a family takes them together.

    Args:
        least: how many pieces such an output has, without filled margins.

    Returns:
        None where no output is joined of pieces, or no passes make these one by one.
    """
    phases = Phases(spec, variants, plan_one, taken)
    if any(p.inplace for p in spec.outputs):
        return None
    sizes: dict[str, Any] = {}
    outputs: list[TensorParam] = []
    for output in spec.outputs:
        slabs = joined_slabs(phases.part([output]), phases.variant, output, phases.taken)
        if sum(not slab.filled for slab in slabs) < least:
            slabs = []
        sizes |= {slab.param.name: slab.size for slab in slabs}
        outputs += [slab.param for slab in slabs] or [output]
    if not sizes:
        return None
    try:
        for output in outputs:
            if not _join(phases.plans, output, plan_one, sizes):
                phases.make([output])
    except OpgenError:  # other passes may make them
        return None
    return _Passes.of(phases)


def _slabs(plans: Sequence[OpPlan[Any]]) -> list[TensorParam]:
    """Return the slabs of outputs that parts write by themselves, those of all groups once."""
    written = [p for plan in plans for p in plan.spec.outputs if p.slab is not None]
    return list({p.name: p for p in written}.values())


def _name(plan: OpPlan[Any], group: str) -> None:
    """Name a part by its outputs and its group, and drop the temporaries that it does not read."""
    read = plan.temporaries_read()
    kept = (p for p in plan.spec.inputs if p.site is None or p.name in read)
    plan.spec = replace(plan.spec, inputs=tuple(kept))
    outputs = "".join(camel_case(p.name) for p in plan.writes)
    if any({*plan.writes} == {*other.writes} for other in plan.instead):
        outputs += "AtOnce"  # one of the parts in whose place it runs makes the same outputs
    plan.part = outputs + group
    for body in plan.bodies:
        body.class_name += outputs


def _tell_classes_apart(made: Sequence[Sequence[OpPlan[Any]]], names: Sequence[str]) -> None:
    """Add its group to the name of a class that another group has, too."""
    owners: dict[str, set[int]] = {}
    for index, plans in enumerate(made):
        for plan in plans:
            for body in plan.bodies:
                owners.setdefault(body.class_name, set()).add(index)
    for plans, name in zip(made, names, strict=True):
        for plan in plans:
            for body in plan.bodies:
                if len(owners[body.class_name]) > 1:
                    body.class_name += name


def _join(
    plans: list[OpPlan[Any]],
    output: TensorParam,
    plan_one: PlanOne,
    sizes: Mapping[str, Any] | None = None,
) -> bool:
    """Plan an output with the first part for outputs that can make it too.

    Args:
        sizes: of slabs of outputs, by their name: a part writes slabs of one size alone.
    """
    for index, plan in enumerate(plans):
        if any(p.site is not None for p in plan.spec.outputs):
            continue
        names = {output.name, *(p.name for p in plan.spec.outputs)}
        if len({(sizes or {}).get(name) for name in names}) > 1:
            continue
        try:
            plans[index] = plan_one(replace(plan.spec, outputs=(*plan.spec.outputs, output)))
            return True
        except OpgenError as error:
            if not curable(error):
                raise
    return False


def _used(plans: Sequence[OpPlan[Any]], loops: Sequence[StepLoop]) -> list[OpPlan[Any]]:
    """Return the plans without those whose temporaries no later one reads after all."""
    read: set[str] = set().union(*(loop.read for loop in loops))
    kept: list[OpPlan[Any]] = []
    for plan in reversed(plans):
        if any(p.site is None or p.name in read for p in plan.spec.outputs):
            kept.insert(0, plan)
            read.update(plan.temporaries_read())
    return kept


def _numbered_loops(
    loops: Sequence[Sequence[StepLoop]], made: Sequence[Sequence[OpPlan[Any]]]
) -> list[StepLoop]:
    """Return the loops of all groups, each with a number of its own, also in its passes."""
    found: list[StepLoop] = []
    for own, plans in zip(loops, made, strict=True):
        numbers = {loop.number: len(found) + place for place, loop in enumerate(own)}
        for plan in plans:
            if plan.spec.loop is not None:
                plan.spec = replace(plan.spec, loop=numbers[plan.spec.loop])
        found += [replace(loop, number=numbers[loop.number]) for loop in own]
    return found


def _waits(plans: Sequence[OpPlan[Any]]) -> list[bool]:
    """Return which passes wait for all cores.

    They read what others have written, or overwrite what others may still read. All cores wait at
    the end of each step of a loop, and before the first.
    """
    waits: list[bool] = []
    written: set[str] = set()
    loop: int | None = None
    for plan in plans:
        if plan.spec.loop != loop:
            loop, written = plan.spec.loop, set()
            waits.append(bool(waits) and loop is not None)
        else:
            overwrites = bool(waits) and any(p.inplace for p in plan.spec.outputs)
            waits.append(overwrites or not written.isdisjoint(plan.temporaries_read()))
        if plan.instead:
            continue  # waits as the first of the parts in whose place it runs
        if waits[-1]:
            written = set()
        written |= {p.name for p in plan.spec.outputs if p.site is not None}
    return waits

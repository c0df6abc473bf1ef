"""Loops whose steps are passes: one set of passes, run once for each step.

The step of such a loop is a part of the graph (``graph.step_loops``). What it reads from around it
lies in global memory before the loop runs. Its passes are planned as those of any formula, for one
step: states, slices and results are temporaries of one step, and the kernel runs the passes for
every step with the addresses of that step.
"""

from __future__ import annotations

import functools
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.families.parts.curable import curable
from msopgen_wrap.families.parts.graph_values import ancestors, is_filled, is_given
from msopgen_wrap.families.parts.operand_dtypes import stored_dtypes
from msopgen_wrap.families.parts.temporaries import free_name
from msopgen_wrap.graph.cuts import sites
from msopgen_wrap.graph.equal_sizes import fixed_size
from msopgen_wrap.graph.scalars import ScalarExpr
from msopgen_wrap.graph.step_loops import STACK, first_step, step_calls, step_of
from msopgen_wrap.graph.tracing import trace
from msopgen_wrap.graph.wide_products import has_input_dtypes
from msopgen_wrap.schedule.calls import IDENTITY, RESHAPES, VIEW_OPS, target_name
from msopgen_wrap.schedule.lowering import Lowerer
from msopgen_wrap.spec.model import OpSpec, Site, TensorParam
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from msopgen_wrap.families.parts.phases import Phases

Node = torch.fx.Node

# Calls that fill a tensor, and which argument is the number.
_NUMBERS = {"aten.full.default": 1, "aten.full_like.default": 1, "aten.scalar_tensor.default": 0}


@dataclass(frozen=True)
class LoopState:
    """A state of a loop.

    Attributes:
        before: the temporary that the passes of a step read: the state before the step.
        result: the temporary of the state after it.
        start: what holds the state before the first step.
        value: the number that all its elements are then; None where a pass writes it.
        shape: its sizes, where it is one number.
    """

    before: TensorParam
    result: str
    start: str
    value: float | None = None
    shape: tuple[ScalarExpr, ...] = ()


@dataclass(frozen=True)
class LoopSlice:
    """A tensor of which each step reads a slice.

    Attributes:
        param: the temporary that the passes of a step read.
        source: the input or temporary whose first axis the loop runs along.
    """

    param: TensorParam
    source: str


@dataclass(frozen=True)
class LoopResult:
    """A result of a loop.

    Attributes:
        param: the temporary that the passes of a step write.
        stack: the temporary with the results of all steps along a first axis. It has a site where
            later passes read it; otherwise it holds those of two steps.
    """

    param: TensorParam
    stack: TensorParam

    @property
    def is_kept(self) -> bool:
        """Whether the results of all steps are."""
        return self.stack.site is not None


@dataclass(frozen=True)
class StepLoop:
    """A loop over passes.

    Attributes:
        number: of the loop in its kernel; ``OpSpec.loop`` of its passes.
        states, slices, results: what the addresses of a step are computed for.
        backwards: whether it runs from the last place to the first.
        count: the number of its steps, where the formula says it.
    """

    number: int
    states: tuple[LoopState, ...]
    slices: tuple[LoopSlice, ...]
    results: tuple[LoopResult, ...]
    backwards: bool
    count: int | None = None

    @property
    def read(self) -> set[str]:
        """The temporaries that the loop hands to its steps, or behind it."""
        names = {s.start for s in self.states} | {s.source for s in self.slices}
        return names | {r.param.name for r in self.results}

    @property
    def temporaries(self) -> list[TensorParam]:
        """What the passes of a step read by addresses of that step, then what the loop makes."""
        own = [*(s.before for s in self.states), *(s.param for s in self.slices)]
        return own + [r.stack for r in self.results]

    @property
    def names(self) -> set[str]:
        """All names that the loop makes."""
        starts = {s.start for s in self.states if s.value is not None}
        return starts | {p.name for p in self.temporaries}


def plan_loop(phases: Phases, part: OpSpec) -> bool:
    """Plan the first loop that a part has, or a value that its steps read from around it.

    Returns:
        False: the part has no loop.

    Raises:
        OpgenError: no passes make a step or what it reads.
    """
    if not part.stepwise or part.loop is not None:
        return False
    traced = trace(part, phases.variant)
    begin = first_step(traced.graph)
    if begin is None:
        return False
    ends = (n for n in traced.graph.nodes if target_name(n) == STACK and step_of(n) is begin)
    stack = next(ends, None)
    if stack is None:
        raise OpgenError(loop_refusal(part, "the size of a value in a step is used outside of it"))
    phases.given = traced.inputs
    planner = _LoopPlanner(phases, part, begin, stack, traced)
    if not planner.write_around():
        planner.plan_steps()
    return True


class _LoopPlanner:
    """Plans one loop: the values that its steps read, one at a time, then the passes of a step."""

    def __init__(self, phases: Phases, part: OpSpec, begin: Node, stack: Node, traced: Any) -> None:
        self.phases, self.part, self.traced = phases, part, traced
        self.begin, self.stack = begin, stack
        self.starts: list[Node] = list(begin.args[0])  # type: ignore[arg-type]
        self.sources: list[Node] = list(begin.args[1])  # type: ignore[arg-type]
        self.given = _items(begin)

    @functools.cached_property
    def kept(self) -> dict[int, Site]:
        """The results of all steps that an output of the op needs, by their place."""
        graph = trace(self.part.whole or self.part, self.phases.variant).graph
        site_of = sites(graph)
        stack = next(n for n, site in site_of.items() if site == self.stack.meta["site"])
        return {number: site_of[item] for number, item in _items(stack).items()}

    @functools.cached_property
    def places(self) -> list[int]:
        """The places of the results of a step: of the next states, and of others that are kept."""
        count = len(self.starts)
        every = range(len(self.stack.args[0]))  # type: ignore[arg-type]
        return [n for n in every if n < count or n in self.kept]

    @functools.cached_property
    def results(self) -> list[Node]:
        """What the passes of a step make, in the order of ``places``."""
        every: Any = self.stack.args[0]
        return [every[place] for place in self.places]

    @functools.cached_property
    def calls(self) -> list[Node]:
        """The calls of a step."""
        return step_calls(self.begin, self.stack)

    # ---- what lies in memory before the loop ----------------------------------------------------

    def write_around(self) -> bool:
        """Plan passes that write a value which the steps read; False: all are there."""
        for number, start in enumerate(self.starts):
            if self._name(start) or _filled_with(start) is not None:
                continue
            if is_filled(start):
                raise OpgenError(self._refused("an attr says what a state is at first"))
            dtypes = self._state_dtypes(number)
            name = free_name("start", self._taken())
            doc = f"a state before the first step, {'/'.join(dict.fromkeys(dtypes))}"
            given = TensorParam(name, dtypes, doc=doc, site=start.meta["site"])
            self._must(self.phases.write(start, given), "what a state is before the first step")
            return True
        for number in self._read_sources():
            source = self.sources[number]
            if not self._name(source):
                if is_filled(source):
                    raise OpgenError(self._refused("the steps read slices of one number"))
                written = self.phases.write(source, self._source(number))
                self._must(written, "a tensor whose slices the steps read")
                return True
        inside = {self.begin, *self.calls}
        for call in self.calls:
            for node in call.all_input_nodes:
                if node not in inside and _is_computed(node) and self.phases.write(node):
                    return True
        return False

    def _read_sources(self) -> list[int]:
        """Return the sources that steps read; one that tells how many steps there are, if none.

        Where the formula says how many steps there are, no source has to.
        """
        count = len(self.starts)
        read = [n for n in range(len(self.sources)) if count + n in self.given]
        return read or ([] if self._count() is not None else [0])

    def _count(self) -> int | None:
        """Return how many steps there are, where the formula says it."""
        return fixed_size(self.sources[0].meta["val"].shape[0])

    def _source(self, number: int) -> TensorParam | None:
        """Return the temporary of a source whose slices are multiplied; None for any that suits."""
        source, node = self.sources[number], self.given.get(len(self.starts) + number)
        if node is None or not has_input_dtypes(node):
            return None
        own = stored_dtypes(self.part, source, self.phases.given)
        dtypes = stored_dtypes(self.part, node, self.phases.given)
        if own is None or dtypes is None or set(own) != {"float32"}:
            return None
        doc = f"what the steps multiply slices of, {'/'.join(dict.fromkeys(dtypes))}"
        return TensorParam(self._new_name("value"), dtypes, doc=doc, site=source.meta["site"])

    def _name(self, node: Node) -> str:
        """Return the input or temporary that a node is, "" for none."""
        return self.traced.inputs.get(node.name, "") if node.op == "placeholder" else ""

    def _taken(self) -> set[str]:
        phases = self.phases
        return phases.taken | {p.name for p in phases.part(()).inputs}

    # ---- the steps ------------------------------------------------------------------------------

    def plan_steps(self) -> None:
        """Plan the passes of a step, and give the results of all steps to later passes."""
        phases = self.phases
        count = len(self.starts)
        befores = [self._before(number) for number in range(count)]
        slices = {number: self._slice(number) for number in self._read_sources()}
        results = [self._result(number) for number in range(len(self.results))]
        known, number = list(phases.temporaries), len(phases.loops)
        phases.temporaries += [p for p in befores if p is not None]
        phases.temporaries += [p for p in slices.values() if p.site is not None]
        phases.loop = number
        try:
            made = self._make([param for param, _ in results])
        finally:
            phases.loop = None
            phases.taken |= {p.name for p in phases.temporaries}
            phases.temporaries = known
        states = []
        read_names = {
            view.tensor
            for plan in phases.plans
            if plan.spec.loop == number
            for view in plan.operands().values()
        }
        for place, before in enumerate(befores):
            if before is None or before.name not in read_names:
                continue
            if before.dtypes != made[place].dtypes:
                raise OpgenError(self._refused("its next state has another dtype"))
            states.append(self._state(place, before, made[place].name))
        stacks = [
            LoopResult(param, replace(stack, dtypes=param.dtypes))
            for param, (_, stack) in zip(made, results, strict=True)
        ]
        read = [
            LoopSlice(param, self._name(self.sources[place])) for place, param in slices.items()
        ]
        backwards = bool(self.begin.args[2])
        phases.loops.append(
            StepLoop(
                number,
                tuple(states),
                tuple(read),
                tuple(stacks),
                backwards,
                self._count(),
            )
        )
        phases.temporaries += [r.stack for r in stacks if r.stack.site is not None]

    def _make(self, results: list[TensorParam]) -> list[TensorParam]:
        """Plan the passes of a step: for all results together, or one after another."""
        phases = self.phases
        before = list(phases.plans), list(phases.temporaries), set(phases.taken)
        try:
            return list(phases.make(results))
        except OpgenError as error:
            if len(results) == 1 or not curable(error):
                raise
        phases.plans, phases.temporaries, phases.taken = before
        made: list[TensorParam] = []
        for result in results:
            made += phases.make([result])
            phases.temporaries += made[-1:]
        return made

    def _before(self, number: int) -> TensorParam | None:
        """Return the temporary of a state before a step; None where no step reads it."""
        node = self.given.get(number)
        if node is None:
            return None
        name = self._new_name("before")
        return TensorParam(
            name, self._state_dtypes(number), doc="a state before a step", site=node.meta["site"]
        )

    def _state(self, number: int, before: TensorParam, result: str) -> LoopState:
        start = self.starts[number]
        value = _filled_with(start)
        if value is None or self._name(start):
            return LoopState(before, result, self._name(start))
        return LoopState(before, result, self._new_name("start"), value, self._sizes(start))

    def _sizes(self, start: Node) -> tuple[ScalarExpr, ...]:
        """Return the sizes of a tensor of one number, as the calls that make it say them."""
        lowerer = Lowerer(self.part, self.traced, 0)
        above = ancestors(start) | {start}
        try:
            for node in (n for n in self.traced.graph.nodes if n in above):
                tensor = isinstance(node.meta.get("val"), (torch.Tensor, list, tuple))
                lowerer.values[node] = None  # of what is computed, sizes alone are asked
                if not tensor or is_given(node):
                    lowerer.values[node] = lowerer.lowered(node)
            axes = range(start.meta["val"].dim())
            return tuple(lowerer.known_size(start, axis) for axis in axes)
        except OpgenError:
            why = "the sizes of a state do not follow from inputs alone"
            raise OpgenError(self._refused(why)) from None

    def _slice(self, number: int) -> TensorParam:
        """Return the temporary of a slice, without a site where no step reads it."""
        node = self.given.get(len(self.starts) + number)
        source = self._name(self.sources[number])
        dtypes = self.phases.part(()).param(source).dtypes
        site = node.meta["site"] if node is not None else None
        name = self._new_name("slice")
        return TensorParam(name, dtypes, doc=f"the slice of {source} in a step", site=site)

    def _result(self, number: int) -> tuple[TensorParam, TensorParam]:
        """Return the temporaries of a result of a step, and of those of all steps."""
        node = self.results[number]
        if "site" not in node.meta or node not in self.calls:
            raise OpgenError(self._refused("a result of a step is not computed by it"))
        dtypes = (
            self._state_dtypes(number)
            if number < len(self.starts)
            else self._must(stored_dtypes(self.part, node, self.phases.given), "a result of a step")
        )
        kind = "/".join(dict.fromkeys(dtypes))
        what = "a state after" if number < len(self.starts) else "a result of"
        param = TensorParam(
            self._new_name("next"), dtypes, doc=f"{what} a step, {kind}", site=node.meta["site"]
        )
        site = self.kept.get(self.places[number])
        stack = replace(
            param, name=self._new_name("steps"), doc=f"{what} each step, {kind}", site=site
        )
        return param, stack

    def _new_name(self, base: str) -> str:
        name = free_name(base, self._taken())
        self.phases.taken.add(name)
        return name

    def _state_dtypes(self, number: int) -> tuple[str, ...]:
        """Return the dtypes of a state: those of a product's operand where it is one."""
        stacked = _items(self.stack).get(self.places[number])
        nodes = [self.results[number], self.given.get(number), stacked]
        found = [
            self._must(stored_dtypes(self.part, node, self.phases.given), "a state")
            for node in nodes
            if node is not None
        ]
        return next((d for d in found if set(d) != {"float32"}), found[0])

    # ---- refusals -------------------------------------------------------------------------------

    def _must(self, made: Any, what: str) -> Any:
        if not made:
            raise OpgenError(self._refused(f"no pass makes {what}"))
        return made

    def _refused(self, why: str) -> Diagnostic:
        return loop_refusal(self.part, why)


def loop_refusal(part: OpSpec, why: str) -> Diagnostic:
    """Return OPG351 for a loop whose steps are passes."""
    return Diagnostic(
        "OPG351",
        f"the loop cannot be a kernel: {why}",
        part.compute.location if part.compute is not None else Location(part.path),
        "its steps are passes that run one after another; states, slices and results of a step "
        "lie in global memory",
        "compute other values in the step, or write the kernel with `kernel:`",
    )


def _items(call: Node) -> dict[int, Node]:
    """Return the nodes that read the results of a call, by their place."""
    return {
        int(user.args[1]): user  # type: ignore[arg-type]
        for user in call.users
        if target_name(user) == "operator.getitem"
    }


def _is_computed(node: Node) -> bool:
    """Whether a node is a tensor that takes work: no input, view of one, or number."""
    tensor = isinstance(node.meta.get("val"), torch.Tensor)
    return node.op == "call_function" and tensor and not is_given(node) and not is_filled(node)


def _filled_with(node: Any) -> float | None:
    """Return the number that all elements of a value are; None where it is no known number."""
    found = _one_element(node)
    return None if found is None else found.item()


def _one_element(node: Any) -> Any:
    """Return any element of a value that is one number throughout, None for others."""
    if not isinstance(node, Node):
        return torch.tensor(node) if isinstance(node, (bool, int, float)) else None
    target = target_name(node)
    if node.op != "call_function" or not isinstance(node.meta.get("val"), torch.Tensor):
        return None
    dtype = node.meta["val"].dtype
    if target in IDENTITY | VIEW_OPS | RESHAPES:
        return _one_element(node.args[0])
    if target in _NUMBERS:
        number: Any = node.args[_NUMBERS[target]]
        return torch.tensor(number, dtype=dtype) if isinstance(number, (int, float)) else None
    if torch.Tag.pointwise not in getattr(node.target, "tags", ()):
        return None
    given = [a if not isinstance(a, Node) else _one_element(a) for a in node.args]
    if any(a is None for a in given):
        return None
    return node.target(*given, **node.kwargs)  # type: ignore[operator]

"""Cut an output into phases: what a later pass cannot compute itself goes through the workspace.

A pass reduces the same axes throughout. Where the outputs need more, the reductions that one pass
can make become its outputs, and the passes after it read them: results of reductions are small
beside the tensors that they reduce. Pointwise work on such results moves into the pass that makes
them where that leaves no more of them to write. A view of a computed value that no pass can follow
is taken of the value in the workspace.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.dtypes import computed_dtypes
from msopgen_wrap.families.parts.attentions import (
    FoundAttention,
    attention_dtypes,
    attentions,
)
from msopgen_wrap.families.parts.curable import curable
from msopgen_wrap.families.parts.graph_values import (
    ancestors,
    is_filled,
    is_given,
    is_input,
    is_moved,
    is_tensor,
    is_unknown,
    joins_axes,
    read_values,
    rest_behind,
    sunk_values,
    tags,
    tensors_of,
)
from msopgen_wrap.families.parts.operand_dtypes import is_view, reshaped, root, stored_dtypes
from msopgen_wrap.families.parts.step_loops import StepLoop, plan_loop
from msopgen_wrap.families.parts.temporaries import (
    base_name,
    free_name,
    temporary_doc,
    temporary_dtype,
)
from msopgen_wrap.graph.axes_of_one import sizes_of
from msopgen_wrap.graph.cuts import sites
from msopgen_wrap.graph.sizes import same_size, size_hint
from msopgen_wrap.graph.tracing import TracedGraph, trace, trace_with_views
from msopgen_wrap.graph.variants import Variant
from msopgen_wrap.graph.views import repeats_nothing
from msopgen_wrap.schedule.anchors import ANCHORS, anchors
from msopgen_wrap.schedule.calls import (
    AXES_OF_ONE,
    PLACE,
    RESHAPES,
    VIEW_OPS,
    is_expanded,
    reduction_kind,
    target_name,
)
from msopgen_wrap.schedule.lowering import Lowerer, WideTemporaryError
from msopgen_wrap.schedule.plan import MAX_OPERANDS, OpPlan
from msopgen_wrap.schedule.program import sources
from msopgen_wrap.spec.model import OpSpec, Site, TensorParam
from msopgen_wrap.spec.size_loops import has_loops
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node
PlanOne = Callable[[OpSpec], OpPlan[Any]]

# A formula with loops takes a pass for each step of a loop where its steps need more of them.
MAX_TEMPORARIES, MAX_OF_LOOPS = 128, 32
# Values made of so many different numbers of tensors are tried where none is left to cut at.
_MOST_WIDTHS = 4
# Families of anchors that read their operands through views: what the views are of is written.
_VIEWERS = ("contract", "index")


class Phases:
    """The passes planned so far for an op, and the temporaries that they have written.

    Args:
        spec: the op; ``served`` of it says which variants the passes are for.
        variants: its variants.
        plan_one: plans a pass.
        taken: names that temporaries must not have.

    Attributes:
        apart: the variants that lack a value which the first one would have written.
        loops: those whose steps are some of the passes.
        loop: the number of the loop whose step is being planned.
    """

    def __init__(
        self,
        spec: OpSpec,
        variants: list[Variant],
        plan_one: PlanOne,
        taken: Iterable[str] = (),
    ) -> None:
        self.spec, self.plan_one = spec, _with_wide_temporaries(plan_one)
        served = spec.served or tuple(range(len(variants)))
        self.variant = variants[served[0]]
        self.others = {index: variants[index] for index in served[1:]}
        self.apart: set[int] = set()
        self.loops: list[StepLoop] = []
        self.loop: int | None = None
        self.taken = {p.name for p in spec.outputs} | {a.name for a in spec.attrs} | {*taken}
        looped = spec.compute is not None and has_loops(spec.compute.text)
        self.most = MAX_OF_LOOPS if looped else MAX_TEMPORARIES
        self.temporaries: list[TensorParam] = []
        self.plans: list[OpPlan[Any]] = []
        self.given: dict[str, str] = {}  # inputs of the graph that is being cut
        self.pending: list[Any] = []  # sites of the values that are being planned
        self.no_attentions: set[Site] = set()  # products that were tried as attentions
        # Whether numbers of 64 bits are no temporaries: reductions read them as the nearest numbers
        # of int32, and what was refused would be computed of these.
        self.no_longs = False

    def part(self, outputs: Iterable[TensorParam]) -> OpSpec:
        """Return the spec of a pass that reads the inputs and the temporaries made so far."""
        inputs = (*self.spec.inputs, *self.temporaries)
        whole = self.spec.whole or self.spec
        return replace(
            self.spec, inputs=inputs, outputs=tuple(outputs), whole=whole, loop=self.loop
        )

    def make(self, outputs: Sequence[TensorParam]) -> tuple[TensorParam, ...]:
        """Plan the passes that make some outputs, or values of the graph.

        Returns:
            the outputs, temporaries with the dtypes that the passes found them to need.

        Raises:
            OpgenError: no passes make them; the refusal of the last one.
        """
        while True:
            part = self.part(outputs)
            if plan_loop(self, part):
                continue
            try:
                plan = self.plan_one(part)
                self._append(plan)
                return plan.spec.outputs
            except OpgenError as error:
                if not curable(error) or not self._cut_for(part, error):
                    raise

    # ---- one cut -------------------------------------------------------------------------------

    def _cut_for(self, part: OpSpec, error: OpgenError) -> bool:
        """Cut a part that was refused; see ``_cut``."""
        before = self.no_longs
        self.no_longs = any(d.code == "OPG332" for d in error.diagnostics)
        try:
            return self._cut(part)
        finally:
            self.no_longs = before

    def _cut(self, part: OpSpec) -> bool:
        """Plan a pass whose results bring a part closer to one pass; False: there is none."""
        if len(self.temporaries) >= self.most:
            return False
        traced = trace(part, self.variant)
        self.given = traced.inputs
        unknown = next(filter(is_unknown, traced.graph.nodes), None)
        if unknown is not None:  # no cut helps
            raise OpgenError(Lowerer(part, traced, 0).unsupported(unknown))
        known = len(self.temporaries)
        return (
            self._attention(part, traced)
            or self._first_anchor(traced)
            # what was written on the way to a pass that failed is in no graph yet
            or len(self.temporaries) > known
            or self._reduce(traced)
            or self._before_view(traced)
            or self._before_reduction(traced)
            or self._widest(traced)
            or self._piece(part)
        )

    def _attention(self, part: OpSpec, traced: TracedGraph) -> bool:
        """Plan the first attention as a pass, after its operands where these are computed.

        An attention that the part consists of otherwise is left to it.
        """
        for found in attentions(traced.graph.nodes):
            site = found.result.meta["site"]
            if site in self.no_attentions:
                continue
            self.no_attentions.add(site)  # not tried again, whatever comes of it
            dtypes = attention_dtypes(part, found, self.given)
            computed = [n for n in found.masks if is_view(n) or not is_given(n)]
            masks = [n for n in computed if not is_filled(n)]
            # The family reads causal masks of positions itself; others lie in the workspace.
            choices = ([], masks) if masks else ([],)
            if dtypes is not None and any(
                self._attention_of(part, found, dtypes, written) for written in choices
            ):
                return True
        return False

    def _attention_of(
        self, part: OpSpec, found: FoundAttention, dtypes: tuple[str, ...], masks: list[Node]
    ) -> bool:
        """Plan an attention after its operands and some masks; False: it is none then.

        Args:
            dtypes: of the operands, one per combination.
            masks: values that the attention reads from the workspace.
        """
        computed = [n for n in dict.fromkeys(found.operands) if not is_given(n)]
        written = [*computed, *(n for n in masks if n not in computed)]
        operands = self._temporaries(written)
        if operands is None:
            return False
        alike = len(computed)
        operands = [*(replace(p, dtypes=dtypes) for p in operands[:alike]), *operands[alike:]]
        for values in ([], reshaped(found.result), [found.result]):
            if self._plan_attention(part, values, operands) is None:
                continue
            # the passes that write one of them may write temporaries, too
            self.taken |= {p.name for p in operands}
            if not all(map(self.write, written, operands)):
                return False
            plan = self._plan_attention(part, values) if values else None
            if plan is not None:
                self._add(plan)
            return plan is not None or not values
        return False

    def _plan_attention(
        self, part: OpSpec, values: list[Node], operands: Sequence[TensorParam] = ()
    ) -> OpPlan[Any] | None:
        """Return the plan of an attention that reads more operands from the workspace.

        Args:
            values: of the graph, written to the workspace; none for the outputs of the part.
        """
        known = len(self.temporaries)
        self.temporaries += operands
        try:
            outputs = self._temporaries(values) if values else part.outputs
            plan = self.plan_one(self.part(outputs)) if outputs is not None else None
        except OpgenError as error:
            if not curable(error):
                raise
            return None
        finally:
            del self.temporaries[known:]
        return plan if plan is not None and plan.family.name == "attention" else None

    def _first_anchor(self, traced: TracedGraph) -> bool:
        """Plan the first anchor as a pass, or what it reads where its family cannot compute that.

        No other anchor is above the first one in the order of a graph.
        """
        for anchor in anchors(traced.graph.nodes)[:1]:
            for values in (reshaped(anchor), tensors_of(anchor)):
                plan = self._plan(values) if values else None
                if plan is not None:
                    self._add(plan)
                    return True
            operands = [n for n in anchor.all_input_nodes if not is_input(n)]
            if ANCHORS[target_name(anchor)] in _VIEWERS:
                operands = [n if is_given(n) else root(n) for n in operands]
            # The workspace would hold one number in place of a tensor filled with it.
            operands = [n for n in operands if not is_filled(n)]
            return any(map(self.write, sorted(operands, key=is_given)))
        return False

    def _reduce(self, traced: TracedGraph) -> bool:
        """Plan the first reduction with all that join its pass."""
        chosen: list[Node] = []
        refused: set[Node] = set()
        for node in traced.graph.nodes:
            if not reduction_kind(node):
                continue
            above = ancestors(node)
            if above & refused:
                refused.add(node)
                continue
            if self._plan([*chosen, *tensors_of(node)]) is None:
                if not chosen:
                    return False
                refused.add(node)
                continue
            chosen += tensors_of(node)
        rest = rest_behind(traced, chosen)
        needed = [node for node in chosen if node in rest]
        if not needed:
            return False
        sunk = sunk_values(traced, needed, rest)
        for values in (sunk, needed) if len(sunk) <= len(needed) else (needed,):
            plan = self._plan(values)
            if plan is not None:
                self._add(plan)
                return True
        return False

    def _before_view(self, traced: TracedGraph) -> bool:
        """Plan the value that the first view moves which is not taken of an input.

        An input whose repeated elements are to lie one behind the other is written so, and one
        whose axes change places before they are joined or taken apart.
        """
        for node in traced.graph.nodes:
            moves = target_name(node) in (VIEW_OPS | RESHAPES) - AXES_OF_ONE
            if node.op != "call_function" or not moves or is_filled(node):
                continue
            if not is_given(node.args[0]):
                return self.write(_without_axes_of_one(node.args[0]))
            if target_name(node) in RESHAPES and is_expanded(node.args[0]):
                return self.write(node)
            if target_name(node) != PLACE and _is_placed_repeat(node.args[0]):
                return self.write(node.args[0])
            if target_name(node) in RESHAPES and is_moved(node.args[0]) and joins_axes(node):
                return self.write(node.args[0])
        return False

    def _before_reduction(self, traced: TracedGraph) -> bool:
        """Plan what the first reduction reads: a pass without it may make that."""
        first = next(filter(reduction_kind, traced.graph.nodes), None)
        return first is not None and self.write(first.args[0])

    def write(self, value: Any, given: TensorParam | None = None) -> bool:
        """Plan the passes that write a value; False: there are none.

        Args:
            given: the temporary that it becomes; None for one of the dtypes that suit it.
        """
        temporary = self._temporaries([value]) if given is None else [given]
        if temporary is None or value.meta["site"] in self.pending:
            return False
        names = {p.name for p in temporary}
        self.taken |= names  # the passes on the way may write temporaries, too
        self.pending.append(value.meta["site"])
        try:
            written = self.make(temporary)
        except OpgenError as error:
            self.taken -= names
            if not curable(error):
                raise
            return False
        finally:
            self.pending.pop()
        self.temporaries += written
        return True

    def _widest(self, traced: TracedGraph) -> bool:
        """Plan the first value that is made of about as many tensors as a pass can read.

        Where that takes too much UB, one that is made of fewer is.
        """
        found: dict[int, Node] = {}
        for node in traced.graph.nodes:
            count = len(read_values(node)) if torch.Tag.pointwise in tags(node) else 0
            if 2 < count < MAX_OPERANDS:
                found.setdefault(count, node)
        outputs = set(traced.outputs.values())
        for count in sorted(found, reverse=True)[:_MOST_WIDTHS]:
            plan = self._plan([found[count]]) if found[count] not in outputs else None
            if plan is not None:
                self._add(plan)
                return True
        return False

    def _piece(self, part: OpSpec) -> bool:
        """Plan a computed piece of a value that is joined of pieces, as gates and their gradients.

        One pass would compute each piece for all elements, of operands of its own.
        """
        graph = trace_with_views(part, self.variant).graph
        pieces = [n.args[0] for n in graph.nodes if target_name(n) == PLACE]
        return any(self.write(n) for n in pieces if not is_given(n) and not is_filled(n))

    # ---- passes --------------------------------------------------------------------------------

    def _plan(self, values: list[Node]) -> OpPlan[Any] | None:
        """Return the plan of a pass that writes values of the graph, None where none does."""
        temporaries = self._temporaries(values)
        if temporaries is None:
            return None
        try:
            return self.plan_one(self.part(temporaries))
        except OpgenError as error:
            if not curable(error):
                raise
            return None

    def _add(self, plan: OpPlan[Any]) -> None:
        self._append(plan)
        self.temporaries += plan.spec.outputs

    def _append(self, plan: OpPlan[Any]) -> None:
        of_temporaries = all(p.site is not None for p in plan.spec.outputs)
        if not of_temporaries or not self._joins_earlier(plan):
            self.plans.append(plan)

    def _joins_earlier(self, plan: OpPlan[Any]) -> bool:
        """Let an earlier pass write temporaries, too, if it reads all that they are made of.

        What one output needs is often on the way to another one, as the statistics of rows or the
        weights of an attention in its gradient: it is then stored, and no pass reads the inputs
        again for it.
        """
        read = _operands(plan)
        for index, earlier in enumerate(self.plans):
            if any(p.inplace for p in earlier.spec.outputs) or not read <= _operands(earlier):
                continue
            if earlier.spec.loop != plan.spec.loop:
                continue
            outputs = (*earlier.spec.outputs, *plan.spec.outputs)
            try:
                joined = self.plan_one(replace(earlier.spec, outputs=outputs))
            except OpgenError as error:
                if not curable(error):
                    raise
                continue
            of_temporaries = any(p.site is not None for p in earlier.spec.outputs)
            if not of_temporaries or all(_fills_space(joined, p.name) for p in outputs):
                self.plans[index] = joined
                return True
        return False

    def _temporaries(self, values: list[Node]) -> list[TensorParam] | None:
        """Return temporaries for values of a graph, None where one cannot be any."""
        found: list[TensorParam] = []
        for node in values:
            taken = self.taken | {p.name for p in (*self.part(found).inputs, *found)}
            site = node.meta.get("site")
            dtypes = stored_dtypes(self.part(found), node, self.given)
            if site is not None and dtypes is not None:
                dtypes = self._of_combinations(site, dtypes)
            if site is None or dtypes is None or not self._alike(node, site):
                return None
            if self.no_longs and node.meta["val"].dtype == torch.int64:
                return None
            name = free_name(base_name(node), taken)
            doc = temporary_doc(node, "/".join(dict.fromkeys(dtypes)))
            found.append(TensorParam(name, dtypes, doc=doc, site=site))
        return found

    def _of_combinations(self, site: Site, dtypes: tuple[str, ...]) -> tuple[str, ...] | None:
        """Return the dtypes of a temporary where combinations compute floats, others integers.

        Args:
            dtypes: those that the graph of the first combination tells.

        Returns:
            ``dtypes`` where all combinations compute it in one of them; None where a combination
            lacks the value, or computes it in a dtype that no input tells.
        """
        computed = [computed_dtypes(p.dtypes) for p in self.spec.inputs if p.site is None]
        mixed = [found for found in computed if len(set(found)) > 1]
        if not mixed or len(set(dtypes)) > 1:
            return dtypes
        found = []
        for known in self._dtypes_of_combinations:
            dtype = known.get(site)
            if dtype is None or (dtype == "int64" and self.no_longs):
                return None
            found.append(dtype)
        if "float32" in found:
            found = ["int32" if dtype == "int64" else dtype for dtype in found]
        return tuple(found) if len(set(found)) == 1 or tuple(found) in mixed else None

    @functools.cached_property
    def _dtypes_of_combinations(self) -> list[dict[Site, str | None]]:
        """What kernels compute each value in, per combination of dtypes."""
        whole = self.spec.whole or self.spec
        graphs = [trace(whole, self.variant, combo).graph for combo in range(self.spec.combos)]
        return [{s: temporary_dtype(n) for n, s in sites(graph).items()} for graph in graphs]

    def _alike(self, node: Node, site: Site) -> bool:
        """Whether a value has as many elements in all variants that have it.

        The graphs of variants can differ, so that the same call, counted in their order, is another
        one. The host code of a pass reads a temporary as one shape for all variants.
        """
        count = _elements(node)
        found = {index: counts.get(site) for index, counts in self._counts_elsewhere.items()}
        self.apart |= {index for index, other in found.items() if other != count}
        return all(other in (count, None) for other in found.values())

    @functools.cached_property
    def _counts_elsewhere(self) -> dict[int, dict[Site, int | None]]:
        """How many elements each value has, per variant but the first."""
        whole = self.spec.whole or self.spec
        graphs = {index: trace(whole, variant).graph for index, variant in self.others.items()}
        return {
            index: {site: _elements(node) for node, site in sites(graph).items()}
            for index, graph in graphs.items()
        }


def _without_axes_of_one(value: Any) -> Any:
    """Return what a value is before axes of one element are put in or left out.

    Its operands may lack such axes; a view of the value in the workspace has them.
    """
    while target_name(value) in AXES_OF_ONE and not is_expanded(value):
        value = value.args[0]
    return value


def _is_placed_repeat(node: Any) -> bool:
    """Whether a node places a tensor that is repeated, along other axes than it is placed in.

    Along that axis a repeat has one element for all places, which a mask chooses from.
    """
    if not isinstance(node, Node) or target_name(node) != PLACE:
        return False
    repeat, axis = node.args[0], node.args[1]
    if target_name(repeat) != "aten.expand.default":  # type: ignore[arg-type]
        return False
    assert isinstance(repeat, Node) and isinstance(axis, int)
    source: Any = repeat.args[0]
    own, sizes = source.meta["val"].shape, repeat.meta["val"].shape
    place = axis % len(sizes) - (len(sizes) - len(own))
    return place >= 0 and same_size(own[place], sizes[axis]) and not repeats_nothing(repeat)


def _with_wide_temporaries(plan_one: PlanOne) -> PlanOne:
    """Return a planner that gives temporaries 64 bits where their elements need them."""

    def plan(part: OpSpec) -> OpPlan[Any]:
        try:
            return plan_one(part)
        except WideTemporaryError as error:
            wide = tuple(
                replace(p, dtypes=("int64",) * len(p.dtypes), doc=p.doc.replace("int32", "int64"))
                if p.name == error.name
                else p
                for p in part.outputs
            )
            return plan(replace(part, outputs=wide))

    return plan


def _elements(node: Node) -> int | None:
    """Return how many elements a value has in the sample; None where the trace does not know."""
    if not is_tensor(node):
        return None
    hints = [size_hint(size) for size in sizes_of(node)]
    return None if None in hints else math.prod(hints)


def _operands(plan: OpPlan[Any]) -> set[str]:
    """Return the tensors that a pass reads, in any of its variants."""
    return {view.tensor for body in plan.bodies for view in body.operands.values()}


def _fills_space(plan: OpPlan[Any], name: str) -> bool:
    """Whether a temporary has the sizes of all operands of its pass in every call.

    An operand that it is not made of may broadcast it to more, unless a rule gives its shape. One
    that is made of none, as the numbers of an axis, has sizes that no operand tells.
    """
    for body in plan.bodies:
        if not hasattr(body, "program"):
            continue
        behind = sources(body.program, name)
        read = {view.tensor for n, view in body.operands.items() if n in behind}
        if not read:
            return False
        others = [plan.spec.param(v.tensor) for v in body.operands.values() if v.tensor not in read]
        if any(p.site is None and p.shape is None for p in others):
            return False
    return True

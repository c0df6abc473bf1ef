"""Loops whose steps are passes: the step as it is, between two calls of a graph.

``graph.loops`` records a step for all places at once, which a family runs row by row. A step that
multiplies or reduces a state is recorded for one place instead, so that its calls are cut into
passes like those of any formula (``families.parts.loops``):

* ``opgen::loop_step(starts, sources, reverse)``: the states before a step, then the slice of each
  source at its place.
* ``opgen::loop_stack(results, given, like)``: the results of all steps, each along a first axis;
  ``given`` is a result of the call that begins them, ``like`` a source.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.equal_sizes import same_sizes
from msopgen_wrap.graph.step_hoisting import Calls, Place, hoisted
from msopgen_wrap.graph.walks import reached
from msopgen_wrap.spec.loops import Step, check_states, length_of, listed
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten

STEP = "opgen.loop_step.default"
STACK = "opgen.loop_stack.default"

_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define("loop_step(Tensor[] starts, Tensor[] sources, bool reverse) -> Tensor[]")
_LIBRARY.define("loop_stack(Tensor[] results, Tensor[] given, Tensor like) -> Tensor[]")


def _step(starts: Any, sources: Any, reverse: bool) -> Any:
    slices = [x.new_empty(x.shape[1:]) for x in sources]
    return [*(s.new_empty(s.shape) for s in starts), *slices]


def _stack(results: Any, given: Any, like: Any) -> Any:
    return [r.new_empty([like.shape[0], *r.shape]) for r in results]


_LIBRARY.impl("loop_step", _step, "Meta")
_LIBRARY.impl("loop_stack", _stack, "Meta")


def traced_steps(
    step: Step, states: Any, inputs: Any, reverse: bool, kept: dict[Place, Any]
) -> Any:
    """Return the results of a loop as calls of the graph, with the calls of one step between them.

    Args:
        step, states, inputs, reverse: as ``spec.loops.run_loop`` has them.
        kept: gets what is computed for all steps before the loop, by its place in a step.
    """
    starts, sources = listed(states), listed(inputs)
    length_of(sources)
    # a start is a value of its own, which passes can write
    starts = [s.clone() for s in starts]
    count = len(starts) + len(sources)
    asked = list(torch.ops.opgen.loop_step(starts, sources, bool(reverse)))
    ahead = hoisted(step, asked[: len(starts)], sources, asked[len(starts) :])
    kept |= ahead
    sources = [*sources, *ahead.values()]
    given = list(torch.ops.opgen.loop_step(starts, sources, bool(reverse)))
    with Calls(dict(zip(ahead, given[count:], strict=True))):
        found = step(*given[:count])
    results = listed(found)
    check_states(results, given[: len(starts)])
    known = {id(g) for g in given}
    own = {id(r): r.clone() if id(r) in known else r for r in results}
    places = {key: place for place, key in enumerate(own)}
    stacked = torch.ops.opgen.loop_stack(list(own.values()), given[:1], sources[0])
    every = tuple(stacked[places[id(r)]] for r in results)
    return every if isinstance(found, (list, tuple)) else every[0]


def first_step(graph: Graph) -> Node | None:
    """Return the call that begins the steps of the first loop; None where there is no loop."""
    return next((n for n in graph.nodes if str(n.target) == STEP), None)


def step_of(stack: Node) -> Node:
    """Return the call that begins the steps whose results a call stacks."""
    given: Any = stack.args[1]
    found: Any = given[0].args[0]
    assert isinstance(found, Node)
    return found


def fill_slices(graph: Graph) -> None:
    """Replace slices of tensors that are one number throughout, in place.

    So are the gradients of results that no output needs.
    """
    for begin in [n for n in graph.nodes if str(n.target) == STEP]:
        starts, sources, _ = begin.args
        items = {int(user.args[1]): user for user in begin.users}  # type: ignore[arg-type]
        for number, source in enumerate(sources, len(starts)):  # type: ignore[arg-type]
            item = items.get(number)
            if item is None or source.target not in (_aten.full_like.default, _aten.full.default):
                continue
            alike = (n for n in items.values() if n is not item and _is_alike(n, item))
            like = next(alike, None)
            if like is not None:
                with graph.inserting_after(like if item < like else item):
                    filled = graph.call_function(_aten.full_like.default, (like, source.args[1]))
                filled.meta = dict(item.meta)
                item.replace_all_uses_with(filled, lambda user: str(user.target) != STACK)
                if not item.users:
                    graph.erase_node(item)


def _is_alike(one: Node, other: Node) -> bool:
    first, second = one.meta["val"], other.meta["val"]
    return first.dtype == second.dtype and same_sizes(first.shape, second.shape)


def step_calls(begin: Node, stack: Node) -> list[Node]:
    """Return the calls of a step that depend on its states or its slices, in order."""
    above = reached([stack], lambda n: n.all_input_nodes if n is not begin else [])
    inside = reached([begin], lambda n: [u for u in n.users if u in above and u is not stack])
    order = {node: place for place, node in enumerate(begin.graph.nodes)}
    return sorted(inside - {begin}, key=order.__getitem__)


class StepRunner(torch.fx.Interpreter):
    """Runs a graph with loops of steps: the calls of a step once for each place."""

    def __init__(self, module: torch.fx.GraphModule) -> None:
        super().__init__(module, garbage_collect_values=False)

    def run_node(self, n: Node) -> Any:
        """Run a call; the end of a loop runs all steps but the first."""
        if n.op != "call_function" or str(n.target) not in (STEP, STACK):
            return super().run_node(n)
        args, _ = self.fetch_args_kwargs_from_env(n)
        if str(n.target) == STEP:
            starts, sources, reverse = args
            return [*starts, *_slices(sources, -1 if reverse else 0)]
        begin = step_of(n)
        steps = args[2].shape[0]
        if steps == 0:
            return [r.new_empty((0, *r.shape)) for r in args[0]]
        (starts, sources, reverse), _ = self.fetch_args_kwargs_from_env(begin)
        rows = [args[0]]
        calls = step_calls(begin, n)
        for place in range(steps - 2, -1, -1) if reverse else range(1, steps):
            self.env[begin] = [*rows[-1][: len(starts)], *_slices(sources, place)]
            for call in calls:
                self.env[call] = super().run_node(call)
            results: Any = self.map_nodes_to_values(n.args[0], n)
            rows.append(list(results))
        rows = rows[::-1] if reverse else rows
        return [torch.stack(column) for column in zip(*rows, strict=True)]


def _slices(sources: Any, place: int) -> list[Any]:
    """Return the slices of a step; without steps they hold nothing, in the right shapes."""
    return [x[place] if x.shape[0] else x.sum(0, dtype=x.dtype) for x in sources]

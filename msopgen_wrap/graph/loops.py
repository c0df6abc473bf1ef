"""Loops over the first axis as calls of a graph.

The step of a loop is recorded once, for all places along the axis together (``torch.vmap``): what
computes one slice element by element computes the whole tensor. Two calls stand for the recurrence:

* ``opgen::loop_before(starts, like, reverse, loop)``: per state, what it is before each step.
* ``opgen::loop_after(befores, results)``: the results of all steps, the next states first.

The states before a step are those after the step before it. No call computes that alone: a family
runs the calls in between place by place, and ``LoopRunner`` runs them as often as there are steps.
"""

from __future__ import annotations

import operator
from typing import Any

from msopgen_wrap.graph.step_loops import StepRunner
from msopgen_wrap.graph.walks import reached
from msopgen_wrap.spec.loops import Step, check_states, length_of, listed
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

BEFORE = "opgen.loop_before.default"
AFTER = "opgen.loop_after.default"

_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define("loop_before(Tensor[] starts, Tensor like, bool reverse, int loop) -> Tensor[]")
_LIBRARY.define("loop_after(Tensor[] befores, Tensor[] results) -> Tensor[]")


def _before(starts: Any, like: Any, reverse: bool, loop: int) -> Any:
    return [s.new_empty([like.shape[0], *s.shape]) for s in starts]


def _after(befores: Any, results: Any) -> Any:
    return [torch.empty_like(r) for r in results]


_LIBRARY.impl("loop_before", _before, "Meta")
_LIBRARY.impl("loop_after", _after, "Meta")


def traced_loop(loop: int, step: Step, states: Any, inputs: Any, reverse: bool = False) -> Any:
    """Return the results of a loop as calls of the graph.

    Args:
        loop: tells the loops of a graph apart.
        step, states, inputs, reverse: as ``spec.loops.run_loop`` has them.
    """
    starts, sources = listed(states), listed(inputs)
    length_of(sources)
    before = torch.ops.opgen.loop_before(starts, sources[0], bool(reverse), loop)
    many: list[bool] = []

    def one_step(*given: Any) -> Any:
        found = step(*given)
        check_states(listed(found), list(given[: len(starts)]))
        many.append(isinstance(found, (list, tuple)))
        return tuple(listed(found))

    results = torch.vmap(one_step)(*before, *sources)
    after = torch.ops.opgen.loop_after(list(before), list(results))
    return tuple(after) if many[0] else after[0]


class LoopRunner(StepRunner):
    """Runs a graph that may have loops: as often as they have steps, one loop after another.

    The first run takes the starts for the states before all steps. Each run after it takes what the
    run before it gave one step earlier, so that one step more is right.
    """

    def run(self, *args: Any, **kwargs: Any) -> Any:
        """Return the results of the graph."""
        self.befores: dict[Node, list[Any]] = {}
        self.backwards: dict[Node, bool] = {}
        self.steps: dict[Node, int] = {}
        result = super().run(*args, **kwargs)
        for _ in range(sum(self.steps.values()) - 1):
            result = super().run(*args, **kwargs)
        return result

    def run_node(self, n: Node) -> Any:
        """Run a call; those of loops keep what the next run begins with."""
        if n.op != "call_function" or str(n.target) not in (BEFORE, AFTER):
            return super().run_node(n)
        args, _ = self.fetch_args_kwargs_from_env(n)
        if str(n.target) == BEFORE:
            starts, like, self.backwards[n], _ = args
            self.steps[n] = like.shape[0]
            spread = [s.expand(like.shape[0], *s.shape) for s in starts]
            return self.befores.setdefault(n, spread)
        before = loop_before(n)
        shifted = []
        for old, new in zip(self.befores[before], args[1], strict=False):
            backwards = self.backwards[before]
            first = old[-1:] if backwards else old[:1]
            shifted.append(torch.cat([new[1:], first] if backwards else [first, new[:-1]]))
        self.befores[before] = shifted
        return list(args[1])


def loop_before(after: Node) -> Node:
    """Return the call that gives the states before each step of a loop."""
    befores: Any = after.args[0]
    found: Any = befores[0].args[0]
    assert isinstance(found, Node)
    return found


def move_out_of_loops(graph: torch.fx.Graph) -> None:
    """Compute results of steps behind their loop, in place, where they follow from the next states.

    A step that is to be a kernel computes element by element. What mixes elements, as the sum that
    reads out a state space model, may read the states of all steps when the loop has run.
    """
    for after in [n for n in graph.nodes if str(n.target) == AFTER]:
        befores, results = (list(nodes) for nodes in after.args)  # type: ignore[arg-type]
        kept = list(results)
        inside = reached(befores, lambda n: n.users)
        for result in results[len(befores) :]:
            if result not in inside and result not in befores:  # the same in a pass of its own
                _replace_results(after, results, result, result)
                kept.remove(result)
                continue
            region = _behind_states(result, befores, results[: len(befores)], inside)
            if region is not None and not all(map(_keeps_elements, region)):
                _recompute(graph, after, results, result, region, len(befores))
                kept.remove(result)
        if len(kept) < len(results):
            _shorten(graph, after, befores, results, kept)
            graph.eliminate_dead_code()


def _behind_states(
    result: Node, befores: list[Node], states: list[Node], inside: set[Node]
) -> list[Node] | None:
    """Return what makes a result of the next states, in order; None where it needs those before.

    Args:
        inside: the nodes that follow from the states before a step.
    """

    def made_of(node: Node) -> list[Node]:
        return [] if node in states or node in befores else node.all_input_nodes

    found = reached([result], made_of) & inside
    return None if found.intersection(befores) else sorted(found.difference(states))


def _keeps_elements(node: Node) -> bool:
    """Whether a call computes element by element, or repeats a tensor."""
    repeats = node.target is torch.ops.aten.expand.default
    return repeats or torch.Tag.pointwise in getattr(node.target, "tags", ())


def _recompute(
    graph: torch.fx.Graph,
    after: Node,
    results: list[Node],
    result: Node,
    region: list[Node],
    count: int,
) -> None:
    """Put the calls of a region behind a loop, on the states that it gives."""
    made: dict[Node, Node] = {}
    with graph.inserting_before(after.next):
        for number, state in enumerate(results[:count]):
            made[state] = graph.call_function(operator.getitem, (after, number))
            made[state].meta = dict(state.meta)
        for node in region:
            made[node] = graph.node_copy(node, lambda n: made.get(n, n))
    _replace_results(after, results, result, made[result])


def _replace_results(after: Node, results: list[Node], result: Node, value: Node) -> None:
    """Let what reads a result of a loop read another value."""
    for user in list(after.users):
        if results[user.args[1]] is result:  # type: ignore[index]
            user.replace_all_uses_with(value)


def _shorten(
    graph: torch.fx.Graph,
    after: Node,
    befores: list[Node],
    results: list[Node],
    kept: list[Node],
) -> None:
    """Leave results out of a loop that nothing reads any more."""
    values = after.meta["val"]
    after.args = (befores, kept)
    after.meta["val"] = [values[results.index(node)] for node in kept]
    for user in list(after.users):
        node = results[user.args[1]]  # type: ignore[index]
        if node in kept:
            user.args = (after, kept.index(node))
        else:
            graph.erase_node(user)

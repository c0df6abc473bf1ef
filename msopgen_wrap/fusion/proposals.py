"""Specs for chains of a model that no op covers: pointwise work and reductions."""

from __future__ import annotations

import operator
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.fusion.chain_text import spec_text, takes
from msopgen_wrap.fusion.chains import OWN_SPEC, Chain
from msopgen_wrap.fusion.finder import Finder, Site
from msopgen_wrap.fusion.in_place import without_writes
from msopgen_wrap.fusion.regions import (
    bytes_of,
    is_view,
    moved_bytes,
    objection,
    place_of,
    region_between,
    written_storages,
)
from msopgen_wrap.spec.loader import parse_spec
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.spec.names import snake_case
from msopgen_wrap.torch_import import torch

# Longer chains are cut: their kernels would hold more values than unified buffer.
MAX_STEPS = 24
MAX_INPUTS = 8
MAX_RESULTS = 3
# Nodes whose elements all have the same value at each call.
Constants = Mapping[Any, float]
# How many times the bytes of the known ops inside of it a chain has to save to take their place.
WIDER = 1.25


@dataclass
class Proposal:
    """An op that a model would gain from.

    Attributes:
        spec: checked; ``text`` is its YAML.
        places: where the model has the chain.
        bytes_before, bytes_after: GM bytes of all places, node by node and by the op.
    """

    spec: OpSpec
    text: str
    places: list[str]
    bytes_before: int
    bytes_after: int

    @property
    def saved(self) -> int:
        """Bytes that the op saves in one run of the model."""
        return self.bytes_before - self.bytes_after

    @property
    def file(self) -> str:
        """Name of the file of the spec."""
        return f"{snake_case(self.spec.op)}.yaml"


@dataclass
class Survey:
    """What a model could gain.

    Attributes:
        covered: places that known ops cover with fewer bytes.
        proposals: new ops, those that save most first.
        left: chains that became no op, with why.
    """

    covered: list[Site]
    proposals: list[Proposal]
    left: list[str]


def survey(graph: Any, specs: Sequence[OpSpec]) -> Survey:
    """Look at a graph for places of known ops, and for chains that a new op would cover.

    Args:
        graph: ATen calls with fake values; writes of temporaries are taken out of it.
        specs: the known ops.
    """
    without_writes(graph)
    finder = Finder(graph)
    constants = finder.constants()
    covered = finder.sites(specs, saving=True)
    ledger = _Ledger(graph, {spec.op for spec in specs})
    taken: set[Any] = set()
    for chain, parts in _wider_chains(graph, covered, constants):
        if not ledger.add(chain):
            covered = [site for site in covered if site not in parts]
            taken.update(chain.nodes)
    taken |= {node for site in covered for node in site.region.nodes}
    chains, left = _chains(graph, taken, constants)
    for chain in chains:
        objection_ = ledger.add(chain)
        if objection_:
            left.append(f"{place_of(chain.root)}: {objection_}")
    return Survey(covered, sorted(ledger.found.values(), key=lambda p: -p.saved), left)


class _Ledger:
    """The ops that were made of chains, by the bodies of their specs.

    Args:
        graph: the model's.
        names: of ops that exist.
    """

    def __init__(self, graph: Any, names: set[str]) -> None:
        self.graph = graph
        self.names = set(names)
        self.found: dict[str, Proposal] = {}
        self.places: dict[str, list[Site]] = {}
        self.refused: dict[str, str] = {}

    def add(self, chain: Chain) -> str:
        """Make an op of a chain, or add it to the op of an equal one; return why neither is done.

        An empty text also stands for a chain whose refusal was given before.
        """
        outcome = ""
        # Constants as attrs come first: chains with others are the same op then.
        for attrs in (True, False):
            body = spec_text(chain, "Op", attrs=attrs, defaults=not attrs)
            if body in self.found:
                if _stands_at(chain, self.places[body]):
                    _add(self.found[body], chain)
                    return ""
                continue
            if body in self.refused:
                continue
            text = spec_text(chain, _free_name(chain.name(), self.names), attrs=attrs)
            checked = _checked(text, self.graph, chain)
            if not isinstance(checked, str):
                spec, self.places[body] = checked
                self.names.add(spec.op)
                self.found[body] = Proposal(spec, text, [], 0, 0)
                _add(self.found[body], chain)
                return ""
            self.refused[body] = outcome = checked
        return outcome


def _wider_chains(
    graph: Any, covered: Sequence[Site], constants: Constants
) -> list[tuple[Chain, list[Site]]]:
    """Return chains that save clearly more than the known ops inside of them, with these places."""
    if not covered:
        return []
    found = []
    for chain in _chains(graph, set(), constants)[0]:
        nodes = set(chain.nodes)
        parts = [site for site in covered if not nodes.isdisjoint(site.region.nodes)]
        whole = all(nodes.issuperset(site.region.nodes) for site in parts)
        known = sum(site.before - site.after for site in parts)
        if parts and whole and chain.before - chain.after > WIDER * known:
            found.append((chain, parts))
    return found


def _stands_at(chain: Chain, sites: Sequence[Site]) -> bool:
    wanted = {_computed(n) for n in chain.results}
    return any(wanted <= {_computed(n) for n in s.outputs.values()} for s in sites)


def _computed(node: Any) -> Any:
    """Return the step that made a value, where casts to its own dtype and the like follow it."""
    while node.op == "call_function" and is_view(node) and len(node.all_input_nodes) == 1:
        (source,) = node.all_input_nodes
        one, other = node.meta["val"], source.meta["val"]
        if not isinstance(other, torch.Tensor) or one.shape != other.shape:
            break
        if one.stride() != other.stride():
            break
        node = source
    return node


def _add(proposal: Proposal, chain: Chain) -> None:
    proposal.places.append(place_of(chain.root))
    proposal.bytes_before += chain.before
    proposal.bytes_after += chain.after


def _free_name(name: str, taken: set[str]) -> str:
    number, free = 2, name
    while free in taken:
        free, number = f"{name}{number}", number + 1
    return free


def _checked(text: str, graph: Any, chain: Chain) -> tuple[OpSpec, list[Site]] | str:
    """Return the spec with its places when it can be planned and is found again, else why not."""
    from msopgen_wrap.families import plan_op

    result = parse_spec(text)
    if result.spec is None:
        problem = next(d for d in result.diagnostics if d.severity == "error")
        return f"no spec: {problem.what}; {problem.fix or OWN_SPEC}"
    try:
        plan_op(result.spec)
    except OpgenError as error:
        problem = error.diagnostics[0]
        return f"no kernel: {problem.what} ({problem.code}); {problem.fix or OWN_SPEC}"
    finder = Finder(graph)
    sites = finder.sites([result.spec])
    if not _stands_at(chain, sites):
        near = [m for m in finder.misses if m.place == place_of(chain.root)]
        reason = max(near, key=lambda m: m.share).reason if near else ""
        return (
            "the spec made of it does not match it"
            + (f": {reason}" if reason else "")
            + f"; {OWN_SPEC}"
        )
    return result.spec, sites


def _chains(graph: Any, taken: set[Any], constants: Constants) -> tuple[list[Chain], list[str]]:
    """Return the chains: steps whose values nothing else reads, but for a few results."""
    written = written_storages(graph)
    used: set[Any] = {*taken, *constants}
    found: list[Chain] = []
    left: list[str] = []
    for root in reversed(graph.nodes):
        if root in used or is_view(root) or not _may_join(root, used):
            continue
        members = _cone(root, used)
        outcome = _chain((root,), members, written, constants)
        if isinstance(outcome, Chain):
            outcome, members = _with_results(outcome, members, used, written, constants)
        if isinstance(outcome, str):
            if sum(not is_view(n) for n in members) > 1:
                left.append(f"{place_of(root)}: {outcome}")
        elif outcome.after < outcome.before:
            found.append(outcome)
            used.update(members)
    return found, left


def _chain(
    results: tuple[Any, ...], members: set[Any], written: set[int], constants: Constants
) -> Chain | str:
    """Return the chain of some nodes, or why there is none."""
    graph = results[0].graph
    ordered = [n for n in graph.nodes if n in members]
    read = dict.fromkeys(i for n in ordered for i in n.all_input_nodes if i not in members)
    inputs = [node for node in read if node not in constants]
    region = region_between(list(results), inputs)
    if isinstance(region, str):
        return region
    reason = objection(region, written)
    if reason:
        return reason
    if len(inputs) > MAX_INPUTS:
        return (
            f"it reads {len(inputs)} tensors, {MAX_INPUTS} are the most; join some of them first, "
            "or write a spec of a part"
        )
    after = bytes_of([n.meta["val"] for n in (*inputs, *results)])
    numbers = {node: constants[node] for node in read if node in constants}
    chain = Chain(results, tuple(ordered), tuple(inputs), moved_bytes(ordered), after, numbers)
    return chain.objection() or chain


def _with_results(
    chain: Chain, members: set[Any], used: set[Any], written: set[int], constants: Constants
) -> tuple[Chain, set[Any]]:
    """Return the chain with steps before it whose values are read elsewhere as well.

    Such a value is one more result; it is taken where that saves bytes.
    """
    refused: set[Any] = set()
    while len(chain.results) < MAX_RESULTS:
        node = next((n for n in reversed(chain.inputs) if n not in refused), None)
        if node is None:
            break
        refused.add(node)
        if not _may_join(node, used) or is_view(node):
            continue
        wider = _cone(chain.root, used, {*chain.results[1:], node})
        # Values that only the chain reads now are no results any more.
        results = tuple(
            n for n in (*chain.results, node) if n is chain.root or not set(n.users) <= wider
        )
        larger = _chain(results, wider, written, constants)
        if isinstance(larger, Chain) and _saved(larger) > _saved(chain):
            chain, members = larger, wider
    return chain, members


def _saved(chain: Chain) -> int:
    return chain.before - chain.after


def _may_join(node: Any, used: set[Any]) -> bool:
    return (
        node.op == "call_function"
        and node not in used
        and node.target is not operator.getitem
        and isinstance(node.meta.get("val"), torch.Tensor)
        and takes(node)
    )


def _cone(root: Any, used: set[Any], results: Collection[Any] = ()) -> set[Any]:
    """Return a node with the nodes before it whose values go nowhere else, or are results."""
    members = {root}
    queue = list(root.all_input_nodes)
    while queue and len(members) < MAX_STEPS:
        node = queue.pop(0)
        if node in members or not _may_join(node, used):
            continue
        if node in results or all(user in members for user in node.users):
            members.add(node)
            queue += node.all_input_nodes
            # what was refused before may have all its readers inside now
            queue += [
                i for m in members for i in m.all_input_nodes if i not in members and i != node
            ]
            queue = [n for n in dict.fromkeys(queue) if n.op == "call_function"]
    return members

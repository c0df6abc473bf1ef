"""A chain of steps in a model's graph, and how its shapes follow from those of its inputs."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.fusion.conversion import bound_arguments, packet_name
from msopgen_wrap.fusion.regions import is_view
from msopgen_wrap.fusion.rules import axes_of
from msopgen_wrap.fusion.terms import names_in
from msopgen_wrap.torch_import import torch

REDUCED = names_in(
    "sum mean amax amin softmax log_softmax var std logsumexp prod linalg_vector_norm"
)
NORMS = names_in("layer_norm rms_norm")
FLOATS = ("float16", "bfloat16", "float32")
# What to do where no spec can be written for the user.
OWN_SPEC = "write a spec of the formula yourself and give its op to `fuse(specs=...)`"


@dataclass(frozen=True)
class Chain:
    """Steps of a graph that one op could do.

    Attributes:
        results: the nodes that are used afterwards; the first is the last step.
        nodes: in order.
        inputs: nodes that are read.
        constants: nodes that are read and have the same value at each call, with their elements'
            value: numbers in the formula.
        before, after: GM bytes node by node, and of one op.
    """

    results: tuple[Any, ...]
    nodes: tuple[Any, ...]
    inputs: tuple[Any, ...]
    before: int
    after: int
    constants: Mapping[Any, float] = field(default_factory=dict)

    @property
    def root(self) -> Any:
        """The last step."""
        return self.results[0]

    @property
    def ordered_inputs(self) -> list[Any]:
        """The inputs, the one with most elements first: it names shapes and dtype."""
        return sorted(self.inputs, key=lambda n: -n.meta["val"].numel())

    @property
    def reduces(self) -> bool:
        """Whether a step joins the elements of an axis."""
        return any(packet_name(n.target) in REDUCED | NORMS for n in self.nodes)

    @property
    def any_rank(self) -> bool:
        """Whether the formula holds for inputs of other ranks.

        Only last axes are reduced then, and the shapes of all values say the same at each rank.
        """
        if not all(reduced_axes(n) in ([], [-1]) for n in self.nodes):
            return False
        first = tuple(self.ordered_inputs[0].meta["val"].shape)
        simple = (first, (*first[:-1], 1), first[-1:])
        return all(tuple(n.meta["val"].shape) in simple for n in self.inputs)

    def name(self) -> str:
        """Return a name of an op for what the chain does."""
        words = [packet_name(n.target) for n in self.nodes if not is_view(n)]
        kept = [w for w in words if w != "to"][-4:]
        return "Fused" + "".join(w.title().replace("_", "") for w in kept)

    def names(self) -> dict[Any, str]:
        """Return the names of the inputs in the spec."""
        return {node: f"x{i + 1}" for i, node in enumerate(self.ordered_inputs)}

    def result_names(self) -> dict[Any, str]:
        """Return the names of the results in the spec."""
        if len(self.results) == 1:
            return {self.root: "y"}
        return {node: f"y{i + 1}" for i, node in enumerate(self.results)}

    def objection(self) -> str:
        """Return why no spec of any shape can say this, empty when one can."""
        fakes = [n.meta["val"] for n in (*self.inputs, *self.results)]
        for fake in fakes:
            dtype = str(fake.dtype).removeprefix("torch.")
            if dtype not in (*FLOATS, "bool", "int32", "int64"):
                return f"it reads or gives {dtype}, which no op has; convert it before the chain"
            if fake.dim() > 8:
                return f"a tensor has {fake.dim()} axes; join some of them, ops have 8 at most"
            if not all(type(n) is int for n in fake.shape):
                return "a size depends on data; compute it outside of the chain"
        first = self.ordered_inputs[0].meta["val"] if self.inputs else None
        if first is None:
            return "it reads no tensor; keep its result as a buffer of the module"
        if not first.is_floating_point():
            return "its largest input is no float; convert it to one before the chain"
        if self.reduces and first.dim() == 0:
            return "it reduces a scalar; leave that step out"
        for node in self.results:
            if self.result_shape(node) is None:
                if not self.reduces:
                    return f"its result is not the broadcast of its inputs; {OWN_SPEC}"
                return f"the shape of its result follows no simple rule; {OWN_SPEC}"
        # A kernel of pointwise work has one size of loop: results of fewer inputs may be smaller.
        if not self.reduces and len({self.result_shape(node) for node in self.results}) > 1:
            return "its results are broadcasts of different inputs; expand these before the chain"
        if self.reduces and any(self.input_shape(n) is None for n in self.ordered_inputs[1:]):
            return "its inputs are broadcast in more than one way; expand them before the chain"
        return ""

    def input_shape(self, node: Any) -> str | None:
        """Return the shape of a further input of a reduction, from that of ``x1``."""
        first = tuple(self.ordered_inputs[0].meta["val"].shape)
        shape = tuple(node.meta["val"].shape)
        if shape == first:
            return "like x1"
        if self.any_rank:
            if shape == (first[-1],):
                return "[x1[-1]]"
            return "[*x1[:-1], 1]" if shape == (*first[:-1], 1) else None
        offset = len(first) - len(shape)
        if offset < 0 or any(n not in (first[offset + i], 1) for i, n in enumerate(shape)):
            return None
        return _listed(first, shape, range(offset, len(first)))

    def result_shape(self, node: Any) -> str | None:
        """Return the shape of a result, None where no rule is known."""
        shape = tuple(node.meta["val"].shape)
        if not self.reduces:
            given = [n for n in self.ordered_inputs if n in self._behind(node)]
            shapes = [tuple(n.meta["val"].shape) for n in given]
            names = self.names()
            if not given or tuple(torch.broadcast_shapes(*shapes)) != shape:
                return None
            return "broadcast(" + ", ".join(names[n] for n in given) + ")"
        first = tuple(self.ordered_inputs[0].meta["val"].shape)
        if shape == first:
            return "like x1"
        if self.any_rank:
            if shape == (*first[:-1], 1):
                return "[*x1[:-1], 1]"
            return "[*x1[:-1]]" if shape == first[:-1] else None
        if not shape:
            return "[]"
        if len(shape) == len(first) and all(n in (f, 1) for n, f in zip(shape, first, strict=True)):
            return _listed(first, shape, range(len(first)))
        # Axes are gone; which ones has to be certain.
        ways = [
            kept
            for kept in itertools.combinations(range(len(first)), len(shape))
            if tuple(first[i] for i in kept) == shape
        ]
        return _listed(first, shape, ways[0]) if shape and len(ways) == 1 else None

    def _behind(self, node: Any) -> set[Any]:
        members, found = set(self.nodes), set()
        queue = [node]
        while queue:
            now = queue.pop()
            if now in found:
                continue
            found.add(now)
            if now in members:
                queue += now.all_input_nodes
        return found


def _listed(first: tuple[int, ...], shape: tuple[int, ...], axes: Any) -> str:
    parts = [f"x1[{a}]" if n == first[a] else "1" for n, a in zip(shape, axes, strict=True)]
    return f"[{', '.join(parts)}]"


def reduced_axes(node: Any) -> list[int]:
    """Return the axes that a step reduces, counted from the end; none for a pointwise step."""
    name = packet_name(node.target)
    if name not in REDUCED | NORMS:
        return []
    given = bound_arguments(node.target, node.args, node.kwargs)
    if name in NORMS:
        return list(range(-len(given["normalized_shape"]), 0))
    rank = next(iter(_shapes(node)), ())
    return [axis - len(rank) for axis in axes_of(given.get("dim"), len(rank))]


def _shapes(node: Any) -> Iterator[tuple[int, ...]]:
    for source in node.all_input_nodes:
        yield tuple(source.meta["val"].shape)

"""Which axis of the iteration space lies behind each axis of the tensors of a graph.

Outputs have all axes of the space, or all that are not reduced (``check_outputs``).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, Location, OpgenError
from msopgen_wrap.families.row.columns import ColumnSum, column_sums, refused
from msopgen_wrap.graph.axes_of_one import is_one
from msopgen_wrap.graph.case_sizes import CaseSizes
from msopgen_wrap.graph.sizes import same_size
from msopgen_wrap.graph.tracing import TracedGraph
from msopgen_wrap.schedule.calls import (
    RESHAPES,
    VIEW_OPS,
    Node,
    Refusals,
    reduced_dims,
    reduction_kind,
    target_name,
    tensor_arguments,
)
from msopgen_wrap.spec.model import OpSpec, TensorParam
from msopgen_wrap.torch_import import torch

Axes = tuple["int | None", ...]

_WRITTEN_REDUCTION = re.compile(r"\b(?:sum|mean|amax|amin|max|min|any|all|prod|var|std|norm)\(")


def _keepdim_advice(text: str) -> str:
    """Return the fix for lost axes: keepdim is only for reductions that the code itself writes."""
    if _WRITTEN_REDUCTION.search(text):
        return "use keepdim=True in the reduction, or write the kernel with `kernel:`"
    return "split the op, or write the kernel with `kernel:`"


def _keepdim(node: Node) -> bool:
    position = 2
    if len(node.args) > position:
        return bool(node.args[position])
    return bool(node.kwargs.get("keepdim", False))


def result_shape(node: Any) -> tuple[Any, ...]:
    """Return the sizes of a node's result, of the first one of several."""
    value: Any = node.meta.get("val")
    value = value[0] if isinstance(value, (list, tuple)) else value
    return tuple(value.shape) if hasattr(value, "shape") else ()


def _is_made(node: Node) -> bool:
    """Whether a call makes a tensor of numbers and sizes alone, as ``arange`` does."""
    several = (torch.Tensor, list, tuple)
    tensors = [n for n in node.all_input_nodes if isinstance(n.meta.get("val"), several)]
    made = isinstance(node.meta.get("val"), torch.Tensor)
    return made and not tensors and node.op == "call_function"


@dataclass
class GraphAxes(Refusals):
    """The axes of every node of a graph whose reductions all run over the same ones.

    Attributes:
        traced: the graph.
        rank: rank of the iteration space in the sample.
        reduced: its reduced axes (sample numbering).
        of: node -> space axis behind each of its dims (None: size 1).
        free: nodes of fewer dims made of inputs alone; what they line up with is not known before
            they meet a reduction.
        reshaped: computed values that are stored in another shape than the space has.
        sizes: length of the axes of the space in the sample, as far as computed values have them.
        columns: outputs that are sums over the kept axes.
        beyond: the calls that make those of what is added up.
    """

    traced: TracedGraph
    rank: int = 0
    reduced: frozenset[int] = frozenset()
    of: dict[Node, Axes] = field(default_factory=dict)
    free: set[Node] = field(default_factory=set)
    _noted: bool = False  # a reduction has been met; one of axes of size 1 alone reduces none
    # Axes that every reduction lists. Where an operand has them and all have size 1 there they are
    # reduced, too: which axes these are can depend on an attr that shaped a temporary.
    _listed: frozenset[int] = frozenset()
    reshaped: set[Node] = field(default_factory=set)
    sizes: dict[int, Any] = field(default_factory=dict)
    columns: dict[str, ColumnSum] = field(default_factory=dict)
    beyond: frozenset[Node] = frozenset()

    def __post_init__(self) -> None:
        """Find the iteration space, the reduced axes, and the axes of every node."""
        self._cases = CaseSizes(self.spec, self.traced)
        self.columns = column_sums(self.spec, self.traced)
        self.beyond = frozenset(n for c in self.columns.values() for n in c.behind)
        nodes = [n for n in self.traced.graph.nodes if n not in self.beyond]
        first = next(filter(reduction_kind, nodes), None)
        if first is None and self.spec.columns:
            raise refused(self.spec, self.spec.columns[0])
        if first is None:
            raise OpgenError(
                Diagnostic(
                    "OPG335",
                    f"compute of {self.spec.op} reduces at some ranks of its inputs only",
                    self.spec.compute.location if self.spec.compute else Location(),
                    "a pass reduces in all calls that it serves, or in none",
                    "fix the rank of the inputs, or write an op for each",
                )
            )
        operand = first.args[0]
        self.rank = len(result_shape(operand))
        for node in self.traced.graph.nodes:
            if node.op == "placeholder":
                self.of[node] = self._aligned(result_shape(node))
            elif node.op == "call_function":
                self.of[node] = () if node in self.beyond else self._node_axes(node)
        read = [n for n in self.of if n.op == "placeholder" and n.users]
        if any(len(result_shape(node)) == self.rank for node in read):
            present = {a for node, axes in self.of.items() if node.users for a in axes}
            self.reduced |= self._listed - present
        self._check_sizes()
        every = {a for a in self.of[operand] if a is not None}
        for name, column in self.columns.items():
            known = self.of[column.operand]
            added = {known[i] for i in column.dims} - {None}
            whole = {a for a in known if a is not None} == every and len(known) == self.rank
            # along the last axis, or the sums would be those of rows
            if not whole or added != every - self.reduced or self.rank - 1 not in self.reduced:
                raise refused(self.spec, name)

    def _aligned(self, shape: tuple[Any, ...]) -> Axes:
        start = self.rank - len(shape)
        return tuple(None if is_one(s) or start + i < 0 else start + i for i, s in enumerate(shape))

    def is_view(self, node: Any) -> bool:
        """Whether a node is an input, made of sizes alone, or a chain of views of one of these."""
        if not isinstance(node, Node):
            return False
        if node.op == "placeholder" or _is_made(node):
            return True
        target = target_name(node)
        if target in VIEW_OPS or target in RESHAPES or target == "operator.getitem":
            return self.is_view(node.args[0])
        return target in ("aten.alias.default", "aten.clone.default", "aten.detach.default") and (
            self.is_view(node.args[0])
        )

    def _node_axes(self, node: Node) -> Axes:
        if not isinstance(node.meta.get("val"), (torch.Tensor, list, tuple)):
            return ()  # a size
        if self.is_view(node):
            return self._aligned(result_shape(node))
        target = target_name(node)
        source = node.args[0] if node.args else None
        if any(n in self.reshaped for n in node.all_input_nodes):
            self.reshaped.add(node)
        known = self.of.get(source, ()) if isinstance(source, Node) else ()
        if reduction_kind(node):
            return self._remaining_axes(node, known)
        if target == "aten.unsqueeze.default":
            place: Any = node.args[1]
            axis = int(place) % (len(known) + 1)
            if source in self.free:
                return self._free_axes(node)
            return (*known[:axis], None, *known[axis:])
        if target in ("aten.squeeze.dim", "aten.squeeze.dims"):
            listed: Any = node.args[1]
            listed = listed if isinstance(listed, (list, tuple)) else [listed]
            gone = {int(d) % len(known) for d in listed}
            return tuple(a for i, a in enumerate(known) if i not in gone)
        if target == "aten.expand.default":
            return self._expanded_axes(node, known)
        if target in RESHAPES:
            self.reshaped.add(node)
            return tuple(range(len(result_shape(node))))
        if target == "operator.getitem":
            return known
        arguments = [a for a in node.all_input_nodes if a in self.of]
        if arguments and all(self.is_view(a) or a in self.free for a in arguments):
            return self._free_axes(node)
        return self._broadcast_axes(node)

    def _remaining_axes(self, node: Node, known: Axes) -> Axes:
        """Return the axes of the result of a reduction."""
        dims = reduced_dims(node, len(known))
        self._note_reduction(node, known, dims)
        if _keepdim(node):
            return tuple(None if i in dims else a for i, a in enumerate(known))
        return tuple(a for i, a in enumerate(known) if i not in dims)

    def _expanded_axes(self, node: Node, known: Axes) -> Axes:
        axes = (*([None] * (len(result_shape(node)) - len(known))), *known)
        if len(axes) == self.rank and all(a in (None, i) for i, a in enumerate(axes)):
            return self._aligned(result_shape(node))  # sizes of 1 may have become axes
        return axes

    def _free_axes(self, node: Node) -> Axes:
        """Line a node of inputs alone up from the right, until a result says otherwise."""
        axes = self._aligned(result_shape(node))
        if len(axes) < self.rank:
            self.free.add(node)
        self._realign(node, axes)
        return axes

    def _realign(self, node: Node, axes: Axes) -> None:
        """Give a node, and the nodes of inputs alone that it is made of, other axes."""
        self.of[node] = axes
        below = axes
        if target_name(node) == "aten.unsqueeze.default":
            place: Any = node.args[1]
            at = int(place) % len(axes)
            below = (*axes[:at], *axes[at + 1 :])
        for source in node.all_input_nodes:
            if source in self.free:
                shape = result_shape(source)
                if len(shape) > len(below):
                    continue  # an element of an axis was taken: the others stay as they are
                tail = below[len(below) - len(shape) :]
                self._realign(
                    source,
                    tuple(None if is_one(n) else a for n, a in zip(shape, tail, strict=True)),
                )

    def _note_reduction(self, node: Node, known: Axes, dims: tuple[int, ...]) -> None:
        axes = frozenset(a for i, a in enumerate(known) if i in dims and a is not None)
        # axes before the first one of the space are none of it
        sizes = result_shape(node.args[0])
        beyond = any(a is None and not is_one(n) for a, n in zip(known, sizes, strict=True))
        listed = frozenset(dims if len(known) == self.rank else ())
        self._listed = self._listed & listed if self._noted else listed
        if not self._noted:
            self._noted, self.reduced = True, axes
        elif beyond or axes != self.reduced:
            raise OpgenError(
                Diagnostic(
                    "OPG335",
                    f"{target_name(node)} reduces other axes than the reductions before it",
                    self.location(target_name(node).split(".")[1].lstrip("_")),
                    "a row kernel works through one iteration space and reduces the same axes of "
                    "it throughout",
                    "split the op, or write the kernel with `kernel:`",
                )
            )

    def _broadcast_axes(self, node: Node) -> Axes:
        rank = len(result_shape(node))
        merged: list[int | None] = [None] * rank
        arguments = [a for a in node.all_input_nodes if a in self.of]
        computed = [a for a in arguments if not self.is_view(a) and a not in self.free]
        for argument in computed:
            axes = self.of[argument]
            for i, axis in enumerate(axes):
                at = rank - len(axes) + i
                if axis is None or at < 0:
                    continue
                if merged[at] not in (None, axis):
                    raise self.other_axes(node)
                merged[at] = axis
        for argument in arguments:
            for i, size in enumerate(result_shape(argument)):
                at = rank - len(result_shape(argument)) + i
                place = self.rank - rank + at  # below 0: in front of the space
                if min(at, place) >= 0 and merged[at] is None and not is_one(size):
                    merged[at] = place
        for argument in arguments:
            if argument in self.free:
                shape = result_shape(argument)
                self._realign(
                    argument,
                    tuple(
                        None if is_one(n) else a
                        for n, a in zip(shape, merged[rank - len(shape) :], strict=True)
                    ),
                )
        known_axes = [axis for axis in merged if axis is not None]
        if len(set(known_axes)) < len(known_axes):  # `x[:, None] == x` has a pair for each two
            raise self.other_axes(node)
        return tuple(merged)

    def squeezed_temporaries(self) -> frozenset[str]:
        """Return the temporaries among the outputs that lack the reduced axes.

        Raises:
            OpgenError: OPG336 where one has neither all axes of the space nor just the kept ones.
        """
        found: set[str] = set()
        kept = [a for a in range(self.rank) if a not in self.reduced]
        for param in self.spec.outputs:
            node = self.traced.outputs[param.name]
            if param.site is None or not isinstance(node, Node) or param.name in self.columns:
                continue
            axes = self.of.get(node, ())
            if node in self.reshaped:
                raise self.other_axes(node)
            if len(axes) == self.rank and all(a in (None, i) for i, a in enumerate(axes)):
                continue
            if len(axes) != len(kept) or any(
                a not in (None, k) for a, k in zip(axes, kept, strict=True)
            ):
                raise self.other_axes(node)
            found.add(param.name)
        return frozenset(found)

    def same_size(self, first: Any, second: Any) -> bool:
        """Whether two sizes, numbers or nodes of symbols, are taken to be equal in every call."""
        return same_size(first, second) and not self._cases.differ(first, second)

    def _check_sizes(self) -> None:
        """Refuse values whose axes line up and have other lengths, as a slice beside the whole."""
        for node in self.traced.graph.nodes:
            value = node.args[0] if reduction_kind(node) else node
            viewed = value is node and self.is_view(node)
            if node.op == "call_function" and not viewed and value not in self.reshaped:
                self._line_up(value)

    def _line_up(self, value: Any) -> None:
        for axis, length in zip(self.of.get(value, ()), result_shape(value), strict=False):
            size = getattr(length, "node", length)
            if axis is not None and not self.same_size(self.sizes.setdefault(axis, size), size):
                raise OpgenError(
                    Diagnostic(
                        "OPG336",
                        f"{target_name(value)} has another length than what it lines up with",
                        self.location(target_name(value).split(".")[-2:][0].lstrip("_")),
                        "a pass with reductions works through axes of one length each",
                        "split the op, or write the kernel with `kernel:`",
                    )
                )

    def other_axes(self, node: Node) -> OpgenError:
        """Return the error for operands whose axes do not line up."""
        return OpgenError(
            Diagnostic(
                "OPG336",
                f"{target_name(node)} lines up different axes",
                self.location(target_name(node).split(".")[1]),
                "a reduced result is broadcast against another axis than it came from",
                _keepdim_advice(self.spec.compute.text if self.spec.compute else ""),
            )
        )


def check_outputs(spec: OpSpec, traced: TracedGraph, space: GraphAxes) -> None:
    """Refuse outputs that are neither elements of the iteration space nor its row values.

    Raises:
        OpgenError: OPG338 for the first such output. Several outputs may be made in parts.
    """
    params = [p for p in spec.outputs if p.name not in space.columns]
    made = [n for p in params if (n := _stored(traced, p))]
    reshaped = {n for node in made for n in _reshaped(space, node)} | space.beyond
    sizes = _sizes([n for n in traced.graph.nodes if n not in reshaped], space)
    stores = [(p, before_reshapes(space, n)) for p in params if (n := _stored(traced, p))]
    # an output that is a view of an input may have axes that nothing computed has
    spanned = set(sizes).union(*(_sizes_of(space, stored) for _, stored in stores))
    for param, stored in stores:
        own = _sizes_of(space, stored)
        missing = spanned - set(own)
        if not space.reduced & set(own):
            missing -= space.reduced
        same = all(space.same_size(size, sizes.get(axis, size)) for axis, size in own.items())
        if missing or not same or _axes_beyond(space, stored):
            raise OpgenError(
                Diagnostic(
                    "OPG338",
                    f"output {param.name!r} has other axes than what the reductions work on",
                    param.location,
                    "a pass with reductions works through the axes of their data and writes "
                    "elements with all of them, or numbers with all that are not reduced",
                    "make an op of the output, or write the kernel with `kernel:`",
                )
            )


def _stored(traced: TracedGraph, param: TensorParam) -> Node | None:
    """Return the value that an output is, None where it is a number."""
    node = traced.outputs[param.name]
    return node if isinstance(node, Node) else None


def _axes_beyond(space: GraphAxes, node: Node) -> bool:
    """Whether a value is repeated along an axis that the space does not have."""
    pairs = zip(space.of.get(node, ()), result_shape(node), strict=False)
    return any(axis is None and not is_one(size) for axis, size in pairs)


def before_reshapes(space: GraphAxes, node: Node) -> Node:
    """Return the value of which a result is, in another shape: its axes are those of the space."""
    behind = _reshaped(space, node)
    return tensor_arguments(behind[-1])[0] if behind else node


def _reshaped(space: GraphAxes, node: Node) -> list[Node]:
    """Return the calls that give a result another shape to be stored in, the last one first."""
    found: list[Node] = []
    chain: list[Node] = []
    below = node
    while not space.is_view(below) and not reduction_kind(below):
        tensors = tensor_arguments(below)
        if len(tensors) != 1:
            break
        chain.append(below)
        if target_name(below) in RESHAPES:
            found = list(chain)
        below = tensors[0]
    return found


def _sizes(nodes: list[Node], space: GraphAxes) -> dict[int, Any]:
    """Return the sizes of the axes of the space that are not 1, of what is reduced first of all."""
    calls = [n for n in nodes if n.op == "call_function"]
    reduced: list[Any] = [n.args[0] for n in calls if reduction_kind(n)]
    computed = [n for n in calls if target_name(n) not in RESHAPES and not space.is_view(n)]
    sizes: dict[int, Any] = {}
    for node in (*reduced, *computed):
        sizes = {**_sizes_of(space, node), **sizes}
    return sizes


def _sizes_of(space: GraphAxes, node: Node) -> dict[int, Any]:
    """Return the sizes of a node by the axes of the space."""
    pairs = zip(space.of.get(node, ()), result_shape(node), strict=False)
    return {a: getattr(n, "node", n) for a, n in pairs if a is not None}

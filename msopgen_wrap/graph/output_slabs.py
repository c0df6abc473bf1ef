"""Results that are joined of pieces: each slab along the axis as a result of its own.

``torch.cat([f(a), g(b)], -1)`` is ``where`` over pieces that are placed in the whole
(``graph.placement``), and so is the gradient of slices. One pass would compute every piece for all
elements, or read the pieces from the workspace. A slab of the result in which one piece lies is
made of that piece alone: masks of places are known there, other operands are sliced.

``opgen::slab(x, dim, first, size)`` says which elements of a result along an axis ``x`` is.
"""

from __future__ import annotations

import operator
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.graph.size_order import SizeOrder
from msopgen_wrap.graph.sizes import size_hint
from msopgen_wrap.graph.views import has_named_tensors, is_pointwise, is_tensor
from msopgen_wrap.graph.walks import reached
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node

_aten = torch.ops.aten
_place = torch.ops.opgen.place.default

_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define("slab(Tensor x, int dim, SymInt first, SymInt size) -> Tensor")
_LIBRARY.impl("slab", lambda x, dim, first, size: x.clone(), "CompositeExplicitAutograd")

# Comparisons of the numbers of an axis with a number: what they are of an element at a place, and
# whether places below the number fulfil them, and the number itself does.
_COMPARISONS = {
    _aten.lt.Scalar: (True, False),
    _aten.le.Scalar: (True, True),
    _aten.ge.Scalar: (False, True),
    _aten.gt.Scalar: (False, False),
}
_COUNTS = (_aten.arange.start_step, _aten.arange.start, _aten.arange.default)
_AND = (_aten.bitwise_and.Tensor, _aten.logical_and.default)
_OR = (_aten.bitwise_or.Tensor, _aten.logical_or.default)
_NOT = (_aten.bitwise_not.default, _aten.logical_not.default)


@dataclass(frozen=True)
class Bounds:
    """Some elements of a result along an axis.

    Attributes:
        first: the index of the first one, as an argument of a call: a number or a node.
        size: how many there are.
        piece: the call that places what lies there; None for what lies between pieces.
    """

    first: Any
    size: Any
    piece: Node | None = None


@dataclass(frozen=True)
class Slabs:
    """The slabs of a result.

    Attributes:
        axis: along which they lie, counted from the end.
        items: one behind the other. Those without a piece have no bounds yet: they reach from the
            end of the one before to the start of the next.
    """

    axis: int
    items: tuple[Bounds, ...]


def slabs_of(result: Node, order: SizeOrder) -> Slabs | None:
    """Return the slabs that a result is joined of; None where it is not joined of several.

    Args:
        result: of a traced graph.
        order: what is known of sizes.
    """
    pieces = _pieces(result)
    if not pieces:
        return None
    rank = result.meta["val"].dim()
    axes = {piece.args[1] % piece.meta["val"].dim() - piece.meta["val"].dim() for piece in pieces}
    if len(axes) != 1:
        return None
    axis: int = axes.pop()
    length = result.meta["val"].shape[axis] if -axis <= rank else None
    whole = length is not None and all(order.equal(_value(p.args[3]), length) for p in pieces)
    if not whole or any(_counts_something(p) for p in pieces):
        return None
    places = {piece: _place_in_sample(piece) for piece in pieces}
    if any(None in place for place in places.values()):
        return None  # an attr that the sample has no value of
    pieces.sort(key=places.__getitem__)
    items: list[Bounds] = []
    end: Any = 0
    for piece in pieces:
        first = _value(piece.args[2])
        if items and _lies_in(piece, items[-1], order):
            continue
        if not order.at_most(end, first):
            return None
        if not order.equal(end, first):
            items.append(Bounds(None, None))
        items.append(Bounds(piece.args[2], piece.args[4], piece))
        end = first + _value(piece.args[4])
    if not order.at_most(end, length):
        return None
    if not order.equal(end, length):
        items.append(Bounds(None, None))
    return Slabs(axis, tuple(items)) if len(items) > 1 else None


def _lies_in(piece: Node, slab: Bounds, order: SizeOrder) -> bool:
    """Whether a slab has all elements that a call places, and no others."""
    places = zip(piece.args[2:5:2], (slab.first, slab.size), strict=True)
    return all(order.equal(_value(own), _value(other)) for own, other in places)


def _pieces(result: Node) -> list[Node]:
    """Return the calls that place what a result is made of by pointwise work."""
    found: list[Node] = []

    def above(node: Node) -> list[Node]:
        if node.target is _place:
            found.append(node)
            return []
        return node.all_input_nodes if is_pointwise(node) else []

    reached([result], above)
    return found


def _place_in_sample(piece: Node) -> tuple[Any, Any]:
    """Return where a call places its piece in the sample, and how many elements that has.

    None stands for a number that the sample does not say.
    """
    first, size = map(_value, piece.args[2:5:2])
    return size_hint(getattr(first, "node", first)), size_hint(getattr(size, "node", size))


def _value(argument: Any) -> Any:
    """Return an argument of a call: a number, or a symbolic integer."""
    return argument.meta["val"] if isinstance(argument, Node) else argument


def _counts_something(piece: Node) -> bool:
    """Whether a place follows from an attr of which the trace knows one value alone."""
    numbers = [a for a in piece.args[2:] if isinstance(a, Node)]
    above = reached(numbers, lambda n: [] if is_tensor(n) else n.all_input_nodes)
    return any(n.op == "placeholder" and isinstance(n.meta.get("val"), int) for n in above)


def add_slab(
    graph: Graph, result: Node, slabs: Slabs, number: int, order: SizeOrder
) -> Node | None:
    """Add a slab of a result to a graph; None where it cannot be made by itself.

    Args:
        graph: in which ``result`` is; it has no output yet.
        result: what is joined.
        slabs: of it, as ``slabs_of`` finds them.
        number: of the slab.
        order: what is known of sizes.

    Returns:
        The call of ``opgen::slab``.
    """
    slab = _with_ends(graph, result, slabs, number)
    value = _OfSlab(graph, result, slabs.axis, slab, order).value(result)
    if value is _NOTHING or (isinstance(value, Node) and not is_tensor(value)):
        return None
    whole = result.meta["val"]
    axis = whole.dim() + slabs.axis
    node = graph.call_function(torch.ops.opgen.slab.default, (value, axis, slab.first, slab.size))
    sizes = list(whole.shape)
    sizes[axis] = _value(slab.size)
    with whole.fake_mode:
        node.meta["val"] = whole.new_empty(sizes)
    return node


def _with_ends(graph: Graph, result: Node, slabs: Slabs, number: int) -> Bounds:
    """Return a slab with numbers that say where it lies."""
    slab = slabs.items[number]
    if slab.piece is not None:
        return slab
    first: Any = 0
    if number > 0:
        before = slabs.items[number - 1]
        first = _arithmetic(graph, operator.add, before.first, before.size)
    if number + 1 < len(slabs.items):
        end = slabs.items[number + 1].first
    else:
        piece = next(r.piece for r in slabs.items if r.piece is not None)
        end = piece.args[3]
    return Bounds(first, _arithmetic(graph, operator.sub, end, first))


def _arithmetic(graph: Graph, function: Any, first: Any, second: Any) -> Any:
    value = function(_value(first), _value(second))
    if not isinstance(first, Node) and not isinstance(second, Node):
        return value
    node = graph.call_function(function, (first, second))
    node.meta["val"] = value
    return node


def _is_zero(node: Any) -> bool:
    return getattr(node, "target", None) is _aten.scalar_tensor.default and node.args[0] == 0


# What a slab does not have of a value: unspecified elements around a placed piece.
_NOTHING = object()


class _OfSlab:
    """What the nodes of a graph are within a slab of a result.

    Args:
        graph: to which nodes are added.
        result: the whole.
        axis: of the slab, from the end.
        slab: with its ends.
        order: what is known of sizes.
    """

    def __init__(
        self, graph: Graph, result: Node, axis: int, slab: Bounds, order: SizeOrder
    ) -> None:
        self.graph, self.axis, self.slab, self.order = graph, axis, slab, order
        self.length = result.meta["val"].shape[axis]
        self.end = _value(slab.first) + _value(slab.size)
        self.known: dict[Node, Any] = {}
        self.joined = reached(_pieces(result), lambda n: n.users)

    def value(self, node: Any) -> Any:
        """Return a node, or a number, with the elements that a tensor has in the slab."""
        if not isinstance(node, Node) or not is_tensor(node):
            return node
        if node not in self.known:
            self.known[node] = self._value(node)
        return self.known[node]

    def _value(self, node: Node) -> Any:
        if node.target is _place and node in self.joined:
            return node.args[0] if _lies_in(node, self.slab, self.order) else _NOTHING
        if node not in self.joined:
            return self._sliced(node)
        if node.target is _aten.where.self:
            mask = self.mask(node.args[0])
            if mask is not None:
                return self.value(node.args[1] if mask else node.args[2])
        return self._computed(node)

    def mask(self, node: Any) -> bool | None:
        """Return what a mask of places is throughout the slab; None for any other."""
        target = node.target
        if target in _NOT:
            inner = self.mask(node.args[0])
            return None if inner is None else not inner
        if target in (*_AND, *_OR):
            sides = [self.mask(side) for side in node.args[:2]]
            decides = target in _OR
            if decides in sides:
                return decides
            return None if None in sides else not decides
        if target not in _COMPARISONS or not self._is_place(node.args[0]):
            return None
        below, equal = _COMPARISONS[target]
        bound = _value(node.args[1])
        # the first place that is not below: the bound, or the one behind it
        edge = bound if below != equal else bound + 1
        if self.order.at_most(self.end, edge):
            return below
        if self.order.at_most(edge, _value(self.slab.first)):
            return not below
        return None

    def _is_place(self, node: Any) -> bool:
        """Whether a tensor holds the numbers 0, 1, ... along the axis of the slab."""
        behind = 1
        while node.target is _aten.unsqueeze.default and node.args[1] in (-1, behind):
            node, behind = node.args[0], behind + 1
        if node.target not in _COUNTS or behind != -self.axis:
            return False
        if node.target is not _aten.arange.default and node.args[0] != 0:
            return False
        counts = len(node.args) < 3 or node.args[2] == 1
        return counts and self.order.equal(node.meta["val"].shape[0], self.length)

    def _sliced(self, node: Node) -> Any:
        """Return a tensor that holds no piece, cut to the slab."""
        shape = node.meta["val"].shape
        if len(shape) < -self.axis or self.order.equal(shape[self.axis], 1):
            return node
        if not self.order.equal(shape[self.axis], self.length):
            return _NOTHING
        end = _arithmetic(self.graph, operator.add, self.slab.first, self.slab.size)
        cut = self.graph.call_function(
            _aten.slice.Tensor, (node, len(shape) + self.axis, self.slab.first, end)
        )
        cut.meta["val"] = self._cut(node)
        return cut

    def _computed(self, node: Node) -> Any:
        """Return pointwise work on what its arguments have in the slab."""
        if has_named_tensors(node) or not is_pointwise(node):
            return _NOTHING
        arguments = [self.value(argument) for argument in node.args]
        if any(a is _NOTHING for a in arguments):
            return _NOTHING
        if node.target is _aten.add.Tensor and not node.kwargs:
            for one, other in (arguments, arguments[::-1]):
                if _is_zero(one):
                    return other
        if not any(isinstance(a, Node) and is_tensor(a) and a.meta["val"].dim() for a in arguments):
            return _NOTHING  # a number, of which no kernel computes anything
        target: Any = node.target
        made = self.graph.call_function(target, tuple(arguments), node.kwargs)
        made.meta["val"] = self._cut(node)
        return made

    def _cut(self, node: Node) -> Any:
        value = node.meta["val"]
        sizes = list(value.shape)
        sizes[self.axis] = _value(self.slab.size)
        with value.fake_mode:
            return value.new_empty(sizes)

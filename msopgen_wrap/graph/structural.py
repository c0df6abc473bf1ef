"""Attrs that shape a graph: which they are for a part, and where a count went into the graph.

An attr that counts something (``num_groups``) divides sizes, so PyTorch takes it as a plain number.
Graphs traced with two values differ exactly where the attr is: a number that is the same in both is
not the attr, whatever its value is. Attrs of the whole op may shape other parts than the one that
is planned.
"""

from __future__ import annotations

import functools
import math
import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from msopgen_wrap.diagnostics import OpgenError
from msopgen_wrap.graph.sample import count_attrs
from msopgen_wrap.graph.scalars import AttrRef
from msopgen_wrap.spec.model import Attr, OpSpec
from msopgen_wrap.torch_import import torch

if TYPE_CHECKING:
    from msopgen_wrap.graph.tracing import TracedGraph

Graph = torch.fx.Graph
Node = torch.fx.Node
# Arguments of nodes: where in the arguments of which one, and what of the attr stands there.
Places = list[tuple[Node, tuple[Any, ...], "Term"]]


@dataclass(frozen=True)
class Term:
    """What code makes of an attr before PyTorch takes it as a number.

    It is ``factor * attr ** power + offset``: windows of ``p`` rows and columns have ``p * p``
    elements, a scale is ``d ** -0.5``.
    """

    factor: float = 1
    power: float = 1
    offset: int = 0

    @staticmethod
    def between(first: tuple[float, int], second: tuple[float, int]) -> Term | None:
        """Return the term that explains two numbers, each given with the attr's value."""
        (a, x), (b, y) = first, second
        whole = type(a) is int and type(b) is int
        if a != 0 and b != 0 and (a < 0) == (b < 0):
            for power in (1, 2, 3) if whole else (1, -1, 0.5, -0.5, 2, -2):
                factor = a / x**power
                if math.isclose(factor * y**power, b, rel_tol=1e-12):
                    exact = round(factor) if math.isclose(factor, round(factor)) else factor
                    if not whole or type(exact) is int:
                        return Term(exact, power)
        if whole and (b - a) % (y - x) == 0:
            factor = (b - a) // (y - x)
            return Term(factor, 1, int(a - factor * x))
        return None


# Other values to try; the sample's sizes may not be divisible by all of them.
_VALUES = (2, 3, 4, 5, 6, 7, 8, 11, 12, 13, 17, 19, 24, 1)


def count_values(known: int) -> tuple[int, ...]:
    """Return the values to compare a trace with, other than the known one."""
    return tuple(v for v in _VALUES if v != known)


def count_places(traced: Any, name: str, other: Any, value: int) -> Places | None:
    """Return the numbers of ``traced`` that are attr ``name``; None where graphs differ otherwise.

    Args:
        other: the graph traced with ``value``.
    """
    return _differences(traced.graph, other.graph, traced.structural[name], value)


# The call whose argument an attr may be as a whole: the order of the axes.
_ORDERS = "aten.permute.default"


def order_places(traced: Any, name: str, other: Any, value: list[int]) -> Places | None:
    """Return the calls of ``traced`` that attr ``name`` gives the order of their axes.

    Args:
        other: the graph traced with ``value``, another order; None is returned where the graphs
            differ elsewhere.
    """
    return _differences(traced.graph, other.graph, list(traced.structural[name]), value)


def orders_axes(graph: Graph, known: Any) -> bool:
    """Whether a call of a graph orders axes by a list."""
    orders = [n.args[1] for n in graph.nodes if str(n.target) == _ORDERS]
    return any(isinstance(order, (list, tuple)) and list(order) == list(known) for order in orders)


def other_order(known: Any) -> list[int] | None:
    """Return an order of the same axes with none where it was; None for what is no order."""
    places = [axis % len(known) if -len(known) <= axis < len(known) else -1 for axis in known]
    if len(known) < 2 or sorted(places) != list(range(len(known))):
        return None
    return [*places[1:], places[0]]


def restore_counts(traced: Any, found: dict[str, Places]) -> None:
    """Replace numbers of ``traced`` by what they are of attrs, which get placeholders.

    A number in which several counts are, as ``h * w`` of a window, is their product; one that is
    something else of them keeps the last one's, which does not pass the proof.
    """
    terms: dict[tuple[Node, tuple[Any, ...]], dict[str, Term]] = {}
    for name, places in found.items():
        for node, path, term in places:
            terms.setdefault((node, path), {})[name] = term
    symbols = {name: _placeholder(traced, name) for name, places in found.items() if places}
    first_call = next(n for n in traced.graph.nodes if n.op != "placeholder")
    made: dict[Any, Node] = {}
    for (node, path), parts in terms.items():
        key = tuple(parts.items())
        if key not in made:
            with traced.graph.inserting_before(first_call):
                made[key] = _number_node(traced.graph, symbols, parts)
        number = made[key]
        if path[0] == "args":
            node.args = _replaced(node.args, path[1:], number)
        else:
            node.kwargs = {
                name: _replaced(value, path[2:], number) if name == path[1] else value
                for name, value in node.kwargs.items()
            }


def _differences(first: Graph, second: Graph, known: Any, value: Any) -> Places | None:
    """Where the graphs hold the two values; None when they differ otherwise."""
    nodes, others = list(first.nodes), list(second.nodes)
    if len(nodes) != len(others):
        return None
    same = dict(zip(nodes, others, strict=True))
    places: Places = []

    def compare(node: Node, path: tuple[Any, ...], a: Any, b: Any) -> bool:
        if isinstance(a, Node):
            return isinstance(b, Node) and same[a] is b
        is_order = str(node.target) == _ORDERS and path == ("args", 1)
        if is_order and isinstance(known, list) and (list(a), list(b)) == (known, value):
            places.append((node, path, Term()))
            return True
        if isinstance(a, (list, tuple)):
            return (
                isinstance(b, (list, tuple))
                and len(a) == len(b)
                and all(
                    compare(node, (*path, i), x, y)
                    for i, (x, y) in enumerate(zip(a, b, strict=True))
                )
            )
        if type(a) is type(b) and (a == b or (a != a and b != b)):
            return True
        if type(a) is type(b) and type(a) in (int, float) and type(known) is int:
            term = Term.between((a, known), (b, value))
            if term is not None:
                places.append((node, path, term))
                return True
        return False

    for node, other in same.items():
        if node.op != other.op or node.target != other.target:
            return None
        if sorted(node.kwargs) != sorted(other.kwargs):
            return None
        if not compare(node, ("args",), node.args, other.args):
            return None
        for key in node.kwargs:
            if not compare(node, ("kwargs", key), node.kwargs[key], other.kwargs[key]):
                return None
    return places


def _placeholder(traced: Any, name: str) -> Node:
    graph: Graph = traced.graph
    last = [n for n in graph.nodes if n.op == "placeholder"]
    before = last[-1].next if last else next(iter(graph.nodes))
    with graph.inserting_before(before):
        symbol: Node = graph.placeholder(f"attr_{name}")
    symbol.meta["val"] = traced.structural[name]
    traced.attrs[symbol.name] = AttrRef(name, True)
    return symbol


def _number_node(graph: Graph, symbols: dict[str, Node], parts: dict[str, Term]) -> Node:
    """Return a node that computes a number of attrs, as the formula would."""

    def call(function: Callable[..., Any], a: Any, b: Any) -> Node:
        node = graph.call_function(function, (a, b))
        values = [v.meta["val"] if isinstance(v, Node) else v for v in (a, b)]
        node.meta["val"] = function(*values)
        return node

    def power(symbol: Node, exponent: float) -> Node:
        if exponent in (1, 2, 3):
            return functools.reduce(functools.partial(call, operator.mul), [symbol] * int(exponent))
        return call(operator.pow, symbol, exponent)

    *before, (name, term) = parts.items()
    if term.power == -1 and not before:
        return call(operator.truediv, term.factor, symbols[name])
    value = power(symbols[name], term.power)
    factor = term.factor
    for other, its in before:
        # The factor of each term has the others in it.
        value = call(operator.mul, value, power(symbols[other], its.power))
        factor /= symbols[other].meta["val"] ** its.power
    if factor != 1:
        whole = round(factor)
        value = call(operator.mul, value, whole if math.isclose(factor, whole) else factor)
    return call(operator.add, value, term.offset) if term.offset else value


def _replaced(value: Any, path: tuple[Any, ...], symbol: Node) -> Any:
    if not path:
        return symbol
    items = [_replaced(v, path[1:], symbol) if i == path[0] else v for i, v in enumerate(value)]
    return tuple(items) if isinstance(value, tuple) else items


def other_values(attr: Attr, traced: TracedGraph) -> list[Any]:
    """Return other axes than the sample's, and values around what the code compares the attr with.

    A list may be axes, of any number, or numbers per axis, of which the code reads as many as the
    sample has.

    Args:
        attr: an int or list_int attr that shaped the graph.
        traced: the graph.
    """
    known = traced.structural[attr.name]
    if attr.type == "list_int":
        as_many = ([v + 1 for v in known], [1] * len(known))
        lists = [[0], [-1], [0, 1], *as_many]
        return [v for i, v in enumerate(lists) if v != list(known) and v not in lists[:i]]
    values = [0, -1]
    for number in sorted(traced.numbers.get(attr.name, ())):
        values += [int(number) - 1, int(number), int(number) + 1]
    return [
        v
        for v in dict.fromkeys(values)
        if v != known
        and (attr.minimum is None or v >= attr.minimum)
        and (attr.maximum is None or v <= attr.maximum)
    ]


def shaping_attrs(
    spec: OpSpec, part: TracedGraph, cut_with: Callable[[str, Any], TracedGraph]
) -> dict[str, Any]:
    """Return those of a part's structural attrs that change its graph, with their samples.

    Args:
        spec: the part.
        part: its graph, with the structural attrs of the whole op.
        cut_with: returns its graph for another value of an attr; raises OpgenError where there is
            none.
    """
    counts = count_attrs(spec)
    return {
        name: value
        for name, value in part.structural.items()
        if spec.attr(name).type not in ("int", "list_int")
        or name in counts
        or _shapes(spec.attr(name), part, cut_with)
    }


def _shapes(attr: Attr, part: TracedGraph, cut_with: Callable[[str, Any], TracedGraph]) -> bool:
    own = _form(part)
    compared = False
    for value in other_values(attr, part):
        try:
            other = cut_with(attr.name, value)
        except OpgenError as error:
            if any(d.code == "OPG201" for d in error.diagnostics):
                continue  # no axis of the sample
            return True
        if _form(other) != own or _row_values(part) - _row_values(other):
            return True
        compared = True
    return not compared


def _row_values(traced: TracedGraph) -> set[str]:
    """Return the inputs that hold one value per row of a reduction along axes that are numbers.

    The kernel loads them once per row. A temporary that another pass reduced along an attr is one
    for some values of the attr, and has elements along the row for others.
    """
    found: set[str] = set()
    for node in traced.graph.nodes:
        operand = node.args[0] if node.args else None
        if not _is_reduction(node) or not isinstance(operand, torch.fx.Node):
            continue
        axes = node.args[1] if len(node.args) > 1 else None
        axes = [axes] if isinstance(axes, int) else axes
        value = operand.meta.get("val")
        if not isinstance(value, torch.Tensor) or not isinstance(axes, (list, tuple)) or not axes:
            continue
        for given in traced.graph.nodes:
            if given.op == "placeholder" and _is_one_along(given, axes, value.ndim):
                found.add(given.name)
    return found


def _is_one_along(given: torch.fx.Node, axes: Sequence[int], rank: int) -> bool:
    """Whether an input has size 1 along axes of an operand.

    A squeeze may lie between inputs of other ranks and the operand: the axes then are those at the
    same place from the front or from the end.

    Args:
        given: the input.
        axes: of the operand.
        rank: of the operand.
    """
    shape = getattr(given.meta.get("val"), "shape", ())
    ends = [[axis % rank - rank for axis in axes]]
    if len(shape) != rank:
        ends.append([axis % rank for axis in axes])
    for places in ends:
        if all(-len(shape) <= place < len(shape) for place in places):
            # sizes that are symbols compare with numbers by a guard: types come first
            sizes = [shape[place] for place in places]
            if all(isinstance(size, int) and size == 1 for size in sizes):
                return True
    return False


def _is_reduction(node: torch.fx.Node) -> bool:
    # Older versions of torch have no such tag: graphs then differ by their calls alone.
    return getattr(torch.Tag, "reduction", None) in getattr(node.target, "tags", ())


def _kept_axes(node: torch.fx.Node) -> tuple[int, ...]:
    """Return which axes of size 1 the operand of a reduction has.

    A temporary that was made with ``keepdim`` has them where the attr says; a reduction over all
    axes of it then covers other axes of the operands beside it.
    """
    if not _is_reduction(node):
        return ()
    value = node.args[0].meta.get("val") if isinstance(node.args[0], torch.fx.Node) else None
    shape = value.shape if isinstance(value, torch.Tensor) else ()
    return tuple(axis for axis, size in enumerate(shape) if isinstance(size, int) and size == 1)


def _form(traced: TracedGraph) -> str:
    """Return a text that is equal for graphs of the same calls, whatever their nodes are called."""
    number = {node: i for i, node in enumerate(traced.graph.nodes)}

    def named(value: Any) -> Any:
        return f"%{number[value]}" if isinstance(value, torch.fx.Node) else value

    rows: list[Any] = []
    for node in traced.graph.nodes:
        given = torch.fx.node.map_aggregate((node.args, node.kwargs), named)
        # the tensor that a constant holds is not in its node
        target = id(node) if node.op == "get_attr" else node.target
        rows.append((node.op, str(target), given, _kept_axes(node)))
    outputs = {name: named(value) for name, value in traced.outputs.items()}
    return repr((rows, outputs))

"""Where the numbers of attrs are in a graph, and what code made of them.

An attr that counts something (``num_groups``) divides sizes, so PyTorch takes it as a plain number.
Graphs traced with two values differ exactly where the attr is: a number that is the same in both is
not the attr, whatever its value is.
"""

from __future__ import annotations

import functools
import itertools
import math
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.graph.scalars import AttrRef
from msopgen_wrap.torch_import import torch

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


@dataclass(frozen=True)
class Polynomial:
    """A whole number that code makes of several counts: a sum of products of them.

    ``(kernel - 1) * dilation`` is ``{("kernel", "dilation"): 1, ("dilation",): -1}``. A product has
    each count once at most.
    """

    factors: dict[tuple[str, ...], int]

    @staticmethod
    def through(
        numbers: dict[frozenset[str], int], known: dict[str, int], others: dict[str, int]
    ) -> Polynomial | None:
        """Return the polynomial with these values; None where a factor would be no whole number.

        Args:
            numbers: for each set of attrs, the number where these have their other values.
            known: the value of each attr in the trace.
            others: its other value.
        """
        products = list(_subsets(known))
        factors = dict.fromkeys(products, 0)
        for product in products:
            # the factor of the product of (attr - known) is a difference of differences
            change = sum(
                (-1) ** (len(product) - len(part)) * numbers[frozenset(part)]
                for part in _subsets(product)
            )
            steps = math.prod(others[name] - known[name] for name in product)
            if change % steps:
                return None
            for part in products:
                if set(part) <= set(product):
                    rest = math.prod(-known[name] for name in product if name not in part)
                    factors[part] += change // steps * rest
        return Polynomial({product: factor for product, factor in factors.items() if factor})


def _subsets(names: Iterable[str]) -> Iterator[tuple[str, ...]]:
    """Return all sets of some names, the smallest first."""
    listed = list(names)
    return itertools.chain.from_iterable(
        itertools.combinations(listed, size) for size in range(len(listed) + 1)
    )


# A place in a graph: the node, and where in its arguments.
Place = tuple[Node, tuple[Any, ...]]
# Numbers of more counts are not looked into: each set of them needs a trace.
_MOST_COUNTS = 3
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


def count_polynomials(
    traced: Any,
    found: dict[str, Places],
    others: dict[str, tuple[int, Any]],
    trace_with: Callable[[dict[str, int]], Any],
) -> dict[Place, Polynomial]:
    """Return the numbers of ``traced`` that are sums of products of several counts.

    Args:
        found: the places of each count.
        others: the other value of each count, and the graph traced with it.
        trace_with: returns the graph for other values of some counts, None where there is none.
    """
    index = {node: i for i, node in enumerate(traced.graph.nodes)}
    # the nodes of the graph in which a set of counts has its other values
    nodes = {frozenset[str](): list(index)}
    nodes |= {frozenset([name]): list(other.graph.nodes) for name, (_, other) in others.items()}
    result: dict[Place, Polynomial] = {}
    for place, terms in _terms(found).items():
        # without an offset it is the product of the terms
        if not 2 <= len(terms) <= _MOST_COUNTS or not any(t.offset for t in terms.values()):
            continue
        numbers = {}
        for names in map(frozenset, _subsets(terms)):
            if names not in nodes:
                other = trace_with({name: others[name][0] for name in names})
                nodes[names] = list(other.graph.nodes) if other is not None else []
            numbers[names] = _number_at(nodes[names], index[place[0]], place)
        if all(type(number) is int for number in numbers.values()):
            known = {name: traced.structural[name] for name in terms}
            polynomial = Polynomial.through(numbers, known, {n: others[n][0] for n in terms})
            if polynomial is not None:
                result[place] = polynomial
    return result


def _number_at(nodes: list[Node], index: int, place: Place) -> Any:
    """Return what another graph has at the place of a node; None where its nodes are others."""
    if index >= len(nodes) or nodes[index].target != place[0].target:
        return None
    kind, *path = place[1]
    value = getattr(nodes[index], kind)
    try:
        for step in path:
            value = value[step]
    except (IndexError, KeyError, TypeError):
        return None
    return value


def _terms(found: dict[str, Places]) -> dict[Place, dict[str, Term]]:
    """Return what code made of each count, by place."""
    terms: dict[Place, dict[str, Term]] = {}
    for name, places in found.items():
        for node, path, term in places:
            terms.setdefault((node, path), {})[name] = term
    return terms


def restore_counts(
    traced: Any, found: dict[str, Places], polynomials: dict[Place, Polynomial] | None = None
) -> None:
    """Replace numbers of ``traced`` by what they are of attrs, which get placeholders.

    A number in which several counts are, as ``h * w`` of a window, is their product, if it is none
    of ``polynomials``; one that is something else of them does not pass the proof.
    """
    terms = _terms(found)
    symbols = {name: _placeholder(traced, name) for name, places in found.items() if places}
    first_call = next(n for n in traced.graph.nodes if n.op != "placeholder")
    made: dict[Any, Node] = {}
    for (node, path), parts in terms.items():
        polynomial = (polynomials or {}).get((node, path))
        key = tuple(polynomial.factors.items() if polynomial else parts.items())
        if key not in made:
            with traced.graph.inserting_before(first_call):
                if polynomial:
                    made[key] = _polynomial_node(traced.graph, symbols, polynomial)
                else:
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


def _call(graph: Graph, function: Callable[..., Any], a: Any, b: Any) -> Node:
    """Return a node that computes with two numbers."""
    node = graph.call_function(function, (a, b))
    values = [v.meta["val"] if isinstance(v, Node) else v for v in (a, b)]
    node.meta["val"] = function(*values)
    return node


def _polynomial_node(graph: Graph, symbols: dict[str, Node], polynomial: Polynomial) -> Node:
    """Return a node that computes a polynomial, the largest products first."""
    call = functools.partial(_call, graph)
    total: Any = None
    for names, factor in reversed(polynomial.factors.items()):
        value: Any = abs(factor)
        if names:
            product = functools.reduce(
                functools.partial(call, operator.mul), map(symbols.get, names)
            )
            value = product if value == 1 else call(operator.mul, product, value)
        if total is None:
            total = value if factor > 0 else call(operator.mul, value, -1)
        else:
            total = call(operator.add if factor > 0 else operator.sub, total, value)
    return total


def _number_node(graph: Graph, symbols: dict[str, Node], parts: dict[str, Term]) -> Node:
    """Return a node that computes a number of attrs, as the formula would."""
    call = functools.partial(_call, graph)

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

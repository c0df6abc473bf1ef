"""Sizes of intermediate tensors as expressions over the sizes of inputs."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import sympy

from msopgen_wrap.graph.scalars import AttrRef, Binary, Const, DimRef, ScalarExpr, fold
from msopgen_wrap.torch_import import torch

Graph = torch.fx.Graph
Node = torch.fx.Node


def reduced_count(x: torch.Tensor, dims: list[int]) -> Any:
    """Return how many elements a reduction of ``x`` over ``dims`` combines.

    In a trace this is a node of its own: a row kernel knows the number by its iteration space,
    however the sizes behind it were broadcast.
    """
    from msopgen_wrap.graph.symbols import SymbolEnv

    count: Any = 1
    for d in dims:
        count = count * x.shape[d]
    env = getattr(getattr(x, "fake_mode", None), "shape_env", None)
    if not isinstance(env, SymbolEnv) or env.tracer is None or not dims:
        return count
    return env.derive_count(reduced_count, x, list(dims), count)


def size_symbols(
    graph: Graph, inputs: dict[str, str], *, own: bool = False
) -> dict[sympy.Symbol, DimRef]:
    """Return which dimension of which input every size symbol of a traced graph is.

    Sizes that are equal in every call have symbols of their own, and one that stands for all in
    what is computed of them.

    Args:
        own: leave out what symbols stand for besides the sizes that they are.
    """
    found: dict[sympy.Symbol, DimRef] = {}
    for node in graph.nodes:
        if node.op != "placeholder" or node.name not in inputs:
            continue
        shape = node.meta["val"].shape
        for axis, size in enumerate(shape):
            known = getattr(size, "node", None)
            for name in ("_expr",) if own else ("_expr", "expr"):
                symbol = getattr(known, name, None)
                if isinstance(symbol, sympy.Symbol):
                    found.setdefault(symbol, DimRef(inputs[node.name], axis, len(shape)))
    return found


def attr_symbols(graph: Graph, attrs: dict[str, AttrRef]) -> dict[sympy.Symbol, ScalarExpr]:
    """Return which int attr the symbols of a traced graph are, of those in ``attrs``."""
    found: dict[sympy.Symbol, ScalarExpr] = {}
    for node in graph.nodes:
        if node.op == "placeholder" and node.name in attrs and attrs[node.name].integer:
            symbol = getattr(getattr(node.meta.get("val"), "node", None), "_expr", None)
            if isinstance(symbol, sympy.Symbol):
                found[symbol] = attrs[node.name]
    return found


def size_of(node: Node, axis: int, symbols: dict[sympy.Symbol, ScalarExpr]) -> ScalarExpr | None:
    """Return a size of a node's tensor over sizes of inputs and attrs, None where it has none."""
    size = node.meta["val"].shape[axis]
    if isinstance(size, int):
        return Const(size)
    return number_of(size.node.expr, symbols)


def number_of(expr: Any, symbols: Mapping[sympy.Symbol, ScalarExpr]) -> ScalarExpr | None:
    """Return an expression of symbols over sizes of inputs and attrs, None where it has none."""
    if isinstance(expr, sympy.Integer):
        return Const(int(expr))
    if isinstance(expr, sympy.Float):
        return Const(float(expr))
    if isinstance(expr, sympy.Symbol):
        return symbols.get(expr)
    args = [number_of(a, symbols) for a in expr.args]
    known = [a for a in args if a is not None]
    if not known or len(known) != len(args):
        return None
    name = type(expr).__name__
    if name in _FOLDED:
        return functools.reduce(functools.partial(fold, _FOLDED[name]), known)
    if name in _PAIRS and len(known) == 2:
        return Binary(_PAIRS[name], known[0], known[1])
    if name in _ROUNDED and len(known) == 1:
        return fold(_ROUNDED[name], known[0])
    power = known[1].value if name == "Pow" and isinstance(known[1], Const) else 0
    if isinstance(power, int) and 1 <= power <= 8:
        return functools.reduce(functools.partial(fold, "*"), [known[0]] * power)
    return None


_FOLDED = {"Add": "+", "Mul": "*", "Max": "max", "Min": "min"}
_PAIRS = {"FloorDiv": "//", "CleanDiv": "//", "Mod": "%", "PythonMod": "%"}
_PAIRS |= {"FloatTrueDiv": "/", "IntTrueDiv": "/"}
# Between whole numbers and others: a size times a scale, rounded.
_ROUNDED = {"ToFloat": "float", "TruncToInt": "int"}


def size_hint(size: Any) -> Any:
    """Return a size of the sample; ``size`` is a number or the node of a symbolic integer."""
    return getattr(size, "hint", size)


def same_size(first: Any, second: Any) -> bool:
    """Whether two sizes, numbers or symbolic integers or their nodes, are the same in every call.

    Sizes of inputs that are equal in the sample are taken to be equal, and tiling checks it; sizes
    computed from them may be equal in the sample only, as two halves of an even length are, and so
    may a number in the formula and the size of an input.
    """
    first, second = getattr(first, "node", first), getattr(second, "node", second)
    if size_hint(first) != size_hint(second):
        return False
    one, other = getattr(first, "expr", first), getattr(second, "expr", second)
    computed = any(getattr(e, "args", ()) for e in (one, other))
    numbers = [isinstance(e, (int, sympy.Integer)) for e in (one, other)]
    return one == other if computed or numbers[0] != numbers[1] else True


def same_shape(first: Any, second: Any) -> bool:
    """Whether two nodes of a graph give tensors of the same shape in every call."""
    one, other = first.meta["val"].shape, second.meta["val"].shape
    return len(one) == len(other) and all(map(same_size, one, other))

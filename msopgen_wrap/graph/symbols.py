"""Attrs and sizes as symbols of one trace.

Every size of an input and every attr that is not a variant is a symbol of PyTorch's own symbolic
shape environment: a ``SymInt`` or a ``SymFloat`` that is a placeholder of the traced graph. What
``compute`` and the decompositions make of it (``1 - beta ** step``, ``x.shape[-1] // 2``) becomes
nodes of that graph, so a symbol keeps its identity from the spec to the tiling function. Nothing is
found again by its value: attrs may have equal defaults, defaults of 0 and 1, or the value of a
literal. Sizes are distinct symbols even where the sample has equal sizes (``duck_shape=False``),
and 0 and 1 are not special (``specialize_zero_one=False``).

PyTorch asks for the value of a symbol where Python or C++ code branches on it or takes a plain
number. ``SymbolEnv`` sees each of these questions, and none passes unnoticed:

* ``compute`` itself branches: refused (``StructureError``; sizes: ``SizeBranchError``).
* an int attr becomes a plain number (``dim``): the attr is structural. It is answered with the
  sample's value, and the caller proves that other values give the same kernel.
* a float attr becomes a plain number, because a schema says ``float`` (the epsilon of layer_norm):
  the answer is a stand-in that occurs nowhere else, and where it turns up in the graph the symbol
  is put back.
* PyTorch branches on a float attr (``if alpha != 1``): it is answered from the hint, and the caller
  runs the graph on values around the constant to see that the branch did not matter
  (``graph.proof``).
"""

from __future__ import annotations

import functools
import math
import operator
import struct
from collections.abc import Callable
from typing import Any, NoReturn

import sympy

from msopgen_wrap.graph.demands import Demands, divides
from msopgen_wrap.graph.random_numbers import TracedRandomNumbers
from msopgen_wrap.graph.size_branches import SizeBranchError
from msopgen_wrap.graph.size_loops import SizeLoops
from msopgen_wrap.graph.whole_quotients import decided_equality
from msopgen_wrap.spec import compute_limits
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.fx.experimental.proxy_tensor import get_proxy_slot, set_proxy_slot, thunkify
from torch.fx.experimental.symbolic_shapes import DimDynamic, ShapeEnv

_SYMBOLIC = (torch.SymInt, torch.SymFloat, torch.SymBool)


class StructureError(Exception):
    """The structure of the graph depends on attrs that are not variants.

    Attributes:
        names: the attrs.
        branches: whether ``compute`` itself branches on them.
    """

    def __init__(self, names: tuple[str, ...], branches: bool = False):
        self.names = names
        self.branches = branches
        super().__init__(f"the value of attr {names[0]!r} decides the structure of the graph")


def hint_of(position: int, sample: float | int) -> float | int:
    """Return what stands for attr number ``position`` where torch wants to see a value.

    It lies beside the sample, so that a lower and an upper bound keep their order and a constant in
    the formula is not met.
    """
    if isinstance(sample, int):
        return 5 + 2 * position
    if not math.isfinite(sample):
        return 0.61803398874989 + 0.03710943 * position
    return sample + 0.00371094301 * (1 + 0.0137 * position) * max(1.0, abs(sample))


class SymbolEnv(ShapeEnv):
    """The symbols of one trace, and what was asked about them.

    Attributes:
        attr_of: symbol -> attr it stands for.
        stand_ins: number that C++ got for a float expression -> the symbol behind it.
        structural: int attrs that are answered with their hint.
        numbers: attr -> constants that torch compared it with.
        asserted: what ``compute`` asserts of sizes and attrs, and how it is said there.
        refused: the first question that has no answer.
        tracer: the tracer of the graph; set when tracing has begun.
    """

    def __init__(self) -> None:
        super().__init__(duck_shape=False, specialize_zero_one=False)
        self.attr_of: dict[sympy.Symbol, str] = {}
        self.stand_ins: dict[float, torch.SymFloat] = {}
        self.structural: set[str] = set()
        self.numbers: dict[str, set[float]] = {}
        self.asserted: Demands = []
        self.refused: Exception | None = None
        self.tracer: Any = None
        self._stand_in_of: dict[sympy.Basic, float] = {}
        self._sizes: set[sympy.Basic] = set()
        self._derived = 0

    # ---- symbols -------------------------------------------------------------------------------

    def attr_symbol(self, name: str, hint: float | int, label: str = "") -> Any:
        """Return a new ``SymInt`` or ``SymFloat`` for an attr (``label``: of its element)."""
        from torch._dynamo.source import ConstantSource

        source = ConstantSource(f"attr_{label or name}")
        symbol = self.create_unspecified_symbol(hint, source, DimDynamic.DYNAMIC)
        self.attr_of[symbol] = name
        if isinstance(hint, int):
            return self.create_symintnode(symbol, hint=hint, source=source)
        return self.create_symfloatnode(symbol, hint=hint, source=source)

    def derive(self, function: Callable[..., Any], *args: Any) -> Any:
        """Return ``function(*args)`` of symbols as a symbol of its own, recorded as a node.

        For functions that torch's symbols lack or answer by branching (``math.exp``, ``**``).
        """
        hints = [a.node.hint if isinstance(a, _SYMBOLIC) else a for a in args]
        try:
            hint = float(function(*hints))
        except (ArithmeticError, ValueError, TypeError):
            hint = 0.7071
        if not math.isfinite(hint):
            hint = 0.7071
        names = {n for a in args if isinstance(a, _SYMBOLIC) for n in self.attrs_in(a.node.expr)}
        self._derived += 1
        label = f"{getattr(function, '__name__', 'value')}_{self._derived}"
        result = self.attr_symbol(next(iter(sorted(names)), ""), hint, label)
        proxies = tuple(self._proxy(a) if isinstance(a, _SYMBOLIC) else a for a in args)
        proxy = self.tracer.create_proxy("call_function", function, proxies, {})
        proxy.node.meta["val"] = result
        set_proxy_slot(result, self.tracer, thunkify(self.tracer, lambda: proxy))
        return result

    def derive_count(
        self, function: Callable[..., Any], tensor: torch.Tensor, dims: list[int], count: Any
    ) -> Any:
        """Return ``count`` as a node ``function(tensor, dims)``; its value stays what it is."""
        proxy = self.tracer.create_proxy(
            "call_function", function, (get_proxy_slot(tensor, self.tracer).proxy, dims), {}
        )
        if isinstance(count, int):
            return count
        node = count.node
        result = torch.SymInt(type(node)(node._expr, self, node.pytype, node._hint))
        proxy.node.meta["val"] = result
        set_proxy_slot(result, self.tracer, thunkify(self.tracer, lambda: proxy))
        return result

    def declare_size(self, size: torch.SymInt) -> None:
        """Note that a number made of attrs is a size; PyTorch asks whether it is 0 at least."""
        self._sizes.add(size.node.expr)

    def attrs_in(self, expr: sympy.Basic) -> tuple[str, ...]:
        """Return the attrs that an expression reads, sorted."""
        found = (self.attr_of.get(s) for s in getattr(expr, "free_symbols", ()))
        return tuple(sorted({name for name in found if name is not None}))

    def _proxy(self, symbol: Any) -> Any:
        slot = get_proxy_slot(symbol, self.tracer)
        return slot.force() if hasattr(slot, "force") else slot

    # ---- questions -----------------------------------------------------------------------------

    def evaluate_sym_node(
        self, sym_node: Any, size_oblivious: bool = False, fallback_value: bool | None = None
    ) -> Any:
        """Answer a question about a symbol (torch's entry point for all of them)."""
        expr = sym_node.expr
        if self._asks_attr(expr):
            return self._about_attrs(expr, sym_node, fallback_value)
        equal = decided_equality(expr)
        if equal is not None:
            return sympy.true if equal else sympy.false
        return super().evaluate_sym_node(sym_node, size_oblivious, fallback_value)

    def _asks_attr(self, expr: Any) -> bool:
        return any(s in self.attr_of for s in getattr(expr, "free_symbols", ()))

    def _about_attrs(self, expr: Any, sym_node: Any, fallback: bool | None) -> Any:
        names = self.attrs_in(expr)
        known = self._maybe_evaluate_static(expr)
        if known is not None:
            return known
        if isinstance(expr, (sympy.Ge, sympy.Lt)) and expr.rhs == 0 and expr.lhs in self._sizes:
            return sympy.true if isinstance(expr, sympy.Ge) else sympy.false
        if names and self.structural.issuperset(names) and sym_node.hint is not None:
            for name in names:
                self.numbers.setdefault(name, set()).update(_numbers(expr))
            return sympy.sympify(sym_node.hint)
        if sym_node.pytype is float:
            return sympy.Float(self._stand_in(expr, sym_node))
        floats = all(s.is_integer is not True for s in expr.free_symbols)
        if sym_node.pytype is bool and floats and sym_node.hint is not None:
            for name in names:
                self.numbers.setdefault(name, set()).update(_numbers(expr))
            return sympy.true if sym_node.hint else sympy.false
        if fallback is not None:
            return sympy.true if fallback else sympy.false
        self.refused = StructureError(names)
        raise self.refused

    def _stand_in(self, expr: Any, sym_node: Any) -> float:
        if expr not in self._stand_in_of:
            value = 0.7390851332151607 * (1 + 0.0137 * len(self._stand_in_of))
            # a number that float32 holds: some kernels of torch convert it on the way
            value = float(struct.unpack("f", struct.pack("f", value))[0])
            self._stand_in_of[expr] = value
            self.stand_ins[value] = torch.SymFloat(sym_node)
        return self._stand_in_of[expr]

    def decompositions(self, table: dict[Any, Callable[..., Any]]) -> dict[Any, Any]:
        """Return a decomposition table whose functions get symbols again for their stand-ins."""
        # Partial objects, because a trace makes a thousand of them and calls a few.
        return {key: functools.partial(self._call, function) for key, function in table.items()}

    def _call(self, function: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
        if not self.stand_ins:
            return function(*args, **kwargs)
        names = {key: self._symbol_of(value) for key, value in kwargs.items()}
        return function(*(self._symbol_of(a) for a in args), **names)

    def _symbol_of(self, value: Any) -> Any:
        return self.stand_ins.get(value, value) if type(value) is float else value

    def restore(self, graph: torch.fx.Graph) -> None:
        """Put symbols back where their stand-ins are arguments of a call."""

        def node_of(value: Any) -> Any:
            symbol = self._symbol_of(value)
            return symbol if symbol is value else self._proxy(symbol).node

        for node in list(graph.nodes) if self.stand_ins else []:
            if node.op == "call_function":
                node.args = torch.fx.node.map_aggregate(node.args, node_of)
                node.kwargs = torch.fx.node.map_aggregate(node.kwargs, node_of)

    def truth(self, value: Any) -> Any:
        """Return the condition of an ``if`` in ``compute``; refuse one that a symbol decides."""
        if not isinstance(value, _SYMBOLIC):
            return value
        expr = value.node.expr
        known = self._maybe_evaluate_static(expr)
        if known is not None:
            return bool(known)
        self._refuse(expr)

    def require(self, condition: Any, text: str) -> None:
        """Note what ``compute`` asserts; the tiling function checks it for the sizes of a call.

        Raises:
            ValueError: it does not hold for the sample.
        """
        if not isinstance(condition, _SYMBOLIC):
            compute_limits.require(condition, text)
            return
        expr = condition.node.expr
        known = self._maybe_evaluate_static(expr)
        if known is None:
            self.asserted.append((expr, text))
        if known is not None or not self._asks_attr(expr):
            compute_limits.require(bool(condition), text)

    def require_equal(self, left: Any, right: Any, text: str) -> None:
        """Note that two numbers are equal, or the numbers of two lists, each for itself."""
        # a tuple is never equal to a list
        lists = any(isinstance(left, kind) and isinstance(right, kind) for kind in (tuple, list))
        if not lists or len(left) != len(right):
            self.require(left == right, text)
            return
        for one, other in zip(left, right, strict=True):
            self.require_equal(one, other, text)

    def demands(self) -> Demands:
        """Return what a call must fulfil: what PyTorch has asked, and what ``compute`` asserts.

        Of PyTorch's questions these are the ones that only a size which is cut into equal pieces
        answers with yes (`unflatten`, `F.glu`, a reshape): other sizes raise an exception there.
        """
        asked = {guard.expr: "" for guard in self.guards if divides(guard.expr)}
        return list((asked | dict(self.asserted)).items())

    # ---- what compute calls --------------------------------------------------------------------

    def namespace(self, stepwise: str = "") -> dict[str, Any]:
        """Return replacements of the names in ``compute`` that would ask for values.

        Args:
            stepwise: which loops are recorded for one place (``OpSpec.stepwise``).
        """
        functions = TracedRandomNumbers(stepwise=bool(stepwise))
        loops = SizeLoops(self, functions.loop, counted=stepwise == "counts")
        return {
            "math": _Mathematics(self),
            "opgen": functions,
            "min": functools.partial(_extremum, min, torch.sym_min),
            "max": functools.partial(_extremum, max, torch.sym_max),
            "float": _to_float,
            "int": _to_int,
            "round": self._round,
            "bool": lambda value=False: bool(self.truth(value)),
            "__opgen_pow": self._power,
            "__opgen_test": self.truth,
            "__opgen_require": self.require,
            "__opgen_require_equal": self.require_equal,
            "__opgen_steps": self._steps,
            "__opgen_open": loops.is_open,
            "__opgen_counted": loops.is_counted,
            "__opgen_size_steps": self._steps,
            "__opgen_run_steps": loops.run,
        }

    def _steps(self, *ends: Any) -> range:
        """Return the steps of a loop; refuse a number of them that a symbol decides."""
        for end in ends:
            if isinstance(end, _SYMBOLIC):
                self._refuse(end.node.expr)
        return compute_limits.steps(*ends)

    def _refuse(self, expr: sympy.Basic) -> NoReturn:
        names = self.attrs_in(expr)
        self.refused = StructureError(names, True) if any(names) else SizeBranchError()
        raise self.refused

    def _round(self, value: Any, *digits: Any) -> Any:
        if not isinstance(value, _SYMBOLIC) or isinstance(value, torch.SymInt):
            return compute_limits.rounded(value, *digits)
        if digits:
            return value.__round__(*digits)  # type: ignore[union-attr]
        return torch.sym_int(self.derive(round, value))

    def _power(self, base: Any, exponent: Any) -> Any:
        numbers = (int, float, torch.SymInt, torch.SymFloat)
        if not (isinstance(base, numbers) and isinstance(exponent, numbers)):
            return base**exponent
        if not isinstance(base, _SYMBOLIC) and not isinstance(exponent, _SYMBOLIC):
            return compute_limits.power(base, exponent)
        if isinstance(base, torch.SymInt) and type(exponent) is int and exponent >= 0:
            return base**exponent
        return self.derive(operator.pow, _to_float(base), exponent)


class _Mathematics:
    """``math`` for a trace: functions of symbols become nodes."""

    def __init__(self, env: SymbolEnv):
        self._env = env

    def __getattr__(self, name: str) -> Any:
        value = getattr(math, name)
        if not callable(value):
            return value

        def call(*args: Any) -> Any:
            if not any(isinstance(a, _SYMBOLIC) for a in args):
                return value(*args)
            if name in ("floor", "ceil"):
                return value(args[0])
            if name == "pow":
                return self._env._power(_to_float(args[0]), _to_float(args[1]))
            return self._env.derive(value, *args)

        return call


def empty_of(x: Any, sizes: list[Any]) -> Any:
    """Return a tensor of the dtype of ``x`` for the shape function of a call.

    Args:
        x: an argument of the call.
        sizes: of the result, which the tiling function checks.
    """
    declare_sizes(sizes)
    return x.new_empty(sizes)


def declare_sizes(sizes: list[Any]) -> None:
    """Note that numbers which attrs may be part of are sizes of a result."""
    for size in sizes:
        env = getattr(getattr(size, "node", None), "shape_env", None)
        if isinstance(env, SymbolEnv):
            env.declare_size(size)


def _extremum(plain: Any, symbolic: Any, *values: Any) -> Any:
    items = values[0] if len(values) == 1 else values
    if not any(isinstance(v, _SYMBOLIC) for v in items):
        return plain(*values)
    return functools.reduce(symbolic, items)


def _to_float(value: Any = 0.0) -> Any:
    return torch.sym_float(value) if isinstance(value, _SYMBOLIC) else float(value)


def _to_int(value: Any = 0) -> Any:
    return torch.sym_int(value) if isinstance(value, _SYMBOLIC) else int(value)


def _numbers(expr: sympy.Basic) -> set[float]:
    return {float(n) for n in expr.atoms(sympy.Number) if n.is_finite}

"""What operators are in sums, products and calls: one rule per name of ATen."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.fusion.terms import CONST, Term, alias, call, constant, names_in, product, total
from msopgen_wrap.torch_import import torch

_REDUCTIONS = names_in("sum mean amax amin prod any all argmax argmin")

Rule = Callable[["Arguments"], "Term | None"]


class Arguments:
    """The arguments of one node: by name, tensors as terms.

    Attributes:
        values: argument name -> term, list of terms, number or other value.
        shape: of the (first) result; None where there is none.
        shapes: of tensor arguments, by name.
    """

    def __init__(self, target: Any, values: dict[str, Any], fake: Any, fakes: dict[str, Any]):
        self.target = target
        self.values = values
        self.fake = fake
        self.fakes = fakes

    def term(self, name: str) -> Term:
        """Return an argument as a term; a number is a constant."""
        value = self.values[name]
        return value if isinstance(value, Term) else constant(float(value))

    def number(self, name: str, default: float = 1.0) -> float:
        """Return a numeric argument."""
        value = self.values.get(name)
        if isinstance(value, Term):
            value = value.bare().number
        return default if value is None else float(value)


def _add(sign: float) -> Rule:
    def rule(a: Arguments) -> Term | None:
        if not is_number(a.values.get("alpha", 1)):
            return None
        return total([(1.0, a.term("self")), (sign * a.number("alpha"), a.term("other"))])

    return rule


def _rsub(a: Arguments) -> Term:
    return total([(-a.number("alpha"), a.term("self")), (1.0, a.term("other"))])


def _div(a: Arguments) -> Term | None:
    if a.values.get("rounding_mode") is not None:
        return None
    return product([(a.term("self"), 1.0), (a.term("other"), -1.0)])


def _pow(a: Arguments) -> Term | None:
    exponent = a.values.get("exponent")
    if not isinstance(exponent, Term):
        if exponent is None or not is_number(exponent):
            return None
        return product([(a.term("self"), float(exponent))])
    bare = exponent.bare()
    return product([(a.term("self"), bare.number)]) if bare.kind == CONST else None


def _power(exponent: float) -> Rule:
    return lambda a: product([(a.term("self"), exponent)])


def _mul(a: Arguments) -> Term:
    return product([(a.term("self"), 1.0), (a.term("other"), 1.0)])


def _lerp(a: Arguments) -> Term:
    start, end, weight = a.term("self"), a.term("end"), a.term("weight")
    if weight.bare().kind == CONST:
        share = weight.bare().number
        return total([(1 - share, start), (share, end)])
    return total(
        [(1.0, start), (1.0, product([(total([(1.0, end), (-1.0, start)]), 1.0), (weight, 1.0)]))]
    )


def _addc(exponent: float) -> Rule:
    def rule(a: Arguments) -> Term:
        second = product([(a.term("tensor1"), 1.0), (a.term("tensor2"), exponent)])
        return total([(1.0, a.term("self")), (a.number("value"), second)])

    return rule


def _exp(x: Term) -> Term:
    return call("exp", (x,))


def _sigmoid_of(x: Term) -> Term:
    return product([(total([(1.0, _exp(product([(x, 1.0)], -1.0)))], 1.0), -1.0)])


def _relu(a: Arguments) -> Term:
    return call("relu", (a.term("self"),))


def _clamp(a: Arguments) -> Term | None:
    low, high = a.values.get("min"), a.values.get("max")
    if high is None and is_number(low) and low == 0:
        return _relu(a)
    return None


def _maximum(a: Arguments) -> Term | None:
    for one, other in (("self", "other"), ("other", "self")):
        bare = a.term(one).bare()
        if bare.kind == CONST and bare.number == 0:
            return call("relu", (a.term(other),))
    return None


def _gelu(a: Arguments) -> Term:
    x = a.term("self")
    if a.values.get("approximate") == "tanh":
        cubic = total([(1.0, x), (0.044715, product([(x, 3.0)]))])
        inner = call("tanh", (product([(cubic, 1.0)], math.sqrt(2 / math.pi)),))
    else:
        inner = call("erf", (product([(x, 1.0)], math.sqrt(0.5)),))
    return product([(x, 1.0), (total([(1.0, inner)], 1.0), 1.0)], 0.5)


def _mean(a: Arguments) -> Term | None:
    source, result = a.fakes.get("self"), a.fake
    if source is None or not isinstance(result, torch.Tensor) or not result.numel():
        return None
    count = source.numel() // result.numel()
    axes = axes_of(a.values.get("dim"), source.dim())
    summed = call("sum", (a.term("self"),), (axes,))
    return product([(summed, 1.0)], 1.0 / count) if count else None


def _reduction(a: Arguments) -> Term | None:
    source = a.fakes.get("self")
    if source is None:
        return None
    name = a.target._schema.name.removeprefix("aten::")
    return call(name, (a.term("self"),), (axes_of(a.values.get("dim"), source.dim()),))


def _sliced(x: Term, size: int, dim: int, start: int, end: int, step: int = 1) -> Term:
    start, end = (max(0, min(size, n + size if n < 0 else n)) for n in (start, end))
    if start == 0 and end == size and step == 1:
        return alias(x, "slice")
    return call("slice", (x,), (dim, start, end, step))


def _slice(a: Arguments) -> Term | None:
    source = a.fakes.get("self")
    if source is None or not source.dim():
        return None
    dim = int(a.values["dim"]) % source.dim()
    start, end, step = (a.values.get(n) for n in ("start", "end", "step"))
    size = int(source.shape[dim])
    return _sliced(a.term("self"), size, dim, start or 0, size if end is None else end, step or 1)


def _narrow(a: Arguments) -> Term | None:
    source, start = a.fakes.get("self"), a.values.get("start")
    if source is None or not source.dim() or not isinstance(start, int):
        return None
    dim = int(a.values["dim"]) % source.dim()
    return _sliced(
        a.term("self"), int(source.shape[dim]), dim, start, start + int(a.values["length"])
    )


def parts(a: Arguments) -> list[Term] | None:
    """Return the terms of the parts that a tensor is split into along an axis."""
    source = a.fakes.get("self")
    if source is None or not source.dim() or not isinstance(a.fake, (list, tuple)):
        return None
    dim = int(a.values["dim"]) % source.dim()
    found, start = [], 0
    for part in a.fake:
        end = start + int(part.shape[dim])
        found.append(_sliced(a.term("self"), int(source.shape[dim]), dim, start, end))
        start = end
    return found


RULES: dict[str, Rule] = {
    "add": _add(1.0),
    "sub": _add(-1.0),
    "rsub": _rsub,
    "neg": lambda a: product([(a.term("self"), 1.0)], -1.0),
    "mul": _mul,
    "div": _div,
    "true_divide": _div,
    "pow": _pow,
    "square": _power(2.0),
    "sqrt": _power(0.5),
    "rsqrt": _power(-0.5),
    "reciprocal": _power(-1.0),
    "lerp": _lerp,
    "addcmul": _addc(1.0),
    "addcdiv": _addc(-1.0),
    "sigmoid": lambda a: _sigmoid_of(a.term("self")),
    "silu": lambda a: product([(a.term("self"), 1.0), (_sigmoid_of(a.term("self")), 1.0)]),
    "log1p": lambda a: call("log", (total([(1.0, a.term("self"))], 1.0),)),
    "expm1": lambda a: total([(1.0, _exp(a.term("self")))], -1.0),
    "relu": _relu,
    "clamp_min": _clamp,
    "clamp": _clamp,
    "maximum": _maximum,
    "gelu": _gelu,
    "slice": _slice,
    "narrow": _narrow,
    "mean": _mean,
    **{name: _reduction for name in _REDUCTIONS - {"mean"}},
}
# These are rules for floats only: integers wrap around and divide with a remainder.
ANY_DTYPE = frozenset(("slice", "narrow", "relu", "clamp", "clamp_min", "maximum", *_REDUCTIONS))


def is_number(value: Any) -> bool:
    return isinstance(value, (int, float)) and not isinstance(value, torch.SymInt)


def axes_of(given: Any, rank: int) -> tuple[int, ...]:
    if given is None or given == []:
        return tuple(range(rank))
    listed = given if isinstance(given, (list, tuple)) else [given]
    return tuple(sorted(int(axis) % max(rank, 1) for axis in listed))

"""A chain of a model's graph as the YAML of a spec."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from msopgen_wrap.fusion.chain_calls import (
    WRITERS,
    Writer,
    axes_text,
    call_text,
    has_kernel,
    is_default,
    number_text,
)
from msopgen_wrap.fusion.chains import FLOATS, REDUCED, Chain
from msopgen_wrap.fusion.conversion import bound_arguments, packet_name
from msopgen_wrap.fusion.regions import is_view
from msopgen_wrap.fusion.terms import names_in
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

_INFIX = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "gt": ">",
    "lt": "<",
    "ge": ">=",
    "le": "<=",
}
_UNARY = names_in(
    "relu sigmoid tanh exp log sqrt rsqrt reciprocal neg abs square erf log1p expm1 asinh "
    "atan floor ceil exp2 log2 softsign sin cos"
)
# Sums of products of these cancel. The few results near zero that are far off by relative error are
# counted against the same on a CPU, and among a handful of them 3 against 1 is chance. CANN's mixed
# standard judges them by absolute error.
_CANCELLING = names_in("sin cos")
_FUNCTIONAL = names_in("silu mish hardswish hardsigmoid softplus elu leaky_relu gelu")
# Arguments that may be attrs, and the constants that belong to a formula instead.
_OPEN = names_in("other eps")
_WORDS = {"mul": "factor", "div": "divisor", "add": "addend", "sub": "addend", "rsub": "addend"}
_PLAIN = (0.0, 0.5, 1.0, 2.0)
MAX_ATTRS = 4
_BINARY = names_in("maximum minimum where")


def takes(node: Any) -> bool:
    """Whether a node can be a step of a chain."""
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
        return False
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not all(type(n) is int for n in value.shape):
        return False
    names = {n: f"x{i + 1}" for i, n in enumerate(node.all_input_nodes)}
    given, text = _arguments(node, names, Numbers())
    if _own_text(node, given, text) is not None:
        return True
    line = call_text(node, given, text)
    return line is not None and has_kernel(node, line, names)


@dataclass
class Numbers:
    """The constants of a chain that are attrs of its op.

    Attributes:
        open: whether there are attrs; else all constants are written into the formula.
        values: attr -> the constant of the chain.
    """

    open: bool = False
    values: dict[str, float] = field(default_factory=dict)

    def text(self, step: str, argument: str, value: Any) -> str:
        """Return what stands in the formula for a value that is no tensor."""
        constant = type(value) is float and argument in _OPEN and abs(value) not in _PLAIN
        if not (self.open and constant and math.isfinite(value)):
            return repr(value)
        if len(self.values) >= MAX_ATTRS:
            return repr(value)
        word = "epsilon" if argument == "eps" else _WORDS.get(step, "limit")
        count = sum(name.startswith(word) for name in self.values)
        name = f"{word}{count + 1}" if count else word
        self.values[name] = value
        return name


def spec_text(chain: Chain, op: str, *, attrs: bool = False, defaults: bool = True) -> str:
    """Return the YAML of a spec whose ``compute`` is the chain.

    Args:
        op: its name.
        attrs: constants are attrs, as far as that is sensible; the chain's are the defaults.
        defaults: False leaves these out, so that chains with other constants have the same text.
    """
    numbers = Numbers(attrs)
    names = chain.names()
    first = chain.ordered_inputs[0]
    own = str(first.meta["val"].dtype).removeprefix("torch.")
    rows = [f"op: {op}", f"doc: {_doc(chain)}", "inputs:"]
    for node, name in names.items():
        rows.append(f"  {name}: {{{_input_text(chain, node, first, own)}}}")
    results = chain.result_names()
    rows.append("outputs:")
    for node, name in results.items():
        dtype = str(node.meta["val"].dtype).removeprefix("torch.")
        given = "x1" if dtype == own else dtype
        rows.append(f'  {name}: {{dtype: {given}, shape: "{chain.result_shape(node)}"}}')
    if any(packet_name(n.target) in _CANCELLING for n in chain.nodes):
        floats = [name for n, name in results.items() if n.meta["val"].is_floating_point()]
        rows.append(f"tolerance: {{{', '.join(f'{name}: mixed' for name in floats)}}}")
    formula = ["compute: |"]
    texts = {**names, **{node: number_text(v) for node, v in chain.constants.items()}}
    for i, node in enumerate(chain.nodes):
        text = _line(node, texts, numbers)
        assert text is not None
        texts[node] = results.get(node, f"t{i + 1}")
        formula.append(f"  {texts[node]} = {text}")
    if numbers.values:
        rows.append("attrs:")
        for name, value in numbers.values.items():
            rows.append(f"  {name}: {{type: float, default: {value if defaults else 'any'}}}")
    return "\n".join([*rows, *formula]) + "\n"


def _input_text(chain: Chain, node: Any, first: Any, own: str) -> str:
    fake = node.meta["val"]
    dtype = str(fake.dtype).removeprefix("torch.")
    if node is first:
        casts = any(packet_name(n.target) == "to" for n in chain.nodes)
        mixed = any(
            n.meta["val"].dtype.is_floating_point and n.meta["val"].dtype != fake.dtype
            for n in (*chain.inputs, *chain.results)
        )
        largest = max(_finite_numbers(chain), default=0.0)
        others = [name for name in FLOATS if largest <= torch.finfo(getattr(torch, name)).max]
        listed = own if casts or mixed or own not in others else ", ".join(others)
        rank = "[1, 8]" if chain.any_rank else str(fake.dim())
        return f"dtype: [{listed}]" + (f", rank: {rank}" if chain.reduces else "")
    text = f"dtype: {'x1' if dtype == own else dtype}"
    if chain.reduces:
        shape = chain.input_shape(node)
        text += f", shape: {shape}" if shape == "like x1" else f', shape: "{shape}"'
    return text


def _finite_numbers(chain: Chain) -> Iterator[float]:
    """Yield the magnitudes of the constants of a chain."""
    given = [(node.args, node.kwargs) for node in chain.nodes]
    for value in (*torch.utils._pytree.tree_leaves(given), *chain.constants.values()):
        if isinstance(value, (int, float)) and math.isfinite(value):
            yield abs(float(value))


def _doc(chain: Chain) -> str:
    words = [packet_name(n.target) for n in chain.nodes if not is_view(n)]
    return "proposed by opgen fuse; " + ", ".join(words) + "."


def _line(node: Any, names: dict[Any, str], numbers: Numbers) -> str | None:
    """Return the PyTorch of one step, None when there is none that holds at every shape."""
    given, text = _arguments(node, names, numbers)
    own = _own_text(node, given, text)
    return call_text(node, given, text) if own is None else own


def _own_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    """Return a step of a kind that is known to have a kernel, None for another."""
    name = packet_name(node.target)
    writer = _WRITERS.get(name)
    if writer is not None:
        return writer(node, given, text)
    if name in _INFIX and given.get("alpha", 1) == 1 and given.get("rounding_mode") is None:
        return f"{text['self']} {_INFIX[name]} {text['other']}"
    if name in _UNARY:
        return f"torch.{name}({text['self']})" if hasattr(torch, name) else None
    if name in ("maximum", "minimum"):
        return f"torch.{name}({text['self']}, {text['other']})"
    if name in REDUCED:
        where = axes_text(node)
        if not where or not (given.get("dtype") is None or given["dtype"].is_floating_point):
            return None
        operand = text["self"]
        if given.get("dtype") not in (None, node.all_input_nodes[0].meta["val"].dtype):
            operand = f"{operand}.to({given['dtype']})"
        if name in ("softmax", "log_softmax"):
            return f"torch.{name}({operand}, {where})"
        return f"torch.{name}({operand}, {where}, keepdim={bool(given.get('keepdim'))})"
    if name in _FUNCTIONAL:
        further = [f"{k}={v}" for k, v in text.items() if k not in ("self",) and k in _SAFE]
        if any(k not in ("self", *_SAFE) and not is_default(node, k, v) for k, v in given.items()):
            return None
        return f"F.{name}({', '.join([text['self'], *further])})"
    return None


def _arguments(
    node: Any, names: dict[Any, str], numbers: Numbers
) -> tuple[dict[str, Any], dict[str, str]]:
    """Return the arguments of a step by name, and what stands in the formula for them."""
    name = packet_name(node.target)
    given = bound_arguments(node.target, node.args, node.kwargs)
    # Values of inputs by name; axes of the largest rank.
    text = {
        k: names[v] if isinstance(v, Node) else numbers.text(name, k, v) for k, v in given.items()
    }
    return given, text


_SAFE = ("approximate", "negative_slope", "alpha", "beta", "threshold")


def _pow_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    if isinstance(given.get("exponent"), Node) or "exponent" not in given:
        return None
    return f"torch.pow({text['self']}, {text['exponent']})"


def _clamp_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    if any(isinstance(given.get(k), Node) for k in ("min", "max")):
        return None
    limits = [f"{k}={text[k]}" for k in ("min", "max") if given.get(k) is not None]
    return f"torch.clamp({', '.join([text['self'], *limits])})"


def _to_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    value = node.meta["val"]
    if not value.is_floating_point():
        return None
    return f"{text['self']}.to({value.dtype})"


def _where_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    if "self" not in given or "other" not in given:
        return None
    return f"torch.where({text['condition']}, {text['self']}, {text['other']})"


def _masked_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    value = given.get("value")
    if isinstance(value, Node) or not isinstance(value, (int, float)):
        return None
    number = text["value"] if math.isfinite(value) else number_text(value)
    return f"torch.masked_fill({text['self']}, {text['mask']}, {number})"


def _norm_text(name: str, *others: str) -> Writer:
    def write(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
        if len(given["normalized_shape"]) != 1:
            return None
        further = [text[k] for k in others]
        if given.get("eps") is not None:
            further.append(text["eps"])
        return f"F.{name}({text['input']}, [{text['input']}.shape[-1]], {', '.join(further)})"

    return write


def _rsub_text(node: Any, given: dict[str, Any], text: dict[str, str]) -> str | None:
    return None if given.get("alpha", 1) != 1 else f"{text['other']} - {text['self']}"


_WRITERS: dict[str, Writer] = {
    **WRITERS,
    "pow": _pow_text,
    "clamp": _clamp_text,
    "to": _to_text,
    "where": _where_text,
    "masked_fill": _masked_text,
    "rsub": _rsub_text,
    "layer_norm": _norm_text("layer_norm", "weight", "bias"),
    "rms_norm": _norm_text("rms_norm", "weight"),
}

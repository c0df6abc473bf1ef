"""A chain of a model's graph as the YAML of a spec."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

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
# Not sin and cos: sums of their products cancel, which the tests of a spec judge too strictly.
_UNARY = names_in(
    "relu sigmoid tanh exp log sqrt rsqrt reciprocal neg abs square erf log1p expm1 asinh "
    "atan floor ceil exp2 log2 softsign"
)
_FUNCTIONAL = names_in("silu mish hardswish hardsigmoid softplus elu leaky_relu gelu")
_BINARY = names_in("maximum minimum where")
_REDUCED = names_in("sum mean amax amin softmax log_softmax")
_SHAPES = names_in("unsqueeze expand")
_FLOATS = ("float16", "bfloat16", "float32")


def takes(node: Any) -> bool:
    """Whether a node can be a step of a chain."""
    if not isinstance(node.target, torch._ops.OpOverload) or node.target.namespace != "aten":
        return False
    name = packet_name(node.target)
    known = _UNARY | _FUNCTIONAL | _BINARY | _REDUCED | {"pow", "clamp", "to", "layer_norm"}
    if name not in known and name not in _INFIX and name not in {"rms_norm", "rsub"}:
        return False
    value = node.meta.get("val")
    if not isinstance(value, torch.Tensor) or not all(type(n) is int for n in value.shape):
        return False
    return _line(node, {n: "x" for n in node.all_input_nodes}, "x") is not None


@dataclass(frozen=True)
class Chain:
    """Steps of a graph with one result.

    Attributes:
        root: the node of the result.
        nodes: in order.
        inputs: nodes that are read.
        before, after: GM bytes node by node, and of one op.
    """

    root: Any
    nodes: tuple[Any, ...]
    inputs: tuple[Any, ...]
    before: int
    after: int

    @property
    def ordered_inputs(self) -> list[Any]:
        """The inputs, the one with most elements first: it names shapes and dtype."""
        return sorted(self.inputs, key=lambda n: -n.meta["val"].numel())

    @property
    def reduces(self) -> bool:
        """Whether a step joins the elements of an axis."""
        names = {packet_name(n.target) for n in self.nodes}
        return bool(names & (_REDUCED | {"layer_norm", "rms_norm"}))

    def name(self) -> str:
        """Return a name of an op for what the chain does."""
        words = [packet_name(n.target) for n in self.nodes if not is_view(n)]
        kept = [w for w in words if w != "to"][-4:]
        return "Fused" + "".join(w.title().replace("_", "") for w in kept)

    def objection(self) -> str:
        """Return why no spec of any shape can say this, empty when one can."""
        fakes = [n.meta["val"] for n in (*self.inputs, self.root)]
        for fake in fakes:
            dtype = str(fake.dtype).removeprefix("torch.")
            if dtype not in (*_FLOATS, "bool", "int32", "int64"):
                return f"it reads or gives {dtype}"
            if fake.dim() > 8 or not all(type(n) is int for n in fake.shape):
                return "its ranks or sizes"
        first = self.ordered_inputs[0].meta["val"] if self.inputs else None
        if first is None or not first.is_floating_point():
            return "its largest input is no float"
        if not self.reduces:
            shapes = [tuple(f.shape) for f in fakes[:-1]]
            if tuple(torch.broadcast_shapes(*shapes)) != tuple(fakes[-1].shape):
                return "its result is not the broadcast of its inputs"
            return ""
        if first.dim() == 0:
            return "it reduces a scalar"
        if self._result_rule() is None:
            return "the shape of its result follows no simple rule"
        for node in self.ordered_inputs[1:]:
            shape = tuple(node.meta["val"].shape)
            if shape not in (tuple(first.shape), (first.shape[-1],)):
                return "its inputs are broadcast in more than one way"
        return ""

    def _result_rule(self) -> str | None:
        first = tuple(self.ordered_inputs[0].meta["val"].shape)
        result = tuple(self.root.meta["val"].shape)
        if not self.reduces:
            return "broadcast(" + ", ".join(self.names().values()) + ")"
        if result == first:
            return "like x1"
        if result == (*first[:-1], 1):
            return "[*x1[:-1], 1]"
        return "[*x1[:-1]]" if result == first[:-1] else None

    def names(self) -> dict[Any, str]:
        """Return the names of the inputs in the spec."""
        return {node: f"x{i + 1}" for i, node in enumerate(self.ordered_inputs)}


def spec_text(chain: Chain, op: str) -> str:
    """Return the YAML of a spec whose ``compute`` is the chain."""
    names = chain.names()
    first = chain.ordered_inputs[0]
    own = str(first.meta["val"].dtype).removeprefix("torch.")
    rows = [f"op: {op}", f"doc: {_doc(chain)}", "inputs:"]
    for node, name in names.items():
        rows.append(f"  {name}: {{{_input_text(chain, node, first, own)}}}")
    dtype = str(chain.root.meta["val"].dtype).removeprefix("torch.")
    result = "x1" if dtype == own else dtype
    rows += ["outputs:", f'  y: {{dtype: {result}, shape: "{chain._result_rule()}"}}']
    rows.append("compute: |")
    texts: dict[Any, str] = dict(names)
    for i, node in enumerate(chain.nodes):
        text = _line(node, texts, own)
        assert text is not None
        name = "y" if node is chain.root else f"t{i + 1}"
        rows.append(f"  {name} = {text}")
        texts[node] = name
    return "\n".join(rows) + "\n"


def _input_text(chain: Chain, node: Any, first: Any, own: str) -> str:
    fake = node.meta["val"]
    dtype = str(fake.dtype).removeprefix("torch.")
    if node is first:
        casts = any(packet_name(n.target) == "to" for n in chain.nodes)
        mixed = any(
            n.meta["val"].dtype.is_floating_point and n.meta["val"].dtype != fake.dtype
            for n in (*chain.inputs, chain.root)
        )
        listed = own if casts or mixed else ", ".join(_FLOATS)
        return f"dtype: [{listed}]" + (", rank: [1, 8]" if chain.reduces else "")
    text = f"dtype: {'x1' if dtype == own else dtype}"
    if chain.reduces:
        same = tuple(fake.shape) == tuple(first.meta["val"].shape)
        text += ", shape: like x1" if same else ', shape: "[x1[-1]]"'
    return text


def _doc(chain: Chain) -> str:
    words = [packet_name(n.target) for n in chain.nodes if not is_view(n)]
    return "proposed by opgen fuse; " + ", ".join(words) + "."


def _line(node: Any, names: dict[Any, str], own: str) -> str | None:
    """Return the PyTorch of one step, None when there is none that holds at every shape."""
    name = packet_name(node.target)
    given = bound_arguments(node.target, node.args, node.kwargs)
    # Values of inputs by name; axes of the largest rank.
    text = {k: names[v] if isinstance(v, Node) else repr(v) for k, v in given.items()}
    writer = _WRITERS.get(name)
    if writer is not None:
        return writer(node, given, text)
    if name in _INFIX:
        if given.get("alpha", 1) != 1 or given.get("rounding_mode") is not None:
            return None
        return f"{text['self']} {_INFIX[name]} {text['other']}"
    if name in _UNARY:
        return f"torch.{name}({text['self']})" if hasattr(torch, name) else None
    if name in ("maximum", "minimum"):
        return f"torch.{name}({text['self']}, {text['other']})"
    if name in ("softmax", "log_softmax"):
        if given.get("dtype") is not None or not _is_last(node, given.get("dim")):
            return None
        return f"torch.{name}({text['self']}, -1)"
    if name in _REDUCED:
        dim = given.get("dim")
        if given.get("dtype") is not None or not _is_last(node, dim):
            return None
        return f"torch.{name}({text['self']}, -1, keepdim={bool(given.get('keepdim'))})"
    if name in _FUNCTIONAL:
        further = [f"{k}={v}" for k, v in text.items() if k not in ("self",) and k in _SAFE]
        if any(k not in ("self", *_SAFE) and not _is_default(node, k, v) for k, v in given.items()):
            return None
        return f"F.{name}({', '.join([text['self'], *further])})"
    return None


_SAFE = ("approximate", "negative_slope", "alpha", "beta", "threshold")


def _is_default(node: Any, name: str, value: Any) -> bool:
    for argument in node.target._schema.arguments:
        if argument.name == name and argument.has_default_value():
            return bool(argument.default_value == value)
    return False


def _is_last(node: Any, dim: Any) -> bool:
    source = next((n for n in node.all_input_nodes), None)
    rank = source.meta["val"].dim() if source is not None else 0
    listed = dim if isinstance(dim, (list, tuple)) else [dim]
    return len(listed) == 1 and type(listed[0]) is int and listed[0] % max(rank, 1) == rank - 1


Writer = Callable[[Any, dict[str, Any], dict[str, str]], "str | None"]


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
    "pow": _pow_text,
    "clamp": _clamp_text,
    "to": _to_text,
    "where": _where_text,
    "rsub": _rsub_text,
    "layer_norm": _norm_text("layer_norm", "weight", "bias"),
    "rms_norm": _norm_text("rms_norm", "weight"),
}

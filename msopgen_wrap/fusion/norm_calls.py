"""Where a model calls batch norms, and the convolutions before them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.diagnostics import Diagnostic, OpgenError
from msopgen_wrap.fusion.conversion import packet_name
from msopgen_wrap.fusion.model_trace import traced_model
from msopgen_wrap.fusion.regions import module_of
from msopgen_wrap.torch_import import torch

nn = torch.nn
CONVOLUTIONS = (nn.Conv1d, nn.Conv2d, nn.Conv3d)
NORMS = (nn.BatchNorm1d, nn.BatchNorm2d, nn.BatchNorm3d)

_ACTIVATIONS = {
    nn.ReLU: "relu",
    nn.SiLU: "silu",
    nn.GELU: "gelu",
    nn.Hardswish: "hardswish",
    nn.LeakyReLU: "leaky_relu",
    torch.relu: "relu",
    nn.functional.relu: "relu",
    nn.functional.silu: "silu",
    nn.functional.gelu: "gelu",
}


@dataclass(frozen=True)
class NormCall:
    """A call of a batch norm.

    Attributes:
        norm: path of the module.
        convolution: path of the module whose result it takes, empty where there is none.
        shared: whether that result is used elsewhere, too.
        repeated: the module of the two that is called more than once, empty where none is.
        epilogue: the activation that is called with the result of the norm, empty for another.
    """

    norm: str
    convolution: str
    shared: bool
    repeated: str
    epilogue: str


def norm_calls(
    model: Any, example: tuple[tuple[Any, ...], dict[str, Any]] | None
) -> list[NormCall]:
    """Return the calls of batch norms of a model, in order.

    ``torch.fx`` follows the calls of modules without values. Where it cannot and there is an
    example, the calls are those of the graph of ``torch.export``.

    Args:
        example: positional and keyword arguments of a call.

    Raises:
        OpgenError: OPG740 when the calls cannot be followed.
    """
    modules = dict(model.named_modules(remove_duplicate=False))
    try:
        graph = torch.fx.Tracer().trace(model)
    except Exception as error:
        if example is not None:
            return list(_calls_of_graph(traced_model(model, *example).graph, modules))
        text = str(error).splitlines() or [type(error).__name__]
        raise OpgenError(
            Diagnostic(
                "OPG740",
                f"the calls of the model's modules cannot be followed: {text[0]}",
                why="torch.fx follows them without values",
                fix="give an example: fold_batch_norms(model, inputs)",
            )
        ) from error
    return list(_calls(graph, modules, _called_module, _activation_of_call))


def _calls_of_graph(graph: Any, modules: dict[str, Any]) -> Iterator[NormCall]:
    def path(node: Any) -> str:
        """Return the module that a convolution or norm of ATen is the call of."""
        if node.op != "call_function" or not isinstance(node.target, torch._ops.OpOverload):
            return ""
        name = packet_name(node.target)
        if name != "batch_norm" and not name.startswith("conv"):
            return ""
        return module_of(node).partition("@")[0]  # `conv@1` is the second call of `conv`

    def activation(node: Any, _: dict[str, Any]) -> str:
        name = packet_name(node.target).removesuffix("_")
        return name if name in _ACTIVATIONS.values() else ""

    return _calls(graph, modules, path, activation)


def _calls(
    graph: Any,
    modules: dict[str, Any],
    path_of: Callable[[Any], str],
    activation_of: Callable[[Any, dict[str, Any]], str],
) -> Iterator[NormCall]:
    times = Counter(path_of(node) for node in graph.nodes)
    for node in graph.nodes:
        norm = path_of(node)
        if not isinstance(modules.get(norm), NORMS):
            continue
        before = node.args[0] if node.args else None
        convolution, shared = "", False
        if isinstance(before, torch.fx.Node):
            convolution, shared = path_of(before), len(before.users) > 1
        if not isinstance(modules.get(convolution), CONVOLUTIONS):
            convolution = ""
        repeated = next((n for n in (convolution, norm) if n and times[n] > 1), "")
        users = list(node.users)
        epilogue = activation_of(users[0], modules) if len(users) == 1 else ""
        yield NormCall(norm, convolution, shared, repeated, epilogue)


def _called_module(node: Any) -> str:
    return str(node.target) if node.op == "call_module" else ""


def _activation_of_call(node: Any, modules: dict[str, Any]) -> str:
    if node.op == "call_module":
        return _ACTIVATIONS.get(type(modules.get(str(node.target))), "")
    return _ACTIVATIONS.get(node.target, "") if node.op == "call_function" else ""

"""Activations behind convolutions, and which of them are steps of an op."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from msopgen_wrap.fusion.conversion import packet_name
from msopgen_wrap.fusion.regions import module_of
from msopgen_wrap.fusion.terms import names_in

_CONVOLUTIONS = names_in("conv1d conv2d conv3d convolution")
_ACTIVATIONS = names_in(
    "relu relu6 hardtanh silu gelu sigmoid tanh hardswish hardsigmoid leaky_relu elu mish"
)


def epilogues(graph: Any, ops: Mapping[Any, str]) -> dict[str, str]:
    """Return what is said of the activation behind each convolution that has one.

    A residual sum may stand between. PyTorch's convolution applies no activation, so this is a step
    of an op or of its own.

    Args:
        graph: ATen calls without writes of temporaries.
        ops: step -> the op that does it.

    Returns:
        Path of the convolution's module -> a clause such as ``relu behind it is CustomRelu``.
    """
    found: dict[str, str] = {}
    for node in graph.nodes:
        if node.op != "call_function" or packet_name(node.target) not in _CONVOLUTIONS:
            continue
        words, step = [], _only_user(node)
        if step is not None and packet_name(step.target) == "add":
            words, step = ["add"], _only_user(step)
        if step is None or packet_name(step.target) not in _ACTIVATIONS:
            continue
        words.append(packet_name(step.target))
        name = ops.get(step)
        verb = "is" if len(words) == 1 else "are"
        what = name or ("a step of its own" if len(words) == 1 else "steps of their own")
        found[module_of(node)] = f"{', '.join(words)} behind it {verb} {what}"
    return found


def _only_user(node: Any) -> Any:
    users = [u for u in node.users if u.op == "call_function"]
    return users[0] if len(node.users) == 1 and users else None

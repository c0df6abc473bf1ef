"""Reference implementations of torch_npu's own operators, written in plain PyTorch.

Each module has a table ``OPS``: operator name in the ``npu`` namespace -> function with that
operator's schema. They follow the descriptions in torch_npu's documentation, compute half types in
float32, and raise ``NotImplementedError`` by argument name for what they do not cover. Gradients
come from PyTorch: the functions are registered above autograd.
"""

from __future__ import annotations

from collections.abc import Callable

from . import activations, attention, layout, moe, norms, quantization, rotary

OPS: dict[str, Callable] = {
    **activations.OPS,
    **attention.OPS,
    **layout.OPS,
    **moe.OPS,
    **norms.OPS,
    **quantization.OPS,
    **rotary.OPS,
}

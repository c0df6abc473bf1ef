"""Reference implementations of torch_npu's own operators, written in plain PyTorch.

Each module has a table ``OPS``: operator name in the ``npu`` namespace -> function with that
operator's schema. They follow the descriptions in torch_npu's documentation, compute half types in
float32, and raise ``NotImplementedError`` by argument name for what they do not cover. Gradients
come from PyTorch: the functions are registered above autograd.
"""

from __future__ import annotations


def refuse(op: str, argument: str, value: object) -> None:
    """Raise for an argument value the reference does not cover.

    Raises:
        NotImplementedError: always; names the operator, the argument and its value.
    """
    shown = type(value).__name__ if hasattr(value, "shape") else repr(value)
    raise NotImplementedError(
        f"operator npu::{op} is not emulated with {argument}={shown}; opgen's emulated NPU runs a "
        "reference implementation that does not cover it"
    )


def refuse_given(op: str, **arguments: object) -> None:
    """Refuse every argument that is not None."""
    for name, value in arguments.items():
        if value is not None:
            refuse(op, name, value)

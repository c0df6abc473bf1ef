"""How a reference says that an argument is not covered."""

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

"""What the exporters know of an op, and its attributes as ONNX has them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .checks import as_dtype

# TensorProto.DataType
_ONNX_DTYPES = {
    torch.float32: 1,
    torch.uint8: 2,
    torch.int8: 3,
    torch.int16: 5,
    torch.int32: 6,
    torch.int64: 7,
    torch.bool: 9,
    torch.float16: 10,
    torch.float64: 11,
    torch.bfloat16: 16,
}


@dataclass(frozen=True)
class OnnxOp:
    """What the exporters need of one op.

    Attributes:
        name: torch name; op_type: ONNX and CANN name.
        inputs, outputs: (name, kind) with kind ``required``, ``optional`` or ``dynamic``.
        attrs: (name, type) in order.
        reference: the op in PyTorch; None when it works in place or its spec has no compute.
        fake: its fake kernel.
    """

    name: str
    op_type: str
    inputs: tuple[tuple[str, str], ...]
    outputs: tuple[tuple[str, str], ...]
    attrs: tuple[tuple[str, str], ...]
    reference: Callable[..., Any] | None
    fake: Callable[..., Any]

    def split(self, values: Sequence[Any]) -> tuple[list[Any], list[Any]]:
        """Part the arguments of a call into tensors and attrs."""
        return list(values[: len(self.inputs)]), list(values[len(self.inputs) :])

    def join(self, tensors: Sequence[Any], attrs: Sequence[Any]) -> list[Any]:
        """Return the arguments of a call, the reverse of ``split``."""
        return [*tensors, *attrs]

    def trimmed(self, values: list[Any]) -> list[Any]:
        """Drop trailing absent inputs, as ONNX does; beside a list they tell its length."""
        if any(kind == "dynamic" for _, kind in self.inputs):
            return values
        while values and values[-1] is None:
            values = values[:-1]
        return values


def onnx_attrs(op: OnnxOp, values: Sequence[Any]) -> dict[str, Any]:
    """Return the attributes of a node: ints, floats, texts and lists of them.

    Raises:
        RuntimeError: a value is not known when the model is exported.
    """
    result: dict[str, Any] = {}
    for (name, kind), value in zip(op.attrs, values, strict=True):
        if isinstance(value, (torch.SymInt, torch.SymFloat, torch.SymBool)):
            raise RuntimeError(f"{op.name}: attribute '{name}' varies with the inputs of the model")
        if value is None:
            continue  # an attribute that may be absent
        if kind == "dtype":
            value = _ONNX_DTYPES[as_dtype(value)]
        elif kind == "bool":
            value = int(value)
        elif kind == "list_float":
            value = [float(v) for v in value]
        elif kind == "float":
            value = float(value)
        elif kind == "list_int":
            value = [int(v) for v in value]
        result[name] = value
    return result


def suffix(value: Any) -> str:
    """Return the letter that a TorchScript graph marks an attribute's type with."""
    first = value[0] if isinstance(value, list) and value else value
    if isinstance(first, str):
        return "s"
    return "f" if isinstance(first, float) else "i"

"""The ops replaced by their PyTorch reference while a model is exported, and what that needs."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from .checks import as_dtype
from .onnx_ops import OnnxOp


def _call(op: OnnxOp, overload: Any, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Any:
    """Return what the reference gives for the arguments of a call of the op."""
    values = list(args)
    for argument in overload._schema.arguments[len(args) :]:
        values.append(kwargs.get(argument.name, argument.default_value))
    tensors, attrs = op.split(values)
    named = {
        name: as_dtype(value) if kind == "dtype" else value
        for (name, kind), value in zip(op.attrs, attrs, strict=True)
    }
    assert op.reference is not None
    return op.reference(*tensors, **named)


def decomposition(op: OnnxOp, overload: Any) -> Callable[..., Any]:
    """Return the op's reference as an entry of a table of decompositions."""

    def replace(*args: Any, **kwargs: Any) -> Any:
        return _call(op, overload, args, kwargs)

    return replace


# Operators of PyTorch that ONNX has under another name and the TorchScript exporter does not know.
_UNKNOWN_TO_TORCHSCRIPT = {
    "asinh": "Asinh",
    "acosh": "Acosh",
    "atanh": "Atanh",
    "sinh": "Sinh",
    "cosh": "Cosh",
}


@contextlib.contextmanager
def more_symbolics() -> Iterator[None]:
    """Teach the TorchScript exporter operators that ONNX has, for the time of one export."""

    def symbolic(op_type: str) -> Callable[..., Any]:
        return lambda g, value: g.op(op_type, value).setType(value.type())

    for name, op_type in _UNKNOWN_TO_TORCHSCRIPT.items():
        torch.onnx.register_custom_op_symbolic(f"aten::{name}", symbolic(op_type), 9)
    try:
        yield
    finally:
        for name in _UNKNOWN_TO_TORCHSCRIPT:
            torch.onnx.unregister_custom_op_symbolic(f"aten::{name}", 9)


class Inlining(TorchFunctionMode):
    """Calls the reference wherever a model calls an op: a TorchScript graph then holds no op.

    Args:
        ops: the ops by overload.
        check: called with an op before its reference; what it refuses is not exported.
    """

    def __init__(self, ops: Mapping[Any, OnnxOp], check: Callable[[OnnxOp], None]) -> None:
        super().__init__()
        self.ops = dict(ops)
        for overload, op in ops.items():
            self.ops[overload.overloadpacket] = op
        self.check = check

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        op = (
            self.ops.get(func)
            if isinstance(func, torch._ops.OpOverload | torch._ops.OpOverloadPacket)
            else None
        )
        if op is None:
            return func(*args, **(kwargs or {}))
        self.check(op)
        overload = func.default if isinstance(func, torch._ops.OpOverloadPacket) else func
        return _call(op, overload, args, kwargs or {})

"""What is known of the inputs of ops while a model is exported: dtypes and dims."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode

from . import onnx_function


def flat(values: Sequence[Any]) -> list[Any]:
    """Return the items of nested lists and tuples in order."""
    result: list[Any] = []
    for value in values:
        if isinstance(value, (list, tuple)):
            result += flat(value)
        else:
            result.append(value)
    return result


def describe(value: Any) -> Any:
    """Return a tensor's dtype and dims; a dynamic dim is (its expression, an example)."""
    if value is None:
        return None
    if isinstance(value, (list, tuple)):
        return tuple(describe(item) for item in value)
    dims = tuple(
        (str(dim), int(dim.node.hint)) if isinstance(dim, torch.SymInt) else int(dim)
        for dim in value.shape
    )
    return onnx_function.Described(value.dtype, dims)


class CallRecorder(TorchDispatchMode):
    """Note the shapes of every call of an op: a TorchScript graph knows only some of them.

    Args:
        vendor: namespace of the ops.
        ops: the ops (``OnnxOp``) by name.
        check: called with an op before its call is noted; the exporter drops a call whose results
            nobody uses, so what it refuses is refused here.
        calls: where (op name, inputs) of each call goes.
    """

    def __init__(
        self,
        vendor: str,
        ops: Mapping[str, Any],
        check: Callable[[Any], None],
        calls: list[tuple[str, tuple]],
    ) -> None:
        super().__init__()
        self.vendor = vendor
        self.ops = ops
        self.check = check
        self.calls = calls

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if func.namespace == self.vendor:
            op = self.ops.get(func._schema.name.split("::")[1])
            if op is not None:
                self.check(op)
                values = [*args, *[None] * len(op.inputs)][: len(op.inputs)]
                self.calls.append((op.name, tuple(describe(v) for v in values)))
        return func(*args, **(kwargs or {}))


def meta(value: Any) -> Any:
    """Return meta tensors like what ``describe`` gave."""
    if isinstance(value, tuple):
        return [meta(item) for item in value]
    return None if value is None else value.example().to("meta")


def types(value: Any) -> Any:
    """Return (dtype, sizes) of a TorchScript value, None where it is not known."""
    if isinstance(value, list):
        return tuple(types(item) for item in value)
    if value is None:
        return None
    kind = value.type()
    sizes = kind.varyingSizes() if hasattr(kind, "varyingSizes") else None
    return (kind.dtype() if hasattr(kind, "dtype") else None, sizes)


def _fits(types: Any, described: Any) -> bool:
    if isinstance(described, tuple):
        return len(types) == len(described) and all(map(_fits, types, described))
    if types is None or described is None:
        return types is None and described is None
    dtype, sizes = types
    if dtype is not None and dtype != described.dtype:
        return False
    if sizes is None:
        return True
    dims = described.dims
    return len(sizes) == len(dims) and all(
        size is None or size == dim for size, dim in zip(sizes, dims, strict=True)
    )


def _with_known_sizes(types: Any, described: Any) -> Any:
    """Mark the dims that the graph does not know as varying; the call gives their example."""
    if isinstance(described, tuple):
        return tuple(map(_with_known_sizes, types, described))
    if described is None:
        return None
    sizes = types[1] or [None] * len(described.dims)
    dims = tuple(
        dim if size is not None else ("?", dim)
        for size, dim in zip(sizes, described.dims, strict=True)
    )
    return onnx_function.Described(described.dtype, dims)


def matching_call(op: Any, types: list[Any], calls: list[tuple[str, tuple]]) -> tuple:
    """Return the inputs of the noted call of ``op`` that fits what the graph knows.

    Raises:
        RuntimeError: there is none.
    """
    for name, inputs in calls:
        if name == op.name and all(map(_fits, types, inputs)):
            return tuple(map(_with_known_sizes, types, inputs))
    raise RuntimeError(
        f"{op.name}: the traced graph calls it with other shapes than the model run on its "
        "example did; use exporter='dynamo'"
    )


class UnknownInputError(Exception):
    """The graph does not know an input's dtype and all of its dims."""


def known_inputs(value: Any) -> Any:
    """Describe a TorchScript value, or a list of them, by what the graph knows.

    Raises:
        UnknownInputError: that is not all.
    """
    if isinstance(value, list):
        return tuple(known_inputs(item) for item in value)
    if value is None:
        return None
    dtype, sizes = types(value)
    if dtype is None or sizes is None or None in sizes:
        raise UnknownInputError
    return onnx_function.Described(dtype, tuple(sizes))

"""The decomposition of an op as an ONNX function, made by exporting its PyTorch reference."""

from __future__ import annotations

import io
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from .checks import as_dtype


@dataclass(frozen=True)
class Described:
    """A tensor seen during export.

    Attributes:
        dtype: its dtype.
        dims: ints, or (expression, example) for a dim that varies.
    """

    dtype: torch.dtype
    dims: tuple[Any, ...]

    def example(self) -> torch.Tensor:
        """Return a tensor like it, ones everywhere."""
        return torch.ones([d if isinstance(d, int) else d[1] for d in self.dims], dtype=self.dtype)


@dataclass
class Variant:
    """One way an op is called in a model: dtypes, dims, attrs and which inputs are present.

    Attributes:
        op: the op (``OnnxOp``).
        inputs: per input a Described, None or a tuple of Described.
        attrs: attr values in order.
        index: number among the op's variants; becomes the function's overload.
    """

    op: Any
    inputs: tuple[Any, ...]
    attrs: tuple[Any, ...]
    index: int = -1

    @property
    def key(self) -> tuple:
        """What two calls must share to share a function."""
        return (self.op.name, tuple(_without_examples(v) for v in self.inputs), self.attrs)


def _without_examples(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple(_without_examples(item) for item in value)
    if value is None:
        return None
    return (value.dtype, tuple(d if isinstance(d, int) else d[0] for d in value.dims))


class _Reference(torch.nn.Module):
    """The op's reference over the tensors that are present, flattened."""

    def __init__(self, variant: Variant) -> None:
        super().__init__()
        self.variant = variant
        self.attrs = {
            name: as_dtype(value) if kind == "dtype" else value
            for (name, kind), value in zip(variant.op.attrs, variant.attrs, strict=True)
        }

    def forward(self, *tensors: torch.Tensor) -> tuple[torch.Tensor, ...]:
        items = iter(tensors)

        def take(value: Any) -> Any:
            if isinstance(value, tuple):
                return [take(item) for item in value]
            return None if value is None else next(items)

        result = self.variant.op.reference(*(take(v) for v in self.variant.inputs), **self.attrs)
        flat = []
        for value in result if isinstance(result, tuple) else (result,):
            flat += value if isinstance(value, list) else [value]
        return tuple(flat)


def build(variant: Variant, domain: str, *, exporter: str, opset: int) -> Any:
    """Return the ``onnx.FunctionProto`` of a variant.

    Raises:
        RuntimeError: the reference cannot be exported at this opset, or only for fixed dims.
    """
    import onnx

    described = [d for d in _flat(variant.inputs) if d is not None]
    examples = tuple(d.example() for d in described)
    try:
        if exporter == "dynamo":
            model = _dynamo_model(variant, described, examples, opset)
        else:
            model = _torchscript_model(variant, described, examples, opset)
    except Exception as error:
        advice = "" if exporter == "dynamo" else "; take opset 18 or newer with exporter='dynamo'"
        reason = str(error).strip().splitlines()
        raise RuntimeError(
            f"the decomposition of {variant.op.name} cannot be exported at opset {opset} "
            f"by the {exporter} exporter{advice}: {reason[-1] if reason else type(error).__name__}"
        ) from error
    written = {o.domain: o.version for o in model.opset_import}.get("", 0)
    if written != opset:
        raise RuntimeError(
            f"the decomposition of {variant.op.name} came out at opset {written}, not {opset}"
        )
    if model.functions:
        from onnx import inliner

        model = inliner.inline_local_functions(model)
    graph = model.graph
    constants = [
        onnx.helper.make_node("Constant", [], [tensor.name], value=tensor)
        for tensor in graph.initializer
    ]
    present = iter(value.name for value in graph.input)
    inputs = []
    for i, value in enumerate(_flat(variant.inputs)):
        inputs.append(f"absent_{i}" if value is None else next(present))
    while inputs and inputs[-1].startswith("absent_"):
        inputs.pop()
    function = onnx.helper.make_function(
        domain,
        variant.op.op_type,
        inputs,
        [value.name for value in graph.output],
        [*constants, *graph.node],
        [o for o in model.opset_import if o.domain == ""],
        [name for name, _ in variant.op.attrs],
    )
    if variant.index:
        function.overload = str(variant.index)
    return function


def _flat(values: Sequence[Any]) -> list[Any]:
    result: list[Any] = []
    for value in values:
        result += list(value) if isinstance(value, tuple) else [value]
    return result


def _dynamo_model(
    variant: Variant, described: Sequence[Described], examples: tuple, opset: int
) -> Any:
    shapes = tuple(
        {
            i: torch.export.Dim.AUTO if isinstance(dim, tuple) else torch.export.Dim.STATIC
            for i, dim in enumerate(d.dims)
        }
        for d in described
    )
    program = torch.export.export(
        _Reference(variant), examples, dynamic_shapes=(shapes,), strict=False
    )
    values = [n.meta["val"] for n in program.graph.nodes if n.op == "placeholder"]
    for d, value in zip(described, values[-len(described) :], strict=True):
        for i, dim in enumerate(d.dims):
            if isinstance(dim, tuple) and isinstance(value.shape[i], int):
                raise RuntimeError(f"dim {i} varies in the model but is fixed in the reference")
    return torch.onnx.export(program, dynamo=True, opset_version=opset, verbose=False).model_proto


def _torchscript_model(
    variant: Variant, described: Sequence[Described], examples: tuple, opset: int
) -> Any:
    import onnx

    names = [f"input_{i}" for i in range(len(examples))]
    axes = {
        name: {a: f"{name}_{a}" for a, dim in enumerate(d.dims) if isinstance(dim, tuple)}
        for name, d in zip(names, described, strict=True)
    }
    buffer = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        # A dim turned into a Python number would be wrong for other sizes.
        warnings.simplefilter("error", torch.jit.TracerWarning)
        torch.onnx.export(
            _Reference(variant),
            examples,
            buffer,
            dynamo=False,
            opset_version=opset,
            input_names=names,
            dynamic_axes=axes,
        )
    return onnx.load_from_string(buffer.getvalue())

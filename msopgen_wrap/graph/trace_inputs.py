"""What ``compute`` is given when it is traced: tensors without data, symbols for attrs."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

from msopgen_wrap.graph.sample import count_attrs, sample_attrs, settled_axes
from msopgen_wrap.graph.scalars import AttrRef
from msopgen_wrap.graph.symbols import SymbolEnv, hint_of
from msopgen_wrap.spec.model import (
    DimOf,
    DimSlice,
    OpSpec,
    ParamKind,
    ShapeLike,
    ShapeList,
    TensorParam,
)
from msopgen_wrap.torch_import import torch


def fake_input(param: TensorParam, shape: Any, dtype: str, mode: Any) -> torch.Tensor:
    """Return an input without data whose sizes are symbols; of a list, its first tensor."""
    from torch._dynamo.source import ConstantSource
    from torch.fx.experimental.symbolic_shapes import DimDynamic, StatelessSymbolicContext

    concrete = shape[0] if param.kind is ParamKind.DYNAMIC else shape
    settled = settled_axes(param, len(concrete))
    dynamic = [
        DimDynamic.STATIC if axis in settled else DimDynamic.DYNAMIC
        for axis in range(len(concrete))
    ]
    tensor: torch.Tensor = mode.from_tensor(
        torch.ones(concrete, dtype=getattr(torch, dtype)),
        source=ConstantSource(f"input_{param.name}"),
        symbolic_context=StatelessSymbolicContext(dynamic),
    )
    # PyTorch keeps the number of an integer without axes, that of the sample: an index would be it.
    tensor.item_memo = None  # type: ignore[attr-defined]
    return tensor


def unite_sizes(spec: OpSpec, tensors: Mapping[str, torch.Tensor]) -> None:
    """Make one symbol of sizes that the shape rules of inputs say are the same in every call.

    Derivatives compute with sizes: the product of those that a reshape has joined is divided again.
    Two products of different symbols are never the same expression.

    Args:
        tensors: the inputs without data, by name, as ``fake_input`` returns them.
    """
    for param in spec.inputs:
        if param.name in tensors:
            sizes = tensors[param.name].shape
            for size, (tensor, axis) in zip(sizes, _origins(param, tensors), strict=True):
                if tensor and isinstance(size, torch.SymInt):
                    torch._check(size == tensors[tensor].shape[axis])


def _origins(param: TensorParam, tensors: Mapping[str, torch.Tensor]) -> list[tuple[str, int]]:
    """Return which size of which input each axis of an input has; no name where none is said."""
    rank = tensors[param.name].dim()
    found: list[tuple[str, int]] = []
    if isinstance(param.shape, ShapeLike) and param.shape.tensor in tensors:
        found = [(param.shape.tensor, axis) for axis in range(rank)]
    elif isinstance(param.shape, ShapeList):
        for item in param.shape.items:
            other = getattr(item, "tensor", "")
            if isinstance(item, DimSlice) and other in tensors:
                axes = range(tensors[other].dim())[item.start : item.stop]
                found += [(other, axis) for axis in axes]
            elif isinstance(item, DimOf) and other in tensors:
                found.append((other, item.axis))
            elif isinstance(item, DimSlice):
                return [("", 0)] * rank  # of how many axes is not known
            else:
                found.append(("", 0))
    return found if len(found) == rank else [("", 0)] * rank


def call_attrs(
    fixed: dict[str, Any], symbols: list[tuple[Any, AttrRef]], values: tuple[Any, ...]
) -> dict[str, Any]:
    """Return the attrs of a call, where some are symbols, or elements of a list are."""
    attrs = dict(fixed)
    for (_, ref), value in zip(symbols, values, strict=True):
        if ref.index is None:
            attrs[ref.name] = value
        else:
            attrs[ref.name][ref.index] = value
    return attrs


def positional(count: int) -> inspect.Signature:
    """Return the signature of a function of so many arguments, which ``make_fx`` reads."""
    kind = inspect.Parameter.POSITIONAL_ONLY
    return inspect.Signature([inspect.Parameter(f"in{i}", kind) for i in range(count)])


def attr_values(
    spec: OpSpec, closed: dict[str, Any], structural: dict[str, Any], env: SymbolEnv
) -> tuple[dict[str, Any], list[tuple[Any, AttrRef]]]:
    """Return the attrs with a fixed value, and the symbols with what they stand for.

    Args:
        closed: the attrs of the variant and those that are the dtype of an output.
    """
    counts = count_attrs(spec)
    values: dict[str, Any] = {}
    symbols: list[tuple[Any, AttrRef]] = []
    samples = {**sample_attrs(spec), **structural}
    for position, attr in enumerate(spec.attrs):
        name, sample = attr.name, samples[attr.name]
        fixed = name in structural and attr.type != "list_int"
        if name in closed:
            value = closed[name]
            values[name] = getattr(torch, value) if attr.type == "dtype" else value
        elif attr.type == "str" or (fixed and name in counts):
            values[name] = sample
        elif attr.type in ("float", "int"):
            integer = attr.type == "int"
            if fixed:
                env.structural.add(name)
            hint = sample if fixed else hint_of(position, int(sample) if integer else float(sample))
            symbols.append((env.attr_symbol(name, hint), AttrRef(name, integer)))
        else:
            integer = attr.type == "list_int"
            if integer:
                env.structural.add(name)
            values[name] = [None] * len(sample)
            for i, item in enumerate(sample):
                hint = item if integer else hint_of(position, float(item))
                symbol = env.attr_symbol(name, hint, f"{name}_{i}")
                symbols.append((symbol, AttrRef(name, integer, i)))
    return values, symbols

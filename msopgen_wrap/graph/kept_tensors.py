"""What eager PyTorch keeps for backward when it runs ``compute``, found without data."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from msopgen_wrap.graph.sample import candidate_shapes
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.model import OpSpec, ParamKind
from msopgen_wrap.torch_import import torch

tree_leaves = torch.utils._pytree.tree_leaves


@dataclass(frozen=True)
class KeptTensors:
    """A forward pass on tensors without data.

    Attributes:
        inputs, outputs: by name.
        kept: the bytes that PyTorch keeps; each storage counts once.
        kept_outputs: the outputs that are among what it keeps.
    """

    inputs: dict[str, Any]
    outputs: dict[str, Any]
    kept: int
    kept_outputs: frozenset[str]


def kept_tensors(
    spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any], combo: int
) -> KeptTensors:
    """Run ``compute`` on tensors without data; raises what torch says of shapes it does not take.

    Args:
        shapes: of the inputs by name.
        attrs: by name.
        combo: the combination of dtypes.
    """
    inputs = meta_inputs(spec, shapes, combo)
    for tensor in tree_leaves(list(inputs.values())):
        if tensor is not None:
            tensor.requires_grad_(tensor.is_floating_point())
    compute = compile_compute(spec, wrap_errors=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs, kept = kept_storages(lambda: compute(inputs, attrs))
    found = {
        name
        for name, value in outputs.items()
        if any(tensor.untyped_storage()._cdata in kept for tensor in tree_leaves(value))
    }
    size = sum(storage.nbytes() for storage in kept.values())
    return KeptTensors(inputs, outputs, size, frozenset(found))


def kept_storages(run: Callable[[], Any]) -> tuple[Any, dict[int, Any]]:
    """Run a forward pass; return its results and the storages it keeps for backward.

    Each storage is there once, whatever part of it a tensor views.
    """
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage  # the storage lives as long as its address is a key
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        results = run()
    return results, kept


def meta_inputs(spec: OpSpec, shapes: dict[str, Any], combo: int) -> dict[str, Any]:
    """Return inputs without data, by name; None for those without a shape."""
    inputs: dict[str, Any] = {}
    for param in spec.inputs:
        shape, dtype = shapes.get(param.name), getattr(torch, param.dtypes[combo])
        if shape is None:
            inputs[param.name] = None
        elif param.kind is ParamKind.DYNAMIC:
            inputs[param.name] = [torch.empty(s, dtype=dtype, device="meta") for s in shape]
        else:
            inputs[param.name] = torch.empty(shape, dtype=dtype, device="meta")
    return inputs


def shapes_by_size(spec: OpSpec, attrs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield shapes of the inputs to try: those of the cases, the largest first, then samples."""
    cases = [frozen_shapes(c.shapes) for c in spec.cases if not c.attrs]
    yield from sorted(cases, key=lambda shapes: -sum(map(element_count, shapes.values())))
    yield from map(frozen_shapes, candidate_shapes(spec, attrs))


def element_count(shape: Any) -> int:
    """Return the number of elements of a shape, of a list of shapes, or of None."""
    if shape is None:
        return 0
    nested = any(isinstance(size, tuple) for size in shape)
    return sum(map(element_count, shape)) if nested else math.prod(shape)


def frozen_shapes(shapes: dict[str, Any]) -> dict[str, Any]:
    """Return shapes as tuples: per input a shape, a tuple of shapes of a list, or None."""
    return {name: _freeze(shape) for name, shape in shapes.items()}


def _freeze(shape: Any) -> Any:
    if shape is None:
        return None
    return tuple(_freeze(d) if isinstance(d, (list, tuple)) else d for d in shape)


def shape_text(shape: Any) -> str:
    """Return a shape as ``3x4``, shapes of a list as ``3x4;5``."""
    if shape is None:
        return "none"
    if any(isinstance(d, tuple) for d in shape):
        return ";".join(shape_text(d) for d in shape)
    return "x".join(map(str, shape)) or "scalar"

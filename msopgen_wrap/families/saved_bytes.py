"""Bytes that forward keeps for backward: by a kernel of the gradients, and by eager PyTorch."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

from msopgen_wrap.graph.sample import candidate_shapes, sample_attrs
from msopgen_wrap.spec.compute_runner import compile_compute
from msopgen_wrap.spec.gradient import FLOATS
from msopgen_wrap.spec.model import OpSpec
from msopgen_wrap.torch_import import torch

tree_leaves = torch.utils._pytree.tree_leaves


@dataclass(frozen=True)
class SavedBytes:
    """What a call keeps for backward.

    Attributes:
        shapes: of the inputs by name.
        dtype: of the first input.
        kernel: bytes of the inputs and of the outputs under ``save``.
        eager: bytes that PyTorch keeps when it runs ``compute``; each storage counts once.
    """

    shapes: dict[str, Any]
    dtype: str
    kernel: int
    eager: int

    def as_dict(self) -> dict[str, Any]:
        """Return the counts as JSON-ready data."""
        return asdict(self)

    def text(self) -> str:
        """Return the bytes for ``opgen plan``."""
        first, shape = next(iter(self.shapes.items()))
        sizes = "x".join(map(str, shape[0] if isinstance(shape, list) else shape)) or "()"
        eager = "as many" if self.kernel == self.eager else f"{self.eager:,}"
        return (
            f"{self.kernel:,} bytes at {first}={sizes} in {self.dtype}; eager PyTorch saves {eager}"
        )


def saved_bytes(spec: OpSpec) -> SavedBytes | None:
    """Count the bytes for the largest case of an op, or for a sample shape; nothing is computed.

    Returns:
        None where ``compute`` does not run without data.
    """
    combo = next((i for i in range(spec.combos) if spec.inputs[0].dtypes[i] in FLOATS), None)
    if combo is None:
        return None
    attrs = sample_attrs(spec)
    for shapes in _shapes(spec, attrs):
        try:
            return _count(spec, shapes, attrs, combo)
        except Exception:  # what torch says of shapes that compute does not take
            continue
    return None


def _shapes(spec: OpSpec, attrs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield shapes to try, those of the cases first, the largest of them before others."""
    cases = [c for c in spec.cases if not c.attrs]
    cases.sort(key=lambda c: -sum(_elements(s) for s in c.shapes.values()))
    for case in cases:
        yield {n: _plain(s) for n, s in case.shapes.items() if s is not None}
    yield from candidate_shapes(spec, attrs)


def _plain(shape: Any) -> Any:
    nested = bool(shape) and not isinstance(shape[0], int)
    return [tuple(s) for s in shape] if nested else tuple(shape)


def _elements(shape: Any) -> int:
    if shape is None:
        return 0
    if isinstance(_plain(shape), list):
        return sum(map(_elements, shape))
    count = 1
    for size in shape:
        count *= size
    return count


def _count(spec: OpSpec, shapes: dict[str, Any], attrs: dict[str, Any], combo: int) -> SavedBytes:
    inputs: dict[str, Any] = {}
    for param in spec.inputs:
        dtype = getattr(torch, param.dtypes[combo])

        def made(shape: Any, dtype: Any = dtype) -> Any:
            tensor = torch.empty(shape, dtype=dtype, device="meta")
            return tensor.requires_grad_(dtype.is_floating_point)

        shape = shapes.get(param.name)
        nested = isinstance(shape, list)
        inputs[param.name] = (
            None if shape is None else [*map(made, shape)] if nested else made(shape)
        )
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage  # the storage lives as long as its address is a key
        return tensor

    with warnings.catch_warnings(), torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        warnings.simplefilter("ignore")
        outputs = compile_compute(spec, wrap_errors=False)(inputs, attrs)
    own = [*tree_leaves(list(inputs.values())), *(outputs[name] for name in spec.save)]
    return SavedBytes(
        shapes,
        spec.inputs[0].dtypes[combo],
        sum(t.nbytes for t in own if t is not None),
        sum(storage.nbytes() for storage in kept.values()),
    )

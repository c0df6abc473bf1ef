"""Bytes that forward keeps for backward: by a kernel of the gradients, and by eager PyTorch."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Collection, Iterator
from dataclasses import asdict, dataclass
from typing import Any

from msopgen_wrap.graph.sample import candidate_shapes, sample_attrs
from msopgen_wrap.run.golden import meta_inputs
from msopgen_wrap.run.tiling_decisions import frozen_shapes, shape_text
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
        kernel: bytes of the inputs that the gradients depend on, and of the outputs under ``save``.
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
        eager = "as many" if self.kernel == self.eager else f"{self.eager:,}"
        where = f"{first}={shape_text(shape)} in {self.dtype}"
        return f"{self.kernel:,} bytes at {where}; eager PyTorch saves {eager}"


def saved_bytes(spec: OpSpec, unread: Collection[str] = ()) -> SavedBytes | None:
    """Count the bytes for the largest case of an op, or for a sample shape; nothing is computed.

    Args:
        unread: inputs whose elements no gradient depends on (``families.gradients``).

    Returns:
        None where ``compute`` does not run without data.
    """
    combo = next((i for i in range(spec.combos) if spec.inputs[0].dtypes[i] in FLOATS), None)
    if combo is None:
        return None
    attrs = sample_attrs(spec)
    for shapes in _shapes(spec, attrs):
        try:
            return _count(spec, shapes, attrs, combo, unread)
        except Exception:  # what torch says of shapes that compute does not take
            continue
    return None


def kept_bytes(run: Callable[[], Any]) -> tuple[Any, int]:
    """Run a forward pass; return its results and the bytes it keeps for backward.

    Each storage counts once, whatever part of it a tensor views.
    """
    kept: dict[int, Any] = {}

    def pack(tensor: Any) -> Any:
        storage = tensor.untyped_storage()
        kept[storage._cdata] = storage  # the storage lives as long as its address is a key
        return tensor

    with torch.autograd.graph.saved_tensors_hooks(pack, lambda t: t):
        results = run()
    return results, sum(storage.nbytes() for storage in kept.values())


def _shapes(spec: OpSpec, attrs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """Yield shapes to try, those of the cases first, the largest of them before others."""
    cases = [frozen_shapes(c.shapes) for c in spec.cases if not c.attrs]
    yield from sorted(cases, key=lambda shapes: -sum(map(_elements, shapes.values())))
    yield from map(frozen_shapes, candidate_shapes(spec, attrs))


def _elements(shape: Any) -> int:
    if shape is None:
        return 0
    nested = any(isinstance(size, tuple) for size in shape)
    return sum(map(_elements, shape)) if nested else math.prod(shape)


def _count(
    spec: OpSpec,
    shapes: dict[str, Any],
    attrs: dict[str, Any],
    combo: int,
    unread: Collection[str],
) -> SavedBytes:
    inputs = meta_inputs(spec, shapes, combo)
    given = [t for t in tree_leaves(list(inputs.values())) if t is not None]
    for tensor in given:
        tensor.requires_grad_(tensor.is_floating_point())
    compute = compile_compute(spec, wrap_errors=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        outputs, eager = kept_bytes(lambda: compute(inputs, attrs))
    own = [tensor for name, tensor in inputs.items() if name not in unread]
    own += [outputs[name] for name in spec.save]
    kernel = sum(tensor.nbytes for tensor in tree_leaves(own) if tensor is not None)
    return SavedBytes(shapes, spec.inputs[0].dtypes[combo], kernel, eager)

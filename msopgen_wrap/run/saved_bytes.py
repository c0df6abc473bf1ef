"""Bytes that forward keeps for backward: by a kernel of the gradients, and by eager PyTorch."""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import asdict, dataclass
from typing import Any

from msopgen_wrap.graph.kept_tensors import (
    kept_storages,
    kept_tensors,
    shape_text,
    shapes_by_size,
)
from msopgen_wrap.graph.sample import sample_attrs
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
    for shapes in shapes_by_size(spec, attrs):
        try:
            return _count(spec, shapes, attrs, combo, unread)
        except Exception:  # what torch says of shapes that compute does not take
            continue
    return None


def kept_bytes(run: Callable[[], Any]) -> tuple[Any, int]:
    """Run a forward pass; return its results and the bytes it keeps for backward."""
    results, kept = kept_storages(run)
    return results, sum(storage.nbytes() for storage in kept.values())


def _count(
    spec: OpSpec,
    shapes: dict[str, Any],
    attrs: dict[str, Any],
    combo: int,
    unread: Collection[str],
) -> SavedBytes:
    found = kept_tensors(spec, shapes, attrs, combo)
    own = [tensor for name, tensor in found.inputs.items() if name not in unread]
    own += [found.outputs[name] for name in spec.save]
    kernel = sum(tensor.nbytes for tensor in tree_leaves(own) if tensor is not None)
    return SavedBytes(shapes, spec.inputs[0].dtypes[combo], kernel, found.kept)

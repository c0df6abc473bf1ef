"""Which nodes of a graph reduce, over which dims, and how they combine elements."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.schedule.calls import target_name
from msopgen_wrap.torch_import import torch

Node = torch.fx.Node

# Reductions over `dim` lists; the value says which combination of elements it is.
REDUCTIONS = {
    "sum.dim_IntList": "sum",
    "sum.default": "sum",
    "mean.dim": "mean",
    "mean.default": "mean",
    "prod.dim_int": "prod",
    "prod.default": "prod",
    "amax.default": "max",
    "amin.default": "min",
    "max.default": "max",
    "min.default": "min",
    "max.dim": "max_dim",
    "min.dim": "min_dim",
    "any.dim": "any",
    "any.dims": "any",
    "any.default": "any",
    "all.dim": "all",
    "all.dims": "all",
    "all.default": "all",
    "argmax.default": "argmax",
    "argmin.default": "argmin",
}


def reduction_kind(node: Node) -> str | None:
    """Return which reduction a call is, None for any other node."""
    if node.op != "call_function":
        return None
    target = target_name(node)
    return REDUCTIONS.get(target.removeprefix("aten.")) if target.startswith("aten.") else None


def reduced_dims(node: Node, rank: int) -> tuple[int, ...]:
    """Return the reduced dims of a reduction of an operand of ``rank``, non-negative, sorted."""
    dims: Any = node.kwargs.get("dim", node.args[1] if len(node.args) > 1 else None)
    if dims is None or (isinstance(dims, (list, tuple)) and not dims):
        return tuple(range(rank))
    if isinstance(dims, int):
        dims = [dims]
    return tuple(sorted(int(d) % rank if rank else 0 for d in dims))  # type: ignore[union-attr]

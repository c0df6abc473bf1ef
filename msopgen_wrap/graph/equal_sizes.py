"""Compare sizes for every call; ``sizes.same_size`` takes those of a sample for equal."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msopgen_wrap.torch_import import torch


def fixed_size(size: Any) -> int | None:
    """Return a size that is the same in every call, None for any other."""
    known = size.node.maybe_as_int() if isinstance(size, torch.SymInt) else size
    return None if known is None else int(known)


def always_equal(first: Any, second: Any) -> bool:
    """Whether two sizes are the same number in every call."""
    if fixed_size(first) is not None:
        return fixed_size(first) == fixed_size(second)
    if isinstance(first, torch.SymInt) and isinstance(second, torch.SymInt):
        return bool(first.node.expr == second.node.expr)
    return False


def same_sizes(first: Sequence[Any], second: Sequence[Any]) -> bool:
    """Whether two shapes are the same in every call, not in the sample alone."""
    return len(first) == len(second) and all(map(always_equal, first, second))

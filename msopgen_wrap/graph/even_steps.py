"""Numbers in even steps whose count is a size: ``torch.linspace`` and ``torch.logspace``.

Their operators take the count as a plain number: a trace would settle the size of the input that
it is.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch


def _even_steps(start: Any, end: Any, steps: Any, dtype: Any) -> Any:
    """Return the numbers, counted from the nearer end as PyTorch's; NotImplemented for others."""
    numbers = not any(isinstance(n, torch.Tensor) for n in (start, end))
    floats = dtype is None or dtype.is_floating_point
    a_size = isinstance(steps, torch.SymInt)
    if not a_size or not numbers or not floats:
        return NotImplemented
    step = (end - start) / torch.sym_max(steps - 1, 1)
    place = torch.arange(steps)
    before = start + place.to(torch.float32) * step
    behind = end - (steps - 1 - place).to(torch.float32) * step
    # one number alone is the start
    return torch.where(place < (steps + 1) // 2, before, behind)


def _linspace(
    start: Any, end: Any, steps: Any, *, dtype: Any = None, out: Any = None, **place: Any
) -> Any:
    found = _even_steps(start, end, steps, dtype) if out is None else NotImplemented
    return found if found is NotImplemented or dtype is None else found.to(dtype)


def _logspace(
    start: Any,
    end: Any,
    steps: Any,
    base: Any = 10.0,
    *,
    dtype: Any = None,
    out: Any = None,
    **place: Any,
) -> Any:
    found = _even_steps(start, end, steps, dtype) if out is None else NotImplemented
    if found is NotImplemented:
        return found
    found = torch.pow(base, found)
    return found if dtype is None else found.to(dtype)


def even_step_functions() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's functions, each with what tracing calls in its place."""
    return {torch.linspace: _linspace, torch.logspace: _logspace}

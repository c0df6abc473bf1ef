"""Indexing with symbols: of an index such as ``x[:, n]`` torch takes plain numbers only."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.overrides import TorchFunctionMode


class SymbolicIndices(TorchFunctionMode):
    """Selects from the rest of the index where an element of it is a symbolic integer."""

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Any = None
    ) -> Any:
        """Run a call of torch; an index with symbols becomes slices and ``select``."""
        if func is torch.Tensor.__getitem__:
            index = args[1] if isinstance(args[1], tuple) else (args[1],)
            symbolic = any(isinstance(item, torch.SymInt) for item in index)
            if symbolic and not any(isinstance(i, (torch.Tensor, list, bool)) for i in index):
                return _selected(args[0], index)
        return func(*args, **(kwargs or {}))


def _selected(x: torch.Tensor, index: tuple[Any, ...]) -> torch.Tensor:
    """Return ``x[index]``; symbols take the whole axis first, then one element of it each."""
    result = x[tuple(slice(None) if isinstance(i, torch.SymInt) else i for i in index)]
    places: list[tuple[int, torch.SymInt]] = []
    axis = 0
    for position, item in enumerate(index):
        if item is Ellipsis:
            # what is behind it counts from the end
            behind = [i for i in index[position + 1 :] if _keeps_axis(i)]
            axis = result.dim() - len(behind)
            continue
        if isinstance(item, torch.SymInt):
            places.append((axis, item))
        axis += _keeps_axis(item)
    for place, symbol in reversed(places):
        result = result.select(place, symbol)
    return result


def _keeps_axis(item: Any) -> bool:
    """Whether the result of indexing has an axis for an element of the index."""
    return item is None or isinstance(item, (slice, torch.SymInt))

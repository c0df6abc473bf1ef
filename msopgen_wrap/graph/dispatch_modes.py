"""Modes in which PyTorch's operators are watched, or run in other steps than its own."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from msopgen_wrap.torch_import import torch

TorchDispatchMode = torch.utils._python_dispatch.TorchDispatchMode


class DispatchMode(TorchDispatchMode):  # type: ignore[misc, valid-type]
    """A mode that PyTorch enters at once."""

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        # Keeping torch's compiler out of the mode would import it: as long as torch itself takes.
        return False


class ReplacedOperators(DispatchMode):
    """Calls functions in place of operators while it is active.

    Args:
        table: overloads of ATen, each with a function of the same arguments. One that returns
            NotImplemented leaves a call to PyTorch.
    """

    def __init__(self, table: Mapping[Any, Callable[..., Any]]) -> None:
        super().__init__()
        self._table = table

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        steps = self._table.get(func)
        result = steps(*args, **(kwargs or {})) if steps is not None else NotImplemented
        return func(*args, **(kwargs or {})) if result is NotImplemented else result

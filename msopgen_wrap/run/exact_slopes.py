"""Slopes of tanh and sigmoid that keep their digits where the function is 1.

PyTorch computes them of the result y, as 1 - y ** 2 and y * (1 - y). In float64 nothing is left of
that beyond arguments of 19 and 37, while a kernel computes the slope of the argument. Behind a
product of many numbers such a slope is a large gradient.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

_aten = torch.ops.aten
Key = tuple[Any, ...]


def _slope_of_tanh(x: torch.Tensor) -> torch.Tensor:
    small = torch.exp(-2 * x.abs())
    return 4 * small / (1 + small) ** 2


def _slope_of_sigmoid(x: torch.Tensor) -> torch.Tensor:
    small = torch.exp(-x.abs())
    return small / (1 + small) ** 2


# The operator of a derivative -> that of the function, and the slope at an argument.
_SLOPES: dict[Any, tuple[Any, Callable[[torch.Tensor], torch.Tensor]]] = {
    _aten.tanh_backward.default: (_aten.tanh.default, _slope_of_tanh),
    _aten.sigmoid_backward.default: (_aten.sigmoid.default, _slope_of_sigmoid),
}
_FUNCTIONS = frozenset(function for function, _ in _SLOPES.values())


class ExactSlopes:
    """The arguments of tanh and sigmoid in a run of ``compute``."""

    def __init__(self) -> None:
        self._arguments: dict[Key, tuple[torch.Tensor, torch.Tensor]] = {}

    def note(self, func: Any, args: Any, result: Any) -> None:
        """Remember the argument of a call, by the memory of its result.

        Autograd hands over another tensor of that memory. The result is kept, so that the memory
        is not that of another one later.
        """
        if func in _FUNCTIONS:
            self._arguments[_memory(func, result)] = (args[0], result)

    def gradient(self, func: Any, args: Any) -> torch.Tensor | None:
        """Return what a derivative passes on; None for other calls.

        Where what arrives is infinite it is PyTorch's own: infinity times no slope at all is NaN.
        """
        if func not in _SLOPES:
            return None
        function, slope = _SLOPES[func]
        known = self._arguments.get(_memory(function, args[1]))
        if known is None:
            return None
        arriving: torch.Tensor = args[0]
        exact = arriving * slope(known[0])
        return torch.where(torch.isfinite(arriving), exact, func(*args))


def _memory(func: Any, result: torch.Tensor) -> Key:
    return (func, result.data_ptr(), tuple(result.shape), result.stride(), result.dtype)

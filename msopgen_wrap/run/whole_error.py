"""Is a derived gradient right as a whole?

The bounds of the rule ``mixed`` are absolute near zero, and the gradients of means are small
throughout: a wrong factor stays within them. So does one that the largest error of a CPU covers.
The root mean square of the errors tells.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import torch

# Root mean square errors: relative, in units of rtol, and beside those of a CPU.
RATIO = 4
# The worst elements do not count: a comparison that rounding decides makes a derivative jump.
SHARE = 0.99


class WholeError:
    """The root mean square error that a derived gradient may have.

    Args:
        want: float64 values.
        finite: the elements that are compared; None: all.
        rtol: relative bound on one element.
        floor: a root mean square error that is always let pass.
    """

    def __init__(
        self, want: torch.Tensor, finite: torch.Tensor | None, rtol: float, floor: float
    ) -> None:
        self._finite = finite
        self._want = self._compared(want)
        self._rtol, self._floor = rtol, floor

    def reason(
        self,
        error: torch.Tensor,
        native: torch.Tensor | None,
        allowance: Callable[[], torch.Tensor] | None,
    ) -> str:
        """Say why a gradient is wrong, "" where it is not.

        Args:
            error: absolute errors.
            native: those of the same gradient on a CPU in the inputs' dtypes, or None.
            allowance: gives those that the roundings of sums that cancel explain, or None; called
                only where the gradient would be refused.
        """
        error = self._compared(error)
        if not error.numel() or _size(error) <= self._bound(_size(self._want)):
            return ""
        counted = _most(error)
        found, scale = _size(error[counted]), _size(self._want[counted])
        bound = self._bound(scale)
        if native is not None and found > bound:
            known = self._compared(native).nan_to_num(0.0, 0.0, 0.0)
            bound = max(bound, RATIO * _size(known[_most(known)]))
        if allowance is not None and found > bound:
            bound = max(bound, _size(self._compared(allowance())[counted]))
        if found <= bound:
            return ""
        return (
            f"the root mean square error {found:.3g} of 99% of the elements is over {bound:.3g} "
            f"(that of golden is {scale:.3g}): a wrong factor or a missing term"
        )

    def _bound(self, scale: float) -> float:
        return max(RATIO * self._rtol * scale, self._floor)

    def _compared(self, values: torch.Tensor) -> torch.Tensor:
        return values.flatten() if self._finite is None else values[self._finite]


def _most(error: torch.Tensor) -> torch.Tensor:
    """Return the positions of all but the largest errors."""
    kept = max(1, math.ceil(SHARE * error.numel()))
    return error <= error.kthvalue(kept).values


def _size(values: torch.Tensor) -> float:
    """Return the root of the mean square of at least one value."""
    return float(values.square().mean().sqrt())

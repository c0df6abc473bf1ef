"""Positions that an operator chooses among equal elements.

PyTorch does not say which of equal elements ``topk``, ``kthvalue`` or ``median`` gives: another
position is as good where it has an element of the same value. Positions of one row are distinct.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from msopgen_wrap.torch_import import torch

# Operators whose second result is where their first one was found, in any of equal elements. A
# sort is stable where kernels are, so that its positions are known.
CHOOSING = frozenset(("topk", "kthvalue", "median", "nanmedian", "mode"))
# Arguments that say along which axis, where it is no keyword.
_AXIS = {"topk": 2, "kthvalue": 2, "median": 1, "nanmedian": 1, "mode": 1}
# Operators that sort by ``<`` in PyTorch, among which NaN has no place: of a row with NaN they give
# whatever the order of its elements leads to.
UNORDERED = frozenset(("mode",))
# What gives the same positions again.
KEEPING = frozenset(("detach", "clone", "alias", "_to_copy", "to", "contiguous"))


@dataclass(frozen=True)
class ChosenPlaces:
    """Where the elements of a result were found.

    Attributes:
        source: the tensor they were found in.
        axis: of it.
        unordered: whether those of a row with NaN say nothing.
    """

    source: torch.Tensor
    axis: int
    unordered: bool = False

    @classmethod
    def of(cls, name: str, args: Any, kwargs: Any) -> ChosenPlaces | None:
        """Return the places that a call of an operator gives, None where it gives none."""
        if name not in CHOOSING or not args or not isinstance(args[0], torch.Tensor):
            return None
        at = _AXIS[name]
        axis = args[at] if len(args) > at else kwargs.get("dim", -1)
        if not isinstance(axis, int):
            return None
        return cls(args[0].clone(), int(axis), name in UNORDERED)

    def wrong(self, actual: torch.Tensor, golden: torch.Tensor) -> torch.Tensor:
        """Return which positions have no element of the right value, or are there twice.

        Args:
            actual: positions, of the shape of ``golden``.
            golden: other positions of the right values.
        """
        source = self.source if self.source.dim() else self.source.reshape(1)
        dropped = golden.dim() < source.dim()
        given, known = (
            t.to(torch.int64).unsqueeze(self.axis) if dropped else t.to(torch.int64)
            for t in (actual, golden)
        )
        size = source.shape[self.axis]
        outside = (given < 0) | (given >= size)
        given = given.clamp(0, max(0, size - 1))
        got, want = source.gather(self.axis, given), source.gather(self.axis, known)
        wrong = outside | ~((got == want) | ((got != got) & (want != want)))
        ordered, places = given.sort(dim=self.axis, stable=True)
        again = torch.zeros_like(wrong)
        count = given.shape[self.axis]
        if count > 1:
            twice = ordered.narrow(self.axis, 1, count - 1) == ordered.narrow(
                self.axis, 0, count - 1
            )
            again.scatter_(self.axis, places.narrow(self.axis, 1, count - 1), twice)
        wrong = wrong | again
        if self.unordered:
            wrong = wrong & ~has_nan(source, self.axis)
        return wrong.squeeze(self.axis) if dropped else wrong


def has_nan(rows: torch.Tensor, axis: int) -> torch.Tensor:
    """Return which rows along an axis, kept as one element, have a NaN."""
    return torch.isnan(rows).any(axis, keepdim=True)

"""Formats of an op's tensors: what the user says, else what the op's declaration lists."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from msopgen_wrap.foreign.op_project import Combo
from msopgen_wrap.run.storage import FORMATS, fits
from msopgen_wrap.run.tensors import Tensor


def settle_formats(fitting: Sequence[Combo], values: Sequence[Any]) -> None:
    """Lay tensors out whose format nobody has said: ND where the op takes it, else as it lists.

    Args:
        fitting: combinations of the op that fit the data types.
        values: tensors in the order of the declaration, inputs then outputs.
    """
    best = by_format(fitting, values)
    for position, value in enumerate(values):
        listed = [combo.formats[position] for combo in best if position < len(combo.formats)]
        for tensor in tensors_of(value):
            if tensor.layout:
                continue
            first = next((name for name in listed if name in FORMATS), "ND")
            takes = fits(first, len(tensor.shape)) and "ND" not in listed
            tensor.set_layout(first if takes else "ND")


def by_format(fitting: Sequence[Combo], values: Sequence[Any]) -> list[Combo]:
    """Return the combinations that agree most with the formats that tensors have."""

    def misses(combo: Combo) -> int:
        pairs = zip(combo.formats, values, strict=False)
        return sum(
            bool(tensor.layout) and tensor.layout != name
            for name, value in pairs
            for tensor in tensors_of(value)
        )

    least = min((misses(combo) for combo in fitting), default=0)
    return [combo for combo in fitting if misses(combo) == least]


def refresh(values: Iterable[Any]) -> None:
    """Take over what a kernel has written to the memory of tensors."""
    for value in values:
        for tensor in tensors_of(value):
            tensor.refresh()


def tensors_of(value: Any) -> list[Tensor]:
    """Return the tensors of a parameter, which has one, a list of them, or none."""
    items = value if isinstance(value, (list, tuple)) else [value]
    return [item for item in items if isinstance(item, Tensor)]

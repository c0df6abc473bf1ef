"""Slices of a tensor that lists and masks describe: ``opgen.strided_slice`` and its shape rule.

The rules are those of TensorFlow's StridedSlice. Entry i of ``begin``, ``end`` and ``strides`` cuts
an axis; bit i of a mask changes what it does. Generated torch packages contain a copy of this
module.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple


class Piece(NamedTuple):
    """What a slice takes of an axis.

    Attributes:
        axis: of the tensor; None for a new axis of the result.
        first, step, size: the elements are ``first + i * step`` for i < ``size``.
        kept: whether the result has the axis; one that shrinks has one element.
    """

    axis: int | None
    first: int
    step: int
    size: int
    kept: bool


def slice_pieces(
    shape: Sequence[int],
    begin: Sequence[int],
    end: Sequence[int],
    strides: Sequence[int],
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
) -> list[Piece]:
    """Return the pieces of a slice, in the order of the axes of the result.

    Places count from the end where they are negative, and are clamped to the axis. The entry of
    ``ellipsis_mask`` stands for all axes that no other entry cuts; without one these are the last
    axes. An axis of ``shrink_axis_mask`` goes; of it the element at its beginning is taken.

    Args:
        shape: sizes of the tensor.
        begin, end, strides: lists of one length.
        begin_mask, end_mask: where the axis is cut from its first, and up to its last element.
        ellipsis_mask, new_axis_mask, shrink_axis_mask: as above; a new axis has one element.

    Raises:
        ValueError: the lists differ in length, a stride is 0, entries cut more axes than there are,
            or an axis that shrinks has no such element.
    """
    count = len(begin)
    if len(end) != count or len(strides) != count:
        raise ValueError(f"begin, end and strides have {count}, {len(end)}, {len(strides)} entries")
    ellipses = [i for i in range(count) if ellipsis_mask >> i & 1]
    if len(ellipses) > 1:
        raise ValueError(f"ellipsis_mask {ellipsis_mask} has more than one entry")
    place = ellipses[0] if ellipses else count
    named = [i != place and not new_axis_mask >> i & 1 for i in range(count)]
    rest = len(shape) - sum(named)
    if rest < 0:
        raise ValueError(f"{sum(named)} entries cut a tensor of {len(shape)} axes")
    pieces: list[Piece] = []
    axis = 0
    for i in range(count + 1):
        if i == place:
            pieces += [Piece(a, 0, 1, shape[a], True) for a in range(axis, axis + rest)]
            axis += rest
        elif i < count and not named[i]:
            pieces.append(Piece(None, 0, 1, 1, True))
        elif i < count:
            masked = bool(begin_mask >> i & 1), bool(end_mask >> i & 1)
            first, size = _cut(shape[axis], begin[i], end[i], strides[i], masked)
            kept = not shrink_axis_mask >> i & 1
            if not kept:
                first, size = _element(shape[axis], axis, begin[i], strides[i], masked[0]), 1
            pieces.append(Piece(axis, first, strides[i], size, kept))
            axis += 1
    return pieces


def sliced_shape(shape: Sequence[int], *arguments: Any) -> list[int]:
    """Return the sizes of a slice; arguments and errors are those of ``slice_pieces``."""
    return [piece.size for piece in slice_pieces(shape, *arguments) if piece.kept]


def strided_slice(x: Any, *arguments: Any) -> Any:
    """Return a slice of tensor ``x``; arguments and errors are those of ``slice_pieces``."""
    pieces = slice_pieces(x.shape, *arguments)
    index = []
    for piece in pieces:
        if piece.axis is not None:
            last = piece.first + (piece.size - 1) * piece.step
            low = min(piece.first, last) if piece.size else 0
            high = max(piece.first, last) + 1 if piece.size else 0
            index.append(slice(low, high, abs(piece.step)))
    x = x[tuple(index)] if index else x
    x = x.flip([piece.axis for piece in pieces if piece.axis is not None and piece.step < 0])
    return x.reshape([piece.size for piece in pieces if piece.kept])


def _cut(size: int, begin: int, end: int, step: int, masked: tuple[bool, bool]) -> tuple[int, int]:
    """Return the first element and the number of elements of an axis that is cut."""
    if step == 0:
        raise ValueError("a stride of 0")
    # A slice backwards may begin at the last element, and end before the first.
    low, high = (0, size) if step > 0 else (-1, size - 1)
    begin = min(max(begin + size if begin < 0 else begin, low), high)
    end = min(max(end + size if end < 0 else end, low), high)
    if masked[0]:
        begin = low if step > 0 else high
    if masked[1]:
        end = high if step > 0 else low
    apart = end - begin if step > 0 else begin - end
    return begin, max((apart + abs(step) - 1) // abs(step), 0)


def _element(size: int, axis: int, begin: int, step: int, masked: bool) -> int:
    """Return the element of an axis that shrinks."""
    if masked:
        begin = 0 if step > 0 else size - 1
    place = begin + size if begin < 0 else begin
    if not 0 <= place < size:
        raise ValueError(f"axis {axis} of {size} elements has no element {place}")
    return place

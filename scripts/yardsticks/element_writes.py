"""Assignments to elements of a tensor, ``x[index] = value``, as expressions of the whole tensor."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch


def written(
    tensor: torch.Tensor, index: Any, value: Any, text_of: Callable[[Any], str]
) -> str | None:
    """Return what ``tensor`` is after the assignment, as an expression without side effects.

    Args:
        tensor: as it was before.
        index: between the brackets: one number or slice beside full slices, index tensors of the
            leading axes, or a mask of the tensor's shape.
        value: a number or a tensor that broadcasts to the elements.
        text_of: gives the text of an argument.

    Returns:
        The expression, None for an index that has none of these forms.
    """
    parts = list(index) if isinstance(index, tuple) else [index]
    if parts and all(isinstance(part, torch.Tensor) for part in parts):
        return _by_tensors(tensor, parts, value, text_of)
    return _by_slice(tensor, parts, value, text_of)


def _by_tensors(
    tensor: torch.Tensor,
    parts: Sequence[torch.Tensor],
    value: Any,
    text_of: Callable[[Any], str],
) -> str | None:
    whole, first = text_of(tensor), text_of(parts[0])
    masks = [part for part in parts if part.dtype == torch.bool]
    is_one = not isinstance(value, torch.Tensor) or value.dim() == 0
    if masks:
        # A tensor of several elements goes to as many places as the mask has: data decide.
        fits = len(parts) == 1 and masks[0].shape == tensor.shape and is_one
        return f"{whole}.masked_fill({first}, {text_of(value)})" if fits else None
    if isinstance(value, torch.Tensor):
        listed = ", ".join(map(text_of, parts))
        return f"torch.index_put({whole}, ({listed},), {text_of(value)})"
    if len(parts) == 1 and parts[0].dim() == 1:
        return f"{whole}.index_fill(0, {first}, {text_of(value)})"
    return None


def _by_slice(
    tensor: torch.Tensor, parts: list[Any], value: Any, text_of: Callable[[Any], str]
) -> str | None:
    if any(part is Ellipsis for part in parts):
        at = next(axis for axis, part in enumerate(parts) if part is Ellipsis)
        parts[at : at + 1] = [slice(None)] * (tensor.dim() - len(parts) + 1)
    chosen = [(axis, part) for axis, part in enumerate(parts) if part != slice(None)]
    if len(chosen) != 1 or len(parts) > tensor.dim():
        return None
    axis, part = chosen[0]
    whole = text_of(tensor)
    source = text_of(value)
    if type(part) is int:
        like = f"{whole}.select({axis}, {part})"
        call, place = "select_scatter", f"{axis}, {part}"
    elif isinstance(part, slice):
        bounds = [text_of(bound) for bound in (part.start, part.stop)]
        step = 1 if part.step is None else part.step
        index = ", ".join([":"] * axis + [text_of(part)])
        like = f"{whole}[{index}]"
        call, place = "slice_scatter", f"{axis}, {', '.join(bounds)}, {text_of(step)}"
    else:
        return None
    if isinstance(value, torch.Tensor):
        source = f"{source}.expand_as({like})"
    else:
        source = f"torch.full_like({like}, {source})"
    return f"torch.{call}({whole}, {source}, {place})"

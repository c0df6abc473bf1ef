"""Checks and shape helpers of the fake and reference kernels; dims may be SymInts."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

# Names of the c10::ScalarType numbers by which the dispatcher passes a dtype to Python.
_NUMBERS = {
    0: torch.uint8,
    1: torch.int8,
    2: torch.int16,
    3: torch.int32,
    4: torch.int64,
    5: torch.float16,
    6: torch.float32,
    11: torch.bool,
    15: torch.bfloat16,
}


def as_dtype(value: torch.dtype | int) -> torch.dtype:
    """Return a dtype attr as torch.dtype."""
    return value if isinstance(value, torch.dtype) else _NUMBERS[value]


def _name(dtype: torch.dtype | None) -> str:
    return "absent" if dtype is None else str(dtype).removeprefix("torch.")


@dataclass(frozen=True)
class Dtypes:
    """The dtype combinations of an op.

    Attributes:
        op: its name.
        inputs, outputs: parameter names.
        rows: one tuple of dtypes per combination: inputs, then outputs.
    """

    op: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    rows: tuple[tuple[torch.dtype, ...], ...]

    def match(self, *tensors: Any, attrs: Sequence[torch.dtype | int] = ()) -> tuple:
        """Return the output dtypes for these inputs.

        Args:
            tensors: per input a tensor, None (absent) or a list of tensors.
            attrs: values of the dtype attrs; they choose among rows of equal inputs.

        Raises:
            RuntimeError: no row fits; names op, arguments, given and allowed dtypes.
        """
        given = [self._given(n, t) for n, t in zip(self.inputs, tensors, strict=True)]
        wanted = [as_dtype(a) for a in attrs]
        count = len(self.inputs)
        rows = [
            row
            for row in self.rows
            if all(g is None or g == r for g, r in zip(given, row[:count], strict=True))
        ]
        for row in rows:
            if all(w in row[count:] for w in wanted):
                return row[count:]
        text = ", ".join(f"'{n}' {_name(g)}" for n, g in zip(self.inputs, given, strict=True))
        text += "".join(f", output {_name(w)}" for w in wanted)
        allowed = "".join(
            "\n  "
            + ", ".join(f"{n} {_name(d)}" for n, d in zip(self.inputs, row[:count], strict=True))
            + " -> "
            + ", ".join(f"{n} {_name(d)}" for n, d in zip(self.outputs, row[count:], strict=True))
            for row in self.rows
        )
        raise RuntimeError(f"{self.op}: unsupported dtypes {text}; allowed are:{allowed}")

    def _given(self, name: str, tensor: Any) -> torch.dtype | None:
        if isinstance(tensor, (list, tuple)):
            for i, item in enumerate(tensor):
                if item.dtype != tensor[0].dtype:
                    raise RuntimeError(
                        f"{self.op}: {name}[{i}] is {_name(item.dtype)}, but {name}[0] is "
                        f"{_name(tensor[0].dtype)}; a list has one dtype"
                    )
            return tensor[0].dtype if tensor else None
        return None if tensor is None else tensor.dtype


def check_rank(op: str, name: str, tensor: Any, low: int, high: int) -> None:
    """Refuse a tensor (or a list's element) whose number of dims is outside [low, high]."""
    if tensor is None:
        return
    if isinstance(tensor, (list, tuple)):
        for i, item in enumerate(tensor):
            check_rank(op, f"{name}[{i}]", item, low, high)
        return
    if not low <= tensor.dim() <= high:
        span = str(low) if low == high else f"{low} to {high}"
        raise RuntimeError(
            f"{op}: '{name}' has {tensor.dim()} dims {list(tensor.shape)}, expected {span}"
        )


def check_devices(op: str, names: Sequence[str], *tensors: Any) -> None:
    """Refuse tensors of several devices, as the kernels do.

    The dispatcher calls the fake kernel as soon as one tensor is on ``meta``: what it allocated for
    the others would be memory that nothing fills.

    Args:
        names: parameter names.
        tensors: per parameter a tensor, None (absent) or a list of tensors.
    """
    first: tuple[str, torch.device] | None = None
    for name, given in zip(names, tensors, strict=True):
        is_list = isinstance(given, (list, tuple))
        for i, tensor in enumerate(given if is_list else (given,)):
            if tensor is None:
                continue
            label = f"{name}[{i}]" if is_list else name
            if first is None:
                first = label, tensor.device
            elif tensor.device != first[1]:
                raise RuntimeError(
                    f"{op}: '{label}' is on {tensor.device}, but '{first[0]}' is on {first[1]}; "
                    "all tensors must be on one device"
                )


def shape_or_scalar(tensor: torch.Tensor | None) -> Sequence[int]:
    """Return the shape of an optional input; an absent one broadcasts to anything."""
    return () if tensor is None else tensor.shape


def permuted_shape(shape: Sequence[int], axes: Sequence[int]) -> list[int]:
    """Return the dimensions in another order, which names every axis once."""
    rank = len(shape)
    places = [axis + rank if axis < 0 else axis for axis in axes]
    if sorted(places) != list(range(rank)):
        raise RuntimeError(f"{list(axes)} is no order of the axes of shape {list(shape)}")
    return [shape[place] for place in places]


def cut_to_lengths(
    results: Sequence[torch.Tensor], lengths: Sequence[tuple[int, int]]
) -> tuple[torch.Tensor, ...]:
    """Return results, some with as many elements of the first axis as another one says.

    Reading the number waits for the kernel.

    Args:
        results: the outputs of an op, of the largest sizes they can have.
        lengths: pairs of places: of a result and of its number of elements.
    """
    cut = list(results)
    for place, count in lengths:
        cut[place] = cut[place].narrow(0, 0, int(results[count]))
    return tuple(cut)


def cut_to_pieces(result: torch.Tensor, ends: Sequence[int] | None) -> list[torch.Tensor]:
    """Return the pieces of a result's first axis, views of it; None: all of it is one.

    Args:
        ends: behind which element each piece ends.
    """
    if ends is None:
        return [result]
    starts = [0, *ends[:-1]]
    return [result[start:end] for start, end in zip(starts, ends, strict=True)]


def scaled(dim: Any, factor: float, *, up: bool) -> Any:
    """Return a dimension times a float attr as float32 holds it, rounded down or up."""
    product = dim * struct.unpack("f", struct.pack("f", factor))[0]
    return math.ceil(product) if up else math.floor(product)


def reduced_shape(shape: Sequence[int], dims: Sequence[int], keepdim: bool) -> list[int]:
    """Return ``shape`` with ``dims`` removed (1 with ``keepdim``); no dims means all."""
    rank = len(shape)
    for dim in dims:
        if not -max(rank, 1) <= dim < max(rank, 1):
            raise RuntimeError(f"shape {list(shape)} has no axis {dim}")
    reduced = {dim % rank for dim in dims} if rank and dims else set(range(rank))
    if keepdim:
        return [1 if i in reduced else size for i, size in enumerate(shape)]
    return [size for i, size in enumerate(shape) if i not in reduced]

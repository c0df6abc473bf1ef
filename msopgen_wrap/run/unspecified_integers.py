"""Integers of floats that no integer can hold: PyTorch leaves them to the processor.

The reference runs again with such floats as a kernel converts them: to the nearest number of int32,
or of int64, NaN to 0. Where the two differ, nothing is compared.
"""

from __future__ import annotations

from typing import Any

from msopgen_wrap.torch_import import torch

_CONVERSIONS = ("_to_copy", "to", "copy_", "convert_element_type")


def converted_floats(name: str, args: Any, result: Any) -> Any:
    """Return the floats that a call of an operator makes integers; None for other calls."""
    if name not in _CONVERSIONS or not isinstance(result, torch.Tensor):
        return None
    source = args[1] if name == "copy_" else args[0]
    integer = not result.dtype.is_floating_point and result.dtype is not torch.bool
    floats = isinstance(source, torch.Tensor) and source.is_floating_point()
    return source if integer and floats else None


def beyond(floats: Any, dtype: torch.dtype) -> Any:
    """Return which floats have no integer: of int64 for that dtype, of int32 for narrower ones."""
    limit = 2.0 ** (63 if dtype is torch.int64 else 31)
    return ~((floats >= -limit) & (floats < limit))


def saturated(floats: Any, dtype: torch.dtype) -> Any:
    """Return the integers that a kernel makes of floats for which ``beyond`` holds."""
    wide = torch.int64 if dtype is torch.int64 else torch.int32
    info = torch.iinfo(wide)
    positive = torch.where(floats > 0, info.max, info.min).to(wide)
    return torch.where(torch.isnan(floats), 0, positive).to(dtype)


def differences(one: Any, other: Any) -> Any:
    """Return where two tensors, or lists of tensors, differ; NaN is equal to NaN."""
    if isinstance(one, (list, tuple)):
        return [differences(a, b) for a, b in zip(one, other, strict=True)]
    return (one != other) & ~((one != one) & (other != other))

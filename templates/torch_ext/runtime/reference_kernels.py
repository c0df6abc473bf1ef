"""Run the PyTorch reference instead of the AscendC kernel for CPU tensors, by choice only."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from . import library

_kernels: dict[str, Callable[..., Any]] = {}
_active: torch.library.Library | None = None


def add(op: str, kernel: Callable[..., Any]) -> None:
    """Make the reference kernel of ``op`` known."""
    _kernels[op] = kernel


def fresh(result: Any, inputs: Sequence[Any], dtype: torch.dtype) -> Any:
    """Return a reference result as a kernel would: declared dtype, contiguous, not an alias."""
    if isinstance(result, (list, tuple)):
        return [fresh(item, inputs, dtype) for item in result]
    result = result.to(dtype).contiguous()
    taken = {t.untyped_storage().data_ptr() for t in inputs if isinstance(t, Tensor)}
    return result.clone() if result.untyped_storage().data_ptr() in taken else result


def use_reference(on: bool = True) -> None:
    """Choose what CPU tensors run: the reference (True) or the emulated AscendC kernel (False)."""
    global _active
    if on and _active is None:
        _active = torch.library.Library(library.VENDOR, "IMPL")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # overriding the C++ kernel is what we want
            for op, kernel in _kernels.items():
                _active.impl(op, _recording(kernel), "CPU")
    elif not on and _active is not None:
        _active._destroy()
        _active = None


def is_reference() -> bool:
    """Whether CPU tensors run the reference."""
    return _active is not None


def _recording(kernel: Callable[..., Any]) -> Callable[..., Any]:
    def run(*args: Any, **kwargs: Any) -> Any:
        result = kernel(*args, **kwargs)
        library.set_last_backend("reference")
        return result

    return run

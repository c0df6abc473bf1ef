"""Fake tensors of pointwise calls, without PyTorch's way through its decompositions.

With symbolic sizes, PyTorch derives what a call such as ``clamp`` gives by running its
decomposition, which asks hundreds of questions about sizes. Where one operand has the shape of the
result and all operands are contiguous, the result has that shape and is contiguous, too; a call on
tensors of one element tells its dtype.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch._dispatch.python import no_python_dispatcher
from torch._subclasses.fake_tensor import FakeTensor, FakeTensorMode, in_kernel_invocation_manager
from torch.utils._mode_utils import no_dispatch

_COPY = torch.ops.aten._to_copy.default
# Its C++ function takes symbols; PyTorch asks the sizes of a broadcast instead.
_UNSQUEEZE = torch.ops.aten.unsqueeze.default
_NUMBERS = (bool, int, float, torch.SymInt, torch.SymFloat)
_PLAIN = (str, torch.dtype, torch.device, torch.layout, type(None))


class QuickFakeMode(FakeTensorMode):
    """A fake mode that knows what pointwise calls on contiguous tensors give."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._dtypes: dict[Any, torch.dtype | None] = {}
        self._contiguous: dict[Any, bool] = {}

    def dispatch(
        self,
        func: Any,
        types: Sequence[type],
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Return what a call gives; PyTorch's own way where the quick one does not apply."""
        if func is _UNSQUEEZE and self._is_plain(args[0]):
            with no_python_dispatcher(), in_kernel_invocation_manager(self):
                viewed = func(*args)
            return FakeTensor(self, viewed, args[0].device)
        if _is_pointwise(func):
            result = self._result(func, args, kwargs or {})
            if result is not None:
                return result
        return super().dispatch(func, types, args, kwargs or {})

    def _result(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> FakeTensor | None:
        values = (*args, *kwargs.values())
        tensors = [v for v in values if isinstance(v, torch.Tensor)]
        if not all(isinstance(v, (torch.Tensor, *_NUMBERS, *_PLAIN)) for v in values):
            return None
        if not tensors or not all(map(self._is_plain, tensors)):
            return None
        widest = _widest(tensors)
        if widest is None or not all(map(self._is_contiguous, tensors)):
            return None
        dtype = self._dtype(func, args, kwargs)
        if dtype is None:
            return None
        with no_dispatch():
            made = torch.empty_strided(widest.shape, widest.stride(), dtype=dtype, device="meta")
        return FakeTensor(self, made, widest.device)

    def _is_plain(self, tensor: Any) -> bool:
        fake = type(tensor) is FakeTensor and tensor.fake_mode is self
        return fake and tensor.constant is None and tensor.device.type == "cpu"

    def _is_contiguous(self, tensor: Any) -> bool:
        key = (_numbers(tensor.shape), _numbers(tensor.stride()))
        known = self._contiguous.get(key)
        if known is None:
            known = self._contiguous[key] = _lies_in_order(tensor)
        return known

    def _dtype(self, func: Any, args: Any, kwargs: Mapping[str, Any]) -> torch.dtype | None:
        """Return the dtype of a result, None where the call does not give one tensor."""
        key = (func, *map(_kind, args), *((name, _kind(v)) for name, v in kwargs.items()))
        if key not in self._dtypes:
            try:
                with no_dispatch():
                    result = func(*map(_small, args), **{n: _small(v) for n, v in kwargs.items()})
                self._dtypes[key] = result.dtype if isinstance(result, torch.Tensor) else None
            except (RuntimeError, TypeError, NotImplementedError):  # PyTorch says so in its own way
                self._dtypes[key] = None
        return self._dtypes[key]


def _lies_in_order(tensor: Any) -> bool:
    """Whether a tensor is known to be contiguous; of PyTorch before 2.8 none is."""
    known = getattr(torch._prims_common, "is_contiguous_for_memory_format_or_false", None)
    return known is not None and known(tensor, memory_format=torch.contiguous_format)


def _is_pointwise(func: Any) -> bool:
    if not isinstance(func, torch._ops.OpOverload) or func._schema.is_mutable:
        return False
    return torch.Tag.pointwise in func.tags or func is _COPY


def _numbers(sizes: Any) -> tuple[Any, ...]:
    return tuple(s.node.expr if isinstance(s, torch.SymInt) else s for s in sizes)


def _widest(tensors: Sequence[Any]) -> Any:
    """Return the operand that has the shape of the result, None where none is known to.

    A tensor without axes counts as a number of its dtype, which has to be that of another operand:
    PyTorch tells numbers of Python from such tensors.
    """
    wide = [t for t in tensors if t.dim()]
    if not wide or any(all(t.dtype != w.dtype for w in wide) for t in tensors if not t.dim()):
        return None
    rank = max(t.dim() for t in wide)
    for candidate in [t for t in wide if t.dim() == rank]:
        sizes = _numbers(candidate.shape)
        if all(_fits(_numbers(t.shape), sizes) for t in wide):
            return candidate
    return None


def _fits(own: tuple[Any, ...], sizes: tuple[Any, ...]) -> bool:
    pairs = zip(reversed(own), reversed(sizes), strict=False)
    return all(a == b or (isinstance(a, int) and a == 1) for a, b in pairs)


def _kind(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return value.dtype, value.dim()
    return type(value), None if isinstance(value, (torch.SymInt, torch.SymFloat)) else value


def _small(value: Any) -> Any:
    if isinstance(value, torch.Tensor):
        return torch.empty([1] * value.dim(), dtype=value.dtype, device="meta")
    if isinstance(value, torch.SymInt):
        return 1
    return 1.0 if isinstance(value, torch.SymFloat) else value

"""``compute`` in the steps of a kernel: where extreme values make these differ from PyTorch's."""

from __future__ import annotations

from typing import Any

from msopgen_wrap.graph.decompositions import reduction_decompositions
from msopgen_wrap.torch_import import torch

TorchDispatchMode = torch.utils._python_dispatch.TorchDispatchMode

_PERIODIC = frozenset((
    "sin", "cos", "tan", "special_bessel_j0", "special_bessel_j1", "special_bessel_y0",
    "special_bessel_y1", "special_spherical_bessel_j0",
))  # fmt: skip
_LARGEST_ARGUMENT = 1e5


class KernelSteps(TorchDispatchMode):
    """Run ``compute`` on float32 so, and give NaN where a kernel is declared to differ.

    PyTorch's own standard deviation of float32 is calculated in double precision, which has room
    for squares that float32 has not; kernels decompose it into sums. They add and multiply in an
    order of their own, so NaN stands for what overflows or cancels in some order, and for periodic
    functions of large arguments: the differences that ``op_specs/README.md`` lists.
    """

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # as for ``Provenance``

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        kwargs = dict(kwargs or {})
        steps = reduction_decompositions().get(func)
        if steps is not None:
            with self:
                result = steps(*args, **kwargs)
            if result is not NotImplemented:
                return result
        result = func(*args, **kwargs)
        name = func.overloadpacket.__name__
        if name in _PERIODIC:
            return torch.where(args[0].abs() > _LARGEST_ARGUMENT, torch.nan, result)
        if name in ("sum", "mean", "prod") and result.is_floating_point():
            kwargs.pop("dtype", None)
            return torch.where(_depends_on_order(name, func, args, kwargs), torch.nan, result)
        return result


def _depends_on_order(name: str, func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    """Return where the numbers that a reduction joins overflow float32 in some order."""
    info = torch.finfo(torch.float32)
    size, rest = args[0].double().abs(), args[1:]
    size = torch.where(torch.isfinite(size), size, 0.0)  # these stay, in whatever order
    if name == "prod":
        large = func(size.clamp(min=1), *rest, **kwargs) > info.max
        return large | (func(size.clamp(max=1), *rest, **kwargs) < info.tiny)
    if name == "mean":
        return func(size * size.numel(), *rest, **kwargs) > info.max
    return func(size, *rest, **kwargs) > info.max

"""Products whose float32 operands are rounded to HF32, as those of a spec with ``hf32: true``."""

from __future__ import annotations

import functools
from typing import Any

from msopgen_wrap.graph.dispatch_modes import ReplacedOperators
from msopgen_wrap.run.hidden_keys import attention_in_steps
from msopgen_wrap.spec.model import Tolerance
from msopgen_wrap.torch_import import torch

#: What CANN asks of float32 results of HF32 products.
TOLERANCE = Tolerance(2.0**-11, 10 * 2.0**-11)
_aten = torch.ops.aten
# Operators and the places of their operands.
_PRODUCTS = {
    _aten.mm.default: (0, 1),
    _aten.bmm.default: (0, 1),
    _aten.matmul.default: (0, 1),  # of an attention in steps
    _aten.addmm.default: (1, 2),
    _aten.baddbmm.default: (1, 2),
    _aten.convolution.default: (0, 1),
    _aten.convolution_backward.default: (0, 1, 2),
}


def to_hf32(x: torch.Tensor) -> torch.Tensor:
    """Round a float32 tensor to 8 bits of exponent and 11 of mantissa, ties to even.

    Infinities and NaN stay; tensors of other dtypes are returned as they are.
    """
    if x.dtype is not torch.float32:
        return x
    bits = x.contiguous().view(torch.int32)
    rounded = (bits + 0x7FF + (bits >> 12 & 1)) & ~0xFFF
    return torch.where(x.isfinite(), rounded.view(torch.float32), x)


class Hf32Products(ReplacedOperators):
    """Run ``compute`` with the operands of products, convolutions, attentions rounded to HF32."""

    def __init__(self) -> None:
        super().__init__({op: functools.partial(_rounded, op) for op in _PRODUCTS})

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        with self:  # the products of an attention, which PyTorch fuses
            attention = attention_in_steps(func, args, kwargs or {}, always=True)
        if attention is not NotImplemented:
            return attention
        return super().__torch_dispatch__(func, types, args, kwargs)


def _rounded(op: Any, *args: Any, **kwargs: Any) -> Any:
    places = _PRODUCTS[op]
    return op(*(to_hf32(a) if i in places else a for i, a in enumerate(args)), **kwargs)

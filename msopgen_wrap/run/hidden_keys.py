"""Keys that a causal mask hides from a query: their values are no part of the reference.

Kernels do not read the blocks of keys that no query of a block sees. PyTorch multiplies such a
value by a weight of 0, which gives NaN for an infinity or NaN, or does not read it either: that
depends on its backend and on sizes. So the reference has no part of the value. ``KernelSteps``,
which has it, gives NaN there, so that nothing is compared.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.torch_import import torch

_PRODUCTS = ("bmm", "mm", "matmul")
# What changes the shape, the dtype or the scale of scores and weights, and not which are hidden.
_KEEPING = frozenset(
    ("_softmax", "_safe_softmax", "_to_copy", "to", "view", "_unsafe_view", "expand", "reshape")
) | {"clone", "contiguous", "detach", "alias", "unsqueeze", "squeeze", "mul"}


class HiddenKeys:
    """Follows which scores a mask hides that no input decides.

    Args:
        constant: says whether a tensor is the same for all elements that the inputs could have.
    """

    def __init__(self, constant: Callable[[Any], bool]) -> None:
        self._constant = constant
        # hidden scores of the last two axes, by the id of scores or weights, which have to live on
        self._hidden: dict[int, torch.Tensor] = {}

    def note(self, name: str, args: Any, result: Any) -> None:
        """Record a call of an operator; take hidden keys out of its result.

        Args:
            name: of the operator, without its overload.
            args: as passed by position.
            result: is written where it has a part of hidden keys.
        """
        if not isinstance(result, torch.Tensor) or result.dim() < 2:
            return
        mask = self._mask(name, args)
        if mask is not None and mask.numel():
            matrices = mask.expand(result.shape).flatten(0, -3) if result.dim() > 2 else mask
            first = matrices[0] if matrices.dim() > 2 else matrices.expand(result.shape)
            if bool((matrices == first).all()):
                self._hidden[id(result)] = first
                if name == "add":  # a key of NaN is hidden, too
                    result.masked_fill_(first, -math.inf)
        hidden = self._hidden.get(id(args[0])) if args else None
        if hidden is None:
            return
        if name in _KEEPING and result.shape[-2:] == hidden.shape:
            self._hidden[id(result)] = hidden
        elif name in _PRODUCTS and args[0].shape[-2:] == hidden.shape:
            _leave_out(hidden, args[0], args[1], result)

    def _mask(self, name: str, args: Any) -> torch.Tensor | None:
        """Return which scores a call makes -inf, None where an input has a say in that."""
        if name == "add":
            both = [v for v in args[:2] if isinstance(v, torch.Tensor)]
            added = [v for v in both if v.is_floating_point() and self._constant(v)]
            if len(both) == 2 and len(added) == 1 and bool(torch.isneginf(added[0]).any()):
                return torch.isneginf(added[0])
        elif name == "masked_fill":
            return args[1] if self._constant(args[1]) and _infinite(args[2]) else None
        elif name == "where" and len(args) == 3 and self._constant(args[0]):
            for mask, value in ((args[0], args[1]), (~args[0], args[2])):
                if _infinite(value):
                    return mask
        return None


def _infinite(value: Any) -> bool:
    if isinstance(value, torch.Tensor):
        return value.numel() == 1 and bool(torch.isneginf(value))
    return value == -math.inf


def _leave_out(hidden: Any, weights: Any, values: Any, result: Any) -> None:
    """Sum up without the values of hidden keys where one of these is no finite number."""
    strange = ~torch.isfinite(values)
    if bool(strange.any()):
        skipped = hidden & (weights == 0)
        meets = torch.matmul(skipped.to(values.dtype), strange.to(values.dtype)) > 0
        seen = torch.matmul(weights, torch.where(strange, 0, values))
        result.copy_(torch.where(meets, seen, result))


def attention_in_steps(
    func: Any, args: Any, kwargs: dict[str, Any], *, always: bool = False
) -> Any:
    """Run PyTorch's attention in steps: a causal one, for the modes around it, and one with NaN.

    The fused one finds the largest score of a row by comparisons, which do not see NaN, and gives
    0 or NaN then; that depends on the place of the NaN.

    Args:
        func, args, kwargs: a call of an operator.
        always: any attention.

    Returns:
        What the operator gives; NotImplemented for other operators.
    """
    if func is not torch.ops.aten._scaled_dot_product_flash_attention_for_cpu.default:
        return NotImplemented
    causal = args[4] if len(args) > 4 else kwargs.get("is_causal", False)
    if not always and not causal and all(bool(torch.isfinite(t).all()) for t in args[:3]):
        return NotImplemented
    math_steps = torch.ops.aten._scaled_dot_product_attention_math.default
    mask, scale = kwargs.get("attn_mask"), kwargs.get("scale")
    return math_steps.decompose(*args[:3], mask, is_causal=causal, scale=scale)

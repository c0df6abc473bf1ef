"""Format, dtype and layout operators of torch_npu.

Emulated memory always has the plain (ND) layout. A cast to a private format keeps the values, the
shape and the layout: ``torch_npu.get_npu_format`` goes on to say ND (2).
"""

from __future__ import annotations

import math
from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from . import refuse, refuse_given


def npu_format_cast(
    input: Tensor,
    acl_format: int,
    *,
    customize_dtype: int | None = None,
    input_dtype: int | None = None,
) -> Tensor:
    """Return the tensor itself: there is one layout."""
    return input


def npu_format_cast_like(
    input: Tensor,
    dst: Tensor,
    *,
    customize_dtype: int | None = None,
    input_dtype: int | None = None,
) -> Tensor:
    """Return the tensor itself: there is one layout."""
    return input


def _npu_format_cast(input: Tensor, acl_format: int, *rest: int) -> Tensor:
    return input


def npu_dtype_cast(input: Tensor, dtype: int, input_dtype: int | None = None) -> Tensor:
    """Convert to a torch dtype."""
    refuse_given("npu_dtype_cast", input_dtype=input_dtype)
    return input.to(_torch_dtype("npu_dtype_cast", dtype))


def _npu_dtype_cast(input: Tensor, dtype: torch.dtype) -> Tensor:
    return input.to(dtype)


def _torch_dtype(op: str, code: int | torch.dtype) -> torch.dtype:
    """Translate c10::ScalarType numbers, which torch_npu passes as int, to a dtype."""
    table = {
        0: torch.uint8,
        1: torch.int8,
        2: torch.int16,
        3: torch.int32,
        4: torch.int64,
        5: torch.float16,
        6: torch.float32,
        7: torch.float64,
        9: torch.complex64,
        10: torch.complex128,
        11: torch.bool,
        15: torch.bfloat16,
    }
    if isinstance(code, torch.dtype):
        return code
    if code not in table:
        refuse(op, "dtype", code)
    return table[code]


def npu_transpose(input: Tensor, perm: list[int], require_contiguous: bool = True) -> Tensor:
    """Permute and make contiguous."""
    return input.permute(perm).contiguous()


def npu_confusion_transpose(
    input: Tensor, perm: list[int], shape: list[int], transpose_first: bool
) -> Tensor:
    """Permute then reshape, or reshape then permute."""
    if transpose_first:
        return input.permute(perm).contiguous().view(shape)
    return input.view(shape).permute(perm).contiguous()


def npu_broadcast(input: Tensor, size: list[int]) -> Tensor:
    """Broadcast to size, in fresh memory."""
    return input.expand(size).contiguous()


def npu_reshape(input: Tensor, shape: list[int], can_refresh: bool = False) -> Tensor:
    """Reshape into fresh memory."""
    return input.reshape(shape).clone()


def npu_slice(input: Tensor, offsets: list[int], size: list[int]) -> Tensor:
    """Cut a box out of the tensor; size -1 takes the rest."""
    for dim, (start, length) in enumerate(zip(offsets, size, strict=True)):
        count = input.shape[dim] - start if length == -1 else length
        input = input.narrow(dim, start, count)
    return input.contiguous()


def npu_pad(input: Tensor, paddings: list[int]) -> Tensor:
    """Pad with zeros; paddings are (before, after) from the first dimension on."""
    pairs = [(paddings[i], paddings[i + 1]) for i in range(0, len(paddings), 2)]
    return F.pad(input, [value for pair in reversed(pairs) for value in pair])


def npu_linear(input: Tensor, weight: Tensor, bias: Tensor | None = None) -> Tensor:
    """input @ weight.T + bias."""
    return F.linear(input, weight, bias)


def npu_bmm_v2(input: Tensor, mat2: Tensor, output_sizes: list[int]) -> Tensor:
    """Matrix product, viewed as output_sizes when given."""
    product = torch.matmul(input, mat2)
    return product.reshape(output_sizes) if output_sizes else product


def npu_max(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Maximum and its int32 index along dim."""
    values, indices = input.max(dim, keepdim)
    return values, indices.int()


def npu_min(input: Tensor, dim: int, keepdim: bool = False) -> tuple[Tensor, Tensor]:
    """Minimum and its int32 index along dim."""
    values, indices = input.min(dim, keepdim)
    return values, indices.int()


def npu_sort_v2(input: Tensor, dim: int = -1, descending: bool = False) -> Tensor:
    """Sorted values."""
    return input.sort(dim, descending).values


def npu_scatter_nd_update_(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """input[indices] = updates, rows of indices addressing leading dimensions."""
    return input.index_put_(tuple(indices.long().unbind(-1)), updates)


def npu_scatter_nd_update(input: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
    """npu_scatter_nd_update_ on a copy."""
    return npu_scatter_nd_update_(input.clone(), indices, updates)


def scatter_update_(input: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """Write updates[b] at position indices[b] of axis in input[b] (key/value caches)."""
    for batch, start in enumerate(indices.reshape(-1).tolist()):
        window = input[batch].narrow(axis % input.dim() - 1, start, updates.shape[axis])
        window.copy_(updates[batch])
    return input


def scatter_update(input: Tensor, indices: Tensor, updates: Tensor, axis: int) -> Tensor:
    """scatter_update_ on a copy."""
    return scatter_update_(input.clone(), indices, updates, axis)


def one_(input: Tensor) -> Tensor:
    """Fill with ones."""
    return input.fill_(1)


def npu_float_status(input: Tensor, *rest: int) -> Tensor:
    """Eight zeros: the emulated kernels overflow to inf and raise no flag."""
    return torch.zeros(8, dtype=torch.float32, device=input.device)


def _amp_foreach_non_finite_check(scaled_grads: list[Tensor]) -> bool:
    """Whether any gradient has an inf or a nan."""
    return any(not math.isfinite(float(g.float().abs().sum())) for g in scaled_grads if g.numel())


def npu_view_copy(input: Tensor, other: Tensor, non_blocking: bool) -> Tensor:
    """input.copy_(other)."""
    return input.copy_(other)


OPS: dict[str, Callable] = {
    "npu_format_cast": npu_format_cast,
    "npu_format_cast.Tensor": npu_format_cast_like,
    "npu_format_cast_": npu_format_cast_like,
    "npu_format_cast_.acl_format": npu_format_cast,
    "_npu_format_cast": _npu_format_cast,
    "_npu_format_cast.aclnn": _npu_format_cast,
    "_npu_format_cast.input_dtype": _npu_format_cast,
    "npu_dtype_cast": npu_dtype_cast,
    "_npu_dtype_cast": _npu_dtype_cast,
    "npu_transpose": npu_transpose,
    "npu_confusion_transpose": npu_confusion_transpose,
    "npu_broadcast": npu_broadcast,
    "npu_reshape": npu_reshape,
    "npu_slice": npu_slice,
    "npu_pad": npu_pad,
    "npu_linear": npu_linear,
    "npu_bmmV2": npu_bmm_v2,
    "npu_max.dim": npu_max,
    "npu_min.dim": npu_min,
    "npu_sort_v2": npu_sort_v2,
    "npu_scatter_nd_update": npu_scatter_nd_update,
    "npu_scatter_nd_update_": npu_scatter_nd_update_,
    "scatter_update": scatter_update,
    "scatter_update_": scatter_update_,
    "one_": one_,
    "npu_alloc_float_status": npu_float_status,
    "npu_clear_float_status": npu_float_status,
    "npu_get_float_status": npu_float_status,
    "_amp_foreach_non_finite_check": _amp_foreach_non_finite_check,
    "npu_view_copy": npu_view_copy,
}

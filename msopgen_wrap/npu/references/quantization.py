"""Integer quantisation operators of torch_npu (int8; packed int4 and micro-scaling are refused)."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

from . import refuse, refuse_given
from .layout import _torch_dtype

_INT8 = (None, 1, torch.int8)


def _smoothed(
    op: str,
    x: Tensor,
    smooth_scales: Tensor | None,
    group_index: Tensor | None,
    dst_type: int | None,
    quant_mode: str,
) -> Tensor:
    """Return x in float32 times the smoothing scales; refuse what is not int8 per row."""
    refuse_given(op, group_index=group_index)
    if dst_type not in _INT8:
        refuse(op, "dst_type", dst_type)
    if quant_mode != "pertoken":
        refuse(op, "quant_mode", quant_mode)
    wide = x.float()
    return wide if smooth_scales is None else wide * smooth_scales.float()


def npu_dynamic_quant(
    input: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    group_index: Tensor | None = None,
    dst_type: int | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Tensor, Tensor]:
    """Symmetric int8 per row: scale = max|x| / 127, y = round(x / scale)."""
    wide = _smoothed("npu_dynamic_quant", input, smooth_scales, group_index, dst_type, quant_mode)
    scale = wide.abs().amax(-1) / 127.0
    safe = torch.where(scale == 0, 1.0, scale)
    y = (wide / safe.unsqueeze(-1)).round().clamp(-128, 127).to(torch.int8)
    return y, scale


def npu_dynamic_quant_asymmetric(
    input: Tensor,
    *,
    smooth_scales: Tensor | None = None,
    group_index: Tensor | None = None,
    dst_type: int | None = None,
    quant_mode: str = "pertoken",
    dst_type_max: float = 0.0,
) -> tuple[Tensor, Tensor, Tensor]:
    """Asymmetric int8 per row: scale = (max - min) / 255, offset = 127 - max / scale."""
    wide = _smoothed(
        "npu_dynamic_quant_asymmetric", input, smooth_scales, group_index, dst_type, quant_mode
    )
    high, low = wide.amax(-1), wide.amin(-1)
    scale = (high - low) / 255.0
    safe = torch.where(scale == 0, 1.0, scale)
    offset = 127.0 - high / safe
    y = (wide / safe.unsqueeze(-1) + offset.unsqueeze(-1)).round().clamp(-128, 127)
    return y.to(torch.int8), scale, offset


_QUANTIZED = {torch.qint8: torch.int8, torch.quint8: torch.uint8, torch.qint32: torch.int32}


def npu_quantize(
    input: Tensor,
    scales: Tensor,
    zero_points: Tensor | None,
    dtype: int,
    axis: int = 1,
    div_mode: bool = True,
) -> Tensor:
    """round(x / scale + zero_point) (or x * scale when div_mode is off), saturated to the dtype."""
    name = "npu_quantize"
    # c10 numbers of the quantised types torch users pass here: qint8, quint8, qint32.
    codes = {12: torch.int8, 13: torch.uint8, 14: torch.int32}
    target = codes.get(dtype) if isinstance(dtype, int) else _QUANTIZED.get(dtype)
    target = target or _torch_dtype(name, dtype)
    if target not in (torch.int8, torch.uint8, torch.int32):
        refuse(name, "dtype", dtype)
    shape = [1] * input.dim()
    if scales.numel() > 1:
        shape[axis] = -1
    scale = scales.float().reshape(shape)
    wide = input.float()
    wide = wide / scale if div_mode else wide * scale
    if zero_points is not None:
        wide = wide + zero_points.float().reshape(shape)
    limits = torch.iinfo(target)
    return wide.round().clamp(limits.min, limits.max).to(target)


def npu_quant_matmul(
    x1: Tensor,
    x2: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    pertoken_scale: Tensor | None = None,
    bias: Tensor | None = None,
    output_dtype: int | None = None,
    x1_dtype: int | None = None,
    x2_dtype: int | None = None,
    pertoken_scale_dtype: int | None = None,
    scale_dtype: int | None = None,
    group_sizes: list[int] | None = None,
    y_scale: Tensor | None = None,
) -> Tensor:
    """(int8 @ int8 + int bias) * scale * per-token scale (+ float bias or offset)."""
    name = "npu_quant_matmul"
    refuse_given(
        name,
        x1_dtype=x1_dtype,
        x2_dtype=x2_dtype,
        y_scale=y_scale,
        scale_dtype=scale_dtype,
        group_sizes=group_sizes or None,
    )
    if x1.dtype != torch.int8 or x2.dtype != torch.int8:
        refuse(name, "x1, x2", (x1.dtype, x2.dtype))
    if not scale.dtype.is_floating_point:
        refuse(name, "scale (packed by npu_trans_quant_param)", scale.dtype)
    # float64 holds every int32 sum exactly.
    product = x1.double() @ x2.double()
    if bias is not None and not bias.dtype.is_floating_point:
        product = product + bias.double()
    product = product * scale.double()
    if pertoken_scale is not None:
        product = product * pertoken_scale.double().unsqueeze(-1)
    if bias is not None and bias.dtype.is_floating_point:
        product = product + bias.double()
    target = torch.int8 if output_dtype is None else _torch_dtype(name, output_dtype)
    if target == torch.int8:
        if offset is not None:
            product = product + offset.double()
        return product.round().clamp(-128, 127).to(torch.int8)
    return product.to(target)


def npu_anti_quant(
    x: Tensor,
    scale: Tensor,
    *,
    offset: Tensor | None = None,
    dst_dtype: int | None = None,
    src_dtype: int | None = None,
) -> Tensor:
    """(x + offset) * scale in dst_dtype (float16 when not given)."""
    name = "npu_anti_quant"
    refuse_given(name, src_dtype=src_dtype)
    if x.dtype != torch.int8:
        refuse(name, "x", x.dtype)
    wide = x.float()
    if offset is not None:
        wide = wide + offset.float()
    target = torch.float16 if dst_dtype is None else _torch_dtype(name, dst_dtype)
    return (wide * scale.float()).to(target)


OPS: dict[str, Callable] = {
    "npu_dynamic_quant": npu_dynamic_quant,
    "npu_dynamic_quant_asymmetric": npu_dynamic_quant_asymmetric,
    "npu_quantize": npu_quantize,
    "npu_quant_matmul": npu_quant_matmul,
    "npu_anti_quant": npu_anti_quant,
}

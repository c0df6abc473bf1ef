"""Transposed convolutions, with filters that lie as those of a plain convolution.

``opgen::transposed_convolution(x, filters, ...)`` convolves the input, spread out by its strides,
with filters of shape (channels of the result, channels of a group of the input, window), whose
windows are the other way round. So a kernel multiplies the same matrices as for a plain
convolution, and the filters are rearranged once, before it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from msopgen_wrap.torch_import import torch

_aten = torch.ops.aten
_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define(
    "transposed_convolution(Tensor x, Tensor filters, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, SymInt[] output_padding, SymInt groups) -> Tensor"
)


def transposed_convolution(
    x: Any,
    weight: Any,
    stride: Sequence[Any],
    padding: Sequence[Any],
    dilation: Sequence[Any],
    output_padding: Sequence[Any],
    groups: Any,
) -> Any:
    """Return a transposed convolution with a weight as PyTorch has it.

    Args:
        x: (images, channels, one to three spatial axes).
        weight: (channels, channels of the result per group, window).
        stride, padding, dilation, output_padding: a number per spatial axis.
        groups: of channels.
    """
    filters = _regrouped(weight, weight.shape[0], weight.shape[1], groups)
    return torch.ops.opgen.transposed_convolution(
        x, filters, stride, padding, dilation, output_padding, groups
    )


def _regrouped(filters: Any, rows: Any, columns: Any, groups: Any) -> Any:
    """Exchange the two channel axes in every group and turn the windows round.

    Args:
        filters: (groups * channels, other channels, window).
        rows, columns: its first two sizes.
        groups: of channels.

    Returns:
        (groups * other channels, channels, window).
    """
    window = list(filters.shape[2:])
    turned = list(range(-len(window), 0))
    if type(groups) is int and groups == 1:
        return filters.transpose(0, 1).flip(turned)
    apart = filters.reshape([groups, rows // groups, columns, *window])
    exchanged = apart.transpose(1, 2).flip(turned)
    return exchanged.reshape([groups * columns, rows // groups, *window])


def _meta(
    x: Any,
    filters: Any,
    stride: Sequence[Any],
    padding: Sequence[Any],
    dilation: Sequence[Any],
    output_padding: Sequence[Any],
    groups: Any,
) -> Any:
    sizes = [x.shape[0], filters.shape[0]]
    for i, size in enumerate(x.shape[2:]):
        reach = dilation[i] * (filters.shape[2 + i] - 1) + 1
        sizes.append((size - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i])
    return x.new_empty(sizes)


def _on_cpu(
    x: Any, filters: Any, stride: Any, padding: Any, dilation: Any, extra: Any, groups: int
) -> Any:
    """Convolve in the steps of a kernel, which multiplies the zeros between elements as well."""
    axes = range(len(stride))
    sizes = [(x.shape[2 + i] - 1) * stride[i] + 1 for i in axes]
    spread = x.new_zeros([*x.shape[:2], *sizes])
    places = (..., *(slice(None, None, stride[i]) for i in axes))
    spread[places] = x
    around = []
    for i in reversed(axes):
        before = dilation[i] * (filters.shape[2 + i] - 1) - padding[i]
        around += [before, before + extra[i]]
    padded = torch.nn.functional.pad(spread, around)
    ones, zeros = [1] * len(stride), [0] * len(stride)
    return _aten.convolution.default(
        padded, filters, None, ones, zeros, dilation, False, zeros, groups
    )


_LIBRARY.impl("transposed_convolution", _meta, "Meta")
_LIBRARY.impl("transposed_convolution", _on_cpu, "CPU")

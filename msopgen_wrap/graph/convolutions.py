"""Transposed convolutions, with filters that lie as those of a plain convolution.

``opgen::transposed_convolution(x, filters, ...)`` convolves the input, spread out by its strides,
with filters of shape (channels of the result, channels of a group of the input, window), whose
windows are the other way round. So a kernel multiplies the same matrices as for a plain
convolution, and the filters are rearranged once, before it.

The gradients of a convolution are convolutions of what arrives: by its input a transposed one, or,
of a transposed one, the first positions of a plain one (``opgen::cut_convolution``); by its filters
one whose windows are as large as the gradient (``opgen::filter_gradient``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from msopgen_wrap.graph.derivatives import differentiate
from msopgen_wrap.graph.symbols import empty_of
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.fx.experimental.symbolic_shapes import statically_known_true

_FLOATS = (torch.float16, torch.bfloat16, torch.float32)
_aten = torch.ops.aten
# Parts of the images of which a gradient by the filters has sums of their own, at most.
_MOST_PARTS = 16
_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define(
    "transposed_convolution(Tensor x, Tensor filters, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, SymInt[] output_padding, SymInt groups) -> Tensor"
)
_LIBRARY.define(
    "convolution(Tensor x, Tensor weight, Tensor? bias, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, bool transposed, SymInt[] output_padding, SymInt groups) -> Tensor"
)
_LIBRARY.define(
    "depthwise(Tensor x, Tensor filters, Tensor? bias, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation) -> Tensor"
)
_LIBRARY.define(
    "depthwise_gradient(Tensor x, Tensor filters, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, SymInt[] sizes, SymInt channels) -> Tensor"
)
_LIBRARY.define(
    "depthwise_filters(Tensor x, Tensor gradient, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, SymInt[] sizes, SymInt parts) -> Tensor"
)
_LIBRARY.define(
    "cut_convolution(Tensor x, Tensor filters, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, SymInt[] sizes, SymInt groups) -> Tensor"
)
_LIBRARY.define(
    "filter_gradient(Tensor x, Tensor filters, SymInt[] stride, SymInt[] padding, "
    "SymInt[] dilation, SymInt[] sizes, SymInt groups) -> Tensor"
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
    return empty_of(x, sizes)


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


# ---- gradients -----------------------------------------------------------------------------------


def _gradients(gradient: Any, arguments: Sequence[Any], asked: Sequence[bool]) -> tuple[Any, ...]:
    """Return the gradients of ``opgen::convolution`` by its input, its filters and its bias.

    Args:
        gradient: (images, channels of the result, one to three spatial axes).
        arguments: of the call. x: (images, channels, spatial axes); weight: (channels of the
            result, channels per group, window), or of a transposed convolution (channels, channels
            of the result per group, window).
        asked: of which arguments the gradient is wanted.
    """
    x, weight, _, stride, padding, dilation, transposed, _, groups = arguments
    axes = range(x.dim() - 2)
    by_input = by_filters = by_bias = None
    if asked[0] and transposed:
        by_input = torch.ops.opgen.cut_convolution(
            gradient, weight, stride, padding, dilation, list(x.shape[2:]), groups
        )
    elif asked[0] and is_depthwise(x, weight, groups):
        by_input = torch.ops.opgen.depthwise_gradient(
            gradient, weight, stride, padding, dilation, list(x.shape[2:]), x.shape[1]
        )
    elif asked[0]:
        extra = []
        for i in axes:
            reach = dilation[i] * (weight.shape[2 + i] - 1) + 1
            whole = (gradient.shape[2 + i] - 1) * stride[i] - 2 * padding[i] + reach
            extra.append(x.shape[2 + i] - whole)
        by_input = transposed_convolution(
            gradient, weight, stride, padding, dilation, extra, groups
        )
    if asked[1] and not transposed and is_depthwise(x, weight, groups):
        # Cores share the images: each part of them has sums of its own.
        parts = torch.sym_min(x.shape[0], _MOST_PARTS)
        by_part = torch.ops.opgen.depthwise_filters(
            x, gradient, stride, padding, dilation, list(weight.shape[2:]), parts
        )
        by_filters = by_part.sum(0).unsqueeze(1)
    elif asked[1]:
        image, rows = (gradient, x) if transposed else (x, gradient)
        by_filters = torch.ops.opgen.filter_gradient(
            image,
            rows.transpose(0, 1),
            stride,
            padding,
            dilation,
            list(weight.shape[2:]),
            groups,
        )
    if asked[2]:  # never of a bias that is not there
        by_bias = gradient.sum([0, *(2 + i for i in axes)])
    return by_input, by_filters, by_bias, *[None] * 6


def convolution_backward(
    gradient: Any,
    x: Any,
    weight: Any,
    bias_sizes: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: Any,
    asked: Sequence[bool],
) -> tuple[Any, ...]:
    """Decompose ``aten::convolution_backward``, which ``torch.nn.grad`` calls.

    Args:
        gradient: (images, channels of the result, one to three spatial axes).
        x, weight: as of ``_gradients``; of one whose gradient is asked for the shape is read only.
        bias_sizes: unread.
        stride, padding, dilation, output_padding: a number per spatial axis.
        asked: whether the gradients of x, of weight and of the bias are wanted.

    Returns:
        The three gradients, None for one that is not asked for.
    """
    arguments = (x, weight, None, stride, padding, dilation, transposed, output_padding, groups)
    return _gradients(gradient, arguments, asked)[:3]


def convolution_functions() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's convolutions, each with what a trace calls that is differentiated."""
    functional = torch.nn.functional
    found: dict[Any, Callable[..., Any]] = {}
    for axes in (1, 2, 3):
        found[getattr(functional, f"conv{axes}d")] = _plain(axes)
        found[getattr(functional, f"conv_transpose{axes}d")] = _turned(axes)
    return found


def _plain(axes: int) -> Callable[..., Any]:
    def call(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        dilation: Any = 1,
        groups: Any = 1,
    ) -> Any:
        if input.dim() == axes + 1:  # one image
            several = call(input.unsqueeze(0), weight, bias, stride, padding, dilation, groups)
            return several if several is NotImplemented else several.squeeze(0)
        padding = 0 if padding == "valid" else padding
        if isinstance(padding, str) or input.dim() != axes + 2:
            return NotImplemented
        numbers = [_each(n, axes) for n in (stride, padding, dilation)]
        zeros = [0] * axes
        return torch.ops.opgen.convolution(input, weight, bias, *numbers, False, zeros, groups)

    return call


def _turned(axes: int) -> Callable[..., Any]:
    def call(
        input: Any,
        weight: Any,
        bias: Any = None,
        stride: Any = 1,
        padding: Any = 0,
        output_padding: Any = 0,
        groups: Any = 1,
        dilation: Any = 1,
    ) -> Any:
        if input.dim() == axes + 1:  # one image
            rest = (stride, padding, output_padding, groups, dilation)
            return call(input.unsqueeze(0), weight, bias, *rest).squeeze(0)
        if input.dim() != axes + 2:
            return NotImplemented
        numbers = [_each(n, axes) for n in (stride, padding, dilation)]
        more = _each(output_padding, axes)
        return torch.ops.opgen.convolution(input, weight, bias, *numbers, True, more, groups)

    return call


def _by_channel(x: Any, bias: Any) -> Any:
    """Line up one number per channel with the channels of ``x``."""
    return bias.view(bias.shape[0], *[1] * (x.dim() - 2))


def is_depthwise(x: Any, weight: Any, groups: Any) -> bool:
    """Whether a plain convolution is known to have a group for each of several channels.

    Args:
        x: (images, channels, spatial axes).
        weight: (channels of the result, channels per group, window).
        groups: of channels. One group is no depthwise convolution, even of one channel: it may have
            any number of filters, which are a product of matrices.
    """
    if x.dtype not in _FLOATS or (type(groups) is int and groups == 1):
        return False
    return bool(
        statically_known_true(weight.shape[1] == 1) or statically_known_true(groups == x.shape[1])
    )


def decomposed_convolution(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: Any,
) -> Any:
    """Add the bias apart, and turn the filters of a transposed ``opgen::convolution``.

    One with a group for each channel keeps its bias.
    """
    numbers = (stride, padding, dilation)
    if not transposed and is_depthwise(x, weight, groups):
        return torch.ops.opgen.depthwise(x, weight, bias, *numbers)
    if transposed:
        made = transposed_convolution(x, weight, *numbers, output_padding, groups)
    elif bias is None:
        return NotImplemented
    else:
        made = torch.ops.opgen.convolution(x, weight, None, *numbers, False, output_padding, groups)
    return made if bias is None else made + _by_channel(made, bias)


def _plain_meta(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: Any,
) -> Any:
    sizes = [x.shape[0], weight.shape[1] * groups if transposed else weight.shape[0]]
    for i, size in enumerate(x.shape[2:]):
        reach = dilation[i] * (weight.shape[2 + i] - 1) + 1
        if transposed:
            sizes.append((size - 1) * stride[i] - 2 * padding[i] + reach + output_padding[i])
        else:
            sizes.append((size + 2 * padding[i] - reach) // stride[i] + 1)
    return empty_of(x, sizes)


def _plain_on_cpu(
    x: Any,
    weight: Any,
    bias: Any,
    stride: Any,
    padding: Any,
    dilation: Any,
    transposed: bool,
    output_padding: Any,
    groups: int,
) -> Any:
    return _aten.convolution.default(
        x, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


def _depthwise_meta(
    x: Any, filters: Any, bias: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    zeros = [0] * len(stride)
    return _plain_meta(x, filters, bias, stride, padding, dilation, False, zeros, x.shape[1])


def _depthwise_on_cpu(
    x: Any, filters: Any, bias: Any, stride: Any, padding: Any, dilation: Any
) -> Any:
    zeros = [0] * len(stride)
    return _plain_on_cpu(x, filters, bias, stride, padding, dilation, False, zeros, x.shape[1])


def _depthwise_gradient_meta(
    x: Any, filters: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, channels: Any
) -> Any:
    return empty_of(x, [x.shape[0], channels, *sizes])


def _depthwise_gradient_on_cpu(
    x: Any, filters: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, channels: int
) -> Any:
    numbers = (stride, padding, dilation, False, [0] * len(stride), channels)
    image = x.new_empty([x.shape[0], channels, *sizes])
    return _aten.convolution_backward.default(
        x, image, filters, None, *numbers, [True, False, False]
    )[0]


def _depthwise_filters_meta(
    x: Any, gradient: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, parts: Any
) -> Any:
    return empty_of(x, [parts, gradient.shape[1], *sizes])


def _depthwise_filters_on_cpu(
    x: Any, gradient: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, parts: int
) -> Any:
    """Return the gradient of the filters by every ``parts``-th image, from each of the first on."""
    numbers = (stride, padding, dilation, False, [0] * len(stride), x.shape[1])
    filters = x.new_empty([gradient.shape[1], 1, *sizes])
    made = [
        _aten.convolution_backward.default(
            gradient[part::parts], x[part::parts], filters, None, *numbers, [False, True, False]
        )[1].squeeze(1)
        for part in range(parts)
    ]
    return torch.stack(made) if made else x.new_empty([0, gradient.shape[1], *sizes])


def _each(value: Any, axes: int) -> list[Any]:
    """Return a number per spatial axis, as PyTorch takes one for all."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    return listed * axes if len(listed) == 1 else listed


def _cut_meta(
    x: Any, filters: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, groups: Any
) -> Any:
    return empty_of(x, [x.shape[0], filters.shape[0], *sizes])


def _cut_on_cpu(
    x: Any, filters: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, groups: int
) -> Any:
    zeros = [0] * len(stride)
    made = _aten.convolution.default(
        x, filters, None, stride, padding, dilation, False, zeros, groups
    )
    kept = (..., *(slice(0, size) for size in sizes))
    return made[kept]


def _filter_meta(
    x: Any, filters: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, groups: Any
) -> Any:
    return empty_of(x, [filters.shape[0], x.shape[1] // groups, *sizes])


def _filter_on_cpu(
    x: Any, filters: Any, stride: Any, padding: Any, dilation: Any, sizes: Any, groups: int
) -> Any:
    """Convolve the channels of ``x`` as images, with windows as large as the gradient.

    Args:
        x: (images, channels, spatial axes), what the filters have been applied to.
        filters: (channels of the result, images, positions), the gradient of the result.
        stride, padding, dilation: of the convolution whose filters these are the gradient of.
        sizes: of a filter.
        groups: of channels.
    """
    images, channels = x.shape[:2]
    apart = x.reshape(images, groups, channels // groups, *x.shape[2:]).transpose(0, 2)
    joined = apart.reshape(channels // groups, groups * images, *x.shape[2:])
    if images == 0:
        return x.new_zeros([filters.shape[0], channels // groups, *sizes])
    zeros = [0] * len(stride)
    made = _aten.convolution.default(
        joined, filters, None, dilation, padding, stride, False, zeros, groups
    )
    kept = (..., *(slice(0, size) for size in sizes))
    return made.transpose(0, 1)[kept]


_LIBRARY.impl("convolution", _plain_meta, "Meta")
_LIBRARY.impl("convolution", _plain_on_cpu, "CPU")
differentiate(_LIBRARY, torch.ops.opgen.convolution.default, _gradients)
_LIBRARY.impl("depthwise", _depthwise_meta, "Meta")
_LIBRARY.impl("depthwise", _depthwise_on_cpu, "CPU")
_LIBRARY.impl("depthwise_gradient", _depthwise_gradient_meta, "Meta")
_LIBRARY.impl("depthwise_gradient", _depthwise_gradient_on_cpu, "CPU")
_LIBRARY.impl("depthwise_filters", _depthwise_filters_meta, "Meta")
_LIBRARY.impl("depthwise_filters", _depthwise_filters_on_cpu, "CPU")
_LIBRARY.impl("cut_convolution", _cut_meta, "Meta")
_LIBRARY.impl("cut_convolution", _cut_on_cpu, "CPU")
_LIBRARY.impl("filter_gradient", _filter_meta, "Meta")
_LIBRARY.impl("filter_gradient", _filter_on_cpu, "CPU")

"""Pools as calls of their own: what joins the elements of each window, with sizes as symbols.

PyTorch's pools take plain numbers; a window whose size is an attr, or made of sizes, would be known
by the sample's value only. Tracing takes ``opgen::window`` and its like in their place, which take
symbols. Windows of unlike sizes (adaptive pools) are told by the number of outputs.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.derivatives import differentiate
from msopgen_wrap.graph.symbols import empty_of
from msopgen_wrap.torch_import import torch

functional = torch.nn.functional

_LIBRARY = torch.library.Library("opgen", "FRAGMENT")
_LIBRARY.define(
    "window(Tensor x, str kind, SymInt[] size, SymInt[] step, SymInt[] before, SymInt[] dilation, "
    "bool ceil, bool padded, SymInt? divisor) -> Tensor"
)
_LIBRARY.define(
    "window_positions(Tensor x, SymInt[] size, SymInt[] step, SymInt[] before, SymInt[] dilation, "
    "bool ceil) -> (Tensor, Tensor)"
)
_LIBRARY.define("adaptive_window(Tensor x, str kind, SymInt[] outputs) -> Tensor")
_LIBRARY.define("adaptive_positions(Tensor x, SymInt[] outputs) -> (Tensor, Tensor)")
# Gradients, by what the windows are of; sizes: those of its last axes.
_LIBRARY.define(
    "window_gradient(Tensor x, SymInt[] sizes, SymInt[] size, SymInt[] step, SymInt[] before, "
    "SymInt[] dilation, bool ceil, bool padded, SymInt? divisor) -> Tensor"
)
_LIBRARY.define(
    "position_gradient(Tensor x, Tensor positions, SymInt[] sizes, SymInt[] size, SymInt[] step, "
    "SymInt[] before, SymInt[] dilation, bool ceil) -> Tensor"
)
_LIBRARY.define("adaptive_window_gradient(Tensor x, SymInt[] sizes) -> Tensor")
_LIBRARY.define("adaptive_position_gradient(Tensor x, Tensor positions, SymInt[] sizes) -> Tensor")

_MAX = {1: functional.max_pool1d, 2: functional.max_pool2d, 3: functional.max_pool3d}
_ADAPTIVE_MAX = {
    1: functional.adaptive_max_pool1d,
    2: functional.adaptive_max_pool2d,
    3: functional.adaptive_max_pool3d,
}
_ADAPTIVE_AVERAGE = {
    1: functional.adaptive_avg_pool1d,
    2: functional.adaptive_avg_pool2d,
    3: functional.adaptive_avg_pool3d,
}
_AVERAGE = {2: functional.avg_pool2d, 3: functional.avg_pool3d}


# ---- on tensors with data ------------------------------------------------------------------------


def _window(
    x: Any,
    kind: str,
    size: Any,
    step: Any,
    before: Any,
    dilation: Any,
    ceil: bool,
    padded: bool,
    divisor: Any,
) -> Any:
    if kind == "max":
        return _MAX[len(size)](x, size, step, before, dilation, ceil)
    if len(size) == 1:  # PyTorch's takes no divisor
        flat, ends = x.unsqueeze(-2), ([1, size[0]], [1, step[0]], [0, before[0]])
        return functional.avg_pool2d(flat, *ends, ceil, padded, divisor).squeeze(-2)
    return _AVERAGE[len(size)](x, size, step, before, ceil, padded, divisor)


def _positions(x: Any, size: Any, step: Any, before: Any, dilation: Any, ceil: bool) -> Any:
    return _MAX[len(size)](x, size, step, before, dilation, ceil, return_indices=True)


def _adaptive(x: Any, kind: str, outputs: Any) -> Any:
    return (_ADAPTIVE_MAX if kind == "max" else _ADAPTIVE_AVERAGE)[len(outputs)](x, outputs)


def _adaptive_positions(x: Any, outputs: Any) -> Any:
    return _ADAPTIVE_MAX[len(outputs)](x, outputs, return_indices=True)


def _window_gradient(
    x: Any,
    sizes: Any,
    size: Any,
    step: Any,
    before: Any,
    dilation: Any,
    ceil: bool,
    padded: bool,
    divisor: Any,
) -> Any:
    def averages(elements: Any) -> Any:
        return _window(elements, "average", size, step, before, dilation, ceil, padded, divisor)

    return _pulled_back(averages, x, sizes)


def _adaptive_gradient(x: Any, sizes: Any) -> Any:
    outputs = list(x.shape[-len(sizes) :])
    return _pulled_back(lambda elements: _adaptive(elements, "average", outputs), x, sizes)


def _pulled_back(windows: Callable[[Any], Any], gradient: Any, sizes: Any) -> Any:
    """Return the gradient of a linear function of tensors with such last axes."""
    lead = gradient.shape[: gradient.dim() - len(sizes)]
    with torch.enable_grad():
        elements = gradient.new_zeros([*lead, *sizes], requires_grad=True)
        (found,) = torch.autograd.grad(windows(elements), elements, gradient)
    return found


def _position_gradient(x: Any, positions: Any, sizes: Any, *numbers: Any) -> Any:
    lead = x.shape[: x.dim() - len(sizes)]
    places = positions.long().reshape(*lead, -1)
    zeros = x.new_zeros([*lead, math.prod(sizes)])
    return zeros.scatter_add(-1, places, x.reshape(*lead, -1)).reshape(*lead, *sizes)


# ---- shapes --------------------------------------------------------------------------------------


def _output_size(size: Any, window: Any, step: Any, before: Any, dilation: Any, ceil: bool) -> Any:
    """Return how many windows an axis has."""
    span = size + 2 * before - dilation * (window - 1) - 1
    if not ceil:
        return span // step + 1
    # the last window begins within the tensor, or before it
    return torch.sym_min((span + step - 1) // step, (size + before - 1) // step) + 1


def _shape(x: Any, size: Any, step: Any, before: Any, dilation: Any, ceil: bool) -> list[Any]:
    axes = list(zip(x.shape[-len(size) :], size, step, before, dilation, strict=True))
    return [*x.shape[: -len(size)], *(_output_size(*axis, ceil) for axis in axes)]


def _window_meta(
    x: Any,
    kind: str,
    size: Any,
    step: Any,
    before: Any,
    dilation: Any,
    ceil: bool,
    padded: bool,
    divisor: Any,
) -> Any:
    return empty_of(x, _shape(x, size, step, before, dilation, ceil))


def _positions_meta(x: Any, size: Any, step: Any, before: Any, dilation: Any, ceil: bool) -> Any:
    shape = _shape(x, size, step, before, dilation, ceil)
    values = empty_of(x, shape)
    return values, torch.empty_like(values, dtype=torch.int64)


def _adaptive_meta(x: Any, kind: str, outputs: Any) -> Any:
    return empty_of(x, [*x.shape[: -len(outputs)], *outputs])


def _adaptive_positions_meta(x: Any, outputs: Any) -> Any:
    shape = [*x.shape[: -len(outputs)], *outputs]
    values = empty_of(x, shape)
    return values, torch.empty_like(values, dtype=torch.int64)


def _gradient_meta(x: Any, sizes: Any, *numbers: Any) -> Any:
    return empty_of(x, [*x.shape[: x.dim() - len(sizes)], *sizes])


def _position_gradient_meta(x: Any, positions: Any, sizes: Any, *numbers: Any) -> Any:
    return empty_of(x, [*x.shape[: x.dim() - len(sizes)], *sizes])


for _name, _function, _meta in (
    ("window_gradient", _window_gradient, _gradient_meta),
    ("adaptive_window_gradient", _adaptive_gradient, _gradient_meta),
    ("position_gradient", _position_gradient, _position_gradient_meta),
    ("adaptive_position_gradient", _position_gradient, _position_gradient_meta),
    ("window", _window, _window_meta),
    ("window_positions", _positions, _positions_meta),
    ("adaptive_window", _adaptive, _adaptive_meta),
    ("adaptive_positions", _adaptive_positions, _adaptive_positions_meta),
):
    _LIBRARY.impl(_name, _function, "CPU")
    _LIBRARY.impl(_name, _meta, "Meta")


# ---- derivatives ---------------------------------------------------------------------------------


def _by_window(gradient: Any, arguments: Any, asked: Any) -> Any:
    x, kind, size, step, before, dilation, ceil, padded, divisor = arguments
    sizes = list(x.shape[-len(size) :])
    if kind == "max":
        numbers = (size, step, before, dilation, ceil)
        positions = torch.ops.opgen.window_positions(x, *numbers)[1]
        found = torch.ops.opgen.position_gradient(gradient, positions, sizes, *numbers)
    else:
        found = torch.ops.opgen.window_gradient(
            gradient, sizes, size, step, before, dilation, ceil, padded, divisor
        )
    return found, *[None] * (len(arguments) - 1)


def _by_positions(gradient: Any, arguments: Any, asked: Any) -> Any:
    x, *numbers = arguments
    sizes = list(x.shape[-len(numbers[0]) :])
    positions = torch.ops.opgen.window_positions(x, *numbers)[1]
    found = torch.ops.opgen.position_gradient(gradient, positions, sizes, *numbers)
    return found, *[None] * len(numbers)


def _by_share(gradient: Any, arguments: Any, asked: Any) -> Any:
    x, kind, outputs = arguments
    sizes = list(x.shape[-len(outputs) :])
    if kind == "max":
        positions = torch.ops.opgen.adaptive_positions(x, outputs)[1]
        found = torch.ops.opgen.adaptive_position_gradient(gradient, positions, sizes)
    else:
        found = torch.ops.opgen.adaptive_window_gradient(gradient, sizes)
    return found, None, None


def _by_shared_positions(gradient: Any, arguments: Any, asked: Any) -> Any:
    x, outputs = arguments
    positions = torch.ops.opgen.adaptive_positions(x, outputs)[1]
    sizes = list(x.shape[-len(outputs) :])
    return torch.ops.opgen.adaptive_position_gradient(gradient, positions, sizes), None


differentiate(_LIBRARY, torch.ops.opgen.window.default, _by_window)
differentiate(_LIBRARY, torch.ops.opgen.window_positions.default, _by_positions)
differentiate(_LIBRARY, torch.ops.opgen.adaptive_window.default, _by_share)
differentiate(_LIBRARY, torch.ops.opgen.adaptive_positions.default, _by_shared_positions)


# ---- what stands in place of PyTorch's functions -------------------------------------------------


def _each(value: Any, axes: int) -> list[Any]:
    """Return one number per axis, as PyTorch takes one for all."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    return listed * axes if len(listed) == 1 else listed


def _steps(stride: Any, size: list[Any], axes: int) -> list[Any]:
    """Return how far windows are apart, per axis; no stride, or an empty one, is their size."""
    none = stride is None or (isinstance(stride, (list, tuple)) and not stride)
    return size if none else _each(stride, axes)


def _check(x: Any, axes: int, size: list[Any], step: list[Any], before: list[Any]) -> None:
    """Refuse what PyTorch refuses, as far as it is known here; TilingFunc checks the rest."""
    if x.dim() not in (axes + 1, axes + 2):
        raise ValueError(f"a pool over {axes} axes takes tensors of rank {axes + 1} or {axes + 2}")
    if not len(size) == len(step) == len(before) == axes:
        raise ValueError(f"a pool over {axes} axes takes one number, or {axes}, for each argument")
    if not x.is_floating_point():
        raise ValueError(f"a pool takes floating-point tensors, not {x.dtype}")
    for window, every, pad in zip(size, step, before, strict=True):
        if any(type(n) is int and n < 1 for n in (window, every)):
            raise ValueError(f"windows of {window} elements, {every} apart: both are 1 at least")
        if type(pad) is int and type(window) is int and not 0 <= 2 * pad <= window:
            raise ValueError(f"padding {pad} is more than half of a window of {window} elements")


def _max(axes: int, positions: bool) -> Callable[..., Any]:
    def call(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        dilation: Any = 1,
        ceil_mode: bool = False,
        return_indices: bool = False,
    ) -> Any:
        size = _each(kernel_size, axes)
        step = _steps(stride, size, axes)
        before, apart = _each(padding, axes), _each(dilation, axes)
        _check(x, axes, size, step, before)
        if positions or return_indices:
            return torch.ops.opgen.window_positions(x, size, step, before, apart, ceil_mode)
        return torch.ops.opgen.window(x, "max", size, step, before, apart, ceil_mode, True, None)

    return call


def _average(axes: int) -> Callable[..., Any]:
    def call(
        x: Any,
        kernel_size: Any,
        stride: Any = None,
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        size = _each(kernel_size, axes)
        step = _steps(stride, size, axes)
        before = _each(padding, axes)
        _check(x, axes, size, step, before)
        if type(divisor_override) is int and divisor_override == 0:
            raise ValueError("divisor_override is 0")
        return torch.ops.opgen.window(
            x,
            "average",
            size,
            step,
            before,
            [1] * axes,
            ceil_mode,
            count_include_pad,
            divisor_override,
        )

    return call


def _norm(axes: int) -> Callable[..., Any]:
    average = _average(axes)

    def call(
        x: Any, norm_type: Any, kernel_size: Any, stride: Any = None, ceil_mode: bool = False
    ) -> Any:
        count: Any = 1
        for size in _each(kernel_size, axes):
            count = count * size
        mean = average(torch.pow(x, norm_type), kernel_size, stride, 0, ceil_mode)
        return (torch.sign(mean) * torch.relu(torch.abs(mean))).mul(count).pow(1.0 / norm_type)

    return call


def _outputs(x: Any, output_size: Any, axes: int) -> list[Any]:
    outputs = _each(output_size, axes)
    _check(x, axes, outputs, outputs, [0] * axes)
    sizes = x.shape[-axes:]
    return [size if n is None else n for n, size in zip(outputs, sizes, strict=True)]


def _adaptive_max(axes: int, positions: bool, differentiated: bool) -> Callable[..., Any]:
    def call(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        outputs = _outputs(x, output_size, axes)
        if positions or return_indices:
            return torch.ops.opgen.adaptive_positions(x, outputs)
        one = all(type(n) is int and n == 1 for n in outputs)
        if one and not differentiated:  # equal elements do not share the gradient
            return torch.amax(x, list(range(-axes, 0)), keepdim=True)
        return torch.ops.opgen.adaptive_window(x, "max", outputs)

    return call


def _adaptive_average(axes: int) -> Callable[..., Any]:
    def call(x: Any, output_size: Any) -> Any:
        outputs = _outputs(x, output_size, axes)
        if all(type(n) is int and n == 1 for n in outputs):
            return torch.mean(x, list(range(-axes, 0)), keepdim=True)
        return torch.ops.opgen.adaptive_window(x, "average", outputs)

    return call


def window_functions(differentiated: bool = False) -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's pools, each with what tracing calls in its place.

    Args:
        differentiated: whether the trace is that of gradients.
    """
    found: dict[Any, Callable[..., Any]] = {}
    for axes in (1, 2, 3):
        for name in (f"max_pool{axes}d", f"max_pool{axes}d_with_indices"):
            for module in (functional, torch):
                if hasattr(module, name):
                    found[getattr(module, name)] = _max(axes, name.endswith("indices"))
        for name in (f"adaptive_max_pool{axes}d", f"adaptive_max_pool{axes}d_with_indices"):
            found[getattr(functional, name)] = _adaptive_max(
                axes, name.endswith("indices"), differentiated
            )
        found[getattr(functional, f"avg_pool{axes}d")] = _average(axes)
        found[getattr(functional, f"lp_pool{axes}d")] = _norm(axes)
        found[getattr(functional, f"adaptive_avg_pool{axes}d")] = _adaptive_average(axes)
    return found

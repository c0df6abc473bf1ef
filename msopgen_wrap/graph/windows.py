"""Pools as calls of their own: what joins the elements of each window, with sizes as symbols.

PyTorch's pools take plain numbers; a window whose size is an attr, or made of sizes, would be known
by the sample's value only. Tracing takes ``opgen::window`` and its like in their place, which take
symbols. Windows of unlike sizes (adaptive pools) are told by the number of outputs.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

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
    return x.new_empty(_shape(x, size, step, before, dilation, ceil))


def _positions_meta(x: Any, size: Any, step: Any, before: Any, dilation: Any, ceil: bool) -> Any:
    shape = _shape(x, size, step, before, dilation, ceil)
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


def _adaptive_meta(x: Any, kind: str, outputs: Any) -> Any:
    return x.new_empty([*x.shape[: -len(outputs)], *outputs])


def _adaptive_positions_meta(x: Any, outputs: Any) -> Any:
    shape = [*x.shape[: -len(outputs)], *outputs]
    return x.new_empty(shape), x.new_empty(shape, dtype=torch.int64)


for _name, _function, _meta in (
    ("window", _window, _window_meta),
    ("window_positions", _positions, _positions_meta),
    ("adaptive_window", _adaptive, _adaptive_meta),
    ("adaptive_positions", _adaptive_positions, _adaptive_positions_meta),
):
    _LIBRARY.impl(_name, _function, "CPU")
    _LIBRARY.impl(_name, _meta, "Meta")


# ---- what stands in place of PyTorch's functions -------------------------------------------------


def _each(value: Any, axes: int) -> list[Any]:
    """Return one number per axis, as PyTorch takes one for all."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    return listed * axes if len(listed) == 1 else listed


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
        step = size if stride is None or stride == [] else _each(stride, axes)
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
        step = size if stride is None or stride == [] else _each(stride, axes)
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


def _adaptive_max(axes: int, positions: bool) -> Callable[..., Any]:
    def call(x: Any, output_size: Any, return_indices: bool = False) -> Any:
        outputs = _outputs(x, output_size, axes)
        if positions or return_indices:
            return torch.ops.opgen.adaptive_positions(x, outputs)
        if all(type(n) is int and n == 1 for n in outputs):
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


def window_functions() -> dict[Any, Callable[..., Any]]:
    """Return PyTorch's pools, each with what tracing calls in its place."""
    found: dict[Any, Callable[..., Any]] = {}
    for axes in (1, 2, 3):
        for name in (f"max_pool{axes}d", f"max_pool{axes}d_with_indices"):
            for module in (functional, torch):
                if hasattr(module, name):
                    found[getattr(module, name)] = _max(axes, name.endswith("indices"))
        for name in (f"adaptive_max_pool{axes}d", f"adaptive_max_pool{axes}d_with_indices"):
            found[getattr(functional, name)] = _adaptive_max(axes, name.endswith("indices"))
        found[getattr(functional, f"avg_pool{axes}d")] = _average(axes)
        found[getattr(functional, f"lp_pool{axes}d")] = _norm(axes)
        found[getattr(functional, f"adaptive_avg_pool{axes}d")] = _adaptive_average(axes)
    return found

"""The decompositions that a traced graph is made with: PyTorch's, and a few of our own."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from msopgen_wrap.graph.counting import counting_decompositions
from msopgen_wrap.graph.decompositions import lerp_decomposition, reduction_decompositions
from msopgen_wrap.graph.index_decompositions import (
    index_decompositions,
    scalar_row_decompositions,
)
from msopgen_wrap.graph.norms import norm_decomposition
from msopgen_wrap.graph.orders import order_decompositions
from msopgen_wrap.graph.placement import placement_decompositions
from msopgen_wrap.graph.resampling import resampling_decompositions
from msopgen_wrap.graph.zeta import zeta
from msopgen_wrap.torch_import import torch

# Parts of torch come after its door.
# isort: split
from torch.fx.experimental.symbolic_shapes import statically_known_true

# Beyond, the recurrence of some kinds loses too many digits of float32, and kernels get long.
MAX_DEGREE = 64

# The polynomial of degree 1, and that of degree k + 1 from those of degrees k and k - 1.
_First = Callable[[Any], Any]
_Next = Callable[[Any, int, Any, Any], Any]


def _chebyshev_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return 2 * x * now - before


def _hermite_h_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return 2 * (x * now - k * before)


def _hermite_he_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return x * now - k * before


def _laguerre_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return (((2 * k + 1) - x) * now - k * before) / (k + 1)


def _legendre_next(x: Any, k: int, now: Any, before: Any) -> Any:
    return ((2 * k + 1) * x * now - k * before) / (k + 1)


_KINDS: dict[str, tuple[_First, _Next]] = {
    "chebyshev_polynomial_t": (lambda x: x, _chebyshev_next),
    "chebyshev_polynomial_u": (lambda x: 2 * x, _chebyshev_next),
    "chebyshev_polynomial_v": (lambda x: 2 * x - 1, _chebyshev_next),
    "chebyshev_polynomial_w": (lambda x: 2 * x + 1, _chebyshev_next),
    "hermite_polynomial_h": (lambda x: 2 * x, _hermite_h_next),
    "hermite_polynomial_he": (lambda x: x, _hermite_he_next),
    "laguerre_polynomial_l": (lambda x: 1 - x, _laguerre_next),
    "legendre_polynomial_p": (lambda x: x, _legendre_next),
}


def _polynomial(first: _First, following: _Next, shifted: bool) -> Callable[[Any, Any], Any]:
    def decomposition(x: Any, n: Any) -> Any:
        if type(n) not in (int, float) or n > MAX_DEGREE:
            return NotImplemented
        x = x if x.is_floating_point() else x.to(torch.float32)
        degree = int(n)
        if degree <= 0:
            return torch.full_like(x, 1.0 if degree == 0 else 0.0)
        x = 2 * x - 1 if shifted else x
        before, now = torch.ones_like(x), first(x)
        for k in range(1, degree):
            before, now = now, following(x, k, now, before)
        return now

    return decomposition


def _broadcast(overload: Any) -> Callable[[Any, Any], Any]:
    """Return the decomposition of a call with tensors of unlike shapes into one of equal shapes.

    PyTorch's own shape function of these operators cannot broadcast symbolic sizes.
    """

    def decomposition(x: Any, n: Any) -> Any:
        if x.dim() == n.dim() and all(
            statically_known_true(a == b) for a, b in zip(x.shape, n.shape, strict=True)
        ):
            return NotImplemented
        return overload(*torch.broadcast_tensors(x, n))

    return decomposition


def polynomial_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries: recurrences for numbers as degree, tensors broadcast."""
    table = {}
    for name, (first, following) in _KINDS.items():
        for prefix in ("", "shifted_"):
            packet = getattr(torch.ops.aten, f"special_{prefix}{name}", None)
            if packet is not None:
                table[packet.n_scalar] = _polynomial(first, following, bool(prefix))
                table[packet.default] = _broadcast(packet.default)
    return table


_aten = torch.ops.aten


def _each(value: Any, count: int) -> list[Any]:
    """Return one number per axis, as torch takes one for all."""
    listed = list(value) if isinstance(value, (list, tuple)) else [value]
    return listed * count if len(listed) == 1 else listed


def _windows(x: Any, sizes: list[Any], steps: list[Any]) -> Any:
    """Return ``x`` with the last axes as positions of windows, and the axes of a window behind."""
    first = x.dim() - len(sizes)
    for i, (size, step) in enumerate(zip(sizes, steps, strict=True)):
        x = x.unfold(first + i, size, step)
    return x


def _average(axes: int) -> Callable[..., Any]:
    def decomposition(
        x: Any,
        kernel_size: Any,
        stride: Any = (),
        padding: Any = 0,
        ceil_mode: bool = False,
        count_include_pad: bool = True,
        divisor_override: Any = None,
    ) -> Any:
        sizes = _each(kernel_size, axes)
        steps = _each(stride, axes) if stride else sizes
        if ceil_mode or any(type(p) is not int or p != 0 for p in _each(padding, axes)):
            return NotImplemented
        windows = _windows(x, sizes, steps)
        dims = list(range(-axes, 0))
        if divisor_override is None:
            return windows.mean(dims)
        return windows.sum(dims) / divisor_override

    return decomposition


def _im2col(x: Any, kernel_size: Any, dilation: Any, padding: Any, stride: Any) -> Any:
    if any(type(n) is not int for n in (*dilation, *padding)) or x.dim() != 4:
        return NotImplemented
    if any(padding):
        x = torch.constant_pad_nd(x, [padding[1], padding[1], padding[0], padding[0]])
    spans = [(n - 1) * d + 1 for n, d in zip(kernel_size, dilation, strict=True)]
    windows = _windows(x, spans, list(stride))[..., :: dilation[0], :: dilation[1]]
    windows = windows.permute(0, 1, 4, 5, 2, 3)
    count, channels, high, wide, rows, columns = windows.shape
    return windows.reshape(count, channels * high * wide, rows * columns)


def window_decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the table entries of averages over windows, and of windows as columns."""
    return {
        _aten.avg_pool2d.default: _average(2),
        _aten.im2col.default: _im2col,
    }


def _rrelu(
    x: Any, _: Any, lower: float = 1 / 8, upper: float = 1 / 3, training: bool = False, *__: Any
) -> Any:
    """Return the ReLU with a random slope, which is the mean one outside of training."""
    if training:
        return NotImplemented
    return torch.where(x > 0, x, x * ((lower + upper) / 2))


def _scalar_tensor(number: Any, dtype: Any = None, device: Any = None) -> Any:
    return torch.full((), number, dtype=dtype, device=device)


def _rrelu_with_noise(x: Any, noise: Any, *args: Any) -> Any:
    result = _rrelu(x, noise, *args)
    return result if result is NotImplemented else (result, noise)


def _rrelu_backward(
    grad: Any, x: Any, _: Any, lower: float, upper: float, training: bool, *__: Any
) -> Any:
    if training:
        return NotImplemented
    return torch.where(x > 0, grad, grad * ((lower + upper) / 2))


@functools.lru_cache(maxsize=1)
def decompositions() -> dict[Any, Callable[..., Any]]:
    """Return the decomposition table: core ATen, plus normalisations and losses."""
    from torch._decomp import core_aten_decompositions, get_decompositions

    aten = torch.ops.aten
    table = dict(core_aten_decompositions())
    # Lowered directly: their decompositions are longer or less accurate than one instruction.
    for op in (aten.sigmoid.default, aten.tanh.default, aten.mish.default):
        table.pop(op, None)
    for op in (aten.lerp.Scalar, aten.lerp.Tensor):
        table[op] = lerp_decomposition(table.pop(op))
    extra = [
        aten._softmax,
        aten._log_softmax,
        aten._fused_rms_norm,
        aten.elu,
        aten.leaky_relu,
        aten.hardtanh,
        aten.softplus,
        aten.mse_loss,
        aten.smooth_l1_loss,
        aten.huber_loss,
        aten.elu_backward,
        aten.sigmoid_backward,
        aten.tanh_backward,
        aten.threshold,
        aten.threshold_backward,
        aten.celu,
        aten.selu,
        aten.logit,
        aten.rsub,
        aten.xlogy,
        aten.nan_to_num,
        aten.linalg_vector_norm,
    ]
    table.update(get_decompositions([op for op in extra if op is not None]))
    norm = aten.linalg_vector_norm.default
    table[norm] = norm_decomposition(table[norm])
    table.update(_from_inductor(table))
    table.update(reduction_decompositions())
    table.update(polynomial_decompositions())
    table.update(placement_decompositions())
    table.update(window_decompositions())
    table.update(index_decompositions())
    table.update(scalar_row_decompositions(table))
    table.update(order_decompositions())
    table.update(resampling_decompositions())
    table.update(counting_decompositions())
    table[aten.special_zeta.default] = zeta
    table[aten.special_zeta.other_scalar] = lambda x, q: zeta(x, torch.full_like(x, q))
    table[aten.special_zeta.self_scalar] = lambda x, q: zeta(torch.full_like(q, x), q)
    table[torch.ops.prims.scalar_tensor.default] = _scalar_tensor
    table[aten.rrelu_with_noise.default] = _rrelu
    table[aten.rrelu_with_noise_functional.default] = _rrelu_with_noise
    table[aten.rrelu_with_noise_backward.default] = _rrelu_backward
    return table


# Operators that core ATen keeps and Inductor decomposes into pointwise work and views.
_INDUCTOR = (
    "fmax fmin round permute_copy view_copy expand_copy squeeze_copy unsqueeze_copy "
    "t_copy transpose_copy select_copy slice_copy detach_copy alias_copy diagonal_copy unbind_copy "
    "split_copy"
)


def _from_inductor(known: dict[Any, Any]) -> dict[Any, Callable[..., Any]]:
    """Return Inductor's decompositions of ``_INDUCTOR``, as far as it has them."""
    from torch._inductor.decomposition import select_decomp_table

    packets = set(_INDUCTOR.split())
    return {
        op: function
        for op, function in select_decomp_table().items()
        if isinstance(op, torch._ops.OpOverload)
        and op not in known
        and op._schema.name.removeprefix("aten::") in packets
        and op._overloadname != "out"
    }
